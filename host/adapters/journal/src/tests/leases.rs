//! Claims on PostgreSQL, which are leases: what a host may write whose claim has ended, and what it
//! finds of a commit whose answer was lost.

use crate::{
    JournalStore as _, PostgresOptions, PostgresStore, Retention,
    postgres_server::database,
    tests::{input, record, text},
};
use agent_host_engine::journal::Journal;
use agent_host_types::{event::EventRecord, id::SessionId, output::Blob};
use pretty_assertions::assert_eq;
use std::{sync::Arc, time::Duration};
use tokio::runtime::Builder;
use tokio_postgres::NoTls;

/// Connects past the store, as an operator would, or a fault.
async fn operator(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn open(url: &str) -> PostgresStore {
    let options = PostgresOptions {
        lease: Duration::from_secs(3600),
        ..PostgresOptions::default()
    };
    PostgresStore::open(url, options).await.unwrap()
}

/// Begins a session with one event.
async fn begun(store: &PostgresStore) -> (SessionId, Arc<dyn Journal>) {
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    journal.append(&[record(session, 0, input("first"))], Vec::new());
    journal.barrier().await.unwrap();
    (session, journal)
}

/// Ends every lease, as time does.
async fn expire(client: &tokio_postgres::Client) {
    let expired = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
    client.batch_execute(expired).await.unwrap();
}

async fn epochs(client: &tokio_postgres::Client) -> Vec<i64> {
    let rows = client.query("SELECT epoch FROM leases", &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// A host that comes back after its lease has ended writes nothing, and its session continues
/// elsewhere.
#[tokio::test]
async fn host_whose_lease_has_ended_writes_nothing() {
    let Some(url) = database() else { return };
    let (one, other, client) = (open(&url).await, open(&url).await, operator(&url).await);
    let (session, stale) = begun(&one).await;
    let first = epochs(&client).await;
    assert!(other.open_session(session).await.is_err(), "it is claimed");
    expire(&client).await;
    let fresh = other.open_session(session).await.unwrap();
    assert!(epochs(&client).await > first);
    fresh.append(&[record(session, 1, input("theirs"))], Vec::new());
    fresh.barrier().await.unwrap();
    let blob = Blob::new(b"late".to_vec());
    for blobs in [Vec::new(), vec![blob.clone()]] {
        stale.append(&[record(session, 1, input("late"))], blobs);
        let refused = text(stale.barrier().await);
        let expected = format!(
            "session {session} was released: this host did not renew its claim in time, and another host may \
             continue it; resume it to see its current state"
        );
        assert_eq!(refused, expected);
        assert!(!stale.retry());
    }
    assert!(other.read_blob(blob.digest).await.is_err());
    let stored = other.read(session, 0).await.unwrap();
    assert_eq!(stored[1], record(session, 1, input("theirs")));
    // Giving up what it has lost takes nothing from the other.
    drop(stale);
    one.list().await.unwrap();
    fresh.append(&[record(session, 2, input("more"))], Vec::new());
    fresh.barrier().await.unwrap();
    assert_eq!(other.read(session, 0).await.unwrap().len(), 3);
}

/// A program that ends has written what was queued, and holds no claim any more.
#[test]
fn end_of_the_runtime_writes_the_queue_and_gives_up_claims() {
    let Some(url) = database() else { return };
    for is_multi in [false, true] {
        let runtime = || match is_multi {
            false => Builder::new_current_thread().enable_all().build().unwrap(),
            true => Builder::new_multi_thread().enable_all().build().unwrap(),
        };
        let session = runtime().block_on(async {
            let store = open(&url).await;
            let (session, journal) = begun(&store).await;
            journal.append(&[record(session, 1, input("last words"))], Vec::new());
            // The journal may be the last that uses the store.
            drop(store);
            session
        });
        runtime().block_on(async {
            assert_eq!(epochs(&operator(&url).await).await, [0_i64; 0]);
            let stored = open(&url).await.read(session, 0).await.unwrap();
            assert_eq!(stored.len(), 2, "{is_multi}");
        });
    }
}

/// A lease that ended proves nothing, even if no other host has claimed the session.
#[tokio::test]
async fn lease_that_ended_unclaimed_proves_nothing() {
    let Some(url) = database() else { return };
    let (store, client) = (open(&url).await, operator(&url).await);
    let (session, journal) = begun(&store).await;
    expire(&client).await;
    journal.append(&[record(session, 1, input("late"))], Vec::new());
    assert!(text(journal.barrier().await).contains("was released"));
    assert_eq!(store.read(session, 0).await.unwrap().len(), 1);
}

/// Leases are renewed as long as the session is open, and a session that is lost says so.
#[tokio::test]
async fn leases_are_renewed() {
    let Some(url) = database() else { return };
    let client = operator(&url).await;
    let options = PostgresOptions {
        lease: Duration::from_secs(5),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::open(&url, options).await.unwrap();
    let (session, journal) = begun(&store).await;
    let until = async || -> std::time::SystemTime {
        let row = client.query_one("SELECT until FROM leases", &[]).await;
        row.unwrap().get(0)
    };
    let first = until().await;
    while until().await == first {
        tokio::task::yield_now().await;
    }
    journal.append(&[record(session, 1, input("on time"))], Vec::new());
    journal.barrier().await.unwrap();
    // Another host's claim, with a later epoch.
    let taken = "UPDATE leases SET epoch = nextval('epochs'), until = 'infinity'";
    client.batch_execute(taken).await.unwrap();
    journal.given_up().await;
    journal.append(&[record(session, 2, input("late"))], Vec::new());
    assert!(text(journal.barrier().await).contains("was released"));
}

/// A host that cannot reach the server gives its sessions up by its own clock, before another host
/// may claim them.
#[tokio::test]
async fn host_without_its_server_gives_up_before_the_lease_ends() {
    let Some(url) = database() else { return };
    let mut client = operator(&url).await;
    let options = PostgresOptions {
        lease: Duration::from_secs(5),
        ..PostgresOptions::default()
    };
    let store = PostgresStore::open(&url, options).await.unwrap();
    let (_, journal) = begun(&store).await;
    // No statement about leases is answered any more.
    let tx = client.transaction().await.unwrap();
    let locked = "LOCK TABLE leases IN ACCESS EXCLUSIVE MODE";
    tx.batch_execute(locked).await.unwrap();
    journal.given_up().await;
    let left = "SELECT until > clock_timestamp() FROM leases";
    assert!(tx.query_one(left, &[]).await.unwrap().get::<_, bool>(0));
    // Otherwise the store, which deletes its lease at its end, would wait for the lock.
    tx.rollback().await.unwrap();
}

/// A session is old by the clock of the server: that of the host that wrote it, or of the one that
/// prunes, may be wrong.
#[tokio::test]
async fn session_is_old_by_the_clock_of_the_server() {
    let Some(url) = database() else { return };
    let (store, client) = (open(&url).await, operator(&url).await);
    let mut sessions = Vec::new();
    for at_ms in [0, 1, u64::from(u32::MAX) * 2_000] {
        let session = SessionId::new();
        let journal = store.create(session).await.unwrap();
        let event = EventRecord {
            at_ms,
            ..record(session, 0, input("first"))
        };
        journal.append(&[event], Vec::new());
        journal.barrier().await.unwrap();
        sessions.push(session);
    }
    let aged = format!(
        "UPDATE progress SET written = written - interval '2 days' WHERE session = '{}'",
        sessions[1]
    );
    client.batch_execute(&aged).await.unwrap();
    let retention = Retention {
        age: Some(Duration::from_secs(24 * 60 * 60)),
        ..Retention::default()
    };
    let pruned = store.prune(retention).await.unwrap();
    assert_eq!(pruned.removed, [sessions[1]]);
    assert_eq!(pruned.kept, []);
}

/// The connection ends before the answer comes: it is written again, and once.
#[tokio::test]
async fn write_that_is_cut_off_is_written_once() {
    let Some(url) = database() else { return };
    let (store, client) = (open(&url).await, operator(&url).await);
    let (session, journal) = begun(&store).await;
    // Ends the connection that inserts an event with this number, in the statement or at its
    // commit.
    for (seq, timing) in [(1, "INITIALLY DEFERRED"), (2, "INITIALLY IMMEDIATE")] {
        let fault = format!(
            "CREATE OR REPLACE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON events DEFERRABLE {timing}
                 FOR EACH ROW WHEN (NEW.seq = {seq}) EXECUTE FUNCTION cut()"
        );
        client.batch_execute(&fault).await.unwrap();
        journal.append(&[record(session, seq, input("cut"))], Vec::new());
        let failed = text(journal.barrier().await);
        assert!(failed.starts_with("cannot write the journal: "), "{failed}");
        let removed = "DROP TRIGGER cut ON events";
        client.batch_execute(removed).await.unwrap();
        assert!(
            journal.retry(),
            "nothing of it is stored, and it can be written again"
        );
        journal.barrier().await.unwrap();
        let stored = store.read(session, 0).await.unwrap();
        assert_eq!(stored.len() as u64, seq + 1);
    }
}
