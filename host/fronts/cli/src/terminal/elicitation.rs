//! Asks the user the questions of MCP servers. The answers leave the machine, so each question is a
//! security prompt, and a form is sent only after it was shown filled in.

use super::{
    BOLD, Terminal, YELLOW, answer as read_answer, escape_line,
    form::{FormPrompt, MAX_ROWS, counted},
    spinner::pause_spinner,
};
use agent_host_engine::{BoxFuture, text::framed};
use agent_host_mcp_client::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor};
use agent_host_types::form::FormField;
use serde_json::Map;
use std::sync::Arc;
use tokio::sync::Mutex;

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
            let terminal = terminal.for_prompt();
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
        "{asks}It wants you to open this address in a browser, at the host in bold:\n  {}\n{BOLD}Open it yourself if \
         you trust that host; agent-host does not.{BOLD:#} [a] tell {server} that you will open it  [d] decline  [c] \
         cancel",
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
    fields: &[FormField],
) -> Option<ElicitationAnswer> {
    let prompt = FormPrompt {
        question: &format!(
            "{asks}{} {BOLD}Your answer is sent to {server}: do not give it a password or a key.{BOLD:#}",
            counted(fields)
        ),
        send: &format!("Send it to the MCP server {server}?"),
        refusals: &[
            ("d", "decline", ElicitationAnswer::Decline),
            ("c", "cancel", ElicitationAnswer::Cancel),
        ],
    };
    let filled = prompt.fill_in(terminal, fields)?;
    Some(filled.map_or_else(|refusal| refusal, ElicitationAnswer::Accept))
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
