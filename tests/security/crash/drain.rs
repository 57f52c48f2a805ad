//! Tests the first SIGTERM of a run: the calls that run end, nothing else starts, and the next
//! process continues without running anything twice.

use super::{
    counter::Counter,
    held::held,
    play::Play,
    running::{configured, journaled, run},
};
use agent_host_test_support::{TestEnv, of_kind, running::Running};
use pretty_assertions::assert_eq;
use rustix::process::Signal;

/// A part of the note that a run writes when it is drained.
pub(crate) const DRAINS: &str = "Stopping after the current step";

/// The play, the arguments of its run, the request during which the signal comes, the requests of
/// the drained process, and the answer of the next one.
type Case = (
    fn() -> Play,
    &'static [&'static str],
    usize,
    usize,
    &'static str,
);

#[test]
fn drained_run_resumes_and_runs_nothing_twice() {
    let batch: fn() -> Play = || Play::batch(&["act", "look", "act"]);
    let flow = &["run", "--workflow", "long", "go"];
    let cases: [Case; 4] = [
        // The batch ends.
        (batch, &["run", "go"], 0, 3, "That is all.\n"),
        // A batch of the agent has one call.
        (Play::agent, &["run", "go"], 0, 1, "That is all.\n"),
        // The agent of the first node has a batch of four calls, and the second node one call.
        (|| Play::long_workflow(1), flow, 1, 4, "look\n"),
        (|| Play::long_workflow(1), flow, 4, 5, "look\n"),
    ];
    for (play, args, request, drained, answer) in cases {
        let what = format!("{args:?} {request}");
        let counter = Counter::start();
        let env = TestEnv::new();
        play().write_files(&env, counter.port);
        let ran = run(&env, args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), answer),
            "{ran:?}"
        );
        let whole: usize = counter.take().values().sum();

        let (service, arrived) = held(request);
        let counter = Counter::watched(arrived);
        let env = TestEnv::new();
        play().write_files(&env, counter.port);
        let mut running = Running::start_without_input(&mut configured(&env, args));
        service.wait();
        running.signal(Signal::TERM);
        running.stderr.until(DRAINS);
        drop(service);
        let ran = running.end();
        let events = journaled(&env);
        let session = events[0]["session"].as_str().unwrap();
        let resume = format!("To resume: agent-host run --resume {session} --config agent.toml");
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.lines().last()),
            (Some(130), "", Some(resume.as_str())),
            "{what}"
        );
        let hits: usize = counter.take().values().sum();
        assert_eq!(hits, drained, "{what}");
        let ended = of_kind(&events, "turn-ended");
        let last = &ended.last().unwrap()["outcome"]["type"];
        assert_eq!(last, "needs-more-turns", "{what}");

        let ran = run(&env, &["run", "--resume", session]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), answer),
            "{ran:?}"
        );
        let rest: usize = counter.take().values().sum();
        assert_eq!(hits + rest, whole, "{what}");
    }
}

/// Nothing of a run that is drained at a third signal is waited for.
#[test]
fn third_sigterm_exits_at_once() {
    let (service, arrived) = held(0);
    let counter = Counter::watched(arrived);
    let env = TestEnv::new();
    Play::batch(&["act"]).write_files(&env, counter.port);
    let args = ["run", "--output-format", "stream-json", "go"];
    let mut running = Running::start_without_input(&mut configured(&env, &args));
    service.wait();
    // Keeps the turn from ending: its journal cannot be written.
    let file = env.outside().join("state/agent-host.db");
    let other = rusqlite::Connection::open(file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    running.signal(Signal::TERM);
    running.stderr.until(DRAINS);
    running.signal(Signal::TERM);
    running.stderr.until("The call was stopped");
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(!ran.stderr.contains("Stopped"), "{ran:?}");
    drop((other, service));
}
