//! Measures a store on PostgreSQL with many sessions: pages of the list, searches, finding by a
//! prefix, and claims of runs that wait, by one host and by several.
//!
//! `postgres_scale URL SESSIONS` fills the database, which must be empty, and takes a minute for a
//! million.

use agent_host_journal::{
    Claimant, JournalStore as _, ListPage, PostgresOptions, PostgresStore, SharedRuns as _,
};
use agent_host_types::id::Digest;
use std::{
    env,
    error::Error,
    io::{Write as _, stdout},
    time::{Duration, Instant},
};
use tokio::task::JoinSet;
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
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let url = args.next().ok_or("URL is missing")?;
    let sessions: u32 = args.next().ok_or("SESSIONS is missing")?.parse()?;
    let store = PostgresStore::open(&url, PostgresOptions::default()).await?;
    let configuration = Digest::of(b"scale");
    fill(&url, sessions, configuration).await?;
    lists(&store, sessions).await?;
    for hosts in [1, HOSTS] {
        claims(&url, hosts, configuration).await?;
    }
    Ok(())
}

async fn fill(url: &str, sessions: u32, configuration: Digest) -> Result<(), Box<dyn Error>> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let fill = FILL
        .replace("{n}", &sessions.to_string())
        .replace("{placement}", &configuration.to_string());
    let began = Instant::now();
    client.batch_execute(&fill).await?;
    let took = began.elapsed();
    writeln!(
        stdout(),
        "{sessions} sessions, each with a run that waits, made in {took:.0?}"
    )?;
    Ok(())
}

/// Measures pages, searches, and finding by a part of an id.
async fn lists(store: &PostgresStore, sessions: u32) -> Result<(), Box<dyn Error>> {
    for (what, offset, search) in [
        ("list: first 50", 0, String::new()),
        ("list: 50 behind 10,000", 10_000, String::new()),
        ("search: one session", 0, format!("ticket {sessions}")),
        (
            "search: the sessions of a customer",
            0,
            "customer 4711".to_owned(),
        ),
        ("search: no session", 0, "nowhere".to_owned()),
    ] {
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            store.list_page(page(offset, &search)).await?;
            times.push(began.elapsed());
        }
        show(what, times)?;
    }
    let first = store.list_page(page(0, "")).await?;
    let id = first.first().ok_or("there is no session")?.id.to_string();
    let (begins, ends): (String, String) =
        (id.chars().take(12).collect(), id.chars().skip(28).collect());
    for (what, part) in [
        ("find: beginning of an id", begins),
        ("find: end of an id", ends),
    ] {
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            store.find(&part).await?;
            times.push(began.elapsed());
        }
        show(what, times)?;
    }
    Ok(())
}

fn page(offset: usize, search: &str) -> ListPage {
    ListPage {
        offset,
        limit: 50,
        search: Some(search.to_owned()),
        ..ListPage::default()
    }
}

/// Measures the claims of several hosts at once.
async fn claims(url: &str, hosts: usize, configuration: Digest) -> Result<(), Box<dyn Error>> {
    let mut tasks = JoinSet::new();
    let mut stores = Vec::new();
    for _ in 0..hosts {
        stores.push(PostgresStore::open(url, PostgresOptions::default()).await?);
    }
    let began = Instant::now();
    for store in stores {
        tasks.spawn(claim(store, configuration));
    }
    let times: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
    let found = times.len();
    let rate = found as f64 / began.elapsed().as_secs_f64();
    show(
        &format!("claim: {hosts} hosts, {found} claims, {rate:.0} a second"),
        times,
    )
}

/// Claims runs, and gives nothing back. Returns the time of each.
async fn claim(store: PostgresStore, configuration: Digest) -> Vec<Duration> {
    let (mut times, mut claimed) = (Vec::new(), Vec::new());
    for _ in 0..CLAIMS {
        let claimant = Claimant {
            configuration,
            machine: "here".to_owned(),
            running: Vec::new(),
        };
        let began = Instant::now();
        if let Ok(Some(run)) = store.claim_run(claimant).await {
            times.push(began.elapsed());
            claimed.push(run);
        }
    }
    times
}

fn show(what: &str, mut times: Vec<Duration>) -> Result<(), Box<dyn Error>> {
    times.sort();
    let half = times.get(times.len() / 2).ok_or("nothing was measured")?;
    let most = times
        .get(times.len() * 99 / 100)
        .ok_or("nothing was measured")?;
    writeln!(stdout(), "{what:50} p50 {half:8.2?}  p99 {most:8.2?}")?;
    Ok(())
}
