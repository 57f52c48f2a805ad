//! Asks the user whether a call may run. One frame tells the tool, its target, its effect and size,
//! what it changes, and what it could reach besides; everything else is behind `?`. Each question
//! is a security prompt of its own and ends with what is decided, so that no text above it can
//! imitate it.

mod batch;
mod edit;
mod menu;
mod pattern;
#[cfg(test)]
mod tests;
mod view;

use super::{BOLD, Terminal, answer, one_line, packed, tool_name};
use agent_host_app::{FileChange, ToolReach};
use agent_host_engine::{
    policy::{main_argument, pattern_fits},
    tool_set::ToolSet,
};
use agent_host_types::{
    approval::{ApprovalRule, ArgumentPattern, Decision, Remember, RememberScope, RememberWhat},
    continuation::PendingCall,
    reason::Reason,
    tool::{DecisionKind, RegisteredTool},
};
pub(crate) use batch::{BatchList, BatchReply};

use menu::{MenuContext, MenuReply, menu, parse};
use serde_json::{Map, Value};

/// The maximum length of a schema error, in characters.
const MAX_LINE_CHARACTERS: usize = 1_000;

/// The maximum number of rows of a call that are shown at first.
const MAX_ROWS: usize = 20;

/// A call under review, with its context.
pub(crate) struct Review<'a> {
    pub(crate) terminal: &'a Terminal,
    pub(crate) call: &'a PendingCall,
    pub(crate) tools: &'a ToolSet,
    /// Where the tool's calls run and what they may reach there.
    pub(crate) reach: &'a ToolReach,
    /// The path shown for "this project".
    pub(crate) project: &'a str,
    /// The change of a file that the call would make.
    pub(crate) change: Option<&'a FileChange>,
    /// The position of the call among those of its request, from 1, and their number.
    pub(crate) position: (usize, usize),
}

/// The end of a review.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reviewed {
    /// The user decided.
    Decided(Decision),
    /// This call and those behind it are to be shown and approved together.
    Rest,
    /// This call and those behind it are denied, for this reason.
    RejectRest(Option<String>),
    /// The user decides later, as at the end of the input.
    Later,
}

impl Review<'_> {
    /// Shows a call and reads a decision, if `may_decide_rest` also about those behind it.
    pub(crate) fn ask(&self, may_decide_rest: bool) -> Reviewed {
        let always = self.always();
        let (position, count) = self.position;
        let rest = match may_decide_rest {
            true => count.saturating_sub(position) + 1,
            false => 0,
        };
        let view::RenderedCall {
            text: shown,
            left_out,
        } = self.shown(MAX_ROWS);
        let context = MenuContext {
            always: &match &always {
                RememberWhat::Pattern(pattern) => pattern.glob.clone(),
                _ => "exactly this call".to_owned(),
            },
            rest,
            left_out,
        };
        let question = format!("Allow {}?", tool_name(&self.call.tool));
        let question = self.question(&question, &menu(self.call, context));
        let mut prompt = format!("{shown}\n{question}");
        loop {
            let Some(line) = answer(self.terminal, &prompt) else {
                return Reviewed::Later;
            };
            let step = match parse(&line, self.call, context.rest) {
                Some(MenuReply::Decided(decision)) => return Reviewed::Decided(decision),
                Some(MenuReply::Rest) => return Reviewed::Rest,
                Some(MenuReply::RejectRest(reason)) => return Reviewed::RejectRest(reason),
                Some(MenuReply::Later) => return Reviewed::Later,
                Some(MenuReply::Json) => PromptStep::Show(self.json()),
                Some(MenuReply::Rows) => PromptStep::Show(self.shown(usize::MAX).text),
                Some(MenuReply::More) => PromptStep::Show(self.details(context)),
                Some(MenuReply::Edit) => self.edit(),
                Some(MenuReply::Always) => self.confirm_rule(always.clone()),
                Some(MenuReply::Remember(what)) => self.confirm_rule(what),
                Some(MenuReply::Pattern(glob)) => self.remember_pattern(glob),
                None => PromptStep::Show("That is not one of the answers.".to_owned()),
            };
            prompt = match step {
                PromptStep::Decided(decision) => return Reviewed::Decided(decision),
                PromptStep::End => return Reviewed::Later,
                PromptStep::Show(text) => format!("{text}\n{question}"),
                PromptStep::Back => format!("{shown}\n{question}"),
            };
        }
    }

    /// Shows calls that were not all seen yet, each as [`Self::ask`] does, and asks whether all of
    /// them run. One question is enough, since all of their text stands above it.
    pub(crate) fn ask_all(reviews: &[Review<'_>]) -> bool {
        let Some(first) = reviews.first() else {
            return false;
        };
        let shown = reviews
            .iter()
            .map(|review| review.shown(usize::MAX).text + "\n");
        let mut prompt: String = shown.collect();
        let calls = reviews.iter().map(|review| {
            let (position, _) = review.position;
            format!("\n  {position}. {}", review.line())
        });
        prompt.push_str(&format!("\n{BOLD}All of these:{BOLD:#}"));
        prompt.extend(calls);
        let question = format!("Allow all {} calls?", reviews.len());
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
            let question = format!("Run {} with these arguments?", tool_name(&self.call.tool));
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

    /// Returns the name of the argument that the call is mostly about.
    fn main_argument(&self) -> Option<&str> {
        main_argument(&self.tool()?.definition)
    }

    /// Returns the calls that "always" is about: those with a target near this one, or those with
    /// the same arguments where the target is not a path or an address.
    fn always(&self) -> RememberWhat {
        let near = || {
            let name = self.main_argument()?;
            let target = self.call.input.get(name)?.as_str()?;
            let may_be_near = name == "path" || target.contains("://");
            self.pattern(may_be_near.then(|| pattern::near(target))??)
        };
        near().map_or(RememberWhat::Arguments, RememberWhat::Pattern)
    }

    /// Returns a pattern of the main argument; `None` if it does not match this call.
    fn pattern(&self, glob: String) -> Option<ArgumentPattern> {
        let name = self.main_argument()?.replace('~', "~0").replace('/', "~1");
        let pattern = ArgumentPattern {
            pointer: format!("/{name}"),
            glob,
        };
        pattern_fits(&pattern, &self.call.input).then_some(pattern)
    }

    /// Shows the rule of a pattern and asks for confirmation. The pattern matches this call, and is
    /// not all of them.
    fn remember_pattern(&self, glob: String) -> PromptStep {
        let refuse = |why: &str| PromptStep::Show(why.to_owned());
        if self.main_argument().is_none() {
            return refuse("This tool has no argument that a pattern could match.");
        }
        let Some(pattern) = self.pattern(glob) else {
            return refuse(
                "This pattern does not match the target of this call. Write the pattern like the start of the \
                 target, without `..`, such as src/**.",
            );
        };
        let is_wild = |c: char| matches!(c, '*' | '?' | '/' | '.');
        match pattern.glob.chars().all(is_wild) {
            true => refuse("This pattern matches every call; use t to remember that."),
            false => self.confirm_rule(RememberWhat::Pattern(pattern)),
        }
    }

    /// Shows a rule, and asks for how long it is kept.
    fn confirm_rule(&self, what: RememberWhat) -> PromptStep {
        let Some(tool) = self.tool() else {
            return PromptStep::Back;
        };
        let rule = self.rule(tool, &what);
        let rule = view::framed_words(&rule, self.terminal.columns(), usize::MAX);
        let answers = [
            "[s] in this session".to_owned(),
            format!(
                "[p] in every session of {}",
                one_line(self.project, MAX_LINE_CHARACTERS)
            ),
            "[b] back".to_owned(),
        ];
        let question = format!("Allow {}, and keep this rule?", tool_name(&self.call.tool));
        let prompt = format!(
            "{BOLD}The rule is:{BOLD:#}\n{rule}\n{}",
            self.question(&question, &answers)
        );
        loop {
            let scope = match answer(self.terminal, &prompt).as_deref().map(str::trim) {
                None => return PromptStep::End,
                Some("s") => RememberScope::Session,
                Some("p") => RememberScope::Project,
                Some("b") => return PromptStep::Back,
                Some(_) => continue,
            };
            return PromptStep::Decided(Decision::Approve {
                call_id: self.call.call_id.clone(),
                remember: Some(Remember { what, scope }),
            });
        }
    }

    /// Describes the rule as it will be stored.
    fn rule(&self, tool: &RegisteredTool, what: &RememberWhat) -> String {
        let rule = ApprovalRule::new(tool, what.clone(), self.call.input_digest);
        let written = as_configuration(tool, what);
        format!(
            "without asking, {rule}, while the tool and its grants stay as they are now ({}). Revoke it with \
             `agent-host approvals revoke`.{written}",
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
    /// This is shown before the question is asked again.
    Show(String),
    /// The user goes back to the call.
    Back,
    /// The input ended.
    End,
}
