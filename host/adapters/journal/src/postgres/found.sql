-- Version 5: the indexes by which events are found without reading the others of their session (see
-- found.rs, whose conditions these are). Text with these words makes an event one more at most.
CREATE INDEX events_of_artifacts ON events (session, seq) WHERE
    kind IN ('artifact-stored', 'artifact-deleted', 'results-referenced')
    OR kind IN ('call-settled', 'node-settled')
        AND (json LIKE '%"whole":{%' OR json LIKE '%"type":"blob"%');
-- The quotes of a text within the event are escaped, so only the metadata has this form.
CREATE INDEX events_by_key
    ON events (session, substring(json FROM '"idempotency-key":"([^"]*)"'), seq)
    WHERE kind = 'input-received' AND json LIKE '%"idempotency-key":%';
