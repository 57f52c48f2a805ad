//! The corpus of recorded sessions (`tests/corpus`): each replays equal, and so does an import of
//! it.

use super::*;
use crate::session::{SessionCopy, ended_children};
use agent_host_types::{
    event::{EVENT_VERSION, Event},
    id::{Digest, SessionId},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/corpus");
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    files
}

/// Reads an exported session, the first of the file, with those of its agents.
fn exported(file: &Path) -> Recording {
    let mut sessions: BTreeMap<SessionId, Vec<EventRecord>> = BTreeMap::new();
    let (mut root, mut blobs) = (None, Vec::new());
    for line in fs::read_to_string(file).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(event) = line.get("event") {
            let v = u32::try_from(line["v"].as_u64().unwrap()).unwrap();
            let session = serde_json::from_value(line["session"].clone()).unwrap();
            sessions.entry(session).or_default().push(EventRecord {
                v: EVENT_VERSION,
                session,
                seq: line["seq"].as_u64().unwrap(),
                at_ms: line["at_ms"].as_u64().unwrap(),
                event: Event::from_stored(v, event.to_string().as_bytes()).unwrap(),
            });
            root.get_or_insert(session);
        } else if let Some(bytes) = line.get("bytes").and_then(Value::as_str) {
            let digest: Digest = line["digest"].as_str().unwrap().parse().unwrap();
            blobs.push((digest, STANDARD.decode(bytes).unwrap()));
        }
    }
    let root = root.unwrap();
    let mut recording = Recording::new(root, sessions.remove(&root).unwrap());
    for (session, records) in sessions {
        recording.add_session(session, records);
    }
    for (digest, bytes) in blobs {
        recording.add_blob(digest, bytes);
    }
    recording
}

/// Returns a copy of a recording under another id, with the copies of its agents.
fn imported(recording: &Recording) -> Recording {
    let mut all = BTreeMap::new();
    let root = SessionId::new();
    let mut open = vec![(
        recording.session(),
        SessionCopy::new(recording.session(), root),
    )];
    while let Some((from, mut copy)) = open.pop() {
        let records = recording.sessions[&from].iter().cloned();
        let mut copied: Vec<EventRecord> = records.map(|it| copy.next(it).unwrap()).collect();
        copied.extend(copy.finish().unwrap());
        for (agent, into) in copy.agents() {
            let of_agent = SessionCopy::of_agent(copy.copied(), *agent, *into);
            open.push((*agent, of_agent));
        }
        all.insert(copied[0].session, copied);
    }
    Recording {
        root,
        sessions: all,
        ..recording.clone()
    }
}

/// Returns the sessions of agents, and of reports, that the events of a copy name and that are not
/// sessions of the copy.
fn foreign(copy: &Recording) -> Vec<SessionId> {
    let mut foreign = Vec::new();
    for record in copy.sessions.values().flatten() {
        let mut event = record.event.clone();
        let children = ended_children(&mut event).map(|child| child.session);
        foreign.extend(children.filter(|id| !copy.sessions.contains_key(id)));
        if let Event::TurnEnded { outcome, .. } = &event {
            foreign.extend(Some(outcome.summary.session).filter(|id| *id != record.session));
        }
    }
    foreign
}

#[tokio::test]
async fn corpus_replays_equal_as_recorded_and_as_imported() {
    let files = files();
    assert!(files.len() > 30, "{}", files.len());
    for file in files {
        let recording = exported(&file);
        let replayed = replay(&recording).await.unwrap();
        assert_eq!(replayed.difference, None, "{}", file.display());
        // A copy in the corpus begins with events that are compared apart.
        let is_copy = |record: &EventRecord| matches!(record.event, Event::SessionForked { .. });
        let count = match recording.events().any(is_copy) {
            true => replayed.events,
            false => recording.events().count() as u64,
        };
        assert_eq!(replayed.events, count, "{}", file.display());
        let imported = imported(&recording);
        assert_eq!(foreign(&imported), [], "{}", file.display());
        let copy = replay(&imported).await.unwrap();
        assert_eq!(copy.difference, None, "import of {}", file.display());
        assert_eq!(copy.events, count, "import of {}", file.display());
    }
}
