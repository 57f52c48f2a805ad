//! Measures a store on PostgreSQL with many sessions: pages of the list, searches, finding by a prefix,
//! and claims of runs that wait, by one host and by several.
//!
//! `postgres_scale URL SESSIONS` fills the database, which must be empty, and takes a minute for a
//! million.

use agent_host_journal::{
    Claimant, JournalStore as _, ListPage, PostgresOptions, PostgresStore, SharedRuns as _,
};
use agent_host_types::id::Digest;
use std::{
    env,
    process::ExitCode,
    time::{Duration, Instant},
};
use tokio_postgres::NoTls;

/// The times that an operation is measured.
const ROUNDS: usize = 101;

/// The claims of each host, and the hosts that claim at once.
const CLAIMS: usize = 250;
const HOSTS: usize = 4;

/// Fills the tables: each session has a run that waits, of one of 40 senders.
const FILL: &str = "
    INSERT INTO sessions (id, started_ms, title, directory)
        SELECT gen_random_uuid()::text, 1800000000000 + n,
            'Ticket ' || n || ' about ' || md5(n::text) || ' for customer ' || n % 5000, '/srv/agents'
        FROM generate_series(1, {n}) AS n;
    INSERT INTO progress SELECT id, started_ms, 12, 'done', 'script:tour', 1200, 4096, nextval('writes') FROM sessions;
    INSERT INTO runs (session, placement, fairness_key, queue, since, state, epoch, host, events, claims)
        SELECT id, '{placement}', 'agent/' || started_ms % 40, 'agent/' || started_ms % 40, clock_timestamp(), 'waiting', 1, '', 12, 0
        FROM sessions;
    ANALYZE;";

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let (Some(url), Some(Ok(sessions))) =
        (arguments.next(), arguments.next().map(|n| n.parse::<u32>()))
    else {
        println!("usage: postgres_scale URL SESSIONS");
        return ExitCode::FAILURE;
    };
    match measure(&url, sessions).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(url: &str, sessions: u32) -> Result<(), Box<dyn std::error::Error>> {
    let store = PostgresStore::open(url, PostgresOptions::default()).await?;
    let configuration = Digest::of(b"scale");
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let fill = FILL
        .replace("{n}", &sessions.to_string())
        .replace("{placement}", &configuration.to_string());
    let began = Instant::now();
    client.batch_execute(&fill).await?;
    println!(
        "{sessions} sessions, each with a run that waits, made in {:.0?}",
        began.elapsed()
    );

    let last = store.list_page(page(0, None)).await?;
    let some = last
        .last()
        .map(|info| info.id.to_string())
        .unwrap_or_default();
    for (what, offset, search) in [
        ("list: first 50", 0, None),
        ("list: 50 behind 10,000", 10_000, None),
        ("search: one session", 0, Some(format!("ticket {sessions}"))),
        (
            "search: the sessions of a customer",
            0,
            Some("customer 4711".to_owned()),
        ),
        ("search: no session", 0, Some("nowhere".to_owned())),
    ] {
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            store.list_page(page(offset, search.clone())).await?;
            times.push(began.elapsed());
        }
        show(what, times);
    }
    let (begins, ends) = (&some[..12], &some[some.len() - 8..]);
    for (what, prefix) in [
        ("find: beginning of an id", begins),
        ("find: end of an id", ends),
    ] {
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            store.find(prefix).await?;
            times.push(began.elapsed());
        }
        show(what, times);
    }
    for hosts in [1, HOSTS] {
        let began = Instant::now();
        let mut tasks = Vec::new();
        for _ in 0..hosts {
            let store = PostgresStore::open(url, PostgresOptions::default()).await?;
            tasks.push(tokio::spawn(claim(store, configuration)));
        }
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await?);
        }
        let rate = times.len() as f64 / began.elapsed().as_secs_f64();
        show(&format!("claim: {hosts} hosts, {rate:.0} claims/s"), times);
    }
    Ok(())
}

fn page(offset: usize, search: Option<String>) -> ListPage {
    ListPage {
        offset,
        limit: 50,
        search,
    }
}

/// Claims runs, and gives nothing back.
async fn claim(store: PostgresStore, configuration: Digest) -> Vec<Duration> {
    let (mut times, mut claimed) = (Vec::new(), Vec::new());
    for _ in 0..CLAIMS {
        let claimant = Claimant {
            configuration,
            machine: "here".to_owned(),
            running: Vec::new(),
        };
        let began = Instant::now();
        // The journal of a session without events begins behind none.
        if let Ok(Some(run)) = store.claim_run(claimant).await {
            claimed.push(run);
        }
        times.push(began.elapsed());
    }
    assert_eq!(claimed.len(), CLAIMS, "each claim finds a run");
    times
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what:50} p50 {half:8.2?}  p99 {most:8.2?}");
}
