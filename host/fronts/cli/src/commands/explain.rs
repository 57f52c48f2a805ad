//! `agent-host explain`: prints what the calls of a session requested, what hooks decided on
//! them, the rules that denied calls, and the smallest grant that would have allowed each denied
//! request.

use super::{configure, find_session, open_journal};
use crate::{
    args::ExplainArgs,
    exit::{Exit, Failure},
    terminal::{
        BOLD, DIM, Terminal, YELLOW, audit_line, escape, escape_line, json_text, tool_name,
        verdict_line,
    },
};
use agent_host_app::{ExplainedCall, Explanation, Overrides, Suggestion};
use agent_host_engine::flow::AUDIENCE_RULE;
use agent_host_types::accounting::AuditVerdict;
use serde_json::json;

pub(super) async fn explain(args: ExplainArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let ExplainArgs {
        session,
        config,
        json,
    } = args;
    let config = configure(config, Overrides::default())?;
    let store = open_journal(&config).await?;
    let id = find_session(store.as_ref(), &config, &session).await?;
    let mut explanation = Explanation::read(store.as_ref(), id).await?;
    explanation.suggest(config.implied_grant(), &config.rules);
    let (calls, suggestions) = (&explanation.calls, &explanation.suggestions);
    if json {
        terminal.println(&json_text(
            &json!({ "session": id, "calls": calls, "suggestions": suggestions }),
        ));
        return Ok(Exit::Done);
    }
    if calls.iter().all(|call| {
        call.asked.is_empty()
            && call.rule.is_none()
            && call.hooks.is_empty()
            && call.facts.is_empty()
    }) {
        terminal.println(&format!(
            "No call of session {id} requested a file or a network request, so nothing was allowed or denied."
        ));
        return Ok(Exit::Done);
    }
    for call in calls {
        terminal.println(&call_text(call));
    }
    match suggestions_text(suggestions) {
        Some(text) => {
            terminal.println(&text);
            terminal.note(&format!("{DIM}{ADVICE}{DIM:#}"));
        }
        None => terminal.println("No grant would change this."),
    }
    Ok(Exit::Done)
}

/// The advice below suggestions.
const ADVICE: &str = "Grant only what you would give to the tool's author. For a [[tool]] with its own lists, use \
    [[tool.http]] or change [[tool.dir]]. `--write` makes the grant of the current directory writable for one run.";

/// The characters of a hook's reason that are shown.
const MAX_REASON: usize = 200;

fn call_text(call: &ExplainedCall) -> String {
    let mut lines = vec![format!(
        "{BOLD}{}{BOLD:#} {DIM}({}, {}){DIM:#}",
        tool_name(&call.tool),
        escape_line(&call.call_id.0),
        call.outcome
    )];
    if let (Some(rule), Some(remedy)) = (&call.rule, &call.remedy) {
        let rule = escape_line(rule);
        let mut remedy = remedy.lines().map(escape_line);
        let first = remedy.next().unwrap_or_default();
        lines.push(format!(
            "{YELLOW}denied{YELLOW:#} by {rule}{DIM}; {first}{DIM:#}"
        ));
        lines.extend(remedy.map(|line| format!("    {line}")));
    } else if call.asked.is_empty() {
        lines.push("requested nothing".to_owned());
    }
    if !call.facts.is_empty() {
        let facts = escape_line(&call.facts.join(", "));
        lines.push(format!("{DIM}{facts}{DIM:#}"));
    }
    if let Some(by) = &call.decided_by {
        lines.push(format!("decided by {}", escape_line(by)));
    }
    if !call.sources.is_empty() {
        let sources = escape_line(&call.sources.join(", "));
        lines.push(format!("{YELLOW}result{YELLOW:#} with text from {sources}"));
    }
    let hooks = call.hooks.iter();
    lines.extend(hooks.map(|verdict| format!("hook {}", verdict_line(verdict, MAX_REASON))));
    for entry in &call.asked {
        let more = match (entry.verdict, &entry.grant) {
            (AuditVerdict::Denied, None) if entry.rule == AUDIENCE_RULE => {
                "; to allow it, add the destination to `to` of the [[flow.audience]]"
            }
            (AuditVerdict::Denied, None) => "; no grant allows it",
            _ => "",
        };
        lines.push(format!("{}{DIM}{more}{DIM:#}", audit_line(entry)));
        let grant = entry.grant.iter().flat_map(|grant| grant.lines());
        lines.extend(grant.map(|line| format!("    {}", escape(line))));
    }
    format!("{}\n", lines.join("\n  "))
}

/// Formats all suggestions for copying; `None` if there are none. The policy writes their
/// TOML, where a guest's text is a string without control characters.
pub(super) fn suggestions_text(suggestions: &[Suggestion]) -> Option<String> {
    let toml = |change: bool| -> Vec<String> {
        let of_kind = suggestions.iter().filter(|one| one.change == change);
        of_kind.map(|one| escape(&one.toml)).collect()
    };
    let arguments = suggestions.iter().filter_map(|one| one.argument.as_ref());
    let arguments: Vec<String> = arguments
        .map(|argument| format!("--grant {}", shell_quoted(&escape(argument))))
        .collect();
    let parts = [
        (
            "To allow the denied requests, in agent.toml:",
            toml(/*change*/ false).join("\n\n"),
        ),
        ("Or on the command line:", arguments.join(" \\\n")),
        (
            "To change in agent.toml:",
            toml(/*change*/ true).join("\n\n"),
        ),
    ];
    let parts = parts.iter().filter(|(_, text)| !text.is_empty());
    let parts: Vec<String> = parts
        .map(|(heading, text)| format!("{BOLD}{heading}{BOLD:#}\n\n{text}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join("\n\n").trim_end().to_owned())
}

/// Quotes a word for a POSIX shell.
pub(crate) fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/:.,=@%+-_".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_quoted;
    use pretty_assertions::assert_eq;

    #[test]
    fn shell_quoted_word_survives_the_shell() {
        for (word, expected) in [
            (
                "http:GET=https://a.example/v1/",
                "http:GET=https://a.example/v1/",
            ),
            ("http:[::1]/a;b&c", "'http:[::1]/a;b&c'"),
            ("http:a.example/$(x)'y", "'http:a.example/$(x)'\\''y'"),
        ] {
            assert_eq!(shell_quoted(word), expected);
        }
    }
}
