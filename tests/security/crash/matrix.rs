//! Kills a process at every point of a play and at many points of a long one, and fills the disk at
//! every barrier. The next process finishes the play with the undisturbed result.

use super::{
    child::{self, Report},
    counter::Counter,
    play::Play,
    points::Fault,
    story::{FaultStats, Run, Story},
};
use agent_host_journal::{JournalStore, SqliteOptions, SqliteStore};
use agent_host_test_support::TestEnv;
use agent_host_types::{
    event::EventRecord,
    turn::{TurnEnd, TurnError},
};
use pretty_assertions::assert_eq;
use std::{collections::BTreeSet, fs, io::Write as _};

/// The variable that sets the number of kills in the long session.
const KILLS: &str = "AGENT_HOST_TEST_KILLS";

/// The default number of kills.
const DEFAULT_KILLS: usize = 200;

/// The most points that a process passes in the long session before it dies: fewer than to its next
/// barrier, or a turn of four calls.
const FEW_POINTS: usize = 8;
const MANY_POINTS: usize = 40;

/// The size of a page of the journal with its frame in the write-ahead log, in bytes.
const FRAME: u64 = 4_096 + 24;

/// A part of a frame, in bytes: its header and some of its page.
const PART: u64 = 100;

/// The processes of one test, their service, and the test that they run.
struct Theatre {
    test: &'static str,
    play: Play,
    counter: Counter,
}

impl Theatre {
    fn new(test: &'static str, play: Play) -> Self {
        Self {
            test,
            play,
            counter: Counter::start(),
        }
    }

    /// A test directory for a new play.
    fn env(&self) -> TestEnv {
        let env = TestEnv::new();
        self.play.write_files(&env, self.counter.port);
        env
    }

    /// Plays to the end in one process; also returns the points that it passed.
    fn whole(&self) -> (Run, Vec<String>) {
        let env = self.env();
        let report = self.to_the_end(&env, "undisturbed");
        (self.ran(&env), report.points)
    }

    /// Runs a process that resumes the play to its end.
    fn to_the_end(&self, env: &TestEnv, what: &str) -> Report {
        let report = child::run(self.test, env, None).unwrap();
        assert!(
            matches!(report.outcome, None | Some(TurnEnd::Done { .. })),
            "{what}: {report:?}"
        );
        report
    }

    fn ran(&self, env: &TestEnv) -> Run {
        Run {
            story: Story::of(&durable(env)),
            hits: self.counter.take(),
        }
    }

    /// Plays with a fault in a new test directory and lets the next process resume. Returns whether
    /// the fault did harm: with enough space on the disk it does not.
    fn disturbed(
        &self,
        whole: &Run,
        what: &str,
        fault: (usize, Fault),
        stats: &mut FaultStats,
    ) -> bool {
        let env = self.env();
        let ended = child::run(self.test, &env, Some(fault));
        match (fault.1, ended) {
            (Fault::Kill, None) => {}
            (Fault::LogLimit(_), Some(report))
                if matches!(report.outcome, Some(TurnEnd::Done { .. })) =>
            {
                self.counter.take();
                return false;
            }
            (Fault::LogLimit(_), Some(report)) => {
                let Some(TurnEnd::Error {
                    error: TurnError::Journal { message },
                }) = &report.outcome
                else {
                    panic!("{what}: {report:?}");
                };
                assert!(message.contains("cannot write the journal"), "{message}");
            }
            (_, ended) => panic!("{what}: {ended:?}"),
        }
        let doubtful = Story::of(&durable(&env)).interrupted().collect();
        self.to_the_end(&env, what);
        stats.add(what, whole, &self.ran(&env), &doubtful);
        true
    }
}

/// The records on the disk, read from a copy so that the files stay as the dead process left them.
fn durable(env: &TestEnv) -> Vec<EventRecord> {
    let state = env.outside().join("state");
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(&state).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(copy.path(), SqliteOptions::default());
        let store: &dyn JournalStore = &store.await.unwrap();
        let mut records = Vec::new();
        let mut sessions = store.list().await.unwrap();
        // That of an agent follows the one that started it.
        sessions.sort_by_key(|info| info.parent.is_some());
        let parents = sessions.iter().filter(|info| info.parent.is_none());
        assert!(parents.count() <= 1, "{sessions:?}");
        for info in sessions {
            let read = store.for_each_record(info.id, |record| records.push(record));
            read.await.unwrap();
        }
        records
    })
}

/// Prints past the test harness, which hides the output of a passing test.
#[expect(
    clippy::explicit_write,
    reason = "the harness hides what `eprintln` prints"
)]
fn tell(what: &str, stats: &FaultStats) {
    writeln!(std::io::stderr(), "{what}: {stats}").unwrap();
}

/// Kills a process at every point of a play.
fn killed_everywhere(test: &'static str, play: Play) -> BTreeSet<String> {
    let theatre = Theatre::new(test, play);
    let (whole, points) = theatre.whole();
    let mut stats = FaultStats::default();
    for (number, name) in points.iter().enumerate() {
        let what = format!("point {number} ({name})");
        theatre.disturbed(&whole, &what, (number, Fault::Kill), &mut stats);
    }
    tell(test, &stats);
    assert_eq!(
        (stats.faults, stats.lost, stats.twice),
        (points.len(), 0, 0)
    );
    assert!(stats.in_doubt > 0, "{stats}");
    whole.story.kinds
}

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

/// Kills the process at every point of a parent and of the agent that it starts, which waits for the
/// user in between.
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

/// Kills the process of a session of 200 calls again and again, all along its way: where it is
/// ahead of the kills, the next process dies before it makes progress. A generator with a fixed
/// seed chooses the points, so that a failure is reproducible.
#[test]
fn repeated_kills_in_long_session_resume() {
    if child::serve() {
        return;
    }
    let theatre = Theatre::new(
        "crash::matrix::repeated_kills_in_long_session_resume",
        Play::long(50),
    );
    let (whole, _) = theatre.whole();
    assert_eq!(whole.story.calls.len(), 200);
    let kills = std::env::var(KILLS).map_or(DEFAULT_KILLS, |kills| kills.parse().unwrap());
    let env = theatre.env();
    let (mut doubtful, mut settled, mut seed) = (BTreeSet::new(), 0, 1_u64);
    for killed in 0..kills {
        // Knuth's linear congruential generator (MMIX); only its upper bits are good.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let is_ahead = settled * kills > killed * 190;
        let most = if is_ahead { FEW_POINTS } else { MANY_POINTS };
        let number = usize::try_from(seed >> 33).unwrap() % most;
        let ended = child::run(theatre.test, &env, Some((number, Fault::Kill)));
        assert!(ended.is_none(), "kill {killed}: {ended:?}");
        let story = Story::of(&durable(&env));
        doubtful.extend(story.interrupted());
        settled = story.settled();
    }
    assert!(settled > 170, "{kills} kills are not spread: {settled}");
    theatre.to_the_end(&env, "the last process");
    let mut stats = FaultStats::default();
    stats.add(
        "killed again and again",
        &whole,
        &theatre.ran(&env),
        &doubtful,
    );
    stats.faults = kills;
    tell(theatre.test, &stats);
    assert_eq!((stats.lost, stats.twice), (0, 0));
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
