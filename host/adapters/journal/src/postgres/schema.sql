-- Version 1 of the tables. Nothing here is a foreign key: what is removed is removed in one
-- transaction, and an event is written by the one statement that also writes its session's row.
CREATE TABLE meta (format_version BIGINT NOT NULL);
-- The fencing tokens of claims, and the order of writes. A number is never used twice.
CREATE SEQUENCE epochs;
CREATE SEQUENCE writes;
CREATE TABLE sessions (
    id TEXT COLLATE "C" PRIMARY KEY,
    started_ms BIGINT NOT NULL,
    title TEXT,
    directory TEXT,
    parent TEXT COLLATE "C",
    name TEXT,
    -- The words of its title and its name, in lower case.
    words TSVECTOR GENERATED ALWAYS AS (array_to_tsvector(array_remove(regexp_split_to_array(
        lower(coalesce(title, '') || ' ' || coalesce(name, '')), '[^[:alnum:]]+'), ''))) STORED
);
CREATE INDEX sessions_by_words ON sessions USING gin (words);
-- The part of a session that each write changes; few indexes have to follow.
CREATE TABLE progress (
    session TEXT COLLATE "C" PRIMARY KEY,
    last_ms BIGINT NOT NULL,
    events BIGINT NOT NULL,
    outcome TEXT,
    model TEXT,
    cost_micros BIGINT,
    -- The size of its events and of the blobs that came with them, in bytes.
    bytes BIGINT NOT NULL,
    last_write BIGINT NOT NULL,
    -- By the clock of the server: that of a host may be wrong, and no host is to remove by it.
    written TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX progress_by_last_write ON progress (last_write);
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
    -- The id of the host, and what others ask it to do, as JSON.
    host TEXT NOT NULL,
    request TEXT,
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
-- The runs that have not ended, for hosts to continue.
CREATE TABLE runs (
    session TEXT COLLATE "C" PRIMARY KEY,
    -- The digest of what a host must run, and `@` with the machine if it must be a certain one.
    placement TEXT COLLATE "C" NOT NULL,
    fairness_key TEXT COLLATE "C" NOT NULL,
    -- Empty for a run that had begun, else the key of fairness.
    queue TEXT COLLATE "C" NOT NULL,
    since TIMESTAMPTZ NOT NULL,
    -- `waiting`, `claimed` (by the lease with this epoch), or `stopped` for this reason.
    state TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    host TEXT NOT NULL,
    -- The number of events at the last claim, and the claims in a row that found the same number.
    events BIGINT NOT NULL,
    claims INTEGER NOT NULL,
    reason TEXT
);
CREATE INDEX runs_waiting ON runs (placement, queue, since) WHERE state = 'waiting';
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    since TIMESTAMPTZ NOT NULL,
    reported TIMESTAMPTZ NOT NULL,
    -- JSON.
    status TEXT NOT NULL
);
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
