//! Asks the person at the terminal whether a call may run. What is shown is exactly what will run: the whole input, with
//! nothing shortened and nothing hidden.

use super::{BOLD, DIM, Terminal, YELLOW, harmless, harmless_line};
use agent_host_core::{
    question::{Answer, Question},
    turn::{Decision, PendingCall},
};
use std::io::BufRead as _;

/// What the person said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// A decision about the call.
    Decided(Decision),
    /// Not now: the session waits.
    Later,
}

/// Shows a call and reads a decision. The end of the input means: not now.
pub(crate) fn ask(terminal: &Terminal, call: &PendingCall) -> Verdict {
    show(terminal, call);
    let stdin = std::io::stdin();
    loop {
        terminal.note(&format!(
            "{BOLD}Run it?{BOLD:#} [y] yes  [n] no  [n REASON] no, and tell the model why  [l] decide later"
        ));
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) | Err(_) => return Verdict::Later,
            Ok(_) => {}
        }
        if let Some(verdict) = parse(&line, call) {
            return verdict;
        }
        terminal.note("Please answer y, n or l.");
    }
}

/// Shows a call's question and reads the answer: the number of a choice, or words where they are allowed. The end of the
/// input means: not now.
pub(crate) fn ask_question(terminal: &Terminal, tool: &str, question: &Question) -> Option<Answer> {
    terminal.note(&format!(
        "\n{YELLOW}{} asks:{YELLOW:#} {}",
        harmless_line(tool),
        harmless(&question.prompt)
    ));
    for (index, choice) in question.choices.iter().enumerate() {
        terminal.note(&format!("  [{}] {}", index + 1, harmless_line(choice)));
    }
    let stdin = std::io::stdin();
    loop {
        terminal.note(&format!(
            "{BOLD}Your answer?{BOLD:#} {}  [c] cancel  [l] answer later",
            match (question.choices.is_empty(), question.free_text) {
                (true, _) => "in your own words",
                (false, true) => "the number of a choice, or your own words",
                (false, false) => "the number of a choice",
            }
        ));
        let mut line = String::new();
        match stdin.lock().read_line(&mut line) {
            Ok(0) | Err(_) => return None,
            Ok(_) => {}
        }
        match line.trim() {
            "" => {}
            "l" => return None,
            "c" => return Some(Answer::Cancelled),
            line => {
                let answer = answer(line, question);
                match question.check(&answer) {
                    Ok(()) => return Some(answer),
                    Err(why) => terminal.note(&why),
                }
            }
        }
    }
}

/// A number that names a choice is that choice; everything else is words.
fn answer(line: &str, question: &Question) -> Answer {
    let number = line
        .parse::<u32>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    match number.filter(|index| (*index as usize) < question.choices.len()) {
        Some(index) => Answer::Choice { index },
        None => Answer::Text {
            text: line.to_owned(),
        },
    }
}

fn show(terminal: &Terminal, call: &PendingCall) {
    let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
    let title = call
        .title
        .as_deref()
        .map(|title| format!(" ({})", harmless_line(title)))
        .unwrap_or_default();
    terminal.note(&format!(
        "\n{YELLOW}The model wants to run{YELLOW:#} {BOLD}{}{BOLD:#}{title}, which is {}:\n{}\n{DIM}rule {}, arguments {}{DIM:#}",
        harmless_line(&call.tool),
        call.effect.as_str(),
        harmless(&input),
        call.rule,
        call.input_digest,
    ));
}

/// Anything but a clear answer is no answer: a stray key never approves.
fn parse(line: &str, call: &PendingCall) -> Option<Verdict> {
    let call_id = call.call_id.clone();
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("y" | "yes", "") => Some(Verdict::Decided(Decision::approve(call_id))),
        ("n" | "no", "") => Some(Verdict::Decided(Decision::Reject {
            call_id,
            reason: None,
        })),
        ("n" | "no", reason) => Some(Verdict::Decided(Decision::Reject {
            call_id,
            reason: Some(reason.to_owned()),
        })),
        ("l" | "later", "") => Some(Verdict::Later),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, parse};
    use agent_host_core::{
        id::{CallId, Digest},
        tool::{DecisionKind, Effect},
        turn::{Decision, PendingCall},
    };
    use pretty_assertions::assert_eq;

    #[test]
    fn only_a_clear_answer_counts() {
        let call_id = CallId("c1".to_owned());
        let call = PendingCall {
            call_id: call_id.clone(),
            tool: "write_file".to_owned(),
            title: None,
            effect: Effect::Effectful,
            input: serde_json::Map::new(),
            input_digest: Digest::of(b""),
            rule: "effect.effectful".to_owned(),
            decisions: DecisionKind::ALL.into(),
        };
        let approve = Some(Verdict::Decided(Decision::approve(call_id.clone())));
        let reject = |reason: Option<&str>| {
            let reason = reason.map(str::to_owned);
            Some(Verdict::Decided(Decision::Reject {
                call_id: call_id.clone(),
                reason,
            }))
        };
        let cases = [
            ("y\n", approve.clone()),
            ("  yes  ", approve),
            ("n", reject(None)),
            ("no", reject(None)),
            ("n wrong file\n", reject(Some("wrong file"))),
            ("l", Some(Verdict::Later)),
            ("", None),
            ("\n", None),
            ("Y", None),
            ("y sure", None),
            ("ok", None),
            ("yy", None),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line, &call), expected, "{line:?}");
        }
    }
}
