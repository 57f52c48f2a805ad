-- Version 1 of the tables. Nothing here is a foreign key: what is removed is removed in one
-- transaction, and an event is written by the one statement that also writes its session's row.
CREATE TABLE meta (format_version BIGINT NOT NULL);
-- The fencing tokens of claims, and the order of writes. A number is never used twice.
CREATE SEQUENCE epochs;
CREATE SEQUENCE writes;
CREATE TABLE sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    started_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    events BIGINT NOT NULL,
    title TEXT,
    directory TEXT,
    outcome TEXT,
    parent TEXT COLLATE "C",
    name TEXT,
    model TEXT,
    cost_micros BIGINT,
    -- The size of its events and of the blobs that came with them, in bytes.
    bytes BIGINT NOT NULL,
    last_write BIGINT NOT NULL
);
CREATE INDEX sessions_by_last_write ON sessions (last_write);
CREATE INDEX sessions_by_end ON sessions (reverse(id) COLLATE "C");
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_name ON sessions (name) WHERE name IS NOT NULL;
CREATE TABLE events (
    session TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    v BIGINT NOT NULL,
    kind TEXT NOT NULL,
    -- Not JSONB, which has no NUL characters in its texts and does not keep the bytes.
    json TEXT NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (session, seq)
);
CREATE TABLE blobs (digest TEXT COLLATE "C" PRIMARY KEY, bytes BYTEA NOT NULL);
CREATE TABLE blob_references (
    session TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (session, digest)
);
CREATE INDEX blob_references_by_digest ON blob_references (digest);
-- The claims. Renewals change no indexed column, and find free space in their page.
CREATE TABLE leases (
    session TEXT COLLATE "C" PRIMARY KEY,
    epoch BIGINT NOT NULL,
    owner TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE approvals (
    id TEXT COLLATE "C" PRIMARY KEY,
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    project TEXT NOT NULL,
    rule TEXT NOT NULL,
    session TEXT NOT NULL,
    at_ms BIGINT NOT NULL
);
CREATE TABLE secrets (name TEXT PRIMARY KEY, value BYTEA NOT NULL);
-- What schedules and webhooks started, or are to start.
CREATE TABLE firings (
    trigger_name TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    due_ms BIGINT,
    notified BIGINT,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (trigger_name, key)
);
CREATE INDEX firings_by_time ON firings (trigger_name, at_ms);
CREATE INDEX firings_by_due ON firings (due_ms) WHERE due_ms IS NOT NULL;
