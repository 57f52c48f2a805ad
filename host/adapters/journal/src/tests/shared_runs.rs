//! The runs that hosts on PostgreSQL continue for each other, and their messages.

use crate::{
    Claimant, ClaimedRun, HostLine, HostMessage, HostStatus, JournalStore as _, KeepReason,
    Maintenance as _, Placement, PostgresOptions, PostgresStore, Retention, RunListing, RunRequest,
    RunState, SharedRuns as _,
    postgres_server::database,
    tests::{input, record},
};
use agent_host_engine::journal::Journal;
use agent_host_types::id::{Digest, SessionId};
use pretty_assertions::assert_eq;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio_postgres::NoTls;

/// The digest of what the hosts of these tests run.
fn configuration(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

async fn open(url: &str) -> PostgresStore {
    let options = PostgresOptions {
        lease: Duration::from_secs(3600),
        ..PostgresOptions::default()
    };
    PostgresStore::open(url, options).await.unwrap()
}

/// Runs a statement past the store.
async fn operate(url: &str, statement: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(statement).await.unwrap();
}

fn listing(key: &str, machine: Option<&str>) -> RunListing {
    RunListing {
        fairness_key: key.to_owned(),
        placement: Placement {
            configuration: configuration("one"),
            machine: machine.map(str::to_owned),
        },
    }
}

/// Begins a session with one event, and lists its run.
async fn listed(store: &PostgresStore, run: RunListing) -> ClaimedRun {
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    journal.append(&[record(session, 0, input("first"))], Vec::new());
    journal.barrier().await.unwrap();
    let fairness_key = run.fairness_key.clone();
    ClaimedRun {
        claim: store.list_run(session, run).await.unwrap(),
        fairness_key,
        journal,
    }
}

/// Gives a run to other hosts.
async fn hand_over(store: &PostgresStore, run: ClaimedRun, has_begun: bool) -> SessionId {
    let ClaimedRun { claim, journal, .. } = run;
    drop(journal);
    store.hand_over(claim, has_begun).await.unwrap();
    claim.session
}

/// A host with this configuration on this machine, and its runs by their keys.
fn claimant(name: &str, machine: &str, running: &[(&str, u32)]) -> Claimant {
    let running = running.iter().map(|(key, runs)| ((*key).to_owned(), *runs));
    Claimant {
        configuration: configuration(name),
        machine: machine.to_owned(),
        running: running.collect(),
    }
}

async fn claim(store: &PostgresStore, claimant: Claimant) -> Option<SessionId> {
    let claimed = store.claim_run(claimant).await.unwrap();
    // Its end is that of a host: the claim stays.
    claimed.map(|run| {
        let session = run.claim.session;
        std::mem::forget(run);
        session
    })
}

async fn state(store: &PostgresStore, session: SessionId) -> Option<(RunState, Option<String>)> {
    let runs = store.runs_of(vec![session]).await.unwrap();
    runs.first().map(|run| (run.state, run.reason.clone()))
}

/// Interrupted runs come first, then those that were handed over, then those that wait to begin: of
/// the sender of which the host runs the fewest, and of these the oldest.
#[tokio::test]
async fn runs_are_claimed_in_order() {
    let Some(url) = database() else { return };
    let (dead, store) = (open(&url).await, open(&url).await);
    let mut expected = Vec::new();
    let mut wait = Vec::new();
    for key in ["flood", "flood", "flood", "other"] {
        let run = listed(&store, listing(key, None)).await;
        wait.push(hand_over(&store, run, false).await);
    }
    let begun = listed(&store, listing("flood", None)).await;
    let begun = hand_over(&store, begun, true).await;
    let interrupted = listed(&dead, listing("flood", None)).await;
    expected.push(interrupted.claim.session);
    std::mem::forget(interrupted);
    operate(
        &url,
        "UPDATE leases SET until = clock_timestamp() - interval '1 second'",
    )
    .await;
    expected.extend([begun, wait[3], wait[0], wait[1], wait[2]]);
    let mut found = Vec::new();
    let running: [&[(&str, u32)]; 6] = [
        &[],
        &[("flood", 1)],
        &[("flood", 2), ("other", 1)],
        &[],
        &[],
        &[],
    ];
    for running in running {
        found.extend(claim(&store, claimant("one", "here", running)).await);
    }
    assert_eq!(found, expected);
    assert_eq!(claim(&store, claimant("one", "here", &[])).await, None);
    for session in expected {
        assert_eq!(
            state(&store, session).await,
            Some((RunState::Running, None))
        );
    }
}

/// A host claims no run that needs another configuration, or the directories of another machine.
#[tokio::test]
async fn run_is_claimed_by_a_host_of_its_placement() {
    let Some(url) = database() else { return };
    let (one, other) = (open(&url).await, open(&url).await);
    for (machine, name, host, is_claimed) in [
        (None, "one", "here", true),
        (None, "two", "here", false),
        (Some("here"), "one", "here", true),
        (Some("there"), "one", "here", false),
        (Some("here"), "two", "here", false),
    ] {
        let run = listed(&one, listing("ann", machine)).await;
        let session = hand_over(&one, run, true).await;
        let claimed = claim(&other, claimant(name, host, &[])).await;
        let expected = is_claimed.then_some(session);
        assert_eq!(claimed, expected, "{machine:?} {name} {host}");
        operate(&url, "DELETE FROM runs").await;
    }
}

/// A run is continued only if a host of the store listed it, for these hosts and for this session.
/// Another one stays, stopped and reported, and holds up none.
#[tokio::test]
async fn run_is_continued_only_as_a_host_listed_it() {
    let Some(url) = database() else { return };
    let (one, other) = (open(&url).await, open(&url).await);
    let two = configuration("two");
    let inserted = format!(
        "DELETE FROM runs; INSERT INTO runs SELECT id, '{two}', 'ann', '', clock_timestamp(),
         'waiting', 1, 'none', 0, 0 FROM sessions ORDER BY id LIMIT 1"
    );
    let placed = format!("UPDATE runs SET placement = '{two}'");
    for (change, is_claimed) in [
        ("SELECT 1", true),
        ("UPDATE runs SET signature = NULL", false),
        (inserted.as_str(), false),
        (placed.as_str(), false),
        ("UPDATE runs SET fairness_key = 'bob'", false),
        (
            "UPDATE runs SET session = (SELECT max(id) FROM sessions)",
            false,
        ),
    ] {
        operate(&url, "DELETE FROM runs; DELETE FROM sessions").await;
        let run = listed(&one, listing("ann", None)).await;
        let session = hand_over(&one, run, true).await;
        drop(one.create(SessionId::new()).await.unwrap());
        drop(listed(&one, listing("ann", Some("elsewhere"))).await);
        operate(&url, "DELETE FROM runs WHERE placement LIKE '%@%'").await;
        operate(&url, change).await;
        let reported = one.unsigned().await.unwrap();
        assert_eq!(
            reported.len(),
            usize::from(!is_claimed),
            "{change}: {reported:?}"
        );
        let name = if change.contains(&two.to_string()) {
            "two"
        } else {
            "one"
        };
        let claimed = claim(&other, claimant(name, "here", &[])).await;
        assert_eq!(claimed, is_claimed.then_some(session), "{change}");
        let still = one.unsigned().await.unwrap();
        assert_eq!(still.len(), reported.len(), "{change}: {still:?}");
    }
    // One that was stopped is not continued because its row says that it waits.
    operate(&url, "DELETE FROM runs").await;
    let run = listed(&one, listing("ann", None)).await;
    one.stop_run(run.claim, "stop".to_owned()).await.unwrap();
    drop(run.journal);
    assert_eq!(one.unsigned().await.unwrap(), []);
    operate(&url, "UPDATE runs SET state = 'waiting'").await;
    assert_eq!(claim(&other, claimant("one", "here", &[])).await, None);
    assert_eq!(one.unsigned().await.unwrap().len(), 1);
}

/// A host that was taken for ended changes nothing of a run that another has claimed.
#[tokio::test]
async fn stale_claim_changes_no_run() {
    let Some(url) = database() else { return };
    let (stale, store) = (open(&url).await, open(&url).await);
    let run = listed(&stale, listing("ann", None)).await;
    let (session, old) = (run.claim.session, run.claim);
    let ended = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
    operate(&url, ended).await;
    assert_eq!(
        state(&store, session).await,
        Some((RunState::Interrupted, None))
    );
    let claimed = store.claim_run(claimant("one", "here", &[])).await;
    let fresh = claimed.unwrap().unwrap();
    assert!(fresh.claim.epoch > old.epoch);
    drop(run);
    stale.end_run(old).await.unwrap();
    stale.hand_over(old, true).await.unwrap();
    stale.stop_run(old, "late".to_owned()).await.unwrap();
    let running = Some((RunState::Running, None));
    assert_eq!(state(&store, session).await, running);
    store.end_run(fresh.claim).await.unwrap();
    assert_eq!(state(&store, session).await, None);
}

/// A run that ends one host after the other is stopped, unless its session gets on.
#[tokio::test]
async fn run_without_progress_is_stopped() {
    let Some(url) = database() else { return };
    let store = open(&url).await;
    let run = listed(&store, listing("ann", None)).await;
    let session = run.claim.session;
    std::mem::forget(run);
    let end_hosts = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
    let here = || claimant("one", "here", &[]);
    for claims in 1..=5 {
        operate(&url, end_hosts).await;
        let claimed = store.claim_run(here()).await.unwrap().unwrap();
        if claims == 3 {
            let event = record(session, 1, input("progress"));
            claimed.journal.append(&[event], Vec::new());
            claimed.journal.barrier().await.unwrap();
        }
        std::mem::forget(claimed);
    }
    // The third had progress, which the fourth found; this is the third of those without.
    for _ in 3..=5 {
        operate(&url, end_hosts).await;
        assert_eq!(claim(&store, here()).await, Some(session));
    }
    operate(&url, end_hosts).await;
    assert_eq!(claim(&store, here()).await, None);
    let reason = "5 hosts in a row ended or lost it before it recorded a new event; find out why they ended, and \
        resume it";
    let stopped = Some((RunState::Stopped, Some(reason.to_owned())));
    assert_eq!(state(&store, session).await, stopped);
    // Its user resumes it, which lists it anew.
    let journal = store.open_session(session).await.unwrap();
    store.list_run(session, listing("ann", None)).await.unwrap();
    assert_eq!(
        state(&store, session).await,
        Some((RunState::Running, None))
    );
    drop(journal);
}

/// A run whose claim ended without an end of the run waits again.
#[tokio::test]
async fn run_without_a_claim_waits_again() {
    let Some(url) = database() else { return };
    let store = open(&url).await;
    let run = listed(&store, listing("ann", None)).await;
    let session = run.claim.session;
    drop(run);
    store.list().await.unwrap();
    assert_eq!(claim(&store, claimant("one", "here", &[])).await, None);
    let earlier = "UPDATE runs SET since = since - interval '1 minute'";
    operate(&url, earlier).await;
    store.report_host(status()).await.unwrap();
    assert_eq!(
        store
            .waiting_runs(10, crate::SessionScope::All)
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        claim(&store, claimant("one", "here", &[])).await,
        Some(session)
    );
}

/// A run that waits for a host keeps its session from being pruned, and is deleted with it.
#[tokio::test]
async fn waiting_run_is_kept_until_it_is_deleted() {
    let Some(url) = database() else { return };
    let store = open(&url).await;
    let run = listed(&store, listing("ann", None)).await;
    let session = hand_over(&store, run, false).await;
    let retention = Retention {
        bytes: Some(0),
        ..Retention::default()
    };
    let pruned = store.prune(retention).await.unwrap();
    assert_eq!(pruned.kept, [(session, KeepReason::InUse)]);
    store.delete(session).await.unwrap();
    assert_eq!(claim(&store, claimant("one", "here", &[])).await, None);
    assert_eq!(
        store
            .waiting_runs(10, crate::SessionScope::All)
            .await
            .unwrap(),
        0
    );
}

fn status() -> HostStatus {
    HostStatus {
        machine: "here".to_owned(),
        version: "0.1.0".to_owned(),
        configuration: configuration("one"),
        parts: BTreeMap::from([("rules".to_owned(), configuration("rules"))]),
        runs: 1,
        max_runs: 8,
    }
}

/// Hosts are listed while they report.
#[tokio::test]
async fn hosts_are_listed_until_they_leave() {
    let Some(url) = database() else { return };
    let (one, other) = (open(&url).await, open(&url).await);
    for store in [&one, &other, &one] {
        store.report_host(status()).await.unwrap();
    }
    let hosts = one.hosts().await.unwrap();
    let ids: Vec<_> = hosts.iter().map(|report| &report.host).collect();
    assert_eq!(ids, [one.host(), other.host()]);
    assert_eq!(hosts[0].status, status());
    one.leave().await.unwrap();
    operate(
        &url,
        "UPDATE hosts SET reported = reported - interval '1 minute'",
    )
    .await;
    assert_eq!(one.hosts().await.unwrap(), []);
}

/// The host that runs a session is asked to cancel it: once, and a drain does not take its place.
#[tokio::test]
async fn host_of_a_session_is_asked() {
    let Some(url) = database() else { return };
    let (owner, other) = (open(&url).await, open(&url).await);
    let run = listed(&owner, listing("ann", None)).await;
    let session = run.claim.session;
    let runs = other.runs_of(vec![session]).await.unwrap();
    assert_eq!(runs[0].host.as_ref(), Some(owner.host()));
    let cancel = RunRequest::Cancel {
        by: "ann".to_owned(),
    };
    for request in [cancel.clone(), RunRequest::Drain] {
        assert!(other.ask_host(session, request).await.unwrap());
    }
    assert_eq!(other.requests().await.unwrap(), []);
    assert_eq!(owner.requests().await.unwrap(), [(session, cancel.clone())]);
    assert_eq!(owner.requests().await.unwrap(), []);
    drop(run);
    // What was dropped is done before any operation of the same store.
    owner.list().await.unwrap();
    assert!(!other.ask_host(session, cancel).await.unwrap());
}

/// A message to one host reaches that host, and one to all reaches all; one that is too long is not
/// sent.
#[tokio::test]
async fn messages_reach_their_hosts() {
    let Some(url) = database() else { return };
    let (one, other) = (open(&url).await, open(&url).await);
    let (mut at_one, mut at_other) = (one.messages(), other.messages());
    // Both receive from here on.
    for (store, received) in [(&one, &mut at_one), (&other, &mut at_other)] {
        let waits = HostMessage::RunWaits;
        loop {
            store
                .send(Some(store.host().clone()), waits.clone())
                .await
                .unwrap();
            let wait = Duration::from_millis(20);
            if tokio::time::timeout(wait, received.recv()).await.is_ok() {
                break;
            }
        }
    }
    let session = SessionId::new();
    let lines = |text: &str| HostMessage::Lines {
        session,
        lines: vec![HostLine::Event(7), HostLine::Live(text.into())],
    };
    let watch = HostMessage::Watch {
        session,
        host: one.host().clone(),
    };
    let own = Some(other.host().clone());
    one.send(own.clone(), watch.clone()).await.unwrap();
    one.send(own.clone(), lines(&"x".repeat(8_000)))
        .await
        .unwrap();
    one.send(own, lines("\"a\u{0}b\"")).await.unwrap();
    one.send(None, HostMessage::RunRequested).await.unwrap();
    let received = async |received: &mut tokio::sync::broadcast::Receiver<HostMessage>| loop {
        match received.recv().await.unwrap() {
            HostMessage::RunWaits => {}
            message => return message,
        }
    };
    assert_eq!(received(&mut at_other).await, watch);
    assert_eq!(received(&mut at_other).await, lines("\"a\u{0}b\""));
    assert_eq!(received(&mut at_other).await, HostMessage::RunRequested);
    assert_eq!(received(&mut at_one).await, HostMessage::RunRequested);
}

/// A host whose claim has ended lists nothing.
#[tokio::test]
async fn run_of_a_lost_session_is_not_listed() {
    let Some(url) = database() else { return };
    let store = open(&url).await;
    let run = listed(&store, listing("ann", None)).await;
    let ended = "UPDATE leases SET until = clock_timestamp() - interval '1 second'";
    operate(&url, ended).await;
    let session = run.claim.session;
    let refused = store.list_run(session, listing("ann", None)).await;
    assert!(super::text(refused).contains("was released"));
    let journal: Arc<dyn Journal> = run.journal;
    drop(journal);
}

/// Every session that a host has claimed is known with it, also one without a run, as those of
/// agents are.
#[tokio::test]
async fn claims_are_those_of_all_open_sessions() {
    let Some(url) = database() else { return };
    let (one, other) = (open(&url).await, open(&url).await);
    let run = listed(&one, listing("ann", None)).await;
    let agent = SessionId::new();
    let journal = other.create(agent).await.unwrap();
    let asked = vec![run.claim.session, agent, SessionId::new()];
    let mut claims = one.claims_of(asked).await.unwrap();
    claims.sort_by_key(|(session, _)| *session != agent);
    let expected = [
        (agent, other.host().clone()),
        (run.claim.session, one.host().clone()),
    ];
    assert_eq!(claims, expected);
    drop(journal);
}
