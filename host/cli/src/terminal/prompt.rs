//! Asks the user whether a call may run. The prompt shows the whole input that will run, neither
//! shortened nor hidden, and offers the decisions that the tool allows. Each question is a security
//! prompt of its own and ends with what is decided, so that no text above it can imitate it.

#[cfg(test)]
mod tests;

use super::{BOLD, DIM, Terminal, YELLOW, answer, one_line};
use agent_host_engine::{
    text::framed,
    tool::ToolRunner,
    turn::{CallPreview, call_heading},
};
use agent_host_types::{
    approval::{ApprovalRule, Decision, Remember, RememberScope, RememberWhat},
    continuation::PendingCall,
    tool::{DecisionKind, RegisteredTool},
};
use serde_json::{Map, Value};

/// The maximum length of a schema error, in characters.
const MAX_LINE_CHARACTERS: usize = 1_000;

/// The maximum number of rows of what a tool may reach.
const MAX_REACH_ROWS: usize = 12;

/// A parsed answer.
#[derive(Clone, Debug, PartialEq)]
enum Reply {
    /// The review is over.
    Decided(Decision),
    /// Not now: the session waits.
    Later,
    /// Other arguments are to be entered.
    Edit,
    /// An approval is to be remembered.
    Remember,
}

/// A call under review, with its context.
pub(crate) struct Review<'a> {
    pub(crate) terminal: &'a Terminal,
    pub(crate) call: &'a PendingCall,
    pub(crate) tools: &'a dyn ToolRunner,
    /// Where the tool's calls run and what they may reach there.
    pub(crate) reach: &'a str,
    /// The path shown for "this project".
    pub(crate) project: &'a str,
}

impl Review<'_> {
    /// Shows a call and reads a decision; `None` if the user decides later, as at the end of the
    /// input.
    pub(crate) fn ask(&self) -> Option<Decision> {
        let call = self.call;
        let question = format!("{BOLD}Run {}?{BOLD:#} {}", call_heading(call), menu(call));
        let digest = call.input_digest.to_string();
        let shown = self.shown("The model wants to run", &call.input, &digest);
        let mut prompt = format!("{shown}\n{question}");
        loop {
            let decision = match parse(&answer(self.terminal, &prompt)?, call) {
                Some(Reply::Decided(decision)) => return Some(decision),
                Some(Reply::Later) => return None,
                Some(Reply::Edit) => self.edit(),
                Some(Reply::Remember) => self.remember(),
                None => {
                    prompt = format!("That is none of the answers.\n{question}");
                    continue;
                }
            };
            if decision.is_some() {
                return decision;
            }
            prompt = format!("{shown}\n{question}");
        }
    }

    /// Renders the whole call.
    fn shown(&self, who: &str, input: &Map<String, Value>, digest: &str) -> String {
        let columns = self.terminal.columns();
        let CallPreview {
            what,
            title,
            arguments,
            below,
        } = CallPreview::new(self.call, input, digest, columns);
        let title = title.map_or_else(String::new, |title| {
            format!("\n{DIM}The tool calls itself:{DIM:#}\n{title}")
        });
        format!(
            "\n{YELLOW}{who}{YELLOW:#} {BOLD}{what}{BOLD:#}.\n{DIM}It is a tool of:{DIM:#}\n{}{title}\n\
             {DIM}The arguments are:{DIM:#}\n{arguments}\n{DIM}{below}{DIM:#}",
            framed(self.reach, columns, MAX_REACH_ROWS)
        )
    }

    /// Reads arguments until they fit the tool's schema, shows them, and asks for confirmation;
    /// `None` if the user goes back.
    fn edit(&self) -> Option<Decision> {
        loop {
            let line = answer(
                self.terminal,
                &format!(
                    "{BOLD}Run {}, with which arguments?{BOLD:#} On one line, as a JSON object; an empty line goes back:",
                    call_heading(self.call)
                ),
            )?;
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
                self.terminal
                    .note(&one_line(failure.message(), MAX_LINE_CHARACTERS));
                continue;
            }
            let shown = self.shown("Instead, you would run", &input, "as you wrote them");
            let question = format!("Run {}, with these arguments?", call_heading(self.call));
            if self.confirms(&shown, &question)? {
                let call_id = self.call.call_id.clone();
                return Some(Decision::Edit { call_id, input });
            }
        }
    }

    /// Reads the scope of a rule, shows the rule, and asks for confirmation; `None` if the user
    /// goes back.
    fn remember(&self) -> Option<Decision> {
        let mut tools = self.tools.tools().iter();
        let tool = tools.find(|tool| tool.definition.name == self.call.tool)?;
        loop {
            let line = answer(
                self.terminal,
                &format!(
                    "  [1] calls with exactly these arguments, in this session\n  [2] every call of this tool, in this session\n  \
                     [3] calls with exactly these arguments, in this project\n  [4] every call of this tool, in this project\n  \
                     [b] back\n{BOLD}Which calls of {} are not to be asked about again?{BOLD:#}",
                    call_heading(self.call)
                ),
            )?;
            if line.trim() == "b" {
                return None;
            }
            let Some(remember) = chosen(&line) else {
                self.terminal.note("Please answer 1, 2, 3, 4 or b.");
                continue;
            };
            let rule = self.rule(tool, remember);
            let rule = framed(&rule, self.terminal.columns(), usize::MAX);
            let rule = format!("{BOLD}The rule is:{BOLD:#}\n{rule}");
            let question = format!("Keep this rule, and run {}?", call_heading(self.call));
            if self.confirms(&rule, &question)? {
                let call_id = self.call.call_id.clone();
                let remember = Some(remember);
                return Some(Decision::Approve { call_id, remember });
            }
        }
    }

    /// Describes the rule as it will be stored.
    fn rule(&self, tool: &RegisteredTool, remember: Remember) -> String {
        let rule = ApprovalRule::new(tool, remember.what, self.call.input_digest);
        let place = match remember.scope {
            RememberScope::Session => "this session".to_owned(),
            RememberScope::Project => format!("every session of {}", self.project),
        };
        format!(
            "in {place}, without asking, {rule}, while the tool and its grants are what they are now ({}). `agent-host approvals revoke` takes it back.",
            rule.identity
        )
    }

    /// Asks for a yes or no; `None` at the end of the input.
    fn confirms(&self, shown: &str, question: &str) -> Option<bool> {
        let prompt = format!("{shown}\n{BOLD}{question}{BOLD:#} [y] yes  [n] no, back");
        loop {
            match answer(self.terminal, &prompt)?.trim() {
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                _ => {}
            }
        }
    }
}

/// Lists the answers that the tool allows.
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

/// Parses the choice of a rule.
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

/// Parses an answer. Anything but an exact and allowed one is `None`: a stray key never approves.
fn parse(line: &str, call: &PendingCall) -> Option<Reply> {
    let call_id = call.call_id.clone();
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (kind, said) = match (word, rest.trim()) {
        ("l" | "later", "") => return Some(Reply::Later),
        ("y" | "yes", "") => (
            DecisionKind::Approve,
            Reply::Decided(Decision::approve(call_id)),
        ),
        ("m", "") => (DecisionKind::Approve, Reply::Remember),
        ("e", "") => (DecisionKind::Edit, Reply::Edit),
        ("n" | "no", reason) => {
            let reason = (!reason.is_empty()).then(|| reason.to_owned());
            let reject = Decision::Reject { call_id, reason };
            (DecisionKind::Reject, Reply::Decided(reject))
        }
        ("r", text) if !text.is_empty() => {
            let text = text.to_owned();
            let respond = Decision::Respond { call_id, text };
            (DecisionKind::Respond, Reply::Decided(respond))
        }
        _ => return None,
    };
    call.decisions.contains(&kind).then_some(said)
}
