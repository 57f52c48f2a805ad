//! Formats a journal event as text.

use crate::terminal::{
    BOLD, DIM, GREEN, RED, YELLOW, audit_line, bytes, date, escape, escape_line, micros, one_line,
    size_change, summary, tool_name,
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    approval::Decision,
    context::ReferencedResult,
    continuation::PendingCall,
    event::{Event, EventRecord},
    id::CallId,
    message::Message,
    model::{ModelReply, Usage},
    output::{ContentPart, ToolResultOutput},
    question::Answer,
    turn::{TurnEnd, TurnReport},
};
use serde_json::{Map, Value, json};

/// The maximum length of a text in a step, in characters.
const SHOWN_CHARACTERS: usize = 2_000;

pub(super) fn step(record: &EventRecord) -> String {
    let head = format!("{DIM}{:>4} {}{DIM:#}", record.seq, date(record.at_ms));
    format!("{head}  {}", event(&record.event))
}

fn event(event: &Event) -> String {
    match event {
        Event::SessionStarted {
            program,
            directory,
            client,
            ..
        } => {
            let part = |before: &str, text: &Option<String>| {
                let text = text.as_deref().map(escape_line);
                text.map(|text| format!(" {before} {text}"))
                    .unwrap_or_default()
            };
            format!(
                "{BOLD}session{BOLD:#} started by agent-host {}{}{}",
                escape_line(program),
                part("in", directory),
                part("for", client)
            )
        }
        Event::SessionForked { from, at } => {
            format!("{BOLD}copied{BOLD:#} from session {from} up to its event {at}")
        }
        Event::InputReceived { message, .. } => {
            format!("{BOLD}person{BOLD:#} {}", content(message))
        }
        Event::ModelRequested {
            turn,
            provenance,
            messages,
            tools,
            estimated_tokens,
            ..
        } => {
            let size = match estimated_tokens {
                // 0 stands for no estimate.
                0 => String::new(),
                tokens => format!(" {DIM}(estimated: {tokens} tokens){DIM:#}"),
            };
            format!(
                "{BOLD}turn {turn}{BOLD:#} asks {}:{} with {messages} messages and {tools} tools{size}",
                escape_line(&provenance.provider),
                escape_line(&provenance.model)
            )
        }
        Event::ResultsReferenced { results, size } => format!(
            "{BOLD}references{BOLD:#} in place of {} old results {DIM}({}){DIM:#}\n         {}",
            results.len(),
            size_change(*size),
            blobs(results)
        ),
        Event::HistorySummarised {
            messages,
            message,
            usage,
            duration_ms,
            size,
            ..
        } => format!(
            "{BOLD}summary{BOLD:#} in place of the first {messages} messages after {duration_ms} ms {DIM}({}; {}){DIM:#}\n         {}",
            tokens(*usage),
            size_change(*size),
            content(message)
        ),
        Event::ModelReplied {
            reply,
            discarded,
            duration_ms,
            ..
        } => replied(reply, *discarded, *duration_ms),
        Event::CallReceived {
            call_id,
            tool,
            input,
        } => call(tool, input, call_id, "not run"),
        Event::CallIntended {
            call_id,
            tool,
            input,
            effect,
            ..
        } => call(tool, input, call_id, effect.as_str()),
        Event::ApprovalRequested { calls, .. } => {
            format!("{YELLOW}waits{YELLOW:#} for approval of {}", tools(calls))
        }
        Event::QuestionAsked { tool, question, .. } => format!(
            "{YELLOW}asks{YELLOW:#} {}: {}",
            tool_name(tool),
            indent(&question.prompt)
        ),
        Event::AnswerReceived { answer, .. } => {
            let answer = match answer {
                Answer::Text { text } => indent(text),
                Answer::Choice { index } => format!("choice {index}"),
                Answer::Cancelled => "none".to_owned(),
            };
            format!("{BOLD}answered{BOLD:#} {answer}")
        }
        Event::CallsDispatched { calls, .. } => format!(
            "{YELLOW}waits{YELLOW:#} for results from outside of {}",
            tools(calls)
        ),
        Event::RepairRequested { message } => {
            format!("{BOLD}sent back{BOLD:#} {}", indent(message))
        }
        Event::ApprovalRemembered { rule, .. } => format!(
            "{BOLD}remembered{BOLD:#} approval of {}",
            escape_line(&rule.to_string())
        ),
        Event::ApprovalRevoked { rule } => format!(
            "{BOLD}revoked{BOLD:#} approval of {}",
            escape_line(&rule.to_string())
        ),
        Event::DecisionRecorded { decisions, .. } => {
            format!(
                "{BOLD}decided{BOLD:#} {}",
                decisions
                    .iter()
                    .map(decision)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Event::CallSettled {
            tool,
            output,
            accounting,
            audit,
            ..
        } => settled(tool, output, accounting, audit),
        Event::StateMerged { delta, .. } => {
            format!(
                "{BOLD}state{BOLD:#} {}",
                one_line(&json!(delta).to_string(), SHOWN_CHARACTERS)
            )
        }
        Event::TurnEnded { outcome } => ended(outcome),
    }
}

fn call(tool: &str, input: &Map<String, Value>, id: &CallId, how: &str) -> String {
    format!(
        "{BOLD}call{BOLD:#} {} {} {DIM}({}, {how}){DIM:#}",
        tool_name(tool),
        one_line(&json!(input).to_string(), SHOWN_CHARACTERS),
        escape_line(&id.0)
    )
}

fn tools(calls: &[PendingCall]) -> String {
    let names: Vec<String> = calls.iter().map(|call| tool_name(&call.tool)).collect();
    names.join(", ")
}

fn content(message: &Message) -> String {
    let output = ToolResultOutput::Content(message.content.clone());
    match message.content.as_slice() {
        [ContentPart::Text { text }] => indent(text),
        _ => indent(&summary(&output)),
    }
}

/// Lists each evicted result with the blob that has all of it.
fn blobs(results: &[ReferencedResult]) -> String {
    let lines: Vec<String> = results
        .iter()
        .map(|result| {
            let call = escape_line(&result.call_id.0);
            format!(
                "{call}: {}, blob {}",
                bytes(result.blob.size),
                result.blob.digest
            )
        })
        .collect();
    lines.join("\n         ")
}

fn tokens(usage: Usage) -> String {
    let Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
    } = usage;
    let cached = match cached_input_tokens {
        0 => String::new(),
        cached => format!(" ({cached} cached)"),
    };
    format!("{input_tokens} tokens in{cached}, {output_tokens} out")
}

fn replied(reply: &ModelReply, discarded: Usage, duration_ms: u64) -> String {
    let mut usage = tokens(reply.usage);
    if !discarded.is_none() {
        usage = format!("{usage}; thrown away before: {}", tokens(discarded));
    }
    let calls = match reply.tool_calls.len() {
        0 => String::new(),
        1 => " and 1 call".to_owned(),
        count => format!(" and {count} calls"),
    };
    let by = reply.provenance.as_ref().map_or_else(String::new, |model| {
        format!(
            " {}:{}",
            escape_line(&model.provider),
            escape_line(&model.model)
        )
    });
    let text = if reply.text.is_empty() {
        String::new()
    } else {
        format!("\n         {}", indent(&reply.text))
    };
    format!(
        "{BOLD}model{BOLD:#}{by} replied{calls} after {duration_ms} ms {DIM}({usage}){DIM:#}{text}"
    )
}

fn settled(
    tool: &str,
    output: &ToolResultOutput,
    accounting: &Accounting,
    audit: &[AuditEntry],
) -> String {
    let style = if output.is_success() {
        GREEN
    } else if output.is_error() {
        RED
    } else {
        YELLOW
    };
    let mut lines = vec![
        format!("{style}{}{style:#} {}", output.tag(), tool_name(tool)),
        indent(&summary(output)),
        format!("{DIM}{}{DIM:#}", used(accounting)),
    ];
    lines.extend(audit.iter().map(audit_line));
    if !accounting.stdio.is_empty() {
        lines.push(format!(
            "{DIM}stdout and stderr:{DIM:#}\n{}",
            indent(&accounting.stdio)
        ));
    }
    lines.join("\n       ")
}

fn used(accounting: &Accounting) -> String {
    let limits = accounting.limits.as_ref();
    let wall = micros(accounting.wall_us);
    let memory = bytes(accounting.peak_memory_bytes);
    let mut parts = match limits {
        Some(limits) => vec![
            format!("{wall} of at most {} ms", limits.deadline_ms),
            format!("{memory} of at most {} memory", bytes(limits.memory_bytes)),
            format!("result at most {}", bytes(limits.output_bytes)),
        ],
        None => vec![wall],
    };
    parts.push(format!(
        "{} in, {} out",
        bytes(accounting.bytes_in),
        bytes(accounting.bytes_out)
    ));
    if !accounting.hosts.is_empty() {
        parts.push(format!(
            "connected to {}",
            escape_line(&accounting.hosts.join(", "))
        ));
    }
    parts.join(", ")
}

fn decision(decision: &Decision) -> String {
    let call = escape_line(&decision.call_id().0);
    match decision {
        Decision::Approve { .. } => format!("approve {call}"),
        Decision::Edit { input, .. } => format!(
            "edit {call} to {}",
            one_line(&json!(input).to_string(), 200)
        ),
        Decision::Reject { reason: None, .. } => format!("reject {call}"),
        Decision::Reject {
            reason: Some(reason),
            ..
        } => format!("reject {call}: {}", one_line(reason, 200)),
        Decision::Respond { text, .. } => format!("answer {call} with: {}", one_line(text, 200)),
    }
}

fn ended(report: &TurnReport) -> String {
    let word = match &report.end {
        TurnEnd::NeedsMoreTurns => "unfinished",
        TurnEnd::Done { .. } => "done",
        TurnEnd::BudgetExceeded { .. } => "stopped: a budget is used up",
        TurnEnd::AwaitingConfirmation { .. } => "waits for a person",
        TurnEnd::AwaitingAnswer { .. } => "waits for an answer",
        TurnEnd::PendingToolCalls { .. } => "waits for results from outside",
        TurnEnd::Refusal { .. } => "refused by the model",
        TurnEnd::Cancelled => "cancelled",
        TurnEnd::Error { error } => {
            return format!(
                "{RED}failed{RED:#} {}",
                one_line(&error.to_string(), SHOWN_CHARACTERS)
            );
        }
    };
    let took = report.summary.duration_ms;
    format!("{BOLD}turn ended{BOLD:#} {word} after {took} ms")
}

/// Escapes and indents text, cut for display only: the journal has all of it.
fn indent(text: &str) -> String {
    let text = escape(text);
    let cut = match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    };
    cut.replace('\n', "\n         ")
}
