//! The end of a conversation that is resumed: its last exchanges, as far as they fit a screen.

#[cfg(test)]
mod tests;

use crate::terminal::{BOLD, DIM, LiveView, one_line};
use agent_host_engine::session::Session;
use agent_host_types::{
    message::{Message, Role},
    output::ContentPart,
};

/// The number of exchanges that are shown.
const EXCHANGES: usize = 2;

/// The most rows of an answer, of which the last ones are shown.
const MAX_ROWS: usize = 24;

/// The longest message of the user, in characters.
const MAX_INPUT: usize = 300;

/// A message of the user and what followed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Exchange {
    input: String,
    calls: usize,
    /// The last text of the model.
    answer: String,
}

/// Returns the last exchanges of a session, in lines; none for a new one.
pub(super) fn lines(session: &Session, view: &LiveView) -> Vec<String> {
    let mut lines = Vec::new();
    for exchange in exchanges(session.state().messages()) {
        let input = one_line(&exchange.input, MAX_INPUT);
        lines.push(format!("{BOLD}You: {input}{BOLD:#}"));
        if exchange.calls > 0 {
            let calls = if exchange.calls == 1 { "call" } else { "calls" };
            lines.push(format!("{DIM}{} {calls}{DIM:#}", exchange.calls));
        }
        lines.extend(last_rows(&view.rendered(exchange.answer.trim_end())));
        lines.push(String::new());
    }
    if !lines.is_empty() {
        let id = session.id();
        lines.push(format!(
            "{DIM}show everything: agent-host sessions show {id}{DIM:#}"
        ));
    }
    lines
}

/// Returns the last exchanges of a conversation.
fn exchanges(messages: &[Message]) -> Vec<Exchange> {
    let mut found: Vec<Exchange> = Vec::new();
    for message in messages {
        let texts: Vec<&str> = message
            .content
            .iter()
            .filter_map(ContentPart::text)
            .collect();
        if message.is_input() {
            found.push(Exchange {
                input: texts.join(" "),
                ..Exchange::default()
            });
        }
        let Some(exchange) = found.last_mut() else {
            continue;
        };
        if message.role == Role::Assistant {
            exchange.calls += message.tool_calls.len();
            if !texts.is_empty() {
                exchange.answer = texts.concat();
            }
        }
    }
    found.drain(..found.len().saturating_sub(EXCHANGES));
    found
}

/// Returns the last rows of a text, and a row that says how many are above.
fn last_rows(text: &str) -> Vec<String> {
    let rows: Vec<&str> = text.lines().collect();
    let above = rows.len().saturating_sub(MAX_ROWS);
    let mark = (above > 0).then(|| format!("{DIM}… {above} rows above{DIM:#}"));
    let shown = rows.into_iter().skip(above).map(str::to_owned);
    mark.into_iter().chain(shown).collect()
}
