//! Measures the time and the memory of resuming a long session.
//!
//! `long_session make DIRECTORY` makes a session of a million events in a state directory;
//! `long_session resume DIRECTORY` opens it again. Two processes, so that the second one's memory
//! is that of resuming alone.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agent_host_engine::session::Session;
use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_types::{
    accounting::Accounting,
    event::{EVENT_VERSION, Event, EventRecord},
    id::{CallId, Digest, SessionId, json_digest},
    message::{Message, Role},
    model::{ModelReply, Provenance, StopReason, Usage},
    output::ToolResultOutput,
    tool::{Effect, ToolCall, ToolRuntime},
    turn::{Durability, TurnEnd, TurnReport, TurnSummary},
};
use serde_json::{Value, json};
use std::{error::Error, path::Path, time::Instant};

/// The least number of events of the session.
const EVENTS: u64 = 1_000_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("make"), Some(directory)) => make(Path::new(&directory)).await,
        (Some("resume"), Some(directory)) => resume(Path::new(&directory)).await,
        _ => Err("say `make DIRECTORY` or `resume DIRECTORY`".into()),
    }
}

async fn make(directory: &Path) -> Result<(), Box<dyn Error>> {
    let store = SqliteStore::open(directory, SqliteOptions::default()).await?;
    let session = SessionId::new();
    let journal = store.create(session).await?;
    let started = Event::SessionStarted {
        program: "example".to_owned(),
        system: Some("Be brief.".to_owned()),
        directory: None,
        client: None,
        parent: None,
    };
    let (mut seq, mut question) = (0, 0);
    let mut events = vec![started];
    while seq < EVENTS {
        for event in events {
            let record = EventRecord {
                v: EVENT_VERSION,
                session,
                seq,
                at_ms: 1_800_000_000_000 + seq,
                event,
            };
            journal.append(&[record], Vec::new());
            seq += 1;
        }
        if question % 10_000 == 0 {
            journal.barrier().await?;
        }
        question += 1;
        events = answered(session, question);
    }
    journal.barrier().await?;
    println!("session {session}: {seq} events, {question} questions");
    Ok(())
}

async fn resume(directory: &Path) -> Result<(), Box<dyn Error>> {
    let store = SqliteStore::open(directory, SqliteOptions::default()).await?;
    let journal = store.open_session(store.find("latest").await?).await?;
    let before = peak_kib()?;
    let begin = Instant::now();
    let session = Session::resume(journal).await?;
    println!(
        "resumed {} messages of {} turns in {:.2} s; peak memory {} MiB, of which {} before",
        session.state().message_count(),
        session.state().turns(),
        begin.elapsed().as_secs_f64(),
        peak_kib()? / 1024,
        before / 1024
    );
    Ok(())
}

/// Returns the peak resident memory of this process, in KiB.
fn peak_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("there is no VmHWM")?.parse()?)
}

/// Returns the events of a question that is answered with the help of a tool: two turns, as the
/// loop journals them.
fn answered(session: SessionId, question: u64) -> Vec<Event> {
    let turn = question * 2 - 1;
    let provenance = Provenance {
        provider: "openai-compat".to_owned(),
        model: "some-model".to_owned(),
    };
    let usage = Usage {
        input_tokens: 12_345,
        output_tokens: 67,
        cached_input_tokens: 12_000,
        cache_write_tokens: 0,
        cost_micros: None,
    };
    let requested = |turn| Event::ModelRequested {
        turn,
        provenance: provenance.clone(),
        messages: 100,
        tools: 5,
        estimated_tokens: 0,
        request_digest: Digest::of(b"request"),
        system: None,
    };
    let replied = |turn, reply| Event::ModelReplied {
        turn,
        reply,
        discarded: Usage::default(),
        duration_ms: 900,
        tape: None,
    };
    let summary = |turn, stop_reason, tool_calls| TurnSummary {
        session,
        turn,
        total_turns: turn,
        turn_usage: usage,
        total_usage: usage,
        provenance: provenance.clone(),
        response_id: Some(format!("chatcmpl-{turn}")),
        stop_reason: Some(stop_reason),
        tool_calls,
        duration_ms: 950,
        tool_runtime: ToolRuntime::Host,
        durability: Durability::Turn,
        children: Vec::new(),
        workflow: None,
    };
    let text = format!(
        "File {question} has notes of a meeting about the plan of the year: who was there, what was said, and what is to be done."
    );
    let call_id = CallId(format!("call_{question}"));
    let input = json!({ "path": format!("notes/{question}.txt") });
    let ask = ModelReply {
        tool_calls: vec![ToolCall::parse(
            call_id.clone(),
            "read_file".to_owned(),
            input.to_string(),
        )],
        stop_reason: Some(StopReason::ToolUse),
        usage,
        response_id: Some(format!("chatcmpl-{turn}")),
        ..ModelReply::default()
    };
    let answer = ModelReply {
        text: text.clone(),
        stop_reason: Some(StopReason::EndTurn),
        usage,
        ..ModelReply::default()
    };
    let content = format!("{text} {text}");
    vec![
        Event::InputReceived {
            message: Message::text(Role::User, format!("What is in file {question}?")),
            by: None,
        },
        requested(turn),
        replied(turn, ask),
        Event::CallIntended {
            call_id: call_id.clone(),
            tool: "read_file".to_owned(),
            input_digest: json_digest(&input),
            input: match input {
                Value::Object(input) => input,
                _ => serde_json::Map::new(),
            },
            effect: Effect::ReadOnly,
            idempotency_key: format!("{session}/{question}"),
            rule: None,
            path: Vec::new(),
        },
        Event::CallSettled {
            call_id,
            tool: "read_file".to_owned(),
            output: ToolResultOutput::json(json!({ "content": content, "size_bytes": 240 })),
            accounting: Accounting::default(),
            audit: Vec::new(),
            rule: None,
            path: Vec::new(),
            child: None,
            labels: Vec::new(),
            tape: None,
            whole: None,
        },
        Event::TurnEnded {
            by: None,
            outcome: TurnReport {
                summary: summary(turn, StopReason::ToolUse, 1),
                end: TurnEnd::NeedsMoreTurns,
            },
        },
        requested(turn + 1),
        replied(turn + 1, answer),
        Event::TurnEnded {
            by: None,
            outcome: TurnReport {
                summary: summary(turn + 1, StopReason::EndTurn, 0),
                end: TurnEnd::Done {
                    text,
                    output: None,
                    result: None,
                },
            },
        },
    ]
}
