-- Version 4: the phase of a session (SessionPhase) beside its progress. That of the sessions so far
-- follows from the last event that is not between turns.
ALTER TABLE progress ADD COLUMN phase TEXT NOT NULL DEFAULT 'new';
UPDATE progress SET phase = (
    SELECT CASE
        WHEN e.kind = 'session-started' THEN CASE
            WHEN first.by_client THEN 'client-idle' ELSE 'new' END
        WHEN e.kind = 'session-forked' THEN CASE
            WHEN first.by_client THEN 'client-idle' ELSE 'new' END
        WHEN e.kind = 'turn-ended' THEN CASE outcome
            WHEN 'done' THEN 'done'
            WHEN 'halted' THEN 'halted'
            WHEN 'budget-exceeded' THEN 'over-budget'
            WHEN 'awaiting-confirmation' THEN 'waiting-for-approval'
            WHEN 'awaiting-children' THEN 'waiting-for-approval'
            WHEN 'awaiting-answer' THEN 'waiting-for-answer'
            WHEN 'pending-tool-calls' THEN 'waiting-for-results'
            WHEN 'refusal' THEN 'refused'
            WHEN 'cancelled' THEN 'cancelled'
            WHEN 'error' THEN 'failed'
            ELSE 'open' END
        WHEN first.by_client THEN CASE e.kind
            WHEN 'call-settled' THEN 'client-idle' ELSE 'client-open' END
        ELSE 'open' END
    FROM events e, (
        -- The quotes of a text within the event are escaped.
        SELECT position('"client":' IN json) > 0 AS by_client FROM events
        WHERE session = progress.session AND seq = 0
    ) AS first
    WHERE e.session = progress.session AND e.kind NOT IN (
        'context-set', 'run-configured', 'run-placed', 'loop-configured', 'approval-remembered',
        'approval-revoked', 'files-restored', 'hook-decided', 'state-merged', 'artifact-stored',
        'artifact-deleted', 'run-halted')
    ORDER BY e.seq DESC LIMIT 1
) WHERE EXISTS (SELECT 1 FROM events e WHERE e.session = progress.session AND e.seq = 0);
CREATE INDEX progress_waiting ON progress (last_write)
    WHERE phase IN ('waiting-for-approval', 'waiting-for-answer', 'waiting-for-results');
