-- Version 9: the calls that rules count.
CREATE TABLE tallies (
    project TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    call TEXT NOT NULL,
    amounts TEXT NOT NULL,
    signature BYTEA,
    PRIMARY KEY (project, owner, tool, number)
);
CREATE INDEX tallies_by_time ON tallies (project, owner, tool, at_ms, number);
CREATE UNIQUE INDEX tallies_by_call ON tallies (session, call);
