//! A role with the rights of a host, and no others. The suite of all stores runs as one, too.

use super::operator;
use crate::{JournalStore as _, PostgresOptions, PostgresStore, postgres_server::database};
use pretty_assertions::assert_eq;
use tokio_postgres::error::SqlState;

/// Makes a role of the server without any rights.
async fn make(url: &str, role: &str) {
    // Several tests may make it at once.
    let made = format!(
        "DO $$ BEGIN CREATE ROLE {role} LOGIN;
         EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
    );
    operator(url).await.batch_execute(&made).await.unwrap();
}

/// Makes the tables as their owner, and returns the address for a role that has what a host needs.
pub(crate) async fn of_role(url: &str, role: &str) -> String {
    let options = PostgresOptions::default();
    PostgresStore::migrate(url, options).await.unwrap();
    make(url, role).await;
    let grants = PostgresStore::grants(role);
    operator(url).await.batch_execute(&grants).await.unwrap();
    url.replace("user=host", &format!("user={role}"))
}

/// A host works with rows, and changes neither tables nor the sealed key.
#[tokio::test]
async fn role_of_a_host_makes_no_tables() {
    let Some(url) = database() else { return };
    let url = of_role(&url, "worker").await;
    let store = PostgresStore::open(&url, PostgresOptions::default())
        .await
        .unwrap();
    store.continuation_key().await.unwrap();
    let client = operator(&url).await;
    for refused in [
        "CREATE TABLE mine (a BIGINT)",
        "CREATE SCHEMA mine",
        "ALTER TABLE sessions ADD COLUMN mine BIGINT",
        "DROP TABLE sessions",
        "TRUNCATE sessions",
        "UPDATE secrets SET value = ''",
        "DELETE FROM secrets",
        "UPDATE events SET json = ''",
        "UPDATE meta SET format_version = 7",
        "CREATE FUNCTION public.length(text) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    ] {
        let error = client.batch_execute(refused).await.unwrap_err();
        assert_eq!(
            error.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{refused}"
        );
    }
}

/// A table of the connection, or of a schema with the user's name, is not taken for the host's.
#[tokio::test]
async fn other_schemas_do_not_stand_in_the_place_of_the_tables() {
    let Some(url) = database() else { return };
    let owner = operator(&url).await;
    let options = PostgresOptions::default();
    PostgresStore::migrate(&url, options.clone()).await.unwrap();
    let shadow = "CREATE SCHEMA host; CREATE TABLE host.sessions (nothing BIGINT);
        CREATE TABLE host.meta (format_version BIGINT); INSERT INTO host.meta VALUES (7)";
    owner.batch_execute(shadow).await.unwrap();
    let store = PostgresStore::open(&url, options).await.unwrap();
    assert_eq!(store.list().await.unwrap(), []);
}

#[tokio::test]
async fn role_without_tables_is_told_to_migrate() {
    let Some(url) = database() else { return };
    make(&url, "newcomer").await;
    // As before version 15 of the server, but for this role.
    let revoked = "REVOKE CREATE ON SCHEMA public FROM PUBLIC";
    operator(&url).await.batch_execute(revoked).await.unwrap();
    let newcomer = url.replace("user=host", "user=newcomer");
    let refused = PostgresStore::open(&newcomer, PostgresOptions::default()).await;
    let refused = refused.err().unwrap().to_string();
    let end = " has no journal tables, or outdated ones, and this user may not create them (permission denied for \
        schema public); run `agent-host store migrate` as their owner; `agent-host store grants ROLE` then shows \
        what a host needs";
    assert!(refused.ends_with(end), "{refused}");
    // One that has the tables and no right to them.
    let options = PostgresOptions::default();
    PostgresStore::migrate(&url, options.clone()).await.unwrap();
    let refused = PostgresStore::open(&newcomer, options).await;
    let refused = refused.err().unwrap().to_string();
    let end = "grant it what `agent-host store grants ROLE` prints";
    assert!(refused.ends_with(end), "{refused}");
}
