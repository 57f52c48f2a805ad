//! The *theatre*: the processes of one test, which play one play and are disturbed, with what they
//! leave behind.

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

/// The variable that sets the number of kills in a long play.
const KILLS: &str = "AGENT_HOST_TEST_KILLS";

/// The default number of kills.
const DEFAULT_KILLS: usize = 200;

/// The most points that a process of a long play passes before it dies.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Where the play is ahead of the kills: too few to make progress.
    pub(crate) few: usize,
    /// Elsewhere.
    pub(crate) many: usize,
}

/// The processes of one test, their service, and the test that they run.
pub(crate) struct Theatre {
    pub(crate) test: &'static str,
    play: Play,
    pub(crate) counter: Counter,
}

impl Theatre {
    pub(crate) fn new(test: &'static str, play: Play) -> Self {
        Self {
            test,
            play,
            counter: Counter::start(),
        }
    }

    /// A test directory for a new play.
    pub(crate) fn env(&self) -> TestEnv {
        let env = TestEnv::new();
        self.play.write_files(&env, self.counter.port);
        env
    }

    /// Plays to the end without a fault; also returns the points that its processes passed.
    pub(crate) fn whole(&self) -> (Run, Vec<String>) {
        let env = self.env();
        let points = self.to_the_end(&env, "undisturbed");
        let run = self.ran(&env);
        run.assert_accounted("undisturbed");
        (run, points)
    }

    /// Runs the processes that resume the play to its end. Returns the points that they passed.
    pub(crate) fn to_the_end(&self, env: &TestEnv, what: &str) -> Vec<String> {
        let mut points = Vec::new();
        let mut last = None;
        for decides in self.play.processes() {
            let report = child::run(self.test, env, None, *decides).unwrap();
            points.extend(report.points);
            last = report.outcome;
        }
        assert!(
            matches!(last, None | Some(TurnEnd::Done { .. })),
            "{what}: {last:?}"
        );
        points
    }

    /// Plays with a fault at a point, which is counted over all processes. Returns the report of
    /// the process that reached it, or `None` if it was killed.
    fn faulty(&self, env: &TestEnv, (number, fault): (usize, Fault)) -> Option<Report> {
        let mut ahead = number;
        let mut last = None;
        for decides in self.play.processes() {
            let report = child::run(self.test, env, Some((ahead, fault)), *decides)?;
            let passed = report.points.len();
            last = Some(report);
            match ahead.checked_sub(passed) {
                Some(rest) => ahead = rest,
                None => break,
            }
        }
        last
    }

    pub(crate) fn ran(&self, env: &TestEnv) -> Run {
        Run {
            story: Story::of(&durable(env)),
            hits: self.counter.take(),
        }
    }

    /// Plays with a fault in a new test directory and lets the next process resume. Returns whether
    /// the fault did harm: with enough space on the disk it does not.
    pub(crate) fn disturbed(
        &self,
        whole: &Run,
        what: &str,
        fault: (usize, Fault),
        stats: &mut FaultStats,
    ) -> bool {
        let env = self.env();
        let ended = self.faulty(&env, fault);
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
pub(crate) fn durable(env: &TestEnv) -> Vec<EventRecord> {
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
pub(crate) fn tell(what: &str, stats: &FaultStats) {
    writeln!(std::io::stderr(), "{what}: {stats}").unwrap();
}

/// Kills a process at every point of a play.
pub(crate) fn killed_everywhere(test: &'static str, play: Play) -> BTreeSet<String> {
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

/// Kills the process of a long play of `calls` calls again and again, all along its way: where it
/// is ahead of the kills, the next process dies before it makes progress. A generator with a fixed
/// seed chooses the points, so that a failure is reproducible.
pub(crate) fn killed_again_and_again(
    test: &'static str,
    play: Play,
    calls: usize,
    pace: Pace,
) -> FaultStats {
    let theatre = Theatre::new(test, play);
    let (whole, _) = theatre.whole();
    assert_eq!(whole.story.calls.len(), calls);
    let kills = std::env::var(KILLS).map_or(DEFAULT_KILLS, |kills| kills.parse().unwrap());
    let env = theatre.env();
    let (mut doubtful, mut settled, mut seed) = (BTreeSet::new(), 0, 1_u64);
    for killed in 0..kills {
        // Knuth's linear congruential generator (MMIX); only its upper bits are good.
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let is_ahead = settled * kills * 20 > killed * calls * 19;
        let most = if is_ahead { pace.few } else { pace.many };
        let number = usize::try_from(seed >> 33).unwrap() % most;
        let ended = theatre.faulty(&env, (number, Fault::Kill));
        assert!(ended.is_none(), "kill {killed}: {ended:?}");
        let story = Story::of(&durable(&env));
        doubtful.extend(story.interrupted());
        settled = story.settled();
    }
    assert!(
        settled * 20 > calls * 17,
        "{kills} kills are not spread: {settled}"
    );
    theatre.to_the_end(&env, "the last process");
    let mut stats = FaultStats::default();
    stats.add(
        "killed again and again",
        &whole,
        &theatre.ran(&env),
        &doubtful,
    );
    stats.faults = kills;
    tell(test, &stats);
    assert_eq!((stats.lost, stats.twice), (0, 0));
    stats
}
