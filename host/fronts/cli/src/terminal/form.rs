//! Fills in a form, one field after the other: of a tool's question, and of an MCP server. Its
//! texts are the asker's, so they stand in frames; it is sent only after it was shown filled in.

use super::{BOLD, Terminal, answer as read_answer, escape_line};
use agent_host_engine::text::framed;
use agent_host_types::form::{FieldChoice, FieldKind, FormField};
use serde_json::{Map, Value};

/// The maximum of rows of a text of the asker.
pub(super) const MAX_ROWS: usize = 40;

/// The texts around a form, and the answers without values.
pub(super) struct FormPrompt<'a, R> {
    /// The text before the first field.
    pub(super) question: &'a str,
    /// The question whether the filled form is sent.
    pub(super) send: &'a str,
    /// The keys that refuse the form, each with its name and its meaning.
    pub(super) refusals: &'a [(&'static str, &'static str, R)],
}

/// Says how many fields a form has.
pub(super) fn counted(fields: &[FormField]) -> String {
    match fields.len() {
        1 => "Its form has 1 field.".to_owned(),
        count => format!("Its form has {count} fields."),
    }
}

impl<R: Clone> FormPrompt<'_, R> {
    /// Reads the values, which fit their fields, or a refusal; `None` at the end of the input.
    pub(super) fn fill_in(
        &self,
        terminal: &Terminal,
        fields: &[FormField],
    ) -> Option<Result<Map<String, Value>, R>> {
        let question = format!("{} [a] answer{}", self.question, self.keys());
        loop {
            let line = read_answer(terminal, &question)?;
            match (line.trim(), self.refusal(line.trim())) {
                (_, Some(refusal)) => return Some(Err(refusal)),
                ("a", None) => {}
                _ => continue,
            }
            let mut values = Map::new();
            for field in fields {
                if let Some(value) = read_field(terminal, field)? {
                    values.insert(field.name.clone(), value);
                }
            }
            if let Some(end) = self.confirm(terminal, fields, values)? {
                return Some(end);
            }
        }
    }

    /// Shows the filled form and asks whether it is sent; `Some(None)` is to fill it in again.
    fn confirm(
        &self,
        terminal: &Terminal,
        fields: &[FormField],
        values: Map<String, Value>,
    ) -> Option<Option<Result<Map<String, Value>, R>>> {
        let line = |field: &FormField| {
            let value = values.get(&field.name)?.to_string();
            let (name, value) = (escape_line(&field.name), escape_line(&value));
            Some(format!("  {name}: {value}\n"))
        };
        let question = format!(
            "\nYour answer:\n{}{BOLD}{}{BOLD:#} [s] send  [e] edit{}",
            fields.iter().filter_map(line).collect::<String>(),
            self.send,
            self.keys()
        );
        loop {
            let line = read_answer(terminal, &question)?;
            match (line.trim(), self.refusal(line.trim())) {
                (_, Some(refusal)) => return Some(Some(Err(refusal))),
                ("s", None) => return Some(Some(Ok(values))),
                ("e", None) => return Some(None),
                _ => {}
            }
        }
    }

    fn keys(&self) -> String {
        let keys = self.refusals.iter();
        keys.map(|(key, name, _)| format!("  [{key}] {name}"))
            .collect()
    }

    fn refusal(&self, typed: &str) -> Option<R> {
        let mut refusals = self.refusals.iter();
        let found = refusals.find(|(key, ..)| *key == typed);
        found.map(|(.., refusal)| refusal.clone())
    }
}

/// Reads a field until its value fits; `Some(None)` is no value.
fn read_field(terminal: &Terminal, field: &FormField) -> Option<Option<Value>> {
    let columns = terminal.columns();
    let mut question = format!("\n{}\n", framed(field.label(), columns, MAX_ROWS));
    if let Some(description) = &field.description {
        question.push_str(&format!("{}\n", framed(description, columns, MAX_ROWS)));
    }
    if let FieldKind::One { choices } | FieldKind::Many { choices, .. } = &field.kind {
        for (number, choice) in (1..).zip(choices) {
            question.push_str(&format!("[{number}] {}\n", escape_line(choice.label())));
        }
    }
    question.push_str(&format!("{BOLD}{}{BOLD:#}", wanted(field)));
    loop {
        match field.parse(&read_answer(terminal, &question)?) {
            Ok(value) => return Some(value),
            Err(why) => terminal.note(&escape_line(why.as_str())),
        }
    }
}

/// Says what to type for a field, and what nothing typed means.
fn wanted(field: &FormField) -> String {
    let what = match &field.kind {
        FieldKind::Text { format: None, .. } => "Type a text".to_owned(),
        FieldKind::Text {
            format: Some(format),
            ..
        } => format!("Type a text ({})", escape_line(format)),
        FieldKind::Number(_) => "Type a number".to_owned(),
        FieldKind::Integer(_) => "Type a number without a fraction".to_owned(),
        FieldKind::Boolean => "Type y or n".to_owned(),
        FieldKind::One { .. } => "Type the number of a choice".to_owned(),
        FieldKind::Many { .. } => "Type the numbers of choices, separated by commas".to_owned(),
    };
    let otherwise = match (&field.default, field.required) {
        (Some(default), _) => format!("; leave empty for {}", shown(&field.kind, default)),
        (None, true) => " (required)".to_owned(),
        (None, false) => "; leave empty to skip it".to_owned(),
    };
    format!("{what}{otherwise}")
}

/// Shows a value: the titles of choices, and JSON else.
fn shown(kind: &FieldKind, value: &Value) -> String {
    let title = |choices: &[FieldChoice], value: &Value| {
        let mut choices = choices.iter();
        let choice = choices.find(|choice| value.as_str() == Some(&choice.value));
        choice.map(|choice| choice.label().to_owned())
    };
    let titled = match (kind, value) {
        (FieldKind::One { choices }, value) => title(choices, value),
        (FieldKind::Many { choices, .. }, Value::Array(values)) => {
            let titles = values.iter().map(|value| title(choices, value));
            titles.collect::<Option<Vec<_>>>().map(|all| all.join(", "))
        }
        _ => None,
    };
    escape_line(&titled.unwrap_or_else(|| value.to_string()))
}
