//! Formats a session: each of its events, or its story.

mod calls;
mod hooks;
mod last_call;
mod nodes;
mod story;

pub(in crate::commands) use last_call::{LOOKED_AT, last_call};
pub(super) use story::Story;

use crate::terminal::{
    BOLD, DIM, RED, YELLOW, bytes, date, dollars, escape, escape_line, one_line, size_change,
    summary, tool_name, truncated,
};
use agent_host_engine::spill::unquoted_preview;
use agent_host_types::{
    approval::{ApprovalRule, Decision},
    context::ReferencedResult,
    continuation::PendingCall,
    event::{Event, EventRecord, SentInput},
    flow::LabelledFile,
    message::Message,
    model::{ModelReply, Provenance, Usage},
    output::{ContentPart, ToolResultOutput},
    question::Answer,
    tool::ToolCall,
    turn::{TurnEnd, TurnReport},
};
use calls::{call, settled};
use serde_json::json;

/// The maximum length of a text in a step, in characters.
const SHOWN_CHARACTERS: usize = 2_000;

/// A line break, and the indentation of a step's further lines.
const NEXT_LINE: &str = "\n         ";

pub(super) fn step(record: &EventRecord) -> String {
    let head = format!("{DIM}{:>4} {}{DIM:#}", record.seq, date(record.at_ms));
    format!("{head}  {}", event(&record.event))
}

#[expect(
    clippy::too_many_lines,
    reason = "one short arm for each kind of event"
)]
fn event(event: &Event) -> String {
    let (word, text) = match event {
        Event::SessionStarted {
            program,
            directory,
            client,
            ..
        } => {
            let part = |before: &str, text: &Option<String>| match text {
                Some(text) => format!(" {before} {}", escape_line(text)),
                None => String::new(),
            };
            let program = escape_line(program);
            let (directory, client) = (part("in", directory), part("for", client));
            let text = format!("started by agent-host {program}{directory}{client}");
            ("session", text)
        }
        Event::SessionForked { from, at, by } => (
            "copied",
            format!(
                "from session {from} up to its event {at}{}",
                sender(by.as_deref())
            ),
        ),
        Event::SenderNamed { input, by } => {
            let text = match input {
                SentInput::Continue => "continue",
                SentInput::Results => "external results of calls",
            };
            ("input", format!("{text}{}", sender(Some(by))))
        }
        Event::KeyTaken { .. } => ("input", "under an idempotency key".to_owned()),
        Event::RunConfigured { arguments } => (
            "run",
            format!("with {}", escape_line(&json!(arguments).to_string())),
        ),
        Event::RunPlaced { machine, .. } => ("host", format!("on {}", escape_line(machine))),
        Event::LoopConfigured { setup, approvals } => {
            let approvals = match approvals.len() {
                0 => String::new(),
                count => format!(" and {count} remembered approvals"),
            };
            ("setup", format!("{}{approvals}", setup.digest))
        }
        Event::FilesRestored { paths, by } => (
            "undone",
            format!(
                "{}{}",
                escape_line(&json!(paths).to_string()),
                sender(by.as_deref())
            ),
        ),
        Event::InputReceived { message, by, .. } => (
            "user",
            format!("{}{}", content(message), sender(by.as_deref())),
        ),
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
            return format!(
                "{BOLD}turn {turn}{BOLD:#} asks {} with {messages} messages and {tools} tools{size}",
                model_name(provenance)
            );
        }
        Event::ResultsReferenced { results, size } => {
            let (count, size) = (results.len(), size_change(*size));
            let text = format!(
                "in place of {count} old results {DIM}({size}){DIM:#}{NEXT_LINE}{}",
                blobs(results)
            );
            ("references", text)
        }
        Event::HistorySummarised {
            messages,
            message,
            usage,
            duration_ms,
            size,
            provenance,
        } => {
            let text = format!(
                "in place of the first {messages} messages after {duration_ms} ms {DIM}(by {}; {}; {}){DIM:#}\
                 {NEXT_LINE}{}",
                model_name(provenance),
                tokens(*usage),
                size_change(*size),
                content(message)
            );
            ("summary", text)
        }
        Event::ModelReplied {
            reply,
            discarded,
            duration_ms,
            ..
        } => return replied(reply, *discarded, *duration_ms),
        Event::CallReceived {
            call_id,
            tool,
            input,
        } => ("call", call(tool, input, call_id, "not run")),
        Event::CallReviewed { tool, review, .. } => ("reviewed", hooks::review(tool, review)),
        Event::FactsRead { call_id, facts } => (
            "facts",
            format!(
                "{}: {}",
                escape_line(&call_id.0),
                escape_line(&json!(facts).to_string())
            ),
        ),
        Event::HookDecided { call_id, verdict } => {
            ("hook", hooks::decided(call_id.as_ref(), verdict))
        }
        Event::CallIntended {
            call_id,
            tool,
            input,
            effect,
            rule,
            ..
        } => {
            let by = rule
                .as_deref()
                .map(|rule| format!(", by {}", escape_line(rule)));
            let how = format!("{}{}", effect.as_str(), by.unwrap_or_default());
            ("call", call(tool, input, call_id, &how))
        }
        Event::ApprovalRequested { calls, .. } => {
            return waits("approval of", calls);
        }
        Event::QuestionAsked { tool, question, .. } => {
            let (tool, prompt) = (tool_name(tool), indent(&question.prompt));
            return format!("{YELLOW}asks{YELLOW:#} {tool}: {prompt}");
        }
        Event::AnswerReceived { answer, by, .. } => {
            let answer = match answer {
                Answer::Text { text } => indent(text),
                Answer::Choice { index } => format!("choice {}", index + 1),
                Answer::Choices { indexes } => {
                    let numbers = indexes.iter().map(|index| (index + 1).to_string());
                    format!("choices {}", numbers.collect::<Vec<_>>().join(", "))
                }
                Answer::Fields { fields } => indent(&json!(fields).to_string()),
                Answer::Cancelled => "none".to_owned(),
            };
            ("answered", format!("{answer}{}", sender(by.as_deref())))
        }
        Event::ProgramCalled { calls } => ("program", called(calls)),
        Event::ProgramEnded {
            output,
            whole,
            accounting,
            audit,
        } => {
            let read = unquoted_preview(output, whole.as_ref());
            return settled(
                "program",
                read.as_ref().unwrap_or(output),
                None,
                accounting,
                audit,
            );
        }
        Event::CallsDispatched { calls, .. } => {
            return waits("external results of", calls);
        }
        Event::AgentSpawned { session, agent, .. } => (
            "agent",
            format!("{} {DIM}(session {session}){DIM:#}", escape_line(agent)),
        ),
        Event::ChildrenWaiting { children, .. } => {
            let names = children.iter().map(|child| {
                let call = escape_line(&child.call_id.0);
                format!("{} of {call}", escape_line(&child.agent))
            });
            let names: Vec<String> = names.collect();
            ("waits", format!("for {}", names.join(", ")))
        }
        Event::RepairRequested { message } => ("sent back", indent(message)),
        Event::TurnInterrupted { lost_tokens } => {
            let lost = match lost_tokens {
                0 => String::new(),
                lost => format!("; a reply to about {lost} tokens was lost"),
            };
            (
                "interrupted",
                format!("the program ended during the turn{lost}"),
            )
        }
        Event::ApprovalRemembered { rule, .. } => ("remembered", approval(rule)),
        Event::ApprovalRevoked { rule } => ("revoked", approval(rule)),
        Event::DecisionRecorded { decisions, by, .. } => {
            let decisions: Vec<String> = decisions.iter().map(decision).collect();
            (
                "decided",
                format!("{}{}", decisions.join(", "), sender(by.as_deref())),
            )
        }
        Event::CallSettled {
            tool,
            output,
            whole,
            accounting,
            audit,
            rule,
            ..
        } => {
            let read = unquoted_preview(output, whole.as_ref());
            let output = read.as_ref().unwrap_or(output);
            return settled(tool, output, rule.as_deref(), accounting, audit);
        }
        Event::FilesLabelled { files, .. } => {
            let file =
                |file: &LabelledFile| format!("{} from {}", file.path, file.sources.join(", "));
            let files: Vec<String> = files.iter().map(file).collect();
            ("files", one_line(&files.join("; "), SHOWN_CHARACTERS))
        }
        Event::StateMerged { delta, .. } => (
            "state",
            one_line(&json!(delta).to_string(), SHOWN_CHARACTERS),
        ),
        Event::ContextSet { context } => (
            "context",
            one_line(&json!(context).to_string(), SHOWN_CHARACTERS),
        ),
        Event::ArtifactStored {
            name,
            media_type,
            blob,
            ..
        } => (
            "artifact",
            format!(
                "{} {DIM}({}, {}){DIM:#}",
                escape_line(name.as_str()),
                escape_line(media_type),
                bytes(blob.size)
            ),
        ),
        Event::ArtifactDeleted { name, .. } => (
            "artifact",
            format!("{} deleted", escape_line(name.as_str())),
        ),
        Event::RunHalted { call_id, message } => (
            "halt",
            format!("by {}: {}", escape_line(&call_id.0), indent(message)),
        ),
        Event::WorkflowStarted { .. }
        | Event::NodeIntended { .. }
        | Event::NodeSettled { .. }
        | Event::NodeRetried { .. }
        | Event::NodeSkipped { .. }
        | Event::WorkflowEnded { .. } => return nodes::event(event),
        Event::TurnEnded { outcome, by } => {
            return format!("{}{}", ended(outcome), sender(by.as_deref()));
        }
    };
    format!("{BOLD}{word}{BOLD:#} {text}")
}

/// Returns who acted, in words; nothing for the user of the session.
fn sender(by: Option<&str>) -> String {
    by.map_or_else(String::new, |by| {
        format!(" {DIM}(by {}){DIM:#}", escape_line(by))
    })
}

fn waits(what: &str, calls: &[PendingCall]) -> String {
    let names: Vec<String> = calls.iter().map(|call| tool_name(&call.tool)).collect();
    format!("{YELLOW}waits{YELLOW:#} for {what} {}", names.join(", "))
}

fn called(calls: &[ToolCall]) -> String {
    let names: Vec<String> = calls.iter().map(|call| tool_name(&call.name)).collect();
    format!("calls {}", names.join(", "))
}

fn approval(rule: &ApprovalRule) -> String {
    format!("approval of {}", escape_line(&rule.to_string()))
}

fn model_name(model: &Provenance) -> String {
    escape_line(&format!("{}:{}", model.provider, model.model))
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
    let line = |ReferencedResult { call_id, blob, .. }: &ReferencedResult| {
        let call = escape_line(&call_id.0);
        format!("{call}: {}, blob {}", bytes(blob.size), blob.digest)
    };
    let lines: Vec<String> = results.iter().map(line).collect();
    lines.join(NEXT_LINE)
}

fn tokens(usage: Usage) -> String {
    let Usage {
        input_tokens,
        output_tokens,
        cached_input_tokens,
        cache_write_tokens,
        cost_micros,
    } = usage;
    let cached = match (cached_input_tokens, cache_write_tokens) {
        (0, 0) => String::new(),
        (cached, 0) => format!(" ({cached} cached)"),
        (cached, stored) => format!(" ({cached} cached, {stored} written to the cache)"),
    };
    let cost = cost_micros.map_or(String::new(), |micros| format!(", {}", dollars(micros)));
    format!("{input_tokens} tokens in{cached}, {output_tokens} out{cost}")
}

fn replied(reply: &ModelReply, discarded: Usage, duration_ms: u64) -> String {
    let mut usage = tokens(reply.usage);
    if !discarded.is_none() {
        usage = format!("{usage}; discarded before: {}", tokens(discarded));
    }
    let calls = match reply.tool_calls.len() {
        0 => String::new(),
        1 => " and 1 call".to_owned(),
        count => format!(" and {count} calls"),
    };
    let by = match &reply.provenance {
        Some(model) => format!(" {}", model_name(model)),
        None => String::new(),
    };
    let said = |text: &str| match text {
        "" => String::new(),
        text => format!("{NEXT_LINE}{}", indent(text)),
    };
    let reasoning = match said(&reply.reasoning) {
        thought if thought.is_empty() => thought,
        thought => format!("{NEXT_LINE}{DIM}reasoning:{thought}{DIM:#}"),
    };
    let text = said(&reply.text);
    format!(
        "{BOLD}model{BOLD:#}{by} replied{calls} after {duration_ms} ms {DIM}({usage}){DIM:#}{reasoning}{text}"
    )
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
        TurnEnd::Halted { .. } => "ended by a tool",
        TurnEnd::BudgetExceeded { .. } => "stopped: a budget is used up",
        TurnEnd::AwaitingConfirmation { .. } => "waits for the user",
        TurnEnd::AwaitingAnswer { .. } => "waits for an answer",
        TurnEnd::PendingToolCalls { .. } => "waits for external results",
        TurnEnd::AwaitingChildren { .. } => "waits for its agents",
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
    truncated(escape(text), SHOWN_CHARACTERS).replace('\n', NEXT_LINE)
}
