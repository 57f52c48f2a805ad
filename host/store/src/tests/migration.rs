//! A journal of format 1: everything in it is read, one that cannot be is refused alone, and nothing is half migrated.

use super::{input, read, record, records_of, text};
use crate::{Store, database::FORMAT_VERSION};
use agent_host_engine::{journal::Journal as _, session::Session};
use agent_host_types::{
    continuation::{Awaiting, Continuation, PendingCall},
    event::{EVENT_VERSION, Event, EventRecord},
    id::{CallId, Digest, SessionId},
    message::{Message, Role},
    model::{ModelReply, Provenance, StopReason, Usage},
    output::{Blob, ContentPart, FileData, FilePart},
    tool::{DecisionKind, Effect, ToolCall, ToolRuntime},
    turn::{TurnEnd, TurnReport, TurnSummary},
};
use pretty_assertions::assert_eq;
use rusqlite::Connection;
use serde_json::json;
use std::{path::PathBuf, sync::Arc};
use tempfile::TempDir;

/// A folder with a journal of format 1.
fn old() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("agent-host.db");
    let db = Connection::open(&file).unwrap();
    db.pragma_update(None, "journal_mode", "wal").unwrap();
    db.execute_batch(include_str!("format_1.sql")).unwrap();
    (dir, file)
}

fn session(n: u8) -> SessionId {
    format!("0198a000-0000-7000-8000-00000000000{n}")
        .parse()
        .unwrap()
}

fn format_of(file: &PathBuf) -> i64 {
    let db = Connection::open(file).unwrap();
    db.query_row("SELECT format_version FROM meta", [], |row| row.get(0))
        .unwrap()
}

/// The first session of the fixture as it is to be read.
fn expected() -> Vec<EventRecord> {
    let session = session(1);
    let provenance = Provenance {
        provider: "script".to_owned(),
        model: "tour".to_owned(),
    };
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        cached_input_tokens: 0,
    };
    let arguments = json!({"path": "a"});
    let call_id = CallId("call_1".to_owned());
    let pending = PendingCall {
        call_id: call_id.clone(),
        tool: "write_file".to_owned(),
        title: None,
        effect: Effect::Effectful,
        input: arguments.as_object().unwrap().clone(),
        input_digest: "sha256:c0c1a6b6a5e7f8b2a9b0d5c4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4"
            .parse()
            .unwrap(),
        requested_input: None,
        executables: Vec::new(),
        rule: "effect.effectful".to_owned(),
        decisions: DecisionKind::ALL.into(),
    };
    let events = [
        Event::SessionStarted {
            program: "0.1.0".to_owned(),
            system: None,
            folder: Some("/home/ann".to_owned()),
            client: None,
            parent: None,
        },
        Event::InputReceived {
            message: Message::parts(
                Role::User,
                vec![
                    ContentPart::Text {
                        text: "Write it down".to_owned(),
                    },
                    ContentPart::File(FilePart {
                        media_type: "text/plain".to_owned(),
                        data: FileData::Blob(Blob::new(b"x".to_vec()).reference()),
                        filename: None,
                    }),
                ],
            ),
            by: None,
        },
        Event::ModelRequested {
            turn: 1,
            provenance: provenance.clone(),
            messages: 1,
            tools: 1,
            estimated_tokens: 0,
            request_digest: Digest::of(b"request"),
            system: None,
        },
        Event::ModelReplied {
            turn: 1,
            reply: ModelReply {
                text: String::new(),
                tool_calls: vec![ToolCall::parse(
                    call_id,
                    "write_file".to_owned(),
                    arguments.to_string(),
                )],
                stop_reason: Some(StopReason::ToolUse),
                usage,
                response_id: None,
                metadata: serde_json::Map::new(),
                provenance: None,
                raw: None,
            },
            discarded: Usage::default(),
            duration_ms: 1,
            tape: None,
        },
        Event::ApprovalRequested {
            request: "r1".to_owned(),
            turn: 1,
            index: 0,
            calls: vec![pending.clone()],
            expires_at_ms: None,
        },
        Event::TurnEnded {
            outcome: TurnReport {
                summary: TurnSummary {
                    session,
                    turn: 1,
                    total_turns: 1,
                    turn_usage: usage,
                    total_usage: usage,
                    provenance,
                    response_id: None,
                    stop_reason: Some(StopReason::ToolUse),
                    tool_calls: 1,
                    duration_ms: 2,
                    tool_runtime: ToolRuntime::Host,
                },
                end: TurnEnd::AwaitingConfirmation {
                    continuation: Continuation {
                        version: 1,
                        session,
                        turn: 1,
                        request: "r1".to_owned(),
                        awaiting: Awaiting::Confirm {
                            index: 0,
                            calls: vec![pending],
                        },
                        completed: Vec::new(),
                        usage: Usage::default(),
                        expires_at_ms: None,
                        signature: Digest::of(&[]),
                    },
                },
            },
        },
    ];
    let records = (0..).zip(events).map(|(seq, event)| EventRecord {
        v: EVENT_VERSION,
        session,
        seq,
        at_ms: 1_000 + seq,
        event,
    });
    records.collect()
}

#[tokio::test]
async fn sessions_of_format_1_are_read_and_go_on() {
    let (dir, file) = old();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(format_of(&file), FORMAT_VERSION);
    assert_eq!(read(&store, session(1)).unwrap(), expected());
    let second = read(&store, session(2)).unwrap();
    assert_eq!(
        second.last().unwrap().event,
        Event::RepairRequested {
            message: "again".to_owned()
        }
    );
    assert_eq!(
        text(read(&store, session(3))),
        format!(
            "cannot read session {} from {}: event 1 is not in the form that was written (invalid type: integer `7`, expected \
             a map); restore the file from a backup, or begin another session (other sessions can still be read)",
            session(3),
            store.file().display()
        )
    );
    let ids: Vec<_> = store.list().unwrap().iter().map(|row| row.id).collect();
    assert_eq!(ids, [session(3), session(2), session(1)]);

    // The call still waits, and new events follow the old ones in one chain.
    let journal = Arc::new(store.open_session(session(1)).unwrap());
    let resumed = Session::resume(journal.clone()).await.unwrap();
    assert_eq!(resumed.state().batch().len(), 1);
    let next = record(session(1), 6, input("go on"));
    journal.append(std::slice::from_ref(&next), Vec::new());
    journal.barrier().await.unwrap();
    let all = [expected(), vec![next]].concat();
    assert_eq!(records_of(&journal).await.unwrap(), all);
    drop(resumed);
    drop(journal);
    drop(store);
    let again = Store::open(dir.path()).unwrap();
    assert_eq!(read(&again, session(1)).unwrap(), all);
}

#[test]
fn blobs_of_format_1_are_kept_by_those_who_refer_to_them() {
    let (dir, file) = old();
    drop(Store::open(dir.path()).unwrap());
    let db = Connection::open(file).unwrap();
    let mut query = db
        .prepare("SELECT session, digest FROM blob_references")
        .unwrap();
    let found: Vec<(String, String)> = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let blob = Blob::new(b"x".to_vec()).digest.to_string();
    assert_eq!(found, [(session(1).to_string(), blob)]);
}

/// Damage that the old file has is found afterwards, where it is; it keeps nothing else from being read.
#[test]
fn damage_of_format_1_stays_where_it_is() {
    let (dir, file) = old();
    let db = Connection::open(file).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = off;
         DELETE FROM events WHERE session LIKE '%2' AND seq = 0;
         UPDATE events SET json = CAST(x'7b' AS TEXT) WHERE session LIKE '%3' AND seq = 0;
         INSERT INTO events VALUES ('nobody', 0, 0, 1, 'x', 'x')",
    )
    .unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(read(&store, session(1)).unwrap(), expected());
    for (session, what) in [
        (session(2), "event 0 is missing (the next one is 1)"),
        (
            session(3),
            "event 0 is not in the form that was written (EOF",
        ),
    ] {
        let refused = text(read(&store, session));
        assert!(refused.contains(what), "{refused}");
    }
}

/// A migration that cannot be finished leaves the file as it was, and a later one succeeds.
#[test]
fn a_migration_is_whole_or_not_at_all() {
    let (dir, file) = old();
    let other = Connection::open(&file).unwrap();
    // The name of the new table is taken, so the migration fails in its middle.
    other
        .execute_batch("CREATE TABLE blob_references (x)")
        .unwrap();
    let before: i64 = other
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    let refused = text(Store::open(dir.path()));
    assert!(
        refused.starts_with("cannot bring the journal into the form of this version: "),
        "{refused}"
    );
    assert_eq!(format_of(&file), 1);
    let after: i64 = other
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    assert_eq!(after, before);
    other.execute_batch("DROP TABLE blob_references").unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(read(&store, session(1)).unwrap(), expected());
}

#[test]
fn many_migrate_at_once() {
    let (dir, file) = old();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| read(&Store::open(dir.path())?, session(1))))
            .collect();
        for open in opening {
            assert_eq!(open.join().unwrap().unwrap(), expected());
        }
    });
    assert_eq!(format_of(&file), FORMAT_VERSION);
}

/// An old program that still has the file open reads it, and what it writes is refused: it knows no digests.
#[test]
fn an_old_program_cannot_write_any_more() {
    let (dir, file) = old();
    let old_program = Connection::open(file).unwrap();
    drop(Store::open(dir.path()).unwrap());
    let write = old_program.execute(
        "INSERT INTO events (session, seq, at_ms, v, kind, json) VALUES (?1, 6, 0, 2, 'x', '{}')",
        [session(1).to_string()],
    );
    assert_eq!(
        write.unwrap_err().to_string(),
        "NOT NULL constraint failed: events.digest"
    );
    let json: String = old_program
        .query_row(
            "SELECT json FROM events WHERE session = ?1 AND seq = 0",
            [session(2).to_string()],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(json, r#"{"kind":"session-started","program":"0.1.0"}"#);
}
