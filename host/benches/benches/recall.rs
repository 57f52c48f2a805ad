//! Measures how the cost of memory grows: remembering, and recalling by words, in a store with a
//! hundred times the items of others. The figures are in host/BENCHMARKS.md.

use agent_host_journal::{
    JournalStore as _, MemoryItem, MemoryQuery, MemoryScope, Ownership, SqliteOptions, SqliteStore,
};
use agent_host_types::id::{CallId, SessionId};
use std::time::{Duration, Instant};

/// The items of the owner who is measured.
const OWN: u32 = 1_000;

/// The times that each operation is measured.
const TIMES: u32 = 50;

fn item(number: u32, owner: &str) -> MemoryItem {
    let (session, call) = (SessionId::new(), CallId(number.to_string()));
    MemoryItem {
        id: MemoryItem::id_of(session, &call),
        text: format!(
            "The tests of module {number} run with the runner of word{}.",
            number % 97
        ),
        session,
        call,
        project: Some("/project".to_owned()),
        owner: Some(owner.to_owned()),
        sources: Vec::new(),
        at_ms: 1,
        expires_ms: 1_000,
    }
}

fn query(words: &str) -> MemoryQuery {
    let own = Ownership {
        project: "/project".to_owned(),
        owner: Some("own".to_owned()),
    };
    MemoryQuery {
        words: words.to_owned(),
        limit: 20,
        ..MemoryQuery::all(MemoryScope::Own(own), 2)
    }
}

async fn median<F: Future>(operation: impl Fn(u32) -> F) -> Duration {
    let mut times = Vec::new();
    for number in 0..TIMES {
        let began = Instant::now();
        operation(number).await;
        times.push(began.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

async fn measure(others: u32) {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), SqliteOptions::default());
    let store = store.await.unwrap();
    for number in 0..OWN {
        store.remember(item(number, "own"), u32::MAX).await.unwrap();
    }
    for number in 0..others {
        store
            .remember(item(number, "other"), u32::MAX)
            .await
            .unwrap();
    }
    let words = ["", "word7", "module tests runner"];
    for words in words {
        let (found, store) = (query(words), &store);
        let took = median(|_| {
            let found = found.clone();
            async move { assert_eq!(store.memory_items(found).await.unwrap().len(), 20) }
        });
        println!("{others:>7}  recall {words:<20} {:>10.1?}", took.await);
    }
    let store = &store;
    let took = median(|number| async move {
        store
            .remember(item(OWN + number, "own"), u32::MAX)
            .await
            .unwrap();
    });
    println!(
        "{others:>7}  remember                    {:>10.1?}",
        took.await
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    println!(" others  operation                       median");
    // As few in a run of all benchmarks as are measured quickly.
    for others in [
        0,
        1_000,
        std::env::args()
            .find_map(|it| it.parse().ok())
            .unwrap_or(10_000),
    ] {
        runtime.block_on(measure(others));
    }
}
