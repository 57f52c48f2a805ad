//! Lists of the tools of a component or server: one row each, with the effect and the first
//! sentence of the description.

use crate::terminal::{BOLD, DIM, escape_line, one_line};
use agent_host_engine::policy::CallRule;
use agent_host_types::tool::{Effect, ToolDefinition};
use serde_json::{Value, json};

/// The maximum length of a description in a row, in characters.
const SHOWN_DESCRIPTION: usize = 72;

/// The width of the column of names, in characters; longer names move the rest of their row.
const MAX_NAME_COLUMN: usize = 28;

/// Returns a row for each tool, with the enforced effect and the number of rules that may decide
/// about it.
pub(super) fn rows<'a>(
    tools: impl Iterator<Item = (&'a ToolDefinition, Effect)> + Clone,
    rules: &[CallRule],
) -> Vec<String> {
    let lengths = tools.clone().map(|(tool, _)| tool.name.chars().count());
    let width = lengths.max().unwrap_or(0).min(MAX_NAME_COLUMN);
    let row = |(tool, effect): (&ToolDefinition, Effect)| {
        let name = escape_line(&tool.name);
        let about = first_sentence(&tool.description);
        let about = one_line(about, SHOWN_DESCRIPTION);
        let (effect, rules) = (effect.as_str(), rules_text(tool, rules));
        let row =
            format!("  {BOLD}{name:<width$}{BOLD:#}  {DIM}{effect:<11}{DIM:#} {about}{rules}");
        row.trim_end().to_owned()
    };
    tools.map(row).collect()
}

/// Returns the definition of a tool with the enforced effect, and the number of rules that may
/// decide on it.
pub(super) fn as_json(tool: &ToolDefinition, effect: Effect, rules: &[CallRule]) -> Value {
    let enforced = ToolDefinition {
        effect,
        ..tool.clone()
    };
    let mut shown = json!(enforced);
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("rules".to_owned(), rule_count(tool, rules).into());
    }
    shown
}

/// Returns the number of rules that may decide on a tool, behind a comma; empty without one.
pub(super) fn rules_text(tool: &ToolDefinition, rules: &[CallRule]) -> String {
    match rule_count(tool, rules) {
        0 => String::new(),
        1 => ", 1 rule".to_owned(),
        count => format!(", {count} rules"),
    }
}

fn rule_count(tool: &ToolDefinition, rules: &[CallRule]) -> usize {
    rules.iter().filter(|rule| rule.names(&tool.name)).count()
}

/// Returns the text up to the end of its first sentence or paragraph.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let ends = [
        text.find(". ").map(|end| end + 1),
        text.find("\n\n"),
        text.find(".\n"),
    ];
    let end = ends.into_iter().flatten().min().unwrap_or(text.len());
    text.get(..end).unwrap_or(text).trim_end_matches('.')
}
