-- Version 7: the read-only links to sessions.
CREATE TABLE links (
    id TEXT COLLATE "C" PRIMARY KEY,
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    session TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL,
    owner TEXT,
    made_by TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    single_use BOOLEAN NOT NULL,
    opened BOOLEAN NOT NULL,
    signature BYTEA
);
CREATE INDEX links_by_hash ON links (hash);
CREATE INDEX links_by_session ON links (session);
