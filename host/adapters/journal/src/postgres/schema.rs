//! The versions of the tables. Each version but the first is a step from the one before: forward
//! only, under a lock, and all of them or nothing.

use super::{
    database::{Database, Lock, lock},
    secrets::NewRowsKey,
    signatures::sign_all,
    stats,
};
use crate::error::{PostgresError, StoreError};
use deadpool_postgres::Transaction;
use std::sync::Arc;
use tokio_postgres::error::SqlState;

/// The steps; the tables have version `n` after `n` of them. A step that others have run is never
/// changed.
const STEPS: [&str; 9] = [
    include_str!("schema.sql"),
    include_str!("owners.sql"),
    include_str!("signatures.sql"),
    include_str!("phases.sql"),
    include_str!("found.sql"),
    include_str!("stats.sql"),
    include_str!("links.sql"),
    include_str!("memory.sql"),
    include_str!("tallies.sql"),
];

/// The version whose rows that confer authority are signed. Those from before are signed with the
/// step to it: until then each of them was believed.
const SIGNED_SINCE: i64 = 3;

/// The version with the sums of what sessions used, which are made with the step to it.
const SUMMED_SINCE: i64 = 6;

/// The result of [`super::PostgresStore::migrate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The version of the tables before; 0 for none.
    pub from: i64,
    /// The version of the tables now.
    pub to: i64,
    /// The number of rows from before that were signed, and are believed from now on.
    pub signed: u64,
}

/// Makes the tables in an empty database, and checks that they have the version of this program.
/// Hosts of older versions may run, so only [`migrate`] changes what exists.
pub(super) async fn ensure(database: &Database) -> Result<(), StoreError> {
    let failed = database.failed("open the journal");
    let (found, known) = {
        let mut client = database.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        (version(&tx).await.map_err(failed)?, number(&STEPS))
    };
    let location = || Arc::clone(&database.location);
    match found {
        0 => migrate(database).await.map(drop),
        found if found == known => Ok(()),
        found if found < known => Err(PostgresError::SchemaOlder {
            location: location(),
            found,
            known,
        }
        .into()),
        found => Err(StoreError::SchemaVersion {
            location: location(),
            found,
            known,
        }),
    }
}

/// Makes or updates the tables.
pub(super) async fn migrate(database: &Database) -> Result<Migration, StoreError> {
    let from = {
        let failed = database.failed("create the journal's tables");
        let mut client = database.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        version(&tx).await.map_err(failed)?
    };
    // Without tables there are no rows and no secrets yet.
    let key = match (1..SIGNED_SINCE).contains(&from) {
        true => Some(database.new_rows_key().await?),
        false => None,
    };
    apply(database, &STEPS, key.as_ref()).await
}

async fn apply(
    database: &Database,
    steps: &[&str],
    key: Option<&NewRowsKey>,
) -> Result<Migration, StoreError> {
    let failed = database.failed("create the journal's tables");
    let refused = |error: tokio_postgres::Error| match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => PostgresError::SchemaRights {
            location: Arc::clone(&database.location),
            source: error,
        }
        .into(),
        _ => failed(error),
    };
    let mut client = database.client().await?;
    let tx = client.transaction().await.map_err(failed)?;
    lock(&tx, Lock::Tables).await.map_err(failed)?;
    let (from, to) = (version(&tx).await.map_err(failed)?, number(steps));
    if from > to {
        return Err(StoreError::SchemaVersion {
            location: Arc::clone(&database.location),
            found: from,
            known: to,
        });
    }
    let done = usize::try_from(from).unwrap_or_default();
    for step in steps.iter().skip(done) {
        tx.batch_execute(step).await.map_err(refused)?;
    }
    if (1..SUMMED_SINCE).contains(&from) && to >= SUMMED_SINCE {
        stats::make(&tx).await.map_err(refused)?;
    }
    let signed = match key {
        // A database that has the key had its rows signed before, whatever version it says.
        Some(new)
            if (1..SIGNED_SINCE).contains(&from) && new.keep(&tx).await.map_err(refused)? =>
        {
            sign_all(&tx, &new.key).await.map_err(refused)?
        }
        _ => 0,
    };
    if from == 0 {
        let made = "INSERT INTO meta VALUES ($1)";
        tx.execute(made, &[&to]).await.map_err(refused)?;
    } else if from < to {
        let updated = "UPDATE meta SET format_version = $1";
        tx.execute(updated, &[&to]).await.map_err(refused)?;
    }
    tx.commit().await.map_err(failed)?;
    Ok(Migration { from, to, signed })
}

/// Reads the version of the tables; 0 if there are none.
async fn version(tx: &Transaction<'_>) -> Result<i64, tokio_postgres::Error> {
    // Read as rows are: a lookup by name may have been remembered from before another host's
    // commit.
    let exists = "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
        ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname = 'meta'";
    if tx.query_opt(exists, &[]).await?.is_none() {
        return Ok(0);
    }
    let query = "SELECT coalesce(max(format_version), 0) FROM meta";
    Ok(tx.query_one(query, &[]).await?.get(0))
}

fn number(steps: &[&str]) -> i64 {
    i64::try_from(steps.len()).unwrap_or(i64::MAX)
}

/// Returns the statements that give a role what a host needs and no more: it reads and writes rows,
/// and makes, changes and drops nothing.
pub(super) fn grants(role: &str) -> String {
    let role = format!("\"{}\"", role.replace('"', "\"\""));
    // Before version 15 of the server, everyone may make tables.
    let mut statements = vec![
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC;".to_owned(),
        format!("GRANT USAGE ON SCHEMA public TO {role};"),
    ];
    for line in STEPS.iter().flat_map(|step| step.lines()) {
        let Some(rest) = line.strip_prefix("CREATE ") else {
            continue;
        };
        let Some((kind, rest)) = rest.split_once(' ') else {
            continue;
        };
        let name = rest.split([' ', '(', ';']).next().unwrap_or_default();
        let rights = match (kind, name) {
            ("SEQUENCE", _) => "USAGE ON SEQUENCE",
            ("TABLE", "meta") => "SELECT ON",
            // A host that could change the stored key could have its own accepted.
            ("TABLE", "secrets") => "SELECT, INSERT ON",
            ("TABLE", "events" | "blobs" | "approvals" | "blob_references" | "tallies") => {
                "SELECT, INSERT, DELETE ON"
            }
            ("TABLE", _) => "SELECT, INSERT, UPDATE, DELETE ON",
            _ => continue,
        };
        statements.push(format!("GRANT {rights} public.{name} TO {role};"));
    }
    statements.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{apply, grants, number};
    use crate::{
        PostgresOptions,
        error::StoreError,
        postgres::{database::Database, schema::STEPS},
        postgres_server::database,
    };
    use agent_host_types::session_status::SessionPhase;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn steps_run_once_in_order_and_never_back() {
        let Some(url) = database() else { return };
        let store = Database::new(&url, &PostgresOptions::default()).unwrap();
        let mut all = STEPS.to_vec();
        all.extend([
            "CREATE TABLE more (a BIGINT)",
            "ALTER TABLE more RENAME COLUMN a TO b",
        ]);
        let last = number(&all);
        let mut done = Vec::new();
        for count in [1, 1, all.len(), all.len()] {
            let migration = apply(&store, &all[..count], None).await.unwrap();
            done.push((migration.from, migration.to));
        }
        assert_eq!(done, [(0, 1), (1, 1), (1, last), (last, last)]);
        store.read("SELECT b FROM more", &[]).await.unwrap();
        let newer = apply(&store, &all[..2], None).await.unwrap_err();
        let StoreError::SchemaVersion {
            found, known: 2, ..
        } = newer
        else {
            panic!("{newer}");
        };
        assert_eq!(found, last);
        // A step that fails takes the ones before it back.
        let mut broken = vec![""; all.len()];
        broken.extend(["CREATE TABLE gone (a BIGINT)", "SELECT 1 / 0"]);
        apply(&store, &broken, None).await.unwrap_err();
        let gone = format!(
            "SELECT to_regclass('gone') IS NULL AND max(format_version) = {last} FROM meta"
        );
        assert!(store.read(&gone, &[]).await.unwrap()[0].get::<_, bool>(0));
    }

    /// Hosts that start at once on an empty database make the tables once.
    #[tokio::test]
    async fn stores_that_open_at_once_make_the_tables_once() {
        for _ in 0..4 {
            let Some(url) = database() else { return };
            let opened = (0..8).map(|_| {
                let url = url.clone();
                tokio::spawn(async move {
                    let options = PostgresOptions::default();
                    Database::open(&url, &options).await.map(drop)
                })
            });
            for opened in opened.collect::<Vec<_>>() {
                opened.await.unwrap().unwrap();
            }
        }
    }

    #[tokio::test]
    async fn version_that_this_program_does_not_have_is_refused() {
        let Some(url) = database() else { return };
        let options = PostgresOptions::default();
        drop(Database::open(&url, &options).await.unwrap());
        for (version, expected) in [
            (10, "has format 10, and this program supports format 9"),
            (1, "has format 1, and this program needs format 9"),
            (-1, "has format -1, and this program needs format 9"),
        ] {
            let store = Database::new(&url, &options).unwrap();
            let changed = "UPDATE meta SET format_version = $1";
            store.read(changed, &[&i64::from(version)]).await.unwrap();
            let refused = Database::open(&url, &options).await.err().unwrap();
            assert!(refused.to_string().contains(expected), "{refused}");
        }
    }

    /// Sessions of hosts of the version before get the phase that their events have.
    #[tokio::test]
    async fn phases_follow_from_the_events_so_far() {
        let Some(url) = database() else { return };
        let store = Database::new(&url, &PostgresOptions::default()).unwrap();
        apply(&store, &STEPS[..1], None).await.unwrap();
        let own = r#"{"kind":"session-started","system":"{\"client\":1}"}"#;
        let of_client = r#"{"kind":"session-started","client":"notes 2.1"}"#;
        let cases: [(&str, &[&str], Option<&str>, &str); 9] = [
            (own, &[], None, "new"),
            (
                own,
                &["input-received", "model-requested"],
                Some("done"),
                "open",
            ),
            (own, &["turn-ended"], Some("done"), "done"),
            (
                own,
                &["turn-ended", "approval-revoked"],
                Some("awaiting-answer"),
                "waiting-for-answer",
            ),
            (own, &["turn-ended"], Some("needs-more-turns"), "open"),
            (
                own,
                &["turn-ended", "session-forked"],
                Some("awaiting-confirmation"),
                "new",
            ),
            (of_client, &[], None, "client-idle"),
            (of_client, &["call-intended"], None, "client-open"),
            (
                of_client,
                &["call-intended", "call-settled", "state-merged"],
                None,
                "client-idle",
            ),
        ];
        for (number, (first, then, outcome, _)) in cases.iter().enumerate() {
            let id = format!("s{number}");
            let line = "INSERT INTO progress (session, last_ms, events, outcome, bytes, last_write)
                VALUES ($1, 1, 1, $2, 1, $3)";
            let place = i64::try_from(number).unwrap();
            store.read(line, &[&id, outcome, &place]).await.unwrap();
            let kinds = std::iter::once(&"session-started").chain(*then);
            for (seq, kind) in (0_i64..).zip(kinds) {
                let json = if seq == 0 { *first } else { "{}" };
                let event = "INSERT INTO events VALUES ($1, $2, 1, 7, $3, $4, '')";
                store.read(event, &[&id, &seq, kind, &json]).await.unwrap();
            }
        }
        apply(&store, &STEPS, None).await.unwrap();
        let query = "SELECT phase FROM progress ORDER BY last_write";
        let phases = store.read(query, &[]).await.unwrap();
        let phases: Vec<String> = phases.iter().map(|row| row.get(0)).collect();
        let expected: Vec<&str> = cases.iter().map(|case| case.3).collect();
        assert_eq!(phases, expected);
        let known = phases.iter().map(|phase| SessionPhase::from_stored(phase));
        assert!(known.into_iter().all(|phase| phase.is_some()));
    }

    #[test]
    fn grants_name_every_table_and_sequence() {
        let all = STEPS.iter().flat_map(|step| step.lines());
        let made = all.filter(|line| {
            line.starts_with("CREATE TABLE ") || line.starts_with("CREATE SEQUENCE ")
        });
        let grants = grants("a\"b");
        // And the schema.
        assert_eq!(grants.lines().count(), made.count() + 2);
        assert_eq!(
            grants.lines().nth(1),
            Some("GRANT USAGE ON SCHEMA public TO \"a\"\"b\";")
        );
        assert!(!grants.contains("UPDATE ON public.secrets"), "{grants}");
        assert_eq!(number(&STEPS), 9);
    }
}
