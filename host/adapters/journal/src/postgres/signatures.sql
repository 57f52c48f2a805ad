-- Version 3 of the tables: the signatures of rows that confer authority (`signature.rs`), and the sealed sessions
-- that were here, with one row without a name for those that were forgotten.
ALTER TABLE approvals ADD COLUMN signature BYTEA;
ALTER TABLE firings ADD COLUMN signature BYTEA;
ALTER TABLE progress ADD COLUMN signature BYTEA;
ALTER TABLE runs ADD COLUMN signature BYTEA;
ALTER TABLE sessions ADD COLUMN owner_signature BYTEA;
CREATE TABLE sealed_sessions (
    session TEXT COLLATE "C" PRIMARY KEY,
    events BIGINT NOT NULL,
    last_ms BIGINT NOT NULL
);
