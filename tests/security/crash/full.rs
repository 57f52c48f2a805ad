//! Tests the program on a full disk: every bound on the size of its files, from zero to all that it
//! needs.

use super::{
    counter::Counter,
    play::Play,
    running::{is_done, journaled, run},
};
use agent_host_test_support::{Ran, TestEnv, of_kind, program};
use pretty_assertions::assert_eq;
use std::{collections::BTreeSet, process::Command};

/// Starts a program with a bound on the size of its files in blocks, which gets an error and not a
/// fatal signal at that bound.
const BOUNDED: &str = r#"trap "" XFSZ; ulimit -f "$0"; exec "$@""#;

/// The blocks of `ulimit -f` in one page of the journal; pages are written whole.
const PAGE: usize = 4_096 / 512;

fn bounded(env: &TestEnv, blocks: usize) -> Ran {
    let mut command = Command::new("sh");
    command
        .args(["-c", BOUNDED, &blocks.to_string()])
        .arg(program())
        .args(["run", "--config", "agent.toml", "go"]);
    env.prepare(&mut command).output().unwrap().into()
}

/// The program reports the fault and runs nothing whose intention is not stored. With space again,
/// the session resumes, or starts if nothing of it was stored; the call has taken effect once, or
/// the model is told that the outcome is unknown.
#[test]
fn full_disk_never_repeats_an_effect() {
    let counter = Counter::start();
    let mut seen = BTreeSet::new();
    for blocks in (0..).step_by(PAGE) {
        let env = TestEnv::new();
        Play::batch(&["act"]).write_files(&env, counter.port);
        let full = bounded(&env, blocks);
        let before: usize = counter.take().values().sum();
        if full.code == Some(0) {
            break;
        }
        assert!(
            matches!(full.code, Some(1 | 2)) && full.stdout.is_empty(),
            "{blocks} blocks: {full:?}"
        );
        assert!(
            full.stderr.contains("error: ") && !full.stderr.contains("panicked"),
            "{blocks} blocks: {full:?}"
        );
        let mut next = run(&env, &["run", "--resume", "latest"]);
        if next.stderr.contains("there are no sessions yet") {
            next = run(&env, &["run", "go"]);
        }
        is_done(&next);
        let after: usize = counter.take().values().sum();
        let events = journaled(&env);
        let settled = of_kind(&events, "call-settled");
        assert_eq!((settled.len(), before + after), (1, 1), "{blocks} blocks");
        let value = &settled[0]["output"]["value"];
        let result = value.get("code").unwrap_or(value).as_str().unwrap();
        seen.insert((before, result.to_owned()));
    }
    let expected = [(0, "act"), (1, "act"), (1, "interrupted-unknown")];
    assert_eq!(
        seen,
        expected
            .map(|(hits, result)| (hits, result.to_owned()))
            .into()
    );
}
