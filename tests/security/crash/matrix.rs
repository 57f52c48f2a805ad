//! Kills a process at every point of a play and at many points of a long one, and fills the disk at
//! every barrier. The next process finishes the play with the undisturbed result.

use super::{
    child,
    play::Play,
    points::Fault,
    story::FaultStats,
    theatre::{Pace, Theatre, killed_again_and_again, killed_everywhere, tell},
};
use pretty_assertions::assert_eq;

/// The most points that a process passes in the long session before it dies: fewer than to its next
/// barrier, or a turn of four calls.
const PACE: Pace = Pace { few: 8, many: 40 };

/// The size of a page of the journal with its frame in the write-ahead log, in bytes.
const FRAME: u64 = 4_096 + 24;

/// A part of a frame, in bytes: its header and some of its page.
const PART: u64 = 100;

#[test]
fn kill_at_every_point_between_effects_resumes() {
    if child::serve() {
        return;
    }
    killed_everywhere(
        "crash::matrix::kill_at_every_point_between_effects_resumes",
        Play::effects(),
    );
}

#[test]
fn kill_at_every_point_with_decisions_resumes() {
    if child::serve() {
        return;
    }
    let kinds = killed_everywhere(
        "crash::matrix::kill_at_every_point_with_decisions_resumes",
        Play::with_decisions(),
    );
    let every_kind = [
        "answer-received",
        "approval-remembered",
        "approval-requested",
        "approval-revoked",
        "call-intended",
        "call-settled",
        "calls-dispatched",
        "decision-recorded",
        "input-received",
        "model-replied",
        "model-requested",
        "question-asked",
        "repair-requested",
        "session-started",
        "state-merged",
        "turn-ended",
    ];
    assert_eq!(kinds, every_kind.map(str::to_owned).into());
}

/// Kills the process at every point of a parent and of the agent that it starts, which waits for
/// the user in between.
#[test]
fn kill_at_every_point_of_parent_and_agent_resumes() {
    if child::serve() {
        return;
    }
    let kinds = killed_everywhere(
        "crash::matrix::kill_at_every_point_of_parent_and_agent_resumes",
        Play::with_agent(),
    );
    for kind in ["agent-spawned", "children-waiting", "approval-requested"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

/// Kills the process at every point of a parent and of the two programs that it runs, with calls of
/// each effect, decisions, a question and a call that runs outside.
#[test]
fn kill_at_every_point_of_programs_resumes() {
    if child::serve() {
        return;
    }
    let kinds = killed_everywhere(
        "crash::matrix::kill_at_every_point_of_programs_resumes",
        Play::with_program(),
    );
    for kind in [
        "program-called",
        "program-ended",
        "question-asked",
        "calls-dispatched",
        "approval-requested",
    ] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

/// Kills the process of a session of 200 calls again and again, all along its way.
#[test]
fn repeated_kills_in_long_session_resume() {
    if child::serve() {
        return;
    }
    let test = "crash::matrix::repeated_kills_in_long_session_resume";
    let stats = killed_again_and_again(test, Play::long(50), 200, PACE);
    assert!(stats.in_doubt > 0 && stats.repeated > 0, "{stats}");
}

/// Fills the disk at every barrier of a play, at each of its writes: the log has space for a number
/// of pages, or for a part of the next one. Nothing runs whose intention is not stored, and with
/// space again the next process resumes.
#[test]
fn full_disk_at_every_barrier_resumes() {
    if child::serve() {
        return;
    }
    let theatre = Theatre::new(
        "crash::matrix::full_disk_at_every_barrier_resumes",
        Play::effects(),
    );
    let (whole, points) = theatre.whole();
    let mut stats = FaultStats::default();
    let barriers: Vec<_> = points
        .iter()
        .enumerate()
        .filter(|(_, name)| name.ends_with("before the barrier"))
        .collect();
    for (number, name) in &barriers {
        let rooms = (0..).flat_map(|pages| [pages * FRAME, pages * FRAME + PART]);
        for room in rooms {
            let what = format!("point {number} ({name}), room for {room} bytes");
            let fault = (*number, Fault::LogLimit(room));
            if !theatre.disturbed(&whole, &what, fault, &mut stats) {
                break;
            }
        }
    }
    tell(theatre.test, &stats);
    assert_eq!((stats.lost, stats.twice), (0, 0));
    assert!(stats.faults >= 4 * barriers.len(), "{stats}");
}
