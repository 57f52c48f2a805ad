//! Asks the person at the terminal whether a call may run. What is shown is exactly what will run: the whole input, with
//! nothing shortened and nothing hidden. What can be answered is what the call's tool allows.

#[cfg(test)]
mod tests;

use super::{BOLD, DIM, Terminal, YELLOW, harmless, harmless_line};
use agent_host_core::{
    policy::{ApprovalRule, Remember, RememberScope, RememberWhat},
    tool::{DecisionKind, RegisteredTool, ToolRunner},
    turn::{Decision, PendingCall, ShownCall},
};
use serde_json::{Map, Value};
use std::io::BufRead as _;

/// What the person said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// A decision about the call.
    Decided(Decision),
    /// Not now: the session waits.
    Later,
}

/// A line of the person.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    /// What they want.
    Verdict(Verdict),
    /// They want to write other arguments.
    Edit,
    /// They want an approval to be remembered.
    Remember,
}

/// A call with what has to be known of its tool.
pub(crate) struct Review<'a> {
    pub(crate) terminal: &'a Terminal,
    pub(crate) call: &'a PendingCall,
    pub(crate) tools: &'a dyn ToolRunner,
    /// What "this project" is.
    pub(crate) project: &'a str,
}

/// A line from the terminal; nothing at its end.
pub(crate) fn read_line() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

impl Review<'_> {
    /// Shows a call and reads a decision. The end of the input means: not now.
    pub(crate) fn ask(&self) -> Verdict {
        let call = self.call;
        self.show(
            "The model wants to run",
            &call.input,
            &call.input_digest.to_string(),
        );
        loop {
            self.terminal
                .note(&format!("{BOLD}Run it?{BOLD:#} {}", menu(call)));
            let Some(line) = read_line() else {
                return Verdict::Later;
            };
            let decision = match parse(&line, call) {
                Some(Said::Verdict(verdict)) => return verdict,
                Some(Said::Edit) => self.edit(),
                Some(Said::Remember) => self.remember(),
                None => {
                    self.terminal.note("That is none of the answers.");
                    None
                }
            };
            if let Some(decision) = decision {
                return Verdict::Decided(decision);
            }
        }
    }

    /// The whole call.
    fn show(&self, what: &str, input: &Map<String, Value>, digest: &str) {
        let ShownCall {
            tool,
            about,
            arguments,
            below,
        } = ShownCall::new(self.call, input, digest);
        self.terminal.note(&format!(
            "\n{YELLOW}{what}{YELLOW:#} {BOLD}{tool}{BOLD:#}{about}:\n{arguments}\n{DIM}{below}{DIM:#}"
        ));
    }

    /// Reads other arguments until they fit the tool, shows them, and asks once more; nothing when the person goes back.
    fn edit(&self) -> Option<Decision> {
        loop {
            self.terminal.note(&format!(
                "{BOLD}The arguments to run with{BOLD:#}, on one line, as a JSON object; an empty line goes back:"
            ));
            let line = read_line()?;
            if line.trim().is_empty() {
                return None;
            }
            let input: Map<String, Value> = match serde_json::from_str(&line) {
                Ok(input) => input,
                Err(error) => {
                    self.terminal
                        .note(&format!("This is no JSON object: {error}."));
                    continue;
                }
            };
            if let Err(failure) = self.tools.validate(&self.call.tool, &input) {
                self.terminal.note(&harmless(failure.message()));
                continue;
            }
            self.show("Instead, you would run", &input, "as you wrote them");
            if self.confirms("Run it with these arguments?")? {
                let call_id = self.call.call_id.clone();
                return Some(Decision::Edit { call_id, input });
            }
        }
    }

    /// Reads which calls are not to be asked about and for how long, shows the rule, and asks once more; nothing when the person
    /// goes back.
    fn remember(&self) -> Option<Decision> {
        let mut tools = self.tools.tools().iter();
        let tool = tools.find(|tool| tool.definition.name == self.call.tool)?;
        loop {
            self.terminal.note(&format!(
                "{BOLD}Do not ask again for{BOLD:#}\n  [1] calls with exactly these arguments, in this session\n  [2] every call of this \
                 tool, in this session\n  [3] calls with exactly these arguments, in this project\n  [4] every call of this tool, in \
                 this project\n  [b] back"
            ));
            let line = read_line()?;
            if line.trim() == "b" {
                return None;
            }
            let Some(remember) = chosen(&line) else {
                self.terminal.note("Please answer 1, 2, 3, 4 or b.");
                continue;
            };
            self.terminal.note(&format!(
                "{BOLD}The rule:{BOLD:#} {}",
                self.rule(tool, remember)
            ));
            if self.confirms("Keep this rule, and run the call?")? {
                let call_id = self.call.call_id.clone();
                let remember = Some(remember);
                return Some(Decision::Approve { call_id, remember });
            }
        }
    }

    /// The rule as it will be kept, in words.
    fn rule(&self, tool: &RegisteredTool, remember: Remember) -> String {
        let rule = ApprovalRule::new(tool, remember.what, self.call.input_digest);
        let place = match remember.scope {
            RememberScope::Session => "this session".to_owned(),
            RememberScope::Project => format!("every session of {}", harmless_line(self.project)),
        };
        format!(
            "in {place}, without asking, {}, while the tool and its grants are what they are now ({}). `agent-host approvals revoke` takes it back.",
            harmless_line(&rule.to_string()),
            rule.identity
        )
    }

    /// Whether the person says yes; nothing at the end of the input.
    fn confirms(&self, question: &str) -> Option<bool> {
        loop {
            self.terminal
                .note(&format!("{BOLD}{question}{BOLD:#} [y] yes  [n] no, back"));
            match read_line()?.trim() {
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                _ => {}
            }
        }
    }
}

/// The answers that the call's tool allows.
fn menu(call: &PendingCall) -> String {
    let of = |kind: &DecisionKind| match kind {
        DecisionKind::Approve => "[y] yes  [m] yes, and do not ask again",
        DecisionKind::Edit => "[e] with other arguments",
        DecisionKind::Reject => "[n] no  [n REASON] no, and tell the model why",
        DecisionKind::Respond => "[r TEXT] no, and this is its result",
    };
    let allowed = call.decisions.iter().map(of);
    let all: Vec<&str> = allowed.chain(["[l] decide later"]).collect();
    all.join("  ")
}

/// What is to be remembered.
fn chosen(line: &str) -> Option<Remember> {
    let (what, scope) = match line.trim() {
        "1" => (RememberWhat::Arguments, RememberScope::Session),
        "2" => (RememberWhat::Tool, RememberScope::Session),
        "3" => (RememberWhat::Arguments, RememberScope::Project),
        "4" => (RememberWhat::Tool, RememberScope::Project),
        _ => return None,
    };
    Some(Remember { what, scope })
}

/// Anything but a clear and allowed answer is no answer: a stray key never approves.
fn parse(line: &str, call: &PendingCall) -> Option<Said> {
    let call_id = call.call_id.clone();
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let decided = |decision| Said::Verdict(Verdict::Decided(decision));
    let (kind, said) = match (word, rest.trim()) {
        ("l" | "later", "") => return Some(Said::Verdict(Verdict::Later)),
        ("y" | "yes", "") => (DecisionKind::Approve, decided(Decision::approve(call_id))),
        ("m", "") => (DecisionKind::Approve, Said::Remember),
        ("e", "") => (DecisionKind::Edit, Said::Edit),
        ("n" | "no", reason) => {
            let reason = (!reason.is_empty()).then(|| reason.to_owned());
            (
                DecisionKind::Reject,
                decided(Decision::Reject { call_id, reason }),
            )
        }
        ("r", text) if !text.is_empty() => {
            let text = text.to_owned();
            (
                DecisionKind::Respond,
                decided(Decision::Respond { call_id, text }),
            )
        }
        _ => return None,
    };
    call.decisions.contains(&kind).then_some(said)
}
