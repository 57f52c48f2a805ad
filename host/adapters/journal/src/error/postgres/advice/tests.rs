//! The sentences for codes of PostgreSQL's servers.

use super::code_advice;
use pretty_assertions::assert_eq;
use tokio_postgres::error::SqlState;

#[test]
fn code_of_the_server_says_what_to_do() {
    for (code, expected) in [
        (
            "25006",
            "database s on db is a standby and accepts no writes (said); give the address of the primary",
        ),
        (
            "40001",
            "database s on db refused the write because of another one at the same time (said); try again",
        ),
        (
            "40P01",
            "database s on db refused the write because of another one at the same time (said); try again",
        ),
        (
            "57P01",
            "database s on db is shutting down or starting up (said); try again in a moment",
        ),
        (
            "57P03",
            "database s on db is shutting down or starting up (said); try again in a moment",
        ),
        (
            "53300",
            "database s on db has no free connection (said); lower `connections` in [store], or raise the server's \
             `max_connections`",
        ),
        (
            "53100",
            "database s on db has no space left (said); free some, then resume the session: everything up to the last completed \
             step is kept",
        ),
        (
            "42501",
            "the user of database s on db lacks permission (said); grant it what `agent-host store grants ROLE` prints",
        ),
        (
            "28P01",
            "database s on db refused the user (said); check the user name and password in `url` of [store], and the \
             server's `pg_hba.conf`",
        ),
        (
            "XX000",
            "database s on db failed with code XX000 (said); see the server's log",
        ),
    ] {
        let said = code_advice("database s on db", &SqlState::from_code(code), "said");
        assert_eq!(said, expected, "{code}");
    }
}
