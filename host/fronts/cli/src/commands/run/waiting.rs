//! Text about what a session waits for, with the commands that answer.

use crate::{
    commands::shell_quoted,
    terminal::{DIM, date, escape_line, one_line, tool_name},
};
use agent_host_engine::turn::{expand_tabs, mixed_words};
use agent_host_types::{
    continuation::{Awaiting, Continuation, PendingCall, WaitingChild},
    form::{FieldKind, Form, FormField},
    question::Question,
    tool::DecisionKind,
};
use serde_json::json;
use std::collections::BTreeSet;

/// The file of a hint for results from outside.
const RESULTS_FILE: &str = "results.json";

/// The most words of a call that are marked because they mix scripts.
const MAX_MIXED_WORDS: usize = 8;

/// Returns the agents that wait, each with the path of its calls.
pub(super) fn with_paths<'c>(
    children: &'c [WaitingChild],
    path: &str,
) -> impl Iterator<Item = (&'c WaitingChild, String)> {
    children
        .iter()
        .map(move |child| (child, format!("{path}{}/", child.call_id)))
}

/// Describes what a session waits for. `resume` is the command that resumes it. `path` stands
/// before the ids of an agent's calls: the calls that started it, each with a `/`.
pub(super) fn waiting_text(continuation: &Continuation, resume: &str, path: &str) -> String {
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } => {
            let until = continuation.expires_at_ms.map_or_else(String::new, |late| {
                format!(" until {} UTC, and are then denied", date(late))
            });
            format!(
                "These calls wait for a decision{until} (--output-format json prints all of them):\n{}\n\
                 To decide at a terminal: {resume}\n{}",
                list(calls, path),
                decide_text(calls, resume, path)
            )
        }
        Awaiting::Answer {
            call_id,
            tool,
            question,
        } => {
            let id = format!("{path}{call_id}");
            format!(
                "Call {} of {} asks: {}\nTo answer at a terminal: {resume}\n{}",
                escape_line(&id),
                tool_name(tool),
                one_line(&question.prompt, 500),
                answer_text(&id, question, resume)
            )
        }
        Awaiting::External { calls } => format!(
            "These calls run externally (--output-format json prints all of them):\n{}\n\
             To resume with their results, in a JSON file: {resume} --submit {RESULTS_FILE}",
            list(calls, path)
        ),
        Awaiting::Children { children } => {
            let agents = with_paths(children, path);
            let agents = agents.map(|(child, path)| {
                let waiting = waiting_text(&child.continuation, resume, &path);
                format!("{} is waiting. {waiting}", waiting_name(child))
            });
            agents.collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// Says how calls are decided on from anywhere: by the first decision that all of them allow.
fn decide_text(calls: &[PendingCall], resume: &str, path: &str) -> String {
    let allowed = |kind: &DecisionKind| calls.iter().all(|call| call.decisions.contains(kind));
    let decisions = [
        (DecisionKind::Approve, "approve", "approve", "approve"),
        (DecisionKind::Reject, "reject", "reject", "reject:REASON"),
        (
            DecisionKind::Respond,
            "answer",
            "respond:TEXT",
            "respond:TEXT",
        ),
        (DecisionKind::Edit, "edit", "edit:{}", "edit:JSON"),
    ];
    let mut allowed = decisions.into_iter().filter(|(kind, ..)| allowed(kind));
    let Some((_, verb, decision, _)) = allowed.next() else {
        return "Each of them allows different decisions (--decide CALL=DECISION).".to_owned();
    };
    let flags = calls.iter().map(|call| {
        let id = format!("{path}{}", call.call_id);
        format!(" --decide {}", argument(&id, decision))
    });
    let others: Vec<&str> = allowed.map(|(.., other)| other).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!(
            "\nReplace `{decision}` with {}, separately for each call.",
            others.join(" or ")
        ),
    };
    format!(
        "To {verb} {} without a terminal: {resume}{}{others}",
        match calls {
            [_] => "it",
            _ => "all of them",
        },
        flags.collect::<String>()
    )
}

fn answer_text(id: &str, question: &Question, resume: &str) -> String {
    if let Some(form) = &question.form {
        return format!(
            "Its form has the fields {}.\nTo answer without a terminal: {resume} --decide {}\nReplace `fields:JSON` \
             with `fields:` and a JSON object of the fields, or with reject.",
            fields_text(form),
            argument(id, "fields:JSON")
        );
    }
    let several = match question.multiple {
        true => "choice:NUMBER[,NUMBER]",
        false => "choice:NUMBER",
    };
    let (first, others) = match (question.choices.is_empty(), question.free_text) {
        (true, _) => ("respond:TEXT", "reject".to_owned()),
        (false, true) => ("choice:1", format!("{several}, respond:TEXT or reject")),
        (false, false) => ("choice:1", format!("{several} or reject")),
    };
    format!(
        "To answer without a terminal: {resume} --decide {}\nInstead of `{first}`, you can use {others}.",
        argument(id, first)
    )
}

/// Lists the fields of a form, each with its type and whether it is required.
fn fields_text(form: &Form) -> String {
    let field = |field: &FormField| {
        let kind = match &field.kind {
            FieldKind::Text { .. } => "text".to_owned(),
            FieldKind::Number(_) => "number".to_owned(),
            FieldKind::Integer(_) => "integer".to_owned(),
            FieldKind::Boolean => "true or false".to_owned(),
            FieldKind::One { choices } | FieldKind::Many { choices, .. } => {
                let values = choices.iter().map(|choice| one_line(&choice.value, 80));
                values.collect::<Vec<_>>().join(" or ")
            }
        };
        let required = if field.required { ", required" } else { "" };
        format!("{} ({kind}{required})", one_line(&field.name, 80))
    };
    let fields: Vec<_> = form.fields().iter().map(field).collect();
    fields.join(", ")
}

/// Returns the value of `--decide` for a call. The id of a call is a model's, and may have
/// characters that a terminal would not show; the user then copies it from the JSON form.
fn argument(id: &str, decision: &str) -> String {
    match escape_line(id) == id {
        true => shell_quoted(&format!("{id}={decision}")),
        false => format!("CALL={decision}"),
    }
}

/// Lists what a session waits for.
pub(super) fn listed(continuation: &Continuation, path: &str) -> String {
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } | Awaiting::External { calls } => list(calls, path),
        Awaiting::Answer {
            call_id, question, ..
        } => format!(
            "  {}  asks: {}",
            escape_line(&format!("{path}{call_id}")),
            one_line(&question.prompt, 500)
        ),
        Awaiting::Children { children } => {
            let lines = with_paths(children, path);
            let lines = lines.map(|(child, path)| listed(&child.continuation, &path));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Lists the calls, one per line, with the words in them that mix scripts below.
pub(super) fn list(calls: &[PendingCall], path: &str) -> String {
    let lines = |call: &PendingCall| {
        let words = mixed_words(call, &call.input).into_iter();
        let words = words.take(MAX_MIXED_WORDS);
        let marks = words.map(|word| format!("\n    mixes alphabets: {}", one_line(&word, 200)));
        let sources: BTreeSet<&String> = call.sources.iter().flat_map(|it| &it.sources).collect();
        let sources: Vec<&str> = sources.into_iter().map(String::as_str).collect();
        let from = match sources.is_empty() {
            true => String::new(),
            false => format!(
                "\n    depends on text from {}",
                one_line(&sources.join(", "), 200)
            ),
        };
        format!(
            "  {}  {} {}{}{from}",
            escape_line(&format!("{path}{}", call.call_id)),
            tool_name(&call.tool),
            one_line(&json!(call.input).to_string(), 200),
            marks.collect::<String>()
        )
    };
    calls.iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// Whether a node of a workflow with one call waits, and not an agent.
pub(super) fn is_node(child: &WaitingChild) -> bool {
    match &child.continuation.awaiting {
        Awaiting::Confirm { calls, .. } | Awaiting::External { calls } => {
            calls.iter().all(|call| call.tool == child.agent)
        }
        Awaiting::Answer { tool, .. } => *tool == child.agent,
        Awaiting::Children { .. } => false,
    }
}

/// Returns the name of what waits.
pub(super) fn waiting_name(child: &WaitingChild) -> String {
    match (&child.program, is_node(child)) {
        (Some(_), _) => format!("The program of call {}", escape_line(&child.call_id.0)),
        (None, true) => format!("The node {}", escape_line(&child.call_id.0)),
        (None, false) => format!(
            "The agent {} of call {}",
            escape_line(&child.agent),
            escape_line(&child.call_id.0)
        ),
    }
}

/// The most lines of a program that are shown before an approval.
const SHOWN_LINES: usize = 60;

/// Returns the source of a program with the numbers of its lines.
pub(super) fn listing(source: &str) -> String {
    let count = source.lines().count();
    let lines = source.lines().zip(1..).take(SHOWN_LINES);
    let lines = lines.map(|(line, number)| {
        format!(
            "{DIM}{number:4}{DIM:#}  {}",
            escape_line(&expand_tabs(line))
        )
    });
    let rest = (count > SHOWN_LINES)
        .then(|| format!("{DIM}      and {} more lines{DIM:#}", count - SHOWN_LINES));
    lines.chain(rest).collect::<Vec<_>>().join("\n")
}
