//! Compares a run with the expectations of its case. Pure.

#[cfg(test)]
mod tests;

use crate::{
    file::{Expect, ExpectedCall},
    report::Status,
    transcript::{Call, Transcript},
};
use agent_host_types::json::is_equal;
use serde_json::{Map, Value};
use std::ops::Not as _;

/// The most characters of a text in a sentence about a failure.
const MAX_QUOTED: usize = 300;

/// The most calls in a sentence about a failure.
const MAX_NAMED_CALLS: usize = 5;

/// How the process of a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself, with this exit code.
    Exited(i32),
    /// After this number of seconds it was stopped.
    TimedOut(u64),
    /// It could not be started or read, or a signal ended it, for the reason.
    Broken(String),
}

/// A run that ended.
#[derive(Debug)]
pub struct Observed {
    /// The end of its process.
    pub end: RunEnd,
    /// Its lines.
    pub transcript: Transcript,
    /// The end of its stderr.
    pub stderr: String,
}

/// The judgement of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The status.
    pub status: Status,
    /// The expectations that it did not meet, each as a sentence; empty if it passed.
    pub failures: Vec<String>,
}

/// Judges a run. The text of models and tools in the sentences is not escaped.
#[must_use]
pub fn judge(expect: &Expect, run: &Observed) -> Verdict {
    let code = match &run.end {
        RunEnd::Broken(why) => {
            return Verdict {
                status: Status::Error,
                failures: vec![why.clone()],
            };
        }
        RunEnd::TimedOut(seconds) => {
            let failure = format!("it did not finish within {seconds} seconds and was stopped");
            return Verdict {
                status: Status::Failed,
                failures: vec![failure],
            };
        }
        RunEnd::Exited(code) => *code,
    };
    let transcript = &run.transcript;
    let mut failures = Vec::new();
    failures.extend(wrong_exit(expect.exit, code, run));
    let calls = expect.calls.iter();
    failures.extend(calls.filter_map(|call| wrong_calls(call, &transcript.calls)));
    wrong_answer(expect, transcript.answer.as_deref(), &mut failures);
    if expect.no_denial {
        let denials = transcript.denials.iter();
        failures.extend(denials.map(|denial| format!("no denial was expected, but {denial}")));
    }
    over_bounds(expect, transcript, &mut failures);
    Verdict {
        status: match failures.is_empty() {
            true => Status::Passed,
            false => Status::Failed,
        },
        failures,
    }
}

fn wrong_exit(expected: u8, code: i32, run: &Observed) -> Option<String> {
    if i32::from(expected) == code {
        return None;
    }
    let stderr = run.stderr.trim();
    let why = run.transcript.problem.as_deref();
    let why = why.or(stderr.is_empty().not().then_some(stderr));
    let why = why.map_or_else(String::new, |why| format!(": {}", cut(why)));
    Some(format!("the exit code is {code}, expected {expected}{why}"))
}

fn wrong_answer(expect: &Expect, answer: Option<&str>, failures: &mut Vec<String>) {
    let Some(answer) = answer else {
        if expect.answer.is_some() || expect.answer_schema.is_some() {
            failures.push("there is no answer".to_owned());
        }
        return;
    };
    if let Some(pattern) = expect.answer.as_ref().filter(|p| !p.is_match(answer)) {
        failures.push(format!(
            "the answer does not match `{pattern}`: {}",
            quoted(answer)
        ));
    }
    if let Some(schema) = &expect.answer_schema
        && let Err(error) = schema.parse(answer)
    {
        failures.push(format!(
            "the answer does not match the schema ({}): {}",
            cut(&error.to_string()),
            quoted(answer)
        ));
    }
}

/// Says which bounds the figures exceed.
fn over_bounds(expect: &Expect, transcript: &Transcript, failures: &mut Vec<String>) {
    let figures = transcript.figures;
    for (found, most, what) in [
        (figures.turns, expect.max_turns, "turns"),
        (figures.tool_calls, expect.max_tool_calls, "tool calls"),
        (figures.tokens(), expect.max_tokens, "tokens"),
    ] {
        if let Some(most) = most.filter(|most| found > *most) {
            failures.push(format!("it took {found} {what}, expected at most {most}"));
        }
    }
    match (figures.cost_micros, expect.max_cost_micros) {
        (Some(cost), Some(most)) if cost > most => failures.push(format!(
            "it cost {} USD, expected at most {}",
            dollars(cost),
            dollars(most)
        )),
        (None, Some(_)) => failures.push(
            "its cost is unknown; set the model's price in [prices] of agent.toml".to_owned(),
        ),
        (Some(_) | None, _) => {}
    }
}

/// Writes an amount with all six digits.
fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

/// Says how the calls of a tool differ from the expected ones.
fn wrong_calls(expected: &ExpectedCall, calls: &[Call]) -> Option<String> {
    let of_tool = calls.iter().filter(|call| call.tool == expected.tool);
    let of_tool: Vec<&Call> = of_tool.collect();
    let fitting = of_tool.iter().filter(|call| fits(expected, call)).count();
    let is_met = match expected.times {
        None => fitting > 0,
        Some(times) => u64::try_from(fitting).is_ok_and(|fitting| fitting == times),
    };
    if is_met {
        return None;
    }
    let mut text = format!("`{}`", expected.tool);
    if !expected.input.is_empty() {
        text.push_str(&format!(" with {}", json(&expected.input)));
    }
    if let Some(pattern) = &expected.result {
        text.push_str(&format!(" and a result that matches `{pattern}`"));
    }
    let times = expected.times;
    let times = times.map_or_else(|| "at least once".to_owned(), |n| format!("{n} times"));
    text.push_str(&format!(" was called {fitting} times, expected {times}"));
    if !of_tool.is_empty() {
        let named = of_tool.iter().take(MAX_NAMED_CALLS);
        let named = named.map(|call| format!("{} -> {}", json(&call.input), quoted(&call.result)));
        let named: Vec<String> = named.collect();
        text.push_str(&format!("; its calls: {}", named.join(", ")));
        if of_tool.len() > MAX_NAMED_CALLS {
            text.push_str(&format!(" and {} more", of_tool.len() - MAX_NAMED_CALLS));
        }
    }
    Some(text)
}

fn fits(expected: &ExpectedCall, call: &Call) -> bool {
    let has = |(key, value): (&String, &Value)| {
        let found = call.input.get(key);
        found.is_some_and(|found| is_equal(value, found))
    };
    let pattern = expected.result.as_ref();
    expected.input.iter().all(has) && pattern.is_none_or(|pattern| pattern.is_match(&call.result))
}

fn json(input: &Map<String, Value>) -> String {
    cut(&Value::Object(input.clone()).to_string())
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", cut(text))
}

/// Cuts a text that is too long for a sentence.
fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let mut cut: String = chars.by_ref().take(MAX_QUOTED).collect();
    if chars.next().is_some() {
        cut.push_str("...");
    }
    cut
}
