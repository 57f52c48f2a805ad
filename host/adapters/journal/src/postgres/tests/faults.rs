//! Servers that take no writes, and connections that are used up: at the start and later.

use super::operator;
use crate::{
    JournalStore as _, PostgresOptions, PostgresStore,
    error::{PostgresError, StoreError},
    postgres::database::Database,
    postgres_server::database,
    tests::{input, record},
};
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use std::time::Duration;

/// Has every new connection of a database read only, as those to a standby are, and ends the
/// others.
async fn become_read_only(url: &str) {
    let client = operator(url).await;
    let name = "SELECT current_database()";
    let name: String = client.query_one(name, &[]).await.unwrap().get(0);
    let ended = format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on;
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    );
    client.batch_execute(&ended).await.unwrap();
}

/// A store notices a standby when it opens, when it is checked, and at a barrier.
#[tokio::test]
async fn server_that_takes_no_writes_is_noticed() {
    let Some(url) = database() else { return };
    let store = PostgresStore::open(&url, PostgresOptions::default())
        .await
        .unwrap();
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    become_read_only(&url).await;
    journal.append(&[record(session, 0, input("late"))], Vec::new());
    let refused = journal.barrier().await.unwrap_err().to_string();
    let expected = "is a standby and accepts no writes (cannot execute INSERT in a read-only transaction); give the \
        address of the primary";
    assert!(refused.contains(expected), "{refused}");
    let expected = "accepts no writes: the server is a standby, or `default_transaction_read_only` is set; give the address of the primary";
    // As the check whether a host is ready does.
    let ready = store.remember_approvals(Vec::new()).await.unwrap_err();
    assert!(ready.to_string().ends_with(expected), "{ready}");
    let opened = PostgresStore::open(&url, PostgresOptions::default()).await;
    let opened = opened.err().unwrap().to_string();
    assert!(opened.ends_with(expected), "{opened}");
}

#[tokio::test]
async fn connections_that_are_all_in_use_are_named() {
    let Some(url) = database() else { return };
    let options = PostgresOptions {
        connections: 1,
        connect_timeout: Duration::from_millis(50),
        ..PostgresOptions::default()
    };
    let database = Database::new(&url, &options).unwrap();
    let held = database.client().await.unwrap();
    let refused = database.client().await.err().unwrap();
    assert_eq!(
        refused.to_string(),
        "cannot use the journal: all 1 connections to the database were in use for 50ms; raise `connections` in \
         [store], and the server's `max_connections` accordingly"
    );
    drop(held);
    drop(database.client().await.unwrap());
}

/// The server has no connection left for the role.
#[tokio::test]
async fn server_without_connections_is_told_apart() {
    let Some(url) = database() else { return };
    let limited = "DO $$ BEGIN CREATE ROLE crowded LOGIN CONNECTION LIMIT 0;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";
    operator(&url).await.batch_execute(limited).await.unwrap();
    let url = url.replace("user=host", "user=crowded");
    let refused = PostgresStore::open(&url, PostgresOptions::default()).await;
    let refused = refused.err().unwrap().to_string();
    let end = " has no free connection (too many connections for role \\\"crowded\\\"); lower `connections` in \
        [store], or raise the server's `max_connections`";
    assert!(refused.ends_with(end), "{refused}");
}

/// A server that takes the connection and says nothing is given up.
#[tokio::test]
async fn server_that_does_not_answer_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let options = PostgresOptions {
        connect_timeout: Duration::from_millis(50),
        ..PostgresOptions::default()
    };
    let url = format!("postgres://ann@127.0.0.1:{port}/sessions");
    let database = Database::new(&url, &options).unwrap();
    for refused in [
        database.client().await.err().unwrap(),
        database.connect().await.err().unwrap(),
    ] {
        let StoreError::Postgres(PostgresError::NoAnswer { waited, .. }) = &refused else {
            panic!("{refused}");
        };
        assert_eq!(*waited, Duration::from_millis(50));
        assert_eq!(
            refused.to_string(),
            "cannot use the journal: database sessions on 127.0.0.1 did not answer within 50ms; check the server, the address and the \
             network, then try again"
        );
    }
}
