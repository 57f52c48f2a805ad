//! Measures barriers on PostgreSQL: each of a number of sessions appends two events and waits,
//! again and again. `DATABASE_URL=... cargo run --release -p agent-host-journal --example
//! postgres_barriers
//! -- WRITERS SECONDS`; the same statement by `pgbench` is in `host/BENCHMARKS.md`.

use agent_host_journal::{JournalStore as _, PostgresOptions, PostgresStore};
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::SessionId,
    message::{Message, Role},
};
use std::{
    env,
    error::Error,
    io::Write as _,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// The size of an event's text, in bytes.
const TEXT_BYTES: usize = 500;

fn record(session: SessionId, seq: u64) -> EventRecord {
    let message = Message::text(Role::User, "x".repeat(TEXT_BYTES));
    EventRecord {
        v: EVENT_VERSION,
        session,
        seq,
        at_ms: 1_800_000_000_000,
        event: Event::InputReceived {
            message,
            labels: Vec::new(),
            by: None,
        },
    }
}

/// Writes until the deadline, and returns the time of each barrier.
async fn write(
    store: PostgresStore,
    deadline: Instant,
) -> Result<Vec<Duration>, Box<dyn Error + Send + Sync>> {
    let session = SessionId::new();
    let journal = store.create(session).await?;
    let mut took = Vec::new();
    for pair in 0.. {
        let began = Instant::now();
        if began >= deadline {
            break;
        }
        let records = [record(session, 2 * pair), record(session, 2 * pair + 1)];
        journal.append(&records, Vec::new());
        journal.barrier().await?;
        took.push(began.elapsed());
    }
    Ok(took)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = env::args().skip(1);
    let writers: usize = args.next().ok_or("WRITERS is missing")?.parse()?;
    let seconds: u64 = args.next().ok_or("SECONDS is missing")?.parse()?;
    let options = PostgresOptions {
        connections: writers + 1,
        ..PostgresOptions::default()
    };
    let store = PostgresStore::open(&env::var("DATABASE_URL")?, options).await?;
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut tasks: JoinSet<_> = (0..writers)
        .map(|_| write(store.clone(), deadline))
        .collect();
    let mut took = Vec::new();
    while let Some(written) = tasks.join_next().await {
        took.extend(written??);
    }
    took.sort();
    let at = |part: usize| {
        took.get(took.len() * part / 100)
            .copied()
            .unwrap_or_default()
    };
    let rate = took.len() as u64 / seconds;
    let (p50, p99) = (at(50), at(99));
    let line = format!("{writers} writers: {rate} barriers/s, p50 {p50:.2?}, p99 {p99:.2?}\n");
    std::io::stdout().write_all(line.as_bytes())?;
    Ok(())
}
