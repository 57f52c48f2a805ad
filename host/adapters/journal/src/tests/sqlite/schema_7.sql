CREATE TABLE meta (format_version INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    started_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    events INTEGER NOT NULL,
    title TEXT,
    directory TEXT,
    outcome TEXT
, signature BLOB, parent TEXT, model TEXT, cost_micros INTEGER, last_write INTEGER NOT NULL DEFAULT 0, project TEXT, phase TEXT NOT NULL DEFAULT 'new', stats TEXT NOT NULL DEFAULT '{}', uncounted INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE events (
    session TEXT NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    v INTEGER NOT NULL,
    kind TEXT NOT NULL,
    json TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT;
CREATE TABLE blobs (digest TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE TABLE blob_references (
    session TEXT NOT NULL REFERENCES sessions (id),
    digest TEXT NOT NULL REFERENCES blobs (digest),
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_references_by_digest ON blob_references (digest);
CREATE TABLE approvals (
    project TEXT NOT NULL,
    rule TEXT NOT NULL,
    session TEXT NOT NULL,
    at_ms INTEGER NOT NULL, signature BLOB,
    PRIMARY KEY (project, rule)
) STRICT;
CREATE TABLE names (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name TEXT NOT NULL
) STRICT;
CREATE TABLE firings (
    trigger_name TEXT NOT NULL,
    key TEXT NOT NULL,
    session TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    message TEXT,
    due_ms INTEGER,
    notified INTEGER,
    attempts INTEGER NOT NULL, signature BLOB,
    PRIMARY KEY (trigger_name, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX firings_by_time ON firings (trigger_name, at_ms);
CREATE INDEX firings_by_due ON firings (due_ms) WHERE due_ms IS NOT NULL;
CREATE TABLE sealed_sessions (
    session TEXT PRIMARY KEY NOT NULL,
    events INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE owners (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    project TEXT,
    owner TEXT,
    signature BLOB
) STRICT;
CREATE INDEX sessions_waiting ON sessions (id)
    WHERE phase IN ('waiting-for-approval', 'waiting-for-answer', 'waiting-for-results');
CREATE INDEX sessions_by_last_write ON sessions (last_write);
CREATE INDEX sessions_by_project ON sessions (project, last_write);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL;
CREATE INDEX sessions_by_end ON sessions (substr(id, -8));
CREATE INDEX names_by_name ON names (name);
CREATE INDEX events_of_artifacts ON events (session, seq) WHERE (
    kind IN ('artifact-stored', 'artifact-deleted', 'results-referenced')
    OR kind IN ('call-settled', 'node-settled')
        AND (instr(json, '"whole":{') > 0 OR instr(json, '"type":"blob"') > 0));
CREATE INDEX events_by_key ON events (session, iif(json_valid(json), coalesce(
    json_extract(json, '$."idempotency-key"'),
    json_extract(json, '$.message.metadata."idempotency-key"')), NULL), seq) WHERE kind IN ('input-received', 'key-taken') AND instr(json, '"idempotency-key":') > 0;
CREATE INDEX sessions_uncounted ON sessions (id) WHERE uncounted > 0;
CREATE TABLE sums (
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    day INTEGER NOT NULL,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    sessions INTEGER NOT NULL,
    model_calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    unpriced_model_calls INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    denied INTEGER NOT NULL,
    tool_us INTEGER NOT NULL,
    last_sessions INTEGER NOT NULL,
    PRIMARY KEY (project, owner, day, subject, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE links (
    id TEXT PRIMARY KEY NOT NULL,
    session TEXT NOT NULL,
    hash TEXT NOT NULL,
    owner TEXT,
    made_by TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    single_use INTEGER NOT NULL,
    opened INTEGER NOT NULL,
    signature BLOB
) STRICT;
CREATE INDEX links_by_hash ON links (hash);
CREATE INDEX links_by_session ON links (session);
CREATE TABLE memory (
    position INTEGER PRIMARY KEY,
    id TEXT UNIQUE NOT NULL,
    text TEXT NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    project TEXT,
    owner TEXT,
    sources TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    forgotten INTEGER NOT NULL,
    scope TEXT NOT NULL,
    signature BLOB
) STRICT;
CREATE INDEX memory_by_project ON memory (project, owner, scope, forgotten);
CREATE INDEX memory_by_end ON memory (expires_ms);
CREATE TABLE memory_words (
    scope TEXT NOT NULL,
    word TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES memory (position) ON DELETE CASCADE,
    PRIMARY KEY (scope, word, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_words_by_item ON memory_words (item);
CREATE TABLE tallies (
    project TEXT NOT NULL,
    owner TEXT NOT NULL,
    tool TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    session TEXT NOT NULL,
    call TEXT NOT NULL,
    amounts TEXT NOT NULL,
    signature BLOB,
    PRIMARY KEY (project, owner, tool, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX tallies_by_time ON tallies (project, owner, tool, at_ms, number);
CREATE UNIQUE INDEX tallies_by_call ON tallies (session, call);
PRAGMA application_id = 1634168436;
PRAGMA auto_vacuum = 2;
INSERT INTO meta VALUES (7);
