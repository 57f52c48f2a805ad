//! Asks the user the questions of MCP servers. The answers leave the machine, so each question is a
//! security prompt, and a form is sent only after it was shown filled in.

use super::{BOLD, Terminal, YELLOW, answer as read_answer, escape_line, live::pause_spinner};
use agent_host_engine::{BoxFuture, text::framed};
use agent_host_mcp_client::{
    Choice, Elicitation, ElicitationAnswer, ElicitationKind, Elicitor, Field, FieldKind,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::Mutex;

/// The maximum of rows of a server's text.
const MAX_ROWS: usize = 40;

/// The user at a terminal, who is asked one question at a time.
#[derive(Clone, Debug)]
pub(crate) struct TerminalUser {
    terminal: Terminal,
    turn: Arc<Mutex<()>>,
}

impl TerminalUser {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self {
            terminal,
            turn: Arc::default(),
        }
    }
}

impl Elicitor for TerminalUser {
    fn ask(&self, elicitation: Elicitation) -> BoxFuture<'static, ElicitationAnswer> {
        let Self { terminal, turn } = self.clone();
        Box::pin(async move {
            let turn = turn.lock_owned().await;
            let asked = tokio::task::spawn_blocking(move || {
                // Held until the prompt ends, also if the call does before.
                let (_turn, _paused) = (turn, pause_spinner());
                ask(&terminal, &elicitation)
            });
            asked
                .await
                .ok()
                .flatten()
                .unwrap_or(ElicitationAnswer::Cancel)
        })
    }
}

/// Asks one question; `None` at the end of the input.
fn ask(terminal: &Terminal, elicitation: &Elicitation) -> Option<ElicitationAnswer> {
    let server = escape_line(&elicitation.server);
    let message = framed(&elicitation.message, terminal.columns(), MAX_ROWS);
    let asks = format!(
        "\n{YELLOW}The MCP server {server} asks you, in its own words:{YELLOW:#}\n{message}\n"
    );
    match &elicitation.kind {
        ElicitationKind::Url(url) => ask_to_open(terminal, &server, &asks, url),
        ElicitationKind::Form(fields) => fill_in(terminal, &server, &asks, fields),
    }
}

fn ask_to_open(
    terminal: &Terminal,
    server: &str,
    asks: &str,
    url: &str,
) -> Option<ElicitationAnswer> {
    let question = format!(
        "{asks}It wants you to open this address in a browser, at the host in bold:\n  {}\n\
         {BOLD}Open it yourself if you trust that host; agent-host does not.{BOLD:#} \
         [a] tell {server} that you open it  [d] decline  [c] cancel",
        highlighted(url)
    );
    loop {
        match read_answer(terminal, &question)?.trim() {
            "a" => return Some(ElicitationAnswer::Accept(Map::new())),
            "d" => return Some(ElicitationAnswer::Decline),
            "c" => return Some(ElicitationAnswer::Cancel),
            _ => {}
        }
    }
}

/// Returns the whole address with its host in bold.
fn highlighted(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, rest) = rest.split_at(end);
    format!(
        "{}://{BOLD}{}{BOLD:#}{}",
        escape_line(scheme),
        escape_line(host),
        escape_line(rest)
    )
}

fn fill_in(
    terminal: &Terminal,
    server: &str,
    asks: &str,
    fields: &[Field],
) -> Option<ElicitationAnswer> {
    let (count, noun) = (
        fields.len(),
        if fields.len() == 1 { "field" } else { "fields" },
    );
    let question = format!(
        "{asks}Its form has {count} {noun}. {BOLD}{server} gets what you answer: give it no \
         password and no key.{BOLD:#} [a] answer  [d] decline  [c] cancel"
    );
    loop {
        match read_answer(terminal, &question)?.trim() {
            "a" => {}
            "d" => return Some(ElicitationAnswer::Decline),
            "c" => return Some(ElicitationAnswer::Cancel),
            _ => continue,
        }
        let mut values = Map::new();
        for field in fields {
            if let Some(value) = read_field(terminal, field)? {
                values.insert(field.name.clone(), value);
            }
        }
        if let Some(answer) = confirm(terminal, server, values)? {
            return Some(answer);
        }
    }
}

/// Reads a field until its value fits; `Some(None)` is no value.
fn read_field(terminal: &Terminal, field: &Field) -> Option<Option<Value>> {
    let columns = terminal.columns();
    let title = field.title.as_deref().unwrap_or(&field.name);
    let mut question = format!("\n{}\n", framed(title, columns, MAX_ROWS));
    if let Some(description) = &field.description {
        question.push_str(&format!("{}\n", framed(description, columns, MAX_ROWS)));
    }
    if let FieldKind::One(choices) | FieldKind::Many(choices) = &field.kind {
        for (number, choice) in (1..).zip(choices) {
            question.push_str(&format!("[{number}] {}\n", escape_line(&choice.title)));
        }
    }
    question.push_str(&format!("{BOLD}{}{BOLD:#}", wanted(field)));
    loop {
        match field.parse(&read_answer(terminal, &question)?) {
            Ok(value) => return Some(value),
            Err(why) => terminal.note(&escape_line(&why)),
        }
    }
}

/// Says what to type for a field, and what nothing typed means.
fn wanted(field: &Field) -> String {
    let what = match &field.kind {
        FieldKind::Text(None) => "Type a text".to_owned(),
        FieldKind::Text(Some(format)) => format!("Type a text ({})", escape_line(format)),
        FieldKind::Number => "Type a number".to_owned(),
        FieldKind::Integer => "Type a number without a fraction".to_owned(),
        FieldKind::Boolean => "Type y or n".to_owned(),
        FieldKind::One(_) => "Type the number of a choice".to_owned(),
        FieldKind::Many(_) => "Type numbers of choices, with commas between them".to_owned(),
    };
    let otherwise = match (&field.default, field.required) {
        (Some(default), _) => format!("; nothing for {}", shown(&field.kind, default)),
        (None, true) => String::new(),
        (None, false) => "; nothing to leave it out".to_owned(),
    };
    format!("{what}{otherwise}")
}

/// Shows a value: the titles of choices, and JSON else.
fn shown(kind: &FieldKind, value: &Value) -> String {
    let title = |choices: &[Choice], value: &Value| {
        let mut choices = choices.iter();
        let choice = choices.find(|choice| value.as_str() == Some(&choice.value));
        choice.map(|choice| choice.title.clone())
    };
    let titled = match (kind, value) {
        (FieldKind::One(choices), value) => title(choices, value),
        (FieldKind::Many(choices), Value::Array(values)) => {
            let titles = values.iter().map(|value| title(choices, value));
            titles.collect::<Option<Vec<_>>>().map(|all| all.join(", "))
        }
        _ => None,
    };
    escape_line(&titled.unwrap_or_else(|| value.to_string()))
}

/// Shows the filled form and asks whether it is sent; `Some(None)` is to fill it in again.
fn confirm(
    terminal: &Terminal,
    server: &str,
    values: Map<String, Value>,
) -> Option<Option<ElicitationAnswer>> {
    let lines: String = values
        .iter()
        .map(|(name, value)| {
            let (name, value) = (escape_line(name), escape_line(&value.to_string()));
            format!("  {name}: {value}\n")
        })
        .collect();
    let question = format!(
        "\nYour answer:\n{lines}{BOLD}Send it to the MCP server {server}?{BOLD:#} \
         [s] send  [e] edit  [d] decline  [c] cancel"
    );
    loop {
        match read_answer(terminal, &question)?.trim() {
            "s" => return Some(Some(ElicitationAnswer::Accept(values))),
            "e" => return Some(None),
            "d" => return Some(Some(ElicitationAnswer::Decline)),
            "c" => return Some(Some(ElicitationAnswer::Cancel)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::highlighted;
    use pretty_assertions::assert_eq;

    #[test]
    fn address_is_whole_and_its_host_is_bold() {
        let cases = [
            (
                "https://a.example/x?y#z",
                "https://\u{1b}[1ma.example\u{1b}[0m/x?y#z",
            ),
            ("http://b:80", "http://\u{1b}[1mb:80\u{1b}[0m"),
            (
                "https://a.example?\u{1b}[2J",
                "https://\u{1b}[1ma.example\u{1b}[0m?\\u{1b}[2J",
            ),
        ];
        for (url, expected) in cases {
            assert_eq!(highlighted(url), expected);
        }
    }
}
