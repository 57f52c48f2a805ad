//! `--decide` and `--submit`: answers to a waiting session from the command line, in another
//! process than the one that began to wait.

use super::read_bounded;
use crate::{
    args::RunArgs,
    exit::Failure,
    terminal::{choice_indexes, chosen, date, escape_line, one_line, tool_name},
};
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, Continuation, PendingCall},
    id::CallId,
    question::{Answer, Question},
    turn::{AgentInput, SubmittedResult},
};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The maximum size of a `--submit` file, in bytes.
const MAX_SUBMITTED_BYTES: u64 = 64 * 1024 * 1024;

/// A parsed `--decide` value.
#[derive(Clone, Debug, PartialEq)]
enum DecisionArg {
    Approve,
    Reject(Option<String>),
    Edit(Map<String, Value>),
    Respond(String),
    Choice(Vec<u32>),
}

/// True if the arguments answer a waiting session.
pub(super) fn answers_session(args: &RunArgs) -> bool {
    !args.decide.is_empty() || args.submit.is_some()
}

/// Builds the input from the arguments, checked against what the session waits for.
pub(super) fn input(args: &RunArgs, open: Option<Continuation>) -> Result<AgentInput, Failure> {
    let Some(continuation) = open else {
        return Err(Failure::usage(
            "nothing waits in this session; go on with it by `agent-host run --resume SESSION \"...\"`",
        ));
    };
    if let Some(file) = &args.submit {
        let results = read_results(file)?;
        return Ok(AgentInput::SubmitToolResults {
            continuation,
            results,
        });
    }
    let words = args
        .decide
        .iter()
        .map(|text| parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } => {
            let decisions = decisions(calls, words)?;
            Ok(AgentInput::Resume {
                continuation,
                decisions,
            })
        }
        Awaiting::Answer {
            call_id, question, ..
        } => {
            let answer = answer(call_id, question, words)?;
            Ok(AgentInput::Answer {
                continuation,
                answer,
            })
        }
        Awaiting::External { .. } => Err(Failure::usage(
            "this session waits for results from outside, not for a decision; give them with `--submit FILE`",
        )),
    }
}

/// Parses `CALL=approve`, `CALL=reject[:REASON]`, `CALL=edit:JSON`, `CALL=respond:TEXT` or
/// `CALL=choice:NUMBER`.
fn parse(text: &str) -> Result<(CallId, DecisionArg), Failure> {
    let refuse = |why: &str| {
        Failure::usage(format!(
            "`--decide {}` {why}; write CALL=approve, CALL=reject:REASON, CALL=edit:JSON, CALL=respond:TEXT or CALL=choice:NUMBER",
            one_line(text, 200)
        ))
    };
    let (call, said) = text
        .split_once('=')
        .ok_or_else(|| refuse("names no call"))?;
    let (kind, rest) = match said.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (said, None),
    };
    let word = match (kind, rest) {
        ("approve", None) => DecisionArg::Approve,
        ("reject", reason) => DecisionArg::Reject(reason.map(str::to_owned)),
        ("edit", Some(arguments)) => {
            DecisionArg::Edit(serde_json::from_str(arguments).map_err(|error| {
                refuse(&format!("has arguments that are no JSON object ({error})"))
            })?)
        }
        ("respond", Some(text)) => DecisionArg::Respond(text.to_owned()),
        ("choice", Some(numbers)) => {
            let indexes = choice_indexes(numbers);
            DecisionArg::Choice(indexes.ok_or_else(|| refuse("has no number from 1 on"))?)
        }
        _ => return Err(refuse("is no decision")),
    };
    Ok((CallId(call.to_owned()), word))
}

/// Returns one decision per waiting call, in the order of the calls.
fn decisions(
    calls: &[PendingCall],
    mut words: Vec<(CallId, DecisionArg)>,
) -> Result<Vec<Decision>, Failure> {
    let mut decisions = Vec::with_capacity(calls.len());
    for call in calls {
        let Some(place) = words.iter().position(|(id, _)| *id == call.call_id) else {
            return Err(Failure::usage(format!(
                "nothing was decided about call {}; every call that waits needs a decision:\n{}",
                escape_line(&call.call_id.0),
                list(calls)
            )));
        };
        let (call_id, word) = words.remove(place);
        decisions.push(match word {
            DecisionArg::Approve => Decision::approve(call_id),
            DecisionArg::Reject(reason) => Decision::Reject { call_id, reason },
            DecisionArg::Edit(input) => Decision::Edit { call_id, input },
            DecisionArg::Respond(text) => Decision::Respond { call_id, text },
            DecisionArg::Choice(_) => {
                return Err(Failure::usage(format!(
                    "call {} waits for a decision, and a choice is the answer to a question",
                    escape_line(&call_id.0)
                )));
            }
        });
    }
    let Some((other, _)) = words.first() else {
        return Ok(decisions);
    };
    let why = if calls.iter().any(|call| call.call_id == *other) {
        "was decided twice"
    } else {
        "does not wait"
    };
    Err(Failure::usage(format!(
        "call {} {why}. These wait:\n{}",
        escape_line(&other.0),
        list(calls)
    )))
}

/// Describes what a session waits for and how to resume it.
pub(super) fn waiting_text(continuation: &Continuation) -> String {
    let resume = format!("agent-host run --resume {}", continuation.session);
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } => {
            let until = continuation.expires_at_ms.map_or_else(String::new, |late| {
                format!(" until {} UTC, and are denied then", date(late))
            });
            format!(
                "These calls wait for a decision{until} (--output-format json prints all of them):\n{}\nTo decide on a terminal: {resume}\nTo decide anywhere: {resume} --decide \
                 CALL=approve, once for each call; also CALL=reject:REASON, CALL=edit:JSON, CALL=respond:TEXT",
                list(calls)
            )
        }
        Awaiting::Answer {
            call_id,
            tool,
            question,
        } => format!(
            "Call {call} of {} asks: {}\nTo answer on a terminal: {resume}\nTo answer anywhere: {resume} --decide {call}=respond:TEXT; also \
             choice:NUMBER{several}, reject",
            tool_name(tool),
            one_line(&question.prompt, 500),
            call = escape_line(&call_id.0),
            several = if question.multiple { "[,NUMBER]" } else { "" },
        ),
        Awaiting::External { calls } => format!(
            "These calls run outside (--output-format json prints all of them):\n{}\nTo go on with their results: {resume} --submit FILE",
            list(calls)
        ),
    }
}

/// Lists the calls, one per line.
fn list(calls: &[PendingCall]) -> String {
    let line = |call: &PendingCall| {
        format!(
            "  {}  {} {}",
            escape_line(&call.call_id.0),
            tool_name(&call.tool),
            one_line(&json!(call.input).to_string(), 200)
        )
    };
    calls.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn answer(
    call_id: &CallId,
    question: &Question,
    words: Vec<(CallId, DecisionArg)>,
) -> Result<Answer, Failure> {
    let refuse = |why: &str| {
        Failure::usage(format!(
            "{why} Call {} asks: {}",
            escape_line(&call_id.0),
            one_line(&question.prompt, 500)
        ))
    };
    let Ok([(id, word)]) = <[_; 1]>::try_from(words) else {
        return Err(refuse("One question waits, so it takes one `--decide`."));
    };
    if id != *call_id {
        return Err(refuse("This call asks nothing."));
    }
    match word {
        DecisionArg::Respond(text) => Ok(Answer::Text { text }),
        DecisionArg::Choice(indexes) => Ok(chosen(indexes)),
        DecisionArg::Reject(None) => Ok(Answer::Cancelled),
        DecisionArg::Reject(Some(_)) | DecisionArg::Approve | DecisionArg::Edit(_) => Err(refuse(
            "A question is answered with `respond:TEXT`, `choice:NUMBER` or `reject`.",
        )),
    }
}

fn read_results(file: &Path) -> Result<Vec<SubmittedResult>, Failure> {
    let shown = file.display();
    let fault = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "cannot take the results in {shown}: {why}. It holds a JSON list of {{\"call_id\": ID, \"output\": RESULT}} or {{\"call_id\": ID, \"value\": ANYTHING}}"
        ))
    };
    let text = read_bounded(file, MAX_SUBMITTED_BYTES).map_err(|error| fault(&error))?;
    serde_json::from_str(&text).map_err(|error| fault(&error))
}

#[cfg(test)]
mod tests {
    use super::{DecisionArg, parse};
    use agent_host_types::id::CallId;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn decide_argument_parses_each_decision() {
        let edit = json!({"a": "b=c:d"})
            .as_object()
            .cloned()
            .unwrap_or_default();
        let cases = [
            ("c1=approve", Some(DecisionArg::Approve)),
            ("c1=reject", Some(DecisionArg::Reject(None))),
            (
                "c1=reject:too: late",
                Some(DecisionArg::Reject(Some("too: late".to_owned()))),
            ),
            (r#"c1=edit:{"a":"b=c:d"}"#, Some(DecisionArg::Edit(edit))),
            (
                "c1=respond:x=1",
                Some(DecisionArg::Respond("x=1".to_owned())),
            ),
            ("c1=choice:2", Some(DecisionArg::Choice(vec![1]))),
            ("c1=choice:2, 1", Some(DecisionArg::Choice(vec![1, 0]))),
            ("c1=choice:2,", None),
            ("c1=choice:0", None),
            ("c1=edit:[1]", None),
            ("c1=edit", None),
            ("c1=approve:yes", None),
            ("c1=Approve", None),
            ("c1", None),
        ];
        for (text, word) in cases {
            let expected = word.map(|word| (CallId("c1".to_owned()), word));
            assert_eq!(parse(text).ok(), expected, "{text}");
        }
    }
}
