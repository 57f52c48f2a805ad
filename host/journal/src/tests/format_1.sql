-- A journal as programs of format 1 made it: their tables, and three sessions with events of versions 1 and 2.
CREATE TABLE meta (format_version INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    started_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    events INTEGER NOT NULL,
    title TEXT,
    folder TEXT,
    outcome TEXT
) STRICT;
CREATE INDEX sessions_by_time ON sessions (last_ms, id);
CREATE TABLE events (
    session TEXT NOT NULL REFERENCES sessions (id),
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    v INTEGER NOT NULL,
    kind TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT;
CREATE TABLE blobs (digest TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) STRICT;
INSERT INTO meta VALUES (1);
PRAGMA application_id = 0x61676e74;

-- Of version 1: a call waits for its approval. The person's file is a blob.
INSERT INTO blobs VALUES ('sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881', CAST('x' AS BLOB));
INSERT INTO sessions VALUES ('0198a000-0000-7000-8000-000000000001', 1000, 1005, 6, 'Write it down', '/home/ann', 'awaiting-confirmation');
INSERT INTO events VALUES
('0198a000-0000-7000-8000-000000000001', 0, 1000, 1, 'session-started',
 '{"kind":"session-started","program":"0.1.0","folder":"/home/ann"}'),
('0198a000-0000-7000-8000-000000000001', 1, 1001, 1, 'input-received',
 '{"kind":"input-received","message":{"role":"user","content":[{"type":"text","text":"Write it down"},{"type":"file","media_type":"text/plain","data":{"type":"blob","value":{"digest":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","size":1}}}]}}'),
('0198a000-0000-7000-8000-000000000001', 2, 1002, 1, 'model-requested',
 '{"kind":"model-requested","turn":1,"provenance":{"provider":"script","model":"tour"},"messages":1,"tools":1}'),
('0198a000-0000-7000-8000-000000000001', 3, 1003, 1, 'model-replied',
 '{"kind":"model-replied","turn":1,"reply":{"text":"","tool_calls":[{"id":"call_1","name":"write_file","input":{"path":"a"},"raw_arguments":"{\"path\":\"a\"}"}],"stop_reason":"tool-use","usage":{"input_tokens":10,"output_tokens":5,"cached_input_tokens":0}},"duration_ms":1}'),
('0198a000-0000-7000-8000-000000000001', 4, 1004, 1, 'approval-requested',
 '{"kind":"approval-requested","request":"r1","turn":1,"calls":[{"call_id":"call_1","tool":"write_file","effect":"effectful","input":{"path":"a"},"input_digest":"sha256:c0c1a6b6a5e7f8b2a9b0d5c4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4","rule":"effect.effectful"}]}'),
('0198a000-0000-7000-8000-000000000001', 5, 1005, 1, 'turn-ended',
 '{"kind":"turn-ended","outcome":{"type":"awaiting-confirmation","summary":{"session":"0198a000-0000-7000-8000-000000000001","turn":1,"total_turns":1,"turn_usage":{"input_tokens":10,"output_tokens":5,"cached_input_tokens":0},"total_usage":{"input_tokens":10,"output_tokens":5,"cached_input_tokens":0},"provenance":{"provider":"script","model":"tour"},"stop_reason":"tool-use","tool_calls":1,"duration_ms":2,"tool_runtime":"host"},"continuation":{"version":1,"kind":"confirm","session":"0198a000-0000-7000-8000-000000000001","turn":1,"request":"r1","calls":[{"call_id":"call_1","tool":"write_file","effect":"effectful","input":{"path":"a"},"input_digest":"sha256:c0c1a6b6a5e7f8b2a9b0d5c4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4","rule":"effect.effectful"}]}}}');

-- Of version 2.
INSERT INTO sessions VALUES ('0198a000-0000-7000-8000-000000000002', 2000, 2001, 2, NULL, NULL, NULL);
INSERT INTO events VALUES
('0198a000-0000-7000-8000-000000000002', 0, 2000, 2, 'session-started', '{"kind":"session-started","program":"0.1.0"}'),
('0198a000-0000-7000-8000-000000000002', 1, 2001, 2, 'repair-requested', '{"kind":"repair-requested","message":"again"}');

-- Of version 1, with a change of the state that no program could have written.
INSERT INTO sessions VALUES ('0198a000-0000-7000-8000-000000000003', 3000, 3001, 2, NULL, NULL, NULL);
INSERT INTO events VALUES
('0198a000-0000-7000-8000-000000000003', 0, 3000, 1, 'session-started', '{"kind":"session-started","program":"0.1.0"}'),
('0198a000-0000-7000-8000-000000000003', 1, 3001, 1, 'state-merged', '{"kind":"state-merged","call_id":"call_1","delta":7}');
