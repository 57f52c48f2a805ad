//! The corpus of recorded sessions (`tests/corpus`): each replays equal, and so does an import of
//! it.

use super::*;
use crate::{
    replay::Difference,
    session::{SessionCopy, ended_children},
};
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    flow::FlowMode,
    id::{CallId, Digest, SessionId},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
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

/// Returns a recording as if its turns had run with a policy about flows.
fn with_flow(recording: &Recording, mode: FlowMode) -> Recording {
    let mut changed = recording.clone();
    for record in changed.sessions.values_mut().flatten() {
        if let Event::LoopConfigured { setup, .. } = &mut record.event {
            let mut form: Value = serde_json::from_slice(&recording.blobs[&setup.digest]).unwrap();
            for agent in form["agents"].as_object_mut().unwrap().values_mut() {
                agent["settings"]["flow"] = json!({ "mode": mode });
            }
            let bytes = serde_json::to_vec(&form).unwrap();
            setup.digest = Digest::of(&bytes);
            setup.size = bytes.len() as u64;
            changed.blobs.insert(setup.digest, bytes);
        }
    }
    changed
}

/// Replays a recording until something differs that is not a label, and puts the labels that the
/// replay has in the recording. Returns the difference and the number of labels.
async fn beyond_labels(mut recording: Recording) -> (Option<Difference>, usize) {
    let mut labels = 0;
    while let Some(found) = replay(&recording).await.unwrap().difference {
        let Some(replayed) = &found.replayed else {
            return (Some(found), labels);
        };
        let records = recording.sessions.get_mut(&found.session).unwrap();
        let at = usize::try_from(found.seq).unwrap();
        let mut event = serde_json::to_value(&records[at].event).unwrap();
        let of_files = event["kind"] == "files-labelled";
        let (parent, name) = found.field.rsplit_once('/').unwrap_or_default();
        match (parent, name) {
            ("", "kind") if replayed == "files-labelled" => {
                insert_label(records, at);
                continue;
            }
            (_, "labels" | "sources") => {}
            ("", "call_id") | ("/files", _) if of_files => {}
            _ => return (Some(found), labels),
        }
        match event.pointer_mut(parent).unwrap() {
            Value::Array(values) => values.push(replayed.clone()),
            fields => fields[name] = replayed.clone(),
        }
        records[at].event = serde_json::from_value(event).unwrap();
        labels += 1;
    }
    (None, labels)
}

/// Inserts an event that labels files, still without them.
fn insert_label(records: &mut Vec<EventRecord>, at: usize) {
    let mut record = records[at].clone();
    record.event = Event::FilesLabelled {
        call_id: CallId(String::new()),
        files: Vec::new(),
    };
    records.insert(at, record);
    for (seq, record) in (0..).zip(records) {
        record.seq = seq;
    }
}

/// With `off` each session of the corpus is as it was; with `observe`, but for its labels. The
/// sessions that `ask` changes show that the comparison can fail.
#[tokio::test]
async fn corpus_with_flows_observed_differs_only_in_labels() {
    let mut found = BTreeMap::from([
        (FlowMode::Off, [0, 0]),
        (FlowMode::Observe, [0, 0]),
        (FlowMode::Ask, [0, 0]),
    ]);
    for file in files() {
        let recording = exported(&file);
        for (mode, [labelled, changed]) in &mut found {
            let (difference, labels) = beyond_labels(with_flow(&recording, *mode)).await;
            if *mode != FlowMode::Ask {
                assert_eq!(difference, None, "{mode}: {}", file.display());
            }
            *labelled += usize::from(labels > 0);
            *changed += usize::from(difference.is_some());
        }
    }
    // Sessions with labels, and those that differ otherwise.
    let counts: Vec<_> = found.into_values().collect();
    assert_eq!(counts, [[0, 0], [16, 0], [15, 2]]);
}
