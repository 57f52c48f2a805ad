//! The commands of a conversation: one table that parses, completes and explains them.

#[cfg(test)]
mod tests;

use crate::terminal::{BOLD, CommandWords, DIM, Words};

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Retry,
    Quit,
}

/// A row of the table.
struct Row {
    command: Command,
    /// The name with its slash.
    name: &'static str,
    /// The form of its argument; empty without one.
    argument: &'static str,
    help: &'static str,
}

/// The table.
const ROWS: [Row; 3] = [
    row(Command::Help, "/help", "", "lists the commands and keys"),
    row(
        Command::Retry,
        "/retry",
        "",
        "sends the message without an answer again, or goes on behind its calls",
    ),
    row(Command::Quit, "/quit", "", "leaves; the session is kept"),
];

/// The keys, below the commands.
const KEYS: &str = "\
Enter sends; Alt-Enter, or Enter behind a backslash, begins a line.
Tab completes commands, their arguments, @FILE and paths. Up and Down go through the history, \
Ctrl-R searches in it; a message that begins with a space is not written to it.
Ctrl-C or Esc stops the answer, and the same key again leaves. Ctrl-D leaves, too.";

/// The distance within which an unknown name is taken for a misspelt one.
const MIN_LIKENESS: f64 = 0.7;

const fn row(
    command: Command,
    name: &'static str,
    argument: &'static str,
    help: &'static str,
) -> Row {
    Row {
        command,
        name,
        argument,
        help,
    }
}

/// The meaning of what the user sent.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'t> {
    /// A message for the model.
    Message(&'t str),
    /// A command and its argument.
    Command(Command, &'t str),
    /// A command that does not exist, and one with a similar name.
    Unknown {
        name: &'t str,
        near: Option<&'static str>,
    },
}

/// Tells commands from messages. Two slashes begin a message with one, and a path is a message.
pub(super) fn parse(text: &str) -> Line<'_> {
    let Some(rest) = text.strip_prefix('/') else {
        return Line::Message(text);
    };
    if rest.starts_with('/') {
        return Line::Message(rest);
    }
    let (name, argument) = match text.split_once(char::is_whitespace) {
        Some((name, argument)) => (name, argument.trim()),
        None => (text, ""),
    };
    if name
        .strip_prefix('/')
        .is_some_and(|name| name.contains('/'))
    {
        return Line::Message(text);
    }
    match ROWS.iter().find(|row| row.name == name) {
        Some(row) => Line::Command(row.command, argument),
        None => Line::Unknown {
            name,
            near: near(name),
        },
    }
}

/// Returns the name that one may have meant.
fn near(name: &str) -> Option<&'static str> {
    let likeness = |row: &Row| strsim::jaro_winkler(row.name, name);
    let nearest = ROWS
        .iter()
        .max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(nearest) >= MIN_LIKENESS).then_some(nearest.name)
}

/// Returns the help.
pub(super) fn help() -> String {
    let lines = ROWS.iter().map(|row| {
        let form = format!("{} {}", row.name, row.argument);
        format!("  {BOLD}{form:<20}{BOLD:#}{}", row.help)
    });
    let lines: Vec<String> = lines.collect();
    format!("{}\n{DIM}{KEYS}{DIM:#}", lines.join("\n"))
}

/// Returns the commands as the composer completes them.
pub(super) fn words() -> Vec<CommandWords> {
    let words = ROWS.iter().map(|row| CommandWords {
        name: row.name.to_owned(),
        help: row.help.to_owned(),
        words: match row.argument {
            "FILE" => Words::File,
            _ => Words::Any,
        },
    });
    words.collect()
}
