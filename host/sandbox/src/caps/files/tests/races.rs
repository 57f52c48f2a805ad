//! Attempts to win against the checks by being fast.

use super::{
    super::place::Beneath,
    fixture::{Fixture, folder, open},
};
use agent_host_core::{policy::DirMode, tool::Effect};
use std::{
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// For each of eleven races; together they take a few seconds.
const TRIES: usize = 5_000;

/// Swaps, again and again, as another guest or a process of the host would, until told to stop.
fn swap_in_background(
    work: &Path,
    swap: impl Fn(&Path, usize) + Send + 'static,
) -> (Arc<AtomicBool>, std::thread::JoinHandle<usize>) {
    let work = work.to_path_buf();
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let mut rounds = 0;
        while !flag.load(Ordering::Relaxed) {
            swap(&work, rounds);
            rounds += 1;
        }
        rounds
    });
    (stop, thread)
}

async fn race(beneath: Beneath, attempt: &str, swap: impl Fn(&Path, usize) + Send + 'static) {
    let mut fixture: Fixture = open(folder(), DirMode::ReadWrite, Effect::Effectful, beneath);
    let work = fixture.dir.path().join("work");
    let (stop, thread) = swap_in_background(&work, swap);
    let mut good = 0;
    let mut leaks = Vec::new();
    for _ in 0..TRIES {
        let outcome = fixture.act(attempt).await;
        if outcome.contains("SECRET") || outcome.contains("OUTSIDE") || outcome.contains("journal")
        {
            leaks.push(outcome);
        } else if outcome == "alpha" || outcome == "b.txt deep" {
            good += 1;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let rounds = thread.join().unwrap();
    assert_eq!(leaks, Vec::<String>::new());
    // The race was one: both sides had their turns.
    assert!(
        rounds > 100 && good > 0,
        "{rounds} rounds, {good} good reads"
    );
}

/// Puts something under the name `r` in one step.
fn put(work: &Path, make: impl Fn(&Path)) {
    let fresh = work.join("r.new");
    let _ = std::fs::remove_file(&fresh);
    make(&fresh);
    let _ = std::fs::rename(&fresh, work.join("r"));
}

#[tokio::test]
async fn a_link_that_is_swapped_for_a_file() {
    for target in ["agent.toml", ".env", "../outside.txt"] {
        for beneath in [Beneath::Kernel, Beneath::Walk] {
            race(beneath, "read r", move |work, round| {
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
async fn a_folder_link_that_is_swapped() {
    for target in ["state", ".."] {
        for beneath in [Beneath::Kernel, Beneath::Walk] {
            race(beneath, "list r", move |work, round| {
                put(work, |fresh| {
                    let _ = symlink(if round % 2 == 0 { target } else { "sub" }, fresh);
                });
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_file_that_becomes_a_pipe() {
    use rustix::fs::{CWD, FileType, Mode};
    race(Beneath::Kernel, "read r", |work, round| {
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
