//! Fills a state directory with sessions, for measurements of how costs grow with their number and
//! their length, and measures the time and the memory of resuming a long one.
//!
//! `store_scale make DIRECTORY PROJECT SESSIONS QUESTIONS` makes SESSIONS sessions that were started
//! in the directory PROJECT, each with QUESTIONS questions of 9 events. `store_scale resume DIRECTORY`
//! opens the latest one again. `store_scale count DIRECTORY CALLS` counts CALLS calls of each of two
//! owners, and measures decisions after them. Two processes, so that the second one's memory is that of resuming alone.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use agent_host_engine::{
    journal::{CountedCall, Journal, JournalError, TallyQuery},
    session::Session,
};
use agent_host_journal::{JournalStore as _, Ownership, SqliteOptions, SqliteStore};
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
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use std::{
    error::Error,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// The sessions that are written at once: as many as one commit takes.
const AT_ONCE: usize = 256;

/// The questions of a session after which it is made durable.
const QUESTIONS_AT_ONCE: u64 = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["make", directory, project, sessions, questions] => {
            let (sessions, questions) = (sessions.parse()?, questions.parse()?);
            make(Path::new(directory), project, sessions, questions).await
        }
        ["resume", directory] => resume(Path::new(directory)).await,
        ["count", directory, calls] => count(Path::new(directory), calls.parse()?).await,
        _ => Err(
            "say `make DIRECTORY PROJECT SESSIONS QUESTIONS`, `resume DIRECTORY` or `count DIRECTORY CALLS`"
                .into(),
        ),
    }
}

async fn make(
    directory: &Path,
    project: &str,
    sessions: usize,
    questions: u64,
) -> Result<(), Box<dyn Error>> {
    let store = SqliteStore::open(directory, SqliteOptions::default()).await?;
    let ids: Vec<SessionId> = (0..sessions).map(|_| SessionId::new()).collect();
    for ids in ids.chunks(AT_ONCE) {
        let stored = ids.iter().map(|id| fill(&store, *id, project, questions));
        try_join_all(stored).await?;
    }
    if let Some(last) = ids.last() {
        let events = questions * 9 + 1;
        println!("{sessions} sessions of {events} events; the last is {last}");
    }
    Ok(())
}

/// Counts calls of two owners in turn, and measures decisions and counts behind them.
async fn count(directory: &Path, calls: u64) -> Result<(), Box<dyn Error>> {
    const MEASURED: u64 = 200;
    let store = SqliteStore::open(directory, SqliteOptions::default()).await?;
    let mut journals: Vec<Arc<dyn Journal>> = Vec::new();
    for owner in [None, Some("ci/1".to_owned())] {
        let session = SessionId::new();
        let project = "/a".to_owned();
        let journal = store
            .create_owned(session, Some(Ownership { project, owner }))
            .await?;
        fill_open(&*journal, session, "/a", 1).await?;
        journals.push(journal);
    }
    let (mut read, mut counted) = (Duration::ZERO, Duration::ZERO);
    for number in 0..calls + MEASURED {
        for journal in &journals {
            let call = CallId(number.to_string());
            let began = Instant::now();
            if number >= calls {
                let tallies = journal.tallies(TallyQuery {
                    call: call.clone(),
                    tool: "send".to_owned(),
                    at_ms: 1_000 + number,
                    windows: vec![1_000, 86_400_000],
                    arguments: vec!["/amount".to_owned()],
                });
                tallies.await?;
                read += began.elapsed();
            }
            let began = Instant::now();
            let call = CountedCall {
                call,
                tool: "send".to_owned(),
                at_ms: 1_000 + number,
                counted: number,
                amounts: [("/amount".to_owned(), Some(3.into()))].into(),
            };
            assert!(journal.count_call(call).await?);
            if number >= calls {
                counted += began.elapsed();
            }
        }
    }
    let mean = |sum: Duration| sum.as_secs_f64() * 1e6 / (2 * MEASURED) as f64;
    println!(
        "behind {calls} calls of each of two owners: {:.0} us to read, {:.0} us to count",
        mean(read),
        mean(counted)
    );
    Ok(())
}

/// Stores a session.
async fn fill(
    store: &SqliteStore,
    session: SessionId,
    project: &str,
    questions: u64,
) -> Result<(), JournalError> {
    let journal = store.create(session).await?;
    fill_open(&*journal, session, project, questions).await
}

async fn fill_open(
    journal: &dyn Journal,
    session: SessionId,
    project: &str,
    questions: u64,
) -> Result<(), JournalError> {
    let mut events = vec![Event::SessionStarted {
        program: "example".to_owned(),
        system: Some("Be brief.".to_owned()),
        directory: Some(project.to_owned()),
        client: None,
        parent: None,
        labels: Vec::new(),
    }];
    let mut seq = 0;
    for question in 1..=questions {
        events.extend(answered(session, question));
        for event in events.drain(..) {
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
        if question % QUESTIONS_AT_ONCE == 0 {
            journal.barrier().await?;
        }
    }
    journal.barrier().await
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
#[expect(clippy::too_many_lines, reason = "one literal for each event")]
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
            labels: Vec::new(),
            by: None,
        },
        requested(turn),
        replied(turn, ask),
        Event::CallIntended {
            call_id: call_id.clone(),
            tool: "read_file".to_owned(),
            input_digest: json_digest(&input),
            input: match input {
                Value::Object(input) => input.into(),
                _ => Arc::default(),
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
            reference: None,
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
