//! Firings on a real host with a scripted model: catch-up, overlap, jumps of the clock, and hosts
//! that end between two steps.

use super::{Triggers, firing::work, schedule::due};
use crate::Service;
use agent_host_app::{
    Config, Environment, Host, Overrides,
    runs::{self, UNATTENDED_EXPIRY_MS},
};
use agent_host_engine::{session::now_ms, turn::Prompts};
use agent_host_journal::{Firing, FiringState};
use agent_host_types::{
    event::{EXPIRY, Event},
    id::SessionId,
    session_status::SessionStatus,
    turn::AgentInput,
};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use std::{fs, path::PathBuf, slice::from_ref, sync::Arc};
use tempfile::TempDir;

/// A project with a scripted model, whose directory of state several hosts share.
pub(crate) struct Project(TempDir);

impl Project {
    pub(crate) fn new(toml: &str) -> Self {
        let project = Self(TempDir::new().unwrap());
        fs::create_dir(project.path()).unwrap();
        let script = "[[turn]]\ntext = \"Done.\"\n".repeat(4);
        fs::write(project.path().join("script.toml"), script).unwrap();
        let toml = format!("model = \"script:script.toml\"\nstate-dir = \"state\"\n{toml}");
        fs::write(project.path().join("agent.toml"), toml).unwrap();
        project
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("project")
    }

    fn config(&self) -> Config {
        let cwd = self.path();
        let home = cwd.with_file_name("home").display().to_string();
        let system = cwd.join("system.toml").display().to_string();
        let variables = [
            ("HOME".to_owned(), home),
            ("AGENT_HOST_SYSTEM_CONFIG".to_owned(), system),
        ];
        let environment = Environment {
            variables: variables.into(),
            cwd: cwd.clone(),
        };
        let file = cwd.join("agent.toml");
        let mut config = Config::load(Some(&file), &Overrides::default(), &environment).unwrap();
        config.tools.clear();
        config
    }

    pub(crate) async fn host(&self) -> Service {
        let host = Arc::new(Host::open(self.config()).await.unwrap());
        let triggers = Triggers::open(host.config(), "http://h/").await.unwrap();
        Service::new(host).with_triggers(triggers)
    }
}

fn schedule(lines: &str) -> String {
    format!("[[schedule]]\nname = \"s\"\nprompt = \"go\"\ncron = \"0 * * * *\"\n{lines}")
}

fn ms(instant: &str) -> u64 {
    let instant: Timestamp = instant.parse().unwrap();
    u64::try_from(instant.as_millisecond()).unwrap()
}

/// Fires the schedule if an instant has come, and returns what the store has of it then, without
/// the beginning; the oldest first.
async fn fire(service: &Service, now: &str) -> Vec<(String, FiringState)> {
    let schedule = &service.triggers.schedules[0];
    if let Some(fired) = schedule.fire(service, ms(now)).await.unwrap() {
        work(service, &schedule.trigger, fired).await;
        service.runs.ended().await;
    }
    states(service).await
}

async fn states(service: &Service) -> Vec<(String, FiringState)> {
    let firings = firings(service).await.into_iter();
    let shown = |firing: Firing| {
        let at = Timestamp::from_millisecond(firing.at_ms.try_into().unwrap()).unwrap();
        (at.to_string(), firing.state)
    };
    firings.map(shown).collect()
}

async fn firings(service: &Service) -> Vec<Firing> {
    let id = service.triggers.ids()[0].clone();
    let mut firings = service.store().firings(id, 99).await.unwrap();
    firings.retain(|firing| firing.state != FiringState::Counted);
    firings.reverse();
    firings
}

/// The senders of the messages of a session.
async fn senders(service: &Service, session: SessionId) -> Vec<Option<String>> {
    let mut senders = Vec::new();
    let store = service.store();
    let read = store.for_each_record(session, |record| {
        if let Event::InputReceived { by, .. } = record.event {
            senders.push(by);
        }
    });
    read.await.unwrap();
    senders
}

fn started(at: &str) -> (String, FiringState) {
    (at.to_owned(), FiringState::Started)
}

/// The latest instant that was missed is made up, if it is not too old.
#[test]
fn due_instant_is_the_latest_that_is_not_too_old() {
    let config = |lines: &str| Project::new(&schedule(lines)).config().schedules.remove(0);
    let (hour, none, day) = (
        config(""),
        config("catch-up-seconds = 0"),
        config("catch-up-seconds = \"1d\""),
    );
    let (eight, nine) = ("2026-12-01T08:00:00Z", "2026-12-01T09:00:00Z");
    for (schedule, seen, now, expected) in [
        (&hour, "2026-12-01T08:59:59Z", nine, Some(nine)),
        (&hour, "2026-12-01T09:00:00Z", "2026-12-01T09:00:01Z", None),
        (
            &hour,
            "2026-11-01T00:00:00Z",
            "2026-12-01T09:59:59Z",
            Some(nine),
        ),
        (
            &hour,
            "2026-12-01T07:30:00Z",
            "2026-12-01T08:59:59.999Z",
            Some(eight),
        ),
        (
            &none,
            "2026-12-01T08:59:59Z",
            "2026-12-01T09:01:00Z",
            Some(nine),
        ),
        (&none, "2026-12-01T08:59:59Z", "2026-12-01T09:01:01Z", None),
        (&none, "2026-12-01T07:00:00Z", "2026-12-01T09:30:00Z", None),
        (
            &day,
            "2026-11-01T00:00:00Z",
            "2026-12-01T09:30:00Z",
            Some(nine),
        ),
        // The clock was put back.
        (&day, "2026-12-01T09:30:00Z", "2026-12-01T08:30:00Z", None),
    ] {
        let found = due(schedule, ms(seen), ms(now));
        assert_eq!(found, expected.map(ms), "{seen} {now}");
    }
    let once = "[[schedule]]\nname = \"s\"\nprompt = \"go\"\nat = \"2026-12-01T09:00\"\n";
    let once = Project::new(once).config().schedules.remove(0);
    assert_eq!(due(&once, 0, ms("2026-12-01T09:59:59Z")), Some(ms(nine)));
    assert_eq!(due(&once, 0, ms("2026-12-01T10:00:01Z")), None);
    assert_eq!(due(&once, 0, ms("2026-12-01T08:59:59Z")), None);
}

/// A schedule begins when it is first seen. A clock that jumps back fires nothing twice, one that
/// jumps ahead fires the latest instant, and another host has nothing left.
#[tokio::test(flavor = "multi_thread")]
async fn instants_fire_once_whatever_the_clock_does() {
    let project = Project::new(&schedule(""));
    let service = project.host().await;
    let nine = started("2026-12-01T09:00:00Z");
    let noon = started("2026-12-01T12:00:00Z");
    // What was before the first look is not made up.
    assert_eq!(fire(&service, "2026-12-01T08:30:00Z").await, []);
    let fired = fire(&service, "2026-12-01T09:00:00Z").await;
    assert_eq!(fired, from_ref(&nine));
    let fired = fire(&service, "2026-12-01T09:00:30Z").await;
    assert_eq!(fired, from_ref(&nine));
    // Back by half an hour, and over the instant once more.
    for now in ["2026-12-01T08:30:00Z", "2026-12-01T09:00:05Z"] {
        assert_eq!(fire(&service, now).await, from_ref(&nine));
    }
    // Ahead, over 10:00 and 11:00.
    let fired = fire(&service, "2026-12-01T12:00:10Z").await;
    assert_eq!(fired, [nine.clone(), noon.clone()]);
    // Another host that begins now, and one whose clock is behind.
    let other = project.host().await;
    for now in ["2026-12-01T12:30:00Z", "2026-12-01T09:10:00Z"] {
        assert_eq!(fire(&other, now).await, [nine.clone(), noon.clone()]);
    }
    // The missed instant of 13:00, and none of those before it.
    let later = project.host().await;
    let fired = fire(&later, "2026-12-01T13:59:00Z").await;
    assert_eq!(fired, [nine, noon, started("2026-12-01T13:00:00Z")]);
    let sessions: Vec<SessionId> = firings(&later)
        .await
        .iter()
        .map(|one| one.session)
        .collect();
    assert_ne!(sessions[0], sessions[1]);
    for session in sessions {
        let sender = Some("schedule s".to_owned());
        assert_eq!(senders(&later, session).await, [sender]);
    }
}

/// While the firing before it runs, one is skipped, or waits; one alone.
#[tokio::test(flavor = "multi_thread")]
async fn overlapping_firing_is_skipped_or_waits() {
    let (nine, ten, eleven) = ("T09:00:00Z", "T10:00:00Z", "T11:00:00Z");
    let (waiting, skipped) = (FiringState::Waiting, FiringState::Skipped);
    for (overlap, expected) in [("skip", [skipped, skipped]), ("queue", [waiting, skipped])] {
        let project = Project::new(&schedule(&format!("overlap = \"{overlap}\"\n")));
        let service = project.host().await;
        fire(&service, "2026-12-01T08:30:00Z").await;
        let fired = fire(&service, &format!("2026-12-01{nine}")).await;
        assert_eq!(fired.len(), 1);
        let session = firings(&service).await[0].session;
        // As on another host, where it runs on.
        let other = project.host().await;
        let runs = other.store().open_session(session).await.unwrap();
        fire(&service, &format!("2026-12-01{ten}")).await;
        let fired = fire(&service, &format!("2026-12-01{eleven}")).await;
        let found: Vec<FiringState> = fired[1..].iter().map(|(_, state)| *state).collect();
        assert_eq!(found, expected, "{overlap}");
        drop(runs);
        let left = take(&service).await;
        assert_eq!(left, usize::from(overlap == "queue"));
        let state = states(&service).await[1].1;
        let expected = [FiringState::Skipped, FiringState::Started][left];
        assert_eq!(state, expected, "{overlap}");
    }
}

/// Works on all firings that are open, as if their time had come, and returns the number of those
/// that were to start.
async fn take(service: &Service) -> usize {
    let triggers = &service.triggers;
    let store = service.store();
    let taken = store.take_firings(triggers.ids(), u64::MAX >> 1, now_ms());
    let taken = taken.await.unwrap();
    let waiting = |firing: &&Firing| firing.state == FiringState::Waiting;
    let count = taken.iter().filter(waiting).count();
    for firing in taken {
        let trigger = Arc::clone(triggers.of_id(&firing.trigger).unwrap());
        work(service, &trigger, firing).await;
    }
    count
}

/// Each firing continues one session.
#[tokio::test(flavor = "multi_thread")]
async fn one_session_is_continued_by_each_firing() {
    let project = Project::new(&schedule("session = \"one\"\n"));
    let service = project.host().await;
    for now in ["08:30:00", "09:00:00", "10:00:00"] {
        fire(&service, &format!("2026-12-01T{now}Z")).await;
    }
    let fired = firings(&service).await;
    assert_eq!(fired.len(), 2);
    assert_eq!(fired[0].session, fired[1].session);
    let sender = Some("schedule s".to_owned());
    let expected = [sender.clone(), sender];
    assert_eq!(senders(&service, fired[0].session).await, expected);
}

/// A host ends behind each step of a firing; the next one does what is left, once.
#[tokio::test(flavor = "multi_thread")]
async fn firing_of_an_ended_host_is_completed_once() {
    let project = Project::new(&schedule(""));
    let service = project.host().await;
    fire(&service, "2026-12-01T08:30:00Z").await;
    let schedule = &service.triggers.schedules[0];
    // Behind the record of the firing.
    let now = ms("2026-12-01T09:00:00Z");
    let recorded = schedule.fire(&service, now).await.unwrap().unwrap();
    assert_eq!(states(&service).await[0].1, FiringState::Waiting);
    let other = project.host().await;
    // The instant is another host's; its work is due when the first one's time is over.
    assert_eq!(
        other.triggers.schedules[0].fire(&other, now).await.unwrap(),
        None
    );
    assert_eq!(take(&other).await, 1);
    other.runs.ended().await;
    assert_eq!(states(&other).await[0].1, FiringState::Started);
    // The first one was only slow.
    work(&service, &schedule.trigger, recorded.clone()).await;
    service.runs.ended().await;
    // Behind the message, before that is recorded of the firing.
    let done = firings(&other).await.remove(0);
    let again = Firing {
        due_ms: Some(1),
        ..recorded.clone()
    };
    assert!(other.store().update_firing(done, again).await.unwrap());
    assert_eq!(take(&other).await, 1);
    other.runs.ended().await;
    assert_eq!(states(&other).await[0].1, FiringState::Started);
    let sender = Some("schedule s".to_owned());
    assert_eq!(senders(&other, recorded.session).await, [sender]);
    assert_eq!(take(&other).await, 0);
}

/// An agent that is gone is no reason to try again and again.
#[tokio::test(flavor = "multi_thread")]
async fn firing_of_a_session_that_cannot_be_continued_fails() {
    let agent = "[[agent]]\nname = \"a\"\ndescription = \"d\"\n";
    let one = schedule("session = \"one\"\nagent = \"a\"\n");
    let project = Project::new(&format!("{one}{agent}"));
    let service = project.host().await;
    fire(&service, "2026-12-01T08:30:00Z").await;
    fire(&service, "2026-12-01T09:00:00Z").await;
    drop(service);
    // The session is of an agent that is gone.
    let path = project.path().join("agent.toml");
    let toml = fs::read_to_string(&path).unwrap();
    let toml = toml.replace(agent, "").replace("agent = \"a\"\n", "");
    fs::write(path, toml).unwrap();
    let service = project.host().await;
    let fired = fire(&service, "2026-12-01T10:00:00Z").await;
    let failed = ("2026-12-01T10:00:00Z".to_owned(), FiringState::Failed);
    assert_eq!(fired, [started("2026-12-01T09:00:00Z"), failed]);
    assert_eq!(take(&service).await, 0);
}

const CALLS: &str = "[[turn]]\n[[turn.call]]\ntool = \"agent_a\"\n\
    input = '{\"instructions\": \"work\"}'\n[[turn]]\ntext = \"Then not.\"\n";

const AGENT: &str = "[[agent]]\nname = \"a\"\ndescription = \"d\"\napproval = \"always\"\n";

/// A project whose model asks for a call that needs approval. `top` is at the top of its file.
fn asking_project(top: &str) -> Project {
    let top = format!("agents = [\"a\"]\n{top}");
    let project = Project::new(&format!("{top}{}{AGENT}", schedule("")));
    fs::write(project.path().join("script.toml"), CALLS).unwrap();
    project
}

/// The events of a session, with their times.
async fn events(service: &Service, session: SessionId) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    let store = service.store();
    let read = store.for_each_record(session, |record| events.push((record.at_ms, record.event)));
    read.await.unwrap();
    events
}

/// The time of the request for approval of a session, and its expiry.
async fn expiry(service: &Service, session: SessionId) -> (u64, Option<u64>) {
    let events = events(service, session).await.into_iter();
    let mut requests = events.filter_map(|(at_ms, event)| match event {
        Event::ApprovalRequested { expires_at_ms, .. } => Some((at_ms, expires_at_ms)),
        _ => None,
    });
    requests.next().unwrap()
}

async fn status(service: &Service, session: SessionId) -> SessionStatus {
    service.store().infos(vec![session]).await.unwrap()[0].status
}

/// A client that polls does not take the turn before the last one for the end of a run.
#[tokio::test(flavor = "multi_thread")]
async fn row_read_before_the_end_of_a_run_is_read_again() {
    let project = Project::new(&schedule(""));
    let service = project.host().await;
    fire(&service, "2026-12-01T08:30:00Z").await;
    fire(&service, "2026-12-01T09:00:00Z").await;
    let session = firings(&service).await[0].session;
    let ended = service.store().infos(vec![session]).await.unwrap();
    assert_eq!(ended[0].outcome.as_deref(), Some("done"));
    for status in [SessionStatus::Running, SessionStatus::Interrupted] {
        let mut before = ended.clone();
        before[0].status = status;
        before[0].outcome = Some("needs-more-turns".to_owned());
        let rows = service.rows(before).await.unwrap();
        assert_eq!(rows[0].info, ended[0]);
    }
}

/// A request of a firing does not wait for ever; one of a session of the user does.
#[tokio::test(flavor = "multi_thread")]
async fn approval_of_a_firing_expires_by_default() {
    let project = asking_project("");
    let service = project.host().await;
    fire(&service, "2026-12-01T08:30:00Z").await;
    fire(&service, "2026-12-01T09:00:00Z").await;
    let session = firings(&service).await[0].session;
    assert_eq!(
        status(&service, session).await,
        SessionStatus::WaitingForApproval
    );
    let (at_ms, late) = expiry(&service, session).await;
    let after = late.unwrap() - at_ms;
    assert!(UNATTENDED_EXPIRY_MS.abs_diff(after) < 60_000, "{after}");
    // It is looked at again then, and not before.
    while firings(&service).await[0].due_ms != late {
        take(&service).await;
    }
    assert_eq!(
        status(&service, session).await,
        SessionStatus::WaitingForApproval
    );

    let agent = service.host.agents().agent(Prompts::Ask);
    let session = service.host.sessions().start(None).await.unwrap();
    let id = session.id();
    let slot = service
        .runs
        .reserve(id, Some("ann".to_owned()))
        .await
        .unwrap();
    let (host, input) = (Arc::clone(&service.host), AgentInput::Text("go".to_owned()));
    runs::run(slot, host, agent, session, input, None).await;
    assert_eq!(expiry(&service, id).await.1, None);
}

/// Two hosts look at the same time, and the one that has the session continues it.
#[tokio::test(flavor = "multi_thread")]
async fn expired_approval_of_a_firing_is_denied_once() {
    let project = asking_project("approval-expires-seconds = 1\n");
    let (service, other) = (project.host().await, project.host().await);
    fire(&service, "2026-12-01T08:30:00Z").await;
    fire(&service, "2026-12-01T09:00:00Z").await;
    let session = firings(&service).await[0].session;
    let late = expiry(&service, session).await.1.unwrap();
    while now_ms() < late {
        tokio::task::yield_now().await;
    }
    while firings(&service).await[0].due_ms.is_some() {
        tokio::join!(take(&service), take(&other));
        tokio::join!(service.runs.ended(), other.runs.ended());
    }
    assert_eq!(status(&service, session).await, SessionStatus::Done);
    let events = events(&service, session).await;
    let decided: Vec<Option<String>> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::DecisionRecorded { by, .. } => Some(by.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(decided, [Some(EXPIRY.to_owned())]);
    let sender = Some("schedule s".to_owned());
    assert_eq!(senders(&service, session).await, [sender]);
    let is_spawned = |(_, event): &(u64, Event)| matches!(event, Event::AgentSpawned { .. });
    assert!(!events.iter().any(is_spawned));
}

/// Projects of one state directory do not share a schedule because of its name.
#[tokio::test(flavor = "multi_thread")]
async fn schedules_of_projects_are_apart() {
    let (one, other) = (Project::new(&schedule("")), Project::new(&schedule("")));
    let (one, other) = (one.host().await, other.host().await);
    assert_ne!(one.triggers.ids(), other.triggers.ids());
}
