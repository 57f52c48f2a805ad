//! Kills a workflow at every point of it, at many points of a long one, and, as the program itself,
//! during each request. The next process ends the run: what was in doubt is settled as unknown and
//! does not run again, and the nodes after it take place.

use super::{
    child,
    counter::Counter,
    held::held,
    play::Play,
    running::{configured, run},
    story::{FaultStats, Run, Story},
    theatre::{Pace, durable, killed_again_and_again, killed_everywhere, tell},
};
use agent_host_test_support::{TestEnv, running::Running};
use agent_host_types::event::Event;
use pretty_assertions::assert_eq;
use rustix::process::Signal;

/// Kills the process at every point of a workflow with an agent, a `foreach` of effectful calls and
/// a call that waits for the user, who decides in another process.
#[test]
fn kill_at_every_point_of_workflow_resumes() {
    if child::serve() {
        return;
    }
    let kinds = killed_everywhere(
        "crash::workflow::kill_at_every_point_of_workflow_resumes",
        Play::workflow(),
    );
    let every_kind = [
        "agent-spawned",
        "approval-requested",
        "call-intended",
        "call-settled",
        "children-waiting",
        "decision-recorded",
        "input-received",
        "loop-configured",
        "model-replied",
        "model-requested",
        "node-intended",
        "node-settled",
        "session-started",
        "state-merged",
        "turn-ended",
        "workflow-ended",
        "workflow-started",
    ];
    assert_eq!(kinds, every_kind.map(str::to_owned).into());
}

/// Kills the process of a workflow of 200 calls again and again, all along its way.
#[test]
fn repeated_kills_in_long_workflow_resume() {
    if child::serve() {
        return;
    }
    let test = "crash::workflow::repeated_kills_in_long_workflow_resume";
    let pace = Pace { few: 6, many: 30 };
    let stats = killed_again_and_again(test, Play::long_workflow(45), 200, pace);
    assert!(stats.in_doubt > 0 && stats.repeated > 0, "{stats}");
}

/// A run that leaves the decision to another process, that process, and a run that continues.
const START: [&str; 6] = [
    "run",
    "--workflow",
    "play",
    "--permission-prompts",
    "later",
    "go",
];
const DECIDE: [&str; 5] = ["run", "--resume", "latest", "--decide", "pay=approve"];
const CONTINUE: [&str; 5] = ["run", "--resume", "latest", "--permission-prompts", "later"];

/// The exit code and stdout of a run that leaves the decision, and of one that ends.
const WAITS: (Option<i32>, &str) = (Some(3), "");
const ENDS: (Option<i32>, &str) = (Some(0), "look\n");

/// Kills the program itself during each request of the workflow, before and after the decision of
/// another process.
#[test]
fn killed_workflow_program_resumes() {
    let (whole, undecided) = undisturbed();
    let requests: usize = whole.hits.values().sum();
    assert_eq!((undecided, requests), (11, 13));
    let mut stats = FaultStats::default();
    for request in 0..requests {
        let what = format!("request {request}");
        let (service, arrived) = held(request);
        let counter = Counter::watched(arrived);
        let env = TestEnv::new();
        Play::workflow().write_files(&env, counter.port);
        let is_decided = request >= undecided;
        if is_decided {
            runs(&env, &START, WAITS);
        }
        let killed: &[&str] = if is_decided { &DECIDE } else { &START };
        let running = Running::start_without_input(&mut configured(&env, killed));
        service.wait();
        running.signal(Signal::KILL);
        assert_eq!(running.end().code, None, "{what}");
        drop(service);
        let doubtful = Story::of(&durable(&env)).interrupted().collect();
        if is_decided {
            ends(&env, &CONTINUE);
        } else {
            runs(&env, &CONTINUE, WAITS);
            ends(&env, &DECIDE);
        }
        let run = Run {
            story: Story::of(&durable(&env)),
            hits: counter.take(),
        };
        stats.add(&what, &whole, &run, &doubtful);
    }
    tell("crash::workflow::killed_workflow_program_resumes", &stats);
    assert_eq!((stats.faults, stats.lost, stats.twice), (requests, 0, 0));
    assert!(stats.in_doubt > 0, "{stats}");
}

/// Runs the workflow without a fault. Also returns the number of requests before the decision.
fn undisturbed() -> (Run, usize) {
    let counter = Counter::start();
    let env = TestEnv::new();
    Play::workflow().write_files(&env, counter.port);
    runs(&env, &START, WAITS);
    let mut hits = counter.take();
    let undecided = hits.values().sum();
    runs(&env, &DECIDE, ENDS);
    hits.extend(counter.take());
    let story = Story::of(&durable(&env));
    let run = Run { story, hits };
    run.assert_accounted("undisturbed");
    (run, undecided)
}

/// Runs the program to the answer. A node whose call was interrupted has failed and is passed over,
/// which the exit code tells.
fn ends(env: &TestEnv, args: &[&str]) {
    let ran = run(env, args);
    let mut reports = durable(env)
        .into_iter()
        .filter_map(|record| match record.event {
            Event::TurnEnded { outcome, .. } => Some(outcome),
            _ => None,
        });
    let has_failed = reports
        .rfind(|report| report.summary.workflow.is_some())
        .is_some_and(|report| report.failed_nodes().is_some());
    let code = if has_failed { 7 } else { 0 };
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(code), ENDS.1),
        "{args:?}: {}",
        ran.stderr
    );
}

/// Runs the program to an exit code and stdout.
fn runs(env: &TestEnv, args: &[&str], expected: (Option<i32>, &str)) {
    let ran = run(env, args);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        expected,
        "{args:?}: {}",
        ran.stderr
    );
}
