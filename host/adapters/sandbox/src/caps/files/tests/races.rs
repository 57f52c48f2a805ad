//! Attempts to win races against the checks.

use super::{
    super::resolve::Resolver,
    fixture::{Fixture, open, populated_dir},
};
use agent_host_engine::policy::DirMode;
use agent_host_types::tool::Effect;
use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

/// The least number of attempts in each of eleven races; together they take a few seconds.
const TRIES: usize = 5_000;
/// The least number of swaps in each, so that a busy machine still makes a race of it.
const SWAPS: usize = 500;
/// The attempts after which a race gives up reaching that.
const MAX_TRIES: usize = 5_000_000;

/// Swaps repeatedly, as another guest or a process of the host would.
struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Swapper {
    fn start(work: PathBuf, swap: impl Fn(&Path, usize) + Send + 'static) -> Self {
        let (stop, swaps) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&swaps));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                swap(&work, count.fetch_add(1, Ordering::Relaxed));
            }
        });
        Self {
            stop,
            swaps,
            thread: Some(thread),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn race(resolver: Resolver, attempt: &str, swap: impl Fn(&Path, usize) + Send + 'static) {
    let mut fixture: Fixture = open(
        populated_dir(),
        DirMode::ReadWrite,
        Effect::Effectful,
        resolver,
    );
    let swapper = Swapper::start(fixture.dir.path().join("work"), swap);
    let (mut tries, mut good) = (0, 0);
    let mut leaks = Vec::new();
    while tries < TRIES || good == 0 || swapper.swaps.load(Ordering::Relaxed) < SWAPS {
        tries += 1;
        assert!(tries < MAX_TRIES, "the other side had no turn");
        let outcome = fixture.act(attempt).await;
        if outcome.contains("SECRET")
            || outcome.to_lowercase().contains("outside")
            || outcome.contains("journal")
        {
            leaks.push(outcome);
        } else if outcome == "alpha" || outcome == "b.txt deep" {
            good += 1;
        }
    }
    assert_eq!(leaks, Vec::<String>::new());
}

/// Replaces `r` in one step.
fn put(work: &Path, make: impl Fn(&Path)) {
    let fresh = work.join("r.new");
    let _ = std::fs::remove_file(&fresh);
    make(&fresh);
    let _ = std::fs::rename(&fresh, work.join("r"));
}

#[tokio::test]
async fn race_link_swapped_for_file_never_escapes() {
    for target in ["agent.toml", ".env", "../outside.txt"] {
        for resolver in [Resolver::Openat2, Resolver::Walk] {
            race(resolver, "read r", move |work, round| {
                put(work, |fresh| {
                    if round % 2 == 0 {
                        let _ = symlink(target, fresh);
                    } else {
                        let _ = std::fs::hard_link(work.join("a.txt"), fresh);
                    }
                });
            })
            .await;
        }
    }
}

#[tokio::test]
async fn race_directory_link_swapped_never_escapes() {
    for target in ["state", ".."] {
        for resolver in [Resolver::Openat2, Resolver::Walk] {
            race(resolver, "list r", move |work, round| {
                put(work, |fresh| {
                    let _ = symlink(if round % 2 == 0 { target } else { "sub" }, fresh);
                });
            })
            .await;
        }
    }
}

#[tokio::test]
async fn race_file_swapped_for_fifo_never_blocks() {
    use rustix::fs::{CWD, FileType, Mode};
    race(Resolver::Openat2, "read r", |work, round| {
        put(work, |fresh| {
            if round % 2 == 0 {
                let _ = rustix::fs::mknodat(CWD, fresh, FileType::Fifo, Mode::from(0o666), 0);
            } else {
                let _ = std::fs::hard_link(work.join("a.txt"), fresh);
            }
        });
    })
    .await;
}
