//! `--decide` and `--submit`: answers to a waiting session from the command line, in another
//! process than the one that began to wait.

use super::{
    files::read_bounded,
    waiting::{is_node, list, listed, with_paths},
};
use crate::{
    args::RunArgs,
    exit::Failure,
    terminal::{choice_indexes, chosen, escape_line, one_line},
};
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, Continuation, PendingCall, WaitingChild},
    id::CallId,
    question::{Answer, Question},
    turn::{AgentInput, ChildInput, SubmittedResult},
};
use serde_json::{Map, Value};
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
    Fields(Map<String, Value>),
}

/// True if the arguments answer a waiting session.
pub(super) fn answers_session(args: &RunArgs) -> bool {
    !args.decide.is_empty() || args.submit.is_some()
}

/// Builds the input from the arguments, checked against what the session waits for. `resume` is the
/// command that resumes the session.
pub(super) fn input(
    args: &RunArgs,
    open: Option<Continuation>,
    resume: &str,
) -> Result<AgentInput, Failure> {
    let Some(continuation) = open else {
        return Err(Failure::usage(format!(
            "nothing is pending in this session; to resume it: {resume} 'Go on.'"
        )));
    };
    if let Some(file) = &args.submit {
        return submitted(continuation, read_results(file)?, "");
    }
    let words = args
        .decide
        .iter()
        .map(|text| parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    decided(continuation, words, "")
}

/// Returns the input that gives these results. `path` stands before the ids of an agent's calls:
/// the calls that started it, each with a `/`.
fn submitted(
    continuation: Continuation,
    mut results: Vec<SubmittedResult>,
    path: &str,
) -> Result<AgentInput, Failure> {
    let Awaiting::Children { children } = &continuation.awaiting else {
        for result in &mut results {
            if let Some(id) = result.call_id.0.strip_prefix(path) {
                result.call_id = CallId(id.to_owned());
            }
        }
        return Ok(AgentInput::SubmitToolResults {
            continuation,
            results,
        });
    };
    let mut inputs = Vec::new();
    for (child, path) in with_paths(children, path) {
        let own = results.extract_if(.., |result| result.call_id.0.starts_with(&path));
        let own: Vec<SubmittedResult> = own.collect();
        if !own.is_empty() {
            let input = submitted(child.continuation.clone(), own, &path)?;
            let call_id = child.call_id.clone();
            inputs.push(ChildInput { call_id, input });
        }
    }
    match results.first() {
        Some(other) => Err(does_not_wait(&other.call_id, &continuation, path)),
        None => Ok(AgentInput::Children {
            continuation,
            inputs,
        }),
    }
}

fn does_not_wait(call: &CallId, continuation: &Continuation, path: &str) -> Failure {
    Failure::usage(format!(
        "call {} is not pending. The pending calls are:\n{}",
        escape_line(&call.0),
        listed(continuation, path)
    ))
}

/// Returns the input that makes these decisions and answers.
fn decided(
    continuation: Continuation,
    mut words: Vec<(CallId, DecisionArg)>,
    path: &str,
) -> Result<AgentInput, Failure> {
    match &continuation.awaiting {
        Awaiting::Confirm { calls, .. } => {
            let decisions = decisions(calls, words, path)?;
            Ok(AgentInput::Resume {
                continuation,
                decisions,
            })
        }
        Awaiting::Answer {
            call_id, question, ..
        } => {
            let answer = answer(call_id, question, words, path)?;
            Ok(AgentInput::Answer {
                continuation,
                answer,
            })
        }
        Awaiting::External { .. } => Err(Failure::usage(
            "this session waits for external results, not for a decision; submit them with `--submit FILE`",
        )),
        Awaiting::Children { children } => {
            let mut inputs = Vec::new();
            for (child, path) in with_paths(children, path) {
                name_only_call(&mut words, child, &path);
                let own = words.extract_if(.., |(id, _)| id.0.starts_with(&path));
                let own: Vec<_> = own.collect();
                if !own.is_empty() {
                    let input = decided(child.continuation.clone(), own, &path)?;
                    let call_id = child.call_id.clone();
                    inputs.push(ChildInput { call_id, input });
                }
            }
            match words.first() {
                Some((other, _)) => Err(does_not_wait(other, &continuation, path)),
                None => Ok(AgentInput::Children {
                    continuation,
                    inputs,
                }),
            }
        }
    }
}

/// Lets `--decide NODE=...` stand for the only call of a node's session.
fn name_only_call(words: &mut [(CallId, DecisionArg)], child: &WaitingChild, path: &str) {
    // The call of an agent never stands for a call inside.
    let only = match &child.continuation.awaiting {
        Awaiting::Confirm { calls, .. } if is_node(child) => match calls.as_slice() {
            [only] => &only.call_id,
            _ => return,
        },
        Awaiting::Answer { call_id, .. } if is_node(child) => call_id,
        _ => return,
    };
    for (id, _) in words {
        if Some(id.0.as_str()) == path.strip_suffix('/') {
            *id = CallId(format!("{path}{only}"));
        }
    }
}

/// Parses `CALL=approve`, `CALL=reject[:REASON]`, `CALL=edit:JSON`, `CALL=respond:TEXT`,
/// `CALL=choice:NUMBER` or `CALL=fields:JSON`.
fn parse(text: &str) -> Result<(CallId, DecisionArg), Failure> {
    let refuse = |why: &str| {
        Failure::usage(format!(
            "`--decide {}` {why}; write CALL=approve, CALL=reject:REASON, CALL=edit:JSON, CALL=respond:TEXT, CALL=choice:NUMBER or CALL=fields:JSON",
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
                refuse(&format!(
                    "has arguments that are not a JSON object ({error})"
                ))
            })?)
        }
        ("fields", Some(values)) => {
            DecisionArg::Fields(serde_json::from_str(values).map_err(|error| {
                refuse(&format!("has fields that are not a JSON object ({error})"))
            })?)
        }
        ("respond", Some(text)) => DecisionArg::Respond(text.to_owned()),
        ("choice", Some(numbers)) => {
            let indexes = choice_indexes(numbers);
            DecisionArg::Choice(
                indexes.ok_or_else(|| refuse("does not have a number of at least 1"))?,
            )
        }
        _ => return Err(refuse("is not a decision")),
    };
    Ok((CallId(call.to_owned()), word))
}

/// Returns one decision per waiting call, in the order of the calls.
fn decisions(
    calls: &[PendingCall],
    mut words: Vec<(CallId, DecisionArg)>,
    path: &str,
) -> Result<Vec<Decision>, Failure> {
    let mut decisions = Vec::with_capacity(calls.len());
    let is = |id: &CallId, call: &PendingCall| id.0 == format!("{path}{}", call.call_id);
    for call in calls {
        let Some(place) = words.iter().position(|(id, _)| is(id, call)) else {
            return Err(Failure::usage(format!(
                "there is no decision about call {}; every pending call needs one:\n{}",
                escape_line(&format!("{path}{}", call.call_id)),
                list(calls, path)
            )));
        };
        let (_, word) = words.remove(place);
        let call_id = call.call_id.clone();
        decisions.push(match word {
            DecisionArg::Approve => Decision::approve(call_id),
            DecisionArg::Reject(reason) => Decision::Reject { call_id, reason },
            DecisionArg::Edit(input) => Decision::Edit {
                call_id,
                input: input.into(),
            },
            DecisionArg::Respond(text) => Decision::Respond { call_id, text },
            DecisionArg::Choice(_) | DecisionArg::Fields(_) => {
                return Err(Failure::usage(format!(
                    "call {} waits for a decision, but `choice` and `fields` answer a question",
                    escape_line(&call_id.0)
                )));
            }
        });
    }
    let Some((other, _)) = words.first() else {
        return Ok(decisions);
    };
    let why = if calls.iter().any(|call| is(other, call)) {
        "was decided twice"
    } else {
        "is not pending"
    };
    Err(Failure::usage(format!(
        "call {} {why}. The pending calls are:\n{}",
        escape_line(&other.0),
        list(calls, path)
    )))
}

fn answer(
    call_id: &CallId,
    question: &Question,
    words: Vec<(CallId, DecisionArg)>,
    path: &str,
) -> Result<Answer, Failure> {
    let refuse = |why: &str| {
        Failure::usage(format!(
            "{why} Call {} asks: {}",
            escape_line(&format!("{path}{call_id}")),
            one_line(&question.prompt, 500)
        ))
    };
    let Ok([(id, word)]) = <[_; 1]>::try_from(words) else {
        return Err(refuse("One question is pending, so pass `--decide` once."));
    };
    if id.0 != format!("{path}{call_id}") {
        return Err(refuse("This call has no question."));
    }
    match word {
        DecisionArg::Respond(text) => Ok(Answer::Text { text }),
        DecisionArg::Choice(indexes) => Ok(chosen(indexes)),
        DecisionArg::Fields(fields) => Ok(Answer::Fields { fields }),
        DecisionArg::Reject(None) => Ok(Answer::Cancelled),
        DecisionArg::Reject(Some(_)) | DecisionArg::Approve | DecisionArg::Edit(_) => Err(refuse(
            "A question is answered with `respond:TEXT`, `choice:NUMBER`, `fields:JSON` for a form, or `reject`.",
        )),
    }
}

fn read_results(file: &Path) -> Result<Vec<SubmittedResult>, Failure> {
    let shown = file.display();
    let fault = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "cannot use the results in {shown}: {why}. The file must contain a JSON list of {{\"call_id\": ID, \
             \"output\": RESULT}} or {{\"call_id\": ID, \"value\": ANYTHING}}"
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
        let fields = json!({"a": 1}).as_object().cloned().unwrap_or_default();
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
            (r#"c1=fields:{"a":1}"#, Some(DecisionArg::Fields(fields))),
            ("c1=fields:[1]", None),
            ("c1=fields", None),
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
