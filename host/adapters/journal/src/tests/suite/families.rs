//! Sessions with those of their agents: copied, written out and moved together.

use super::{
    Backend, ids, read,
    transfer::{exported, import},
};
use crate::{
    ImportAs, JournalStore, SealError, SealKey,
    sealed::MAX_SEALED_SESSIONS,
    tests::{accounting, input, record, sqlite::transfer::sealed, text},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::{
    event::{Event, EventRecord, ParentCall},
    id::{CallId, Digest, SessionId},
    model::{ModelReply, Usage},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::ToolCall,
    turn::ChildSummary,
};
use pretty_assertions::assert_eq;
use serde_json::Value;

fn call() -> CallId {
    CallId("call_0".to_owned())
}

pub(in crate::tests) fn started(parent: Option<SessionId>) -> Event {
    Event::SessionStarted {
        program: "test".to_owned(),
        system: None,
        directory: None,
        client: None,
        parent: parent.map(|session| ParentCall {
            session,
            call_id: call(),
        }),
        labels: Vec::new(),
    }
}

pub(in crate::tests) fn spawned(session: SessionId) -> Event {
    Event::AgentSpawned {
        call_id: call(),
        session,
        agent: "helper".to_owned(),
        definition: Digest::of(b"helper"),
    }
}

pub(in crate::tests) fn replied() -> Event {
    let call = ToolCall::parse(call(), "agent_helper".to_owned(), "{}".to_owned());
    Event::ModelReplied {
        turn: 1,
        reply: ModelReply {
            tool_calls: vec![call],
            ..ModelReply::default()
        },
        discarded: Usage::default(),
        duration_ms: 1,
        tape: None,
    }
}

/// The result of an agent with a file.
fn settled(child: SessionId, file: &Blob) -> Event {
    let file = ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Blob(file.reference()),
        filename: None,
    });
    Event::CallSettled {
        call_id: call(),
        tool: "agent_helper".to_owned(),
        output: ToolResultOutput::Content(vec![file]),
        accounting: accounting(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
        child: Some(ChildSummary {
            agent: "helper".to_owned(),
            session: child,
            turns: 1,
            tool_calls: 0,
            usage: Usage::default(),
        }),
        whole: None,
    }
}

pub(in crate::tests) async fn store_all(
    store: &dyn JournalStore,
    session: SessionId,
    events: Vec<Event>,
    blobs: Vec<Blob>,
) {
    let journal = store.create(session).await.unwrap();
    let records = (0..)
        .zip(events)
        .map(|(seq, event)| record(session, seq, event));
    journal.append(&records.collect::<Vec<_>>(), blobs);
    journal.barrier().await.unwrap();
}

/// Stores a session, that of its agent and that of the agent's agent, which has the file.
pub(in crate::tests) async fn family(store: &dyn JournalStore, file: &Blob) -> [SessionId; 3] {
    let ids @ [parent, child, grandchild] = [
        SessionId::new(),
        SessionId::from_hash([7; 32]),
        SessionId::from_hash([9; 32]),
    ];
    for (session, above, below) in [
        (parent, None, Some(child)),
        (child, Some(parent), Some(grandchild)),
        (grandchild, Some(child), None),
    ] {
        let mut events = vec![started(above), input("go")];
        if let Some(below) = below {
            events.extend([replied(), spawned(below), settled(below, file)]);
        }
        store_all(store, session, events, vec![file.clone()]).await;
    }
    ids
}

/// The session whose call started a session, and those that it started.
type Links = (Option<SessionId>, Vec<SessionId>);

/// Returns the links of a session as its events have them.
async fn links(store: &dyn JournalStore, session: SessionId) -> Links {
    let mut links = (None, Vec::new());
    for record in read(store, session).await.unwrap() {
        match record.event {
            Event::SessionStarted { parent, .. } => links.0 = parent.map(|parent| parent.session),
            Event::AgentSpawned { session, .. } => links.1.push(session),
            Event::CallSettled {
                child: Some(child), ..
            } => links.1.push(child.session),
            _ => {}
        }
    }
    links
}

/// Checks that a session is the first of three which name each other, and returns the others.
async fn check_family(store: &dyn JournalStore, first: SessionId) -> [SessionId; 2] {
    let (above, below) = links(store, first).await;
    let [child, same] = below.try_into().unwrap();
    assert_eq!((above, same), (None, child));
    let (above, below) = links(store, child).await;
    let [grandchild, same] = below.try_into().unwrap();
    assert_eq!((above, same), (Some(first), grandchild));
    assert_eq!(links(store, grandchild).await, (Some(child), Vec::new()));
    [child, grandchild]
}

pub(super) async fn fork_takes_the_agents_along(backend: &impl Backend) {
    let store = backend.open().await;
    let file = Blob::new(vec![7; 300]);
    let original = family(&*store, &file).await;
    let fork = store.fork(original[0], None, None).await.unwrap();
    let agents = check_family(&*store, fork).await;
    assert_eq!(check_family(&*store, original[0]).await, original[1..]);
    assert_eq!(
        agents
            .iter()
            .filter(|agent| original.contains(agent))
            .count(),
        0
    );
    // The file of the copies outlives the originals, and goes with the copies.
    store.delete(original[0]).await.unwrap();
    assert_eq!(store.read_blob(file.digest).await.unwrap(), file.bytes);
    store.delete(fork).await.unwrap();
    assert_eq!(ids(&*store).await, []);
    assert!(store.read_blob(file.digest).await.is_err());
}

pub(super) async fn export_takes_the_agents_along<P: Backend>(backend: &P) {
    let store = backend.open().await;
    let file = Blob::new(vec![7; 300]);
    let original = family(&*store, &file).await;
    let exported = exported(&*store, original[0]).await;
    let elsewhere = P::make().await.unwrap();
    let other = elsewhere.open().await;
    let imported = import(&*other, &exported, ImportAs::Copy).await.unwrap();
    assert_eq!(imported, original[0]);
    assert_eq!(check_family(&*other, imported).await, original[1..]);
    assert_eq!(other.read_blob(file.digest).await.unwrap(), file.bytes);
    let refused = import(&*other, &exported, ImportAs::Copy)
        .await
        .unwrap_err();
    assert!(matches!(refused, JournalError::Exists(_)), "{refused:?}");
    let new = import(&*other, &exported, ImportAs::NewCopy).await.unwrap();
    let agents = check_family(&*other, new).await;
    assert!(!agents.iter().any(|agent| original.contains(agent)));
    assert_eq!(ids(&*other).await.len(), 6);
    // A copy that is named by the id of an agent that exists here is refused as a whole.
    other.delete(imported).await.unwrap();
    store_all(
        &*other,
        original[2],
        vec![started(None), input("mine")],
        Vec::new(),
    )
    .await;
    let refused = import(&*other, &exported, ImportAs::Copy)
        .await
        .unwrap_err();
    assert!(matches!(refused, JournalError::Exists(_)), "{refused:?}");
    assert_eq!(ids(&*other).await.len(), 4);
}

/// The lines of an exported file, without the last one.
fn lines_of(file: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(file).unwrap();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.pop();
    lines
}

pub(super) async fn import_takes_no_session_that_none_started(backend: &impl Backend) {
    let store = backend.open().await;
    let file = Blob::new(vec![7]);
    let [parent, child, _] = family(&*store, &file).await;
    let lines = lines_of(&exported(&*store, parent).await);
    store.delete(parent).await.unwrap();
    let unknown = SessionId::new();
    let at = |wanted: SessionId| {
        let begins =
            |line: &Value| line["format"].is_string() && line["session"] == wanted.to_string();
        lines.iter().position(begins).unwrap()
    };
    let named = |session: SessionId| serde_json::json!(session);
    for (line, pointer, value, expected) in [
        (
            at(child),
            "/session",
            named(unknown),
            format!(
                "line {} starts session {unknown}, which no earlier session has spawned",
                at(child) + 1
            ),
        ),
        (
            at(child) + 1,
            "/event/parent/session",
            named(unknown),
            format!(
                "line {} cannot be imported (cannot copy session {child}: its event 0 starts a session other than \
                 its agent's)",
                at(child) + 2
            ),
        ),
        (
            0,
            "/agents",
            serde_json::json!(1),
            format!(
                "line {} is not what is expected here",
                at(SessionId::from_hash([9; 32])) + 1
            ),
        ),
        (
            0,
            "/agents",
            serde_json::json!(3),
            format!("line {} is not what is expected here", lines.len() + 1),
        ),
    ] {
        let mut lines = lines.clone();
        *lines[line].pointer_mut(pointer).unwrap() = value;
        let error = text(import(&*store, &sealed(&lines), ImportAs::Copy).await);
        let expected = format!("cannot import the session: {expected}");
        assert!(
            error.starts_with(&expected),
            "{error}\n  is not\n{expected}"
        );
        assert_eq!(ids(&*store).await, [], "{error}");
    }
}

fn key() -> SealKey {
    SealKey::parse(&"07".repeat(32)).unwrap()
}

/// An open call, its approval and everything else come out as they went in, once.
pub(super) async fn sealed_session_keeps_what_waits<P: Backend>(backend: &P) {
    let store = backend.open().await;
    let session = SessionId::new();
    store_all(
        &*store,
        session,
        vec![started(None), input("go"), replied()],
        Vec::new(),
    )
    .await;
    let sealed = store.export_sealed(session, &key()).await.unwrap();
    let elsewhere = P::make().await.unwrap();
    let other = elsewhere.open().await;
    assert_eq!(
        other.import_sealed(&sealed, &key(), None).await.unwrap(),
        session
    );
    let events: Vec<EventRecord> = read(&*other, session).await.unwrap();
    assert_eq!(events, read(&*store, session).await.unwrap());
    let again = other
        .import_sealed(&sealed, &key(), None)
        .await
        .unwrap_err();
    assert!(
        matches!(again, SealError::Journal(JournalError::Exists(_))),
        "{again:?}"
    );
}

/// Appends an event to a session, as a decision does.
async fn continue_session(store: &dyn JournalStore, session: SessionId) {
    let events = read(store, session).await.unwrap().len() as u64;
    let journal = store.open_session(session).await.unwrap();
    journal.append(&[record(session, events, input("more"))], Vec::new());
    journal.barrier().await.unwrap();
}

/// A sealed file is taken as often as nothing came after it, and never again once something did:
/// neither where it was imported nor where it was made.
pub(super) async fn sealed_session_is_not_continued_twice<P: Backend>(backend: &P) {
    let (store, session) = (backend.open().await, SessionId::new());
    let events = vec![started(None), input("go"), replied()];
    store_all(&*store, session, events, Vec::new()).await;
    let sealed = store.export_sealed(session, &key()).await.unwrap();
    let elsewhere = P::make().await.unwrap();
    let other = elsewhere.open().await;
    for store in [&store, &other] {
        for _ in 0..2 {
            if ids(&**store).await == [session] {
                store.delete(session).await.unwrap();
            }
            store.import_sealed(&sealed, &key(), None).await.unwrap();
        }
        continue_session(&**store, session).await;
        let newer = store.export_sealed(session, &key()).await.unwrap();
        store.delete(session).await.unwrap();
        let refused = store
            .import_sealed(&sealed, &key(), None)
            .await
            .unwrap_err();
        let why = "was already here, with 4 events, and has been removed: this file has fewer";
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(ids(&**store).await, []);
        // It came back with all that happened since.
        store.import_sealed(&newer, &key(), None).await.unwrap();
        assert_eq!(read(&**store, session).await.unwrap().len(), 4);
        store.delete(session).await.unwrap();
    }
}

/// The memory of sealed sessions is bounded; what it forgot is refused by its age.
pub(super) async fn sealed_session_that_was_forgotten_is_refused<P: Backend>(backend: &P) {
    let store = backend.open().await;
    let mut sealed = Vec::new();
    for number in 0..=u64::from(MAX_SEALED_SESSIONS) + 1 {
        let session = SessionId::new();
        let journal = store.create(session).await.unwrap();
        let at = EventRecord {
            at_ms: 1_000 + number,
            ..record(session, 0, started(None))
        };
        journal.append(&[at], Vec::new());
        journal.barrier().await.unwrap();
        drop(journal);
        sealed.push(store.export_sealed(session, &key()).await.unwrap());
        store.delete(session).await.unwrap();
    }
    let (first, last) = (&sealed[0], sealed.last().unwrap());
    let refused = store.import_sealed(first, &key(), None).await.unwrap_err();
    let why = "is older than the sealed sessions that ";
    assert!(refused.to_string().contains(why), "{refused}");
    store.import_sealed(last, &key(), None).await.unwrap();
}

/// The agent's session has an id that only the key of its host gives.
pub(super) async fn sealed_session_that_waits_for_an_agent_is_refused(backend: &impl Backend) {
    let store = backend.open().await;
    let (session, child) = (SessionId::new(), SessionId::from_hash([7; 32]));
    let events = vec![started(None), input("go"), replied(), spawned(child)];
    store_all(&*store, session, events, Vec::new()).await;
    store_all(
        &*store,
        child,
        vec![started(Some(session)), input("go")],
        Vec::new(),
    )
    .await;
    let refused = store
        .export_sealed(session, &key())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("it waits for agents or nodes"),
        "{refused}"
    );
}
