-- Version 6: the figures of what sessions used. Beside each session is the state of its fold, and
-- whether something of it is not in the sums yet; those of older sessions are made from their events.
ALTER TABLE progress ADD COLUMN stats TEXT NOT NULL DEFAULT '{}';
ALTER TABLE progress ADD COLUMN uncounted BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX progress_uncounted ON progress (session) WHERE uncounted;
-- The sums of each owner. A session without an owner has an empty project, and one of the user an
-- empty owner.
CREATE TABLE sums (
    project TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    day BIGINT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    sessions BIGINT NOT NULL,
    model_calls BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    unpriced_model_calls BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    denied BIGINT NOT NULL,
    tool_us BIGINT NOT NULL,
    last_sessions BIGINT NOT NULL,
    PRIMARY KEY (project, owner, day, subject, name)
) WITH (fillfactor = 50);
-- The keys of inputs other than messages have an event of their own.
DROP INDEX events_by_key;
CREATE INDEX events_by_key
    ON events (session, substring(json FROM '"idempotency-key":"([^"]*)"'), seq)
    WHERE kind IN ('input-received', 'key-taken') AND json LIKE '%"idempotency-key":%';
