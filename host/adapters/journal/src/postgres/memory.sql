-- Version 8: what agents remember beyond a session.
CREATE TABLE memory (
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    id TEXT COLLATE "C" PRIMARY KEY,
    text TEXT NOT NULL,
    words TSVECTOR NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    call TEXT NOT NULL,
    project TEXT COLLATE "C",
    owner TEXT COLLATE "C",
    sources TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    forgotten BOOLEAN NOT NULL,
    signature BYTEA
);
CREATE INDEX memory_by_project ON memory (project, owner, forgotten);
CREATE INDEX memory_by_end ON memory (expires_ms);
CREATE INDEX memory_by_words ON memory USING gin (words);
