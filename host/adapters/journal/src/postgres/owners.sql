-- Version 2 of the tables: whose a session is. Its project is in both tables, so that a list of one
-- project is read in order whatever other projects have.
ALTER TABLE sessions ADD COLUMN project TEXT COLLATE "C";
ALTER TABLE sessions ADD COLUMN owner TEXT COLLATE "C";
ALTER TABLE progress ADD COLUMN project TEXT COLLATE "C";
-- Older sessions belong to their working directory, and those of agents, which have none, to the
-- project of the session that started them.
WITH RECURSIVE owned (id, project) AS (
    SELECT id, directory FROM sessions WHERE directory IS NOT NULL
    UNION SELECT s.id, owned.project FROM sessions s JOIN owned ON s.parent = owned.id
        WHERE s.directory IS NULL
) UPDATE sessions SET project = owned.project FROM owned WHERE owned.id = sessions.id;
UPDATE progress SET project = s.project FROM sessions s WHERE s.id = progress.session;
CREATE INDEX progress_by_project ON progress (project, last_write);
