//! Asks the user whether a call may run. The prompt shows the whole input that will run, neither
//! shortened nor hidden, and offers the decisions that the tool allows. Each question is a security
//! prompt of its own and ends with what is decided, so that no text above it can imitate it.

mod edit;
mod menu;
#[cfg(test)]
mod tests;
mod view;

use super::{BOLD, Terminal, answer, one_line, packed};
use agent_host_app::FileChange;
use agent_host_engine::{
    policy::{main_argument, pattern_fits},
    tool_set::ToolSet,
    turn::call_heading,
};
use agent_host_types::{
    approval::{ApprovalRule, ArgumentPattern, Decision, Remember, RememberScope, RememberWhat},
    continuation::PendingCall,
    reason::Reason,
    tool::{DecisionKind, RegisteredTool},
};
use menu::{MenuReply, chosen, menu, parse};
use serde_json::{Map, Value};

/// The maximum length of a schema error, in characters.
const MAX_LINE_CHARACTERS: usize = 1_000;

/// A call under review, with its context.
pub(crate) struct Review<'a> {
    pub(crate) terminal: &'a Terminal,
    pub(crate) call: &'a PendingCall,
    pub(crate) tools: &'a ToolSet,
    /// Where the tool's calls run and what they may reach there.
    pub(crate) reach: &'a str,
    /// The path shown for "this project".
    pub(crate) project: &'a str,
    /// The change of a file that the call would make.
    pub(crate) change: Option<&'a FileChange>,
    /// The position of the call among those of its request, from 1, and their number.
    pub(crate) position: (usize, usize),
    /// Whether this call and those behind it may be approved together.
    pub(crate) may_approve_rest: bool,
}

/// The end of a review.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reviewed {
    /// The user decided.
    Decided(Decision),
    /// This call and those behind it are to be shown and approved together.
    Rest,
    /// The user decides later, as at the end of the input.
    Later,
}

impl Review<'_> {
    /// Shows a call and reads a decision.
    pub(crate) fn ask(&self) -> Reviewed {
        let call = self.call;
        let rest = self.rest();
        let question = self.question(&format!("Run {}?", call_heading(call)), &menu(call, rest));
        let shown = self.shown();
        let mut prompt = format!("{shown}\n{question}");
        loop {
            let Some(line) = answer(self.terminal, &prompt) else {
                return Reviewed::Later;
            };
            let decision = match parse(&line, call, rest) {
                Some(MenuReply::Decided(decision)) => return Reviewed::Decided(decision),
                Some(MenuReply::Rest) => return Reviewed::Rest,
                Some(MenuReply::Later) => return Reviewed::Later,
                Some(MenuReply::Json) => {
                    prompt = format!("{}\n{question}", self.json());
                    continue;
                }
                Some(MenuReply::Edit) => self.edit(),
                Some(MenuReply::Remember(None)) => self.remember(),
                Some(MenuReply::Remember(Some(remember))) => self
                    .tool()
                    .map_or(PromptStep::Back, |tool| self.confirm_rule(tool, remember)),
                Some(MenuReply::Pattern(glob)) => self.remember_pattern(glob),
                None => {
                    prompt = format!("That is not one of the answers.\n{question}");
                    continue;
                }
            };
            match decision {
                PromptStep::Decided(decision) => return Reviewed::Decided(decision),
                PromptStep::End => return Reviewed::Later,
                PromptStep::Back => prompt = format!("{shown}\n{question}"),
            }
        }
    }

    /// Returns how many calls may be approved together; 0 if they may not.
    fn rest(&self) -> usize {
        let (position, count) = self.position;
        match self.may_approve_rest {
            true => count.saturating_sub(position) + 1,
            false => 0,
        }
    }

    /// Shows calls that were not all seen yet, each as [`Self::ask`] does, and asks whether all of
    /// them run. One question is enough, since all of their text stands above it.
    pub(crate) fn ask_all(reviews: &[Review<'_>]) -> bool {
        let Some(first) = reviews.first() else {
            return false;
        };
        let mut prompt: String = reviews.iter().map(|review| review.shown() + "\n").collect();
        let calls = reviews.iter().map(|review| {
            let (position, _) = review.position;
            format!("\n  {position}. {}", call_heading(review.call))
        });
        prompt.push_str(&format!("\n{BOLD}All of these:{BOLD:#}"));
        prompt.extend(calls);
        let question = format!("Run all {} calls?", reviews.len());
        first.confirms(&prompt, &question).unwrap_or_default()
    }

    /// Reads arguments until they fit the tool's schema, shows them, and asks for confirmation.
    fn edit(&self) -> PromptStep {
        let mut text = serde_json::to_string_pretty(&self.call.input).unwrap_or_default();
        loop {
            text = match self.read_edited(&text) {
                edit::Edited::Text(text) => text,
                edit::Edited::Back => return PromptStep::Back,
                edit::Edited::End => return PromptStep::End,
            };
            let input = match self.checked(&text) {
                Ok(input) => input,
                Err(why) => {
                    self.terminal.note(why.as_str());
                    continue;
                }
            };
            let shown = self.shown_edited(&input);
            let question = format!("Run {}, with these arguments?", call_heading(self.call));
            match self.confirms(&shown, &question) {
                Some(true) => {
                    let call_id = self.call.call_id.clone();
                    let input = input.into();
                    return PromptStep::Decided(Decision::Edit { call_id, input });
                }
                Some(false) => {}
                None => return PromptStep::End,
            }
        }
    }

    /// Parses edited arguments and checks them against the tool's schema.
    fn checked(&self, text: &str) -> Result<Map<String, Value>, Reason> {
        let input: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| format!("This is not a JSON object: {error}."))?;
        let valid = self.tools.accept(&self.call.tool, &input);
        valid.map_err(|failure| one_line(failure.message(), MAX_LINE_CHARACTERS))?;
        Ok(input)
    }

    fn tool(&self) -> Option<&RegisteredTool> {
        Some(&self.tools.get(&self.call.tool)?.tool)
    }

    /// Reads the scope of a rule, shows the rule, and asks for confirmation.
    fn remember(&self) -> PromptStep {
        let Some(tool) = self.tool() else {
            return PromptStep::Back;
        };
        loop {
            let line = answer(
                self.terminal,
                &format!(
                    "  [1] calls with exactly these arguments, in this session\n  [2] every call of this tool, in \
                     this session\n  [3] calls with exactly these arguments, in this project\n  [4] every call of \
                     this tool, in this project\n  [b] back\n{BOLD}Which calls of {} should not ask again?{BOLD:#}",
                    call_heading(self.call)
                ),
            );
            let Some(line) = line else {
                return PromptStep::End;
            };
            if line.trim() == "b" {
                return PromptStep::Back;
            }
            let Some(remember) = chosen(&line) else {
                self.terminal.note("Please answer 1, 2, 3, 4 or b.");
                continue;
            };
            match self.confirm_rule(tool, remember) {
                PromptStep::Back => {}
                asked => return asked,
            }
        }
    }

    /// Reads the scope of a rule by a pattern of the main argument, shows the rule, and asks for
    /// confirmation. The pattern matches this call, and is not all of them.
    fn remember_pattern(&self, glob: String) -> PromptStep {
        let back = |why: &str| {
            self.terminal.note(why);
            PromptStep::Back
        };
        let Some(tool) = self.tool() else {
            return PromptStep::Back;
        };
        let Some(name) = main_argument(&tool.definition) else {
            return back("This tool has no argument that a pattern could match.");
        };
        let name = name.replace('~', "~0").replace('/', "~1");
        let pattern = ArgumentPattern {
            pointer: format!("/{name}"),
            glob,
        };
        if !pattern_fits(&pattern, &self.call.input) {
            return back(
                "This pattern does not match the target of this call. Write the pattern like the start of the \
                 target, without `..`, such as src/**.",
            );
        }
        if pattern
            .glob
            .chars()
            .all(|c| matches!(c, '*' | '?' | '/' | '.'))
        {
            return back("This pattern matches every call; use [t] or [m] to remember that.");
        }
        loop {
            let line = answer(
                self.terminal,
                &format!(
                    "  [1] in this session\n  [2] in this project\n  [b] back\n{BOLD}Where should such calls of {} \
                     not ask again?{BOLD:#}",
                    call_heading(self.call)
                ),
            );
            let scope = match line.as_deref().map(str::trim) {
                None => return PromptStep::End,
                Some("1") => RememberScope::Session,
                Some("2") => RememberScope::Project,
                Some("b") => return PromptStep::Back,
                Some(_) => continue,
            };
            let what = RememberWhat::Pattern(pattern.clone());
            match self.confirm_rule(tool, Remember { what, scope }) {
                PromptStep::Back => {}
                asked => return asked,
            }
        }
    }

    /// Shows a rule, and asks whether it is kept.
    fn confirm_rule(&self, tool: &RegisteredTool, remember: Remember) -> PromptStep {
        let rule = self.rule(tool, &remember);
        let rule = view::framed_words(&rule, self.terminal.columns(), usize::MAX);
        let rule = format!("{BOLD}The rule is:{BOLD:#}\n{rule}");
        let question = format!("Keep this rule, and run {}?", call_heading(self.call));
        match self.confirms(&rule, &question) {
            Some(true) => PromptStep::Decided(Decision::Approve {
                call_id: self.call.call_id.clone(),
                remember: Some(remember),
            }),
            Some(false) => PromptStep::Back,
            None => PromptStep::End,
        }
    }

    /// Describes the rule as it will be stored.
    fn rule(&self, tool: &RegisteredTool, remember: &Remember) -> String {
        let rule = ApprovalRule::new(tool, remember.what.clone(), self.call.input_digest);
        let place = match remember.scope {
            RememberScope::Session => "this session".to_owned(),
            RememberScope::Project => format!("every session of {}", self.project),
        };
        let written = as_configuration(tool, &remember.what);
        format!(
            "in {place}, without asking, {rule}, while the tool and its grants stay as they are now ({}). Revoke it \
             with `agent-host approvals revoke`.{written}",
            rule.identity
        )
    }

    /// Returns a question and its answers, in rows that fit the terminal.
    fn question(&self, question: &str, answers: &[String]) -> String {
        // The first answer stands behind the question.
        let first = answers.first().map_or("", String::as_str);
        let first = format!("{BOLD}{question}{BOLD:#} {first}");
        let rest = answers.iter().skip(1).map(String::as_str);
        packed(
            std::iter::once(first.as_str()).chain(rest),
            "  ",
            self.terminal.columns(),
        )
    }

    /// Asks for a yes or no; `None` at the end of the input.
    fn confirms(&self, shown: &str, question: &str) -> Option<bool> {
        let answers = ["[y] yes", "[n] no, back"].map(str::to_owned);
        let prompt = format!("{shown}\n{}", self.question(question, &answers));
        loop {
            match answer(self.terminal, &prompt)?.trim() {
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                _ => {}
            }
        }
    }
}

/// Returns the rule as `agent.toml` would have it, for every session; empty for one about arguments
/// that only a digest names.
fn as_configuration(tool: &RegisteredTool, what: &RememberWhat) -> String {
    let arguments = match what {
        RememberWhat::Arguments => return String::new(),
        RememberWhat::Tool => String::new(),
        // JSON writes texts as TOML does.
        RememberWhat::Pattern(ArgumentPattern { pointer, glob }) => format!(
            "\narguments = {{ {} = {} }}",
            Value::from(pointer.as_str()),
            Value::from(glob.as_str())
        ),
    };
    format!(
        "\nIn agent.toml, for every session:\n[[rule]]\ndecision = \"allow\"\ntool = {}{arguments}",
        Value::from(tool.definition.name.as_str())
    )
}

/// The end of a question behind a key.
enum PromptStep {
    Decided(Decision),
    /// The user goes back to the call.
    Back,
    /// The input ended.
    End,
}
