//! The commands of a conversation: one table that parses, completes and explains them.

#[cfg(test)]
mod tests;

use crate::terminal::{BOLD, CommandWords, DIM, Words};
use agent_host_app::Effort;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Retry,
    Model,
    Effort,
    Tools,
    Grants,
    Approvals,
    Cost,
    Context,
    Reasoning,
    Compact,
    Clear,
    Resume,
    Fork,
    Image,
    File,
    Explain,
    Undo,
    Export,
    Quit,
}

/// The argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    None,
    File,
    NewFile,
    Model,
    Effort,
    Session,
    Force,
}

/// The words that complete arguments.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) models: Vec<String>,
    pub(super) sessions: Vec<String>,
}

/// A row of the table.
struct Row {
    command: Command,
    /// The name with its slash.
    name: &'static str,
    argument: Argument,
    help: &'static str,
}

/// The table.
#[rustfmt::skip]
const ROWS: [Row; 20] = [
    row(Command::Help, "/help", Argument::None, "lists the commands and keys"),
    row(Command::Retry, "/retry", Argument::None, "retries the last message"),
    row(Command::Model, "/model", Argument::Model, "shows the model, or switches to another one"),
    row(Command::Effort, "/effort", Argument::Effort, "shows or sets how much the model reasons"),
    row(Command::Tools, "/tools", Argument::None, "lists the tools"),
    row(Command::Grants, "/grants", Argument::None, "shows what the tools can access"),
    row(Command::Approvals, "/approvals", Argument::None, "lists the remembered approvals"),
    row(Command::Cost, "/cost", Argument::None, "shows the tokens and the cost of the session"),
    row(Command::Context, "/context", Argument::None, "shows how full the model's window is"),
    row(Command::Reasoning, "/reasoning", Argument::None, "shows the model's last reasoning in full"),
    row(Command::Compact, "/compact", Argument::None, "shortens the conversation before the next answer"),
    row(Command::Clear, "/clear", Argument::None, "starts a new session"),
    row(Command::Resume, "/resume", Argument::Session, "lists the sessions of this project, or resumes one"),
    row(Command::Fork, "/fork", Argument::None, "continues in a copy of the session"),
    row(Command::Image, "/image", Argument::File, "attaches an image to the next message"),
    row(Command::File, "/file", Argument::File, "attaches a document, an image or text to the next message"),
    row(Command::Explain, "/explain", Argument::None, "shows what calls requested, and what was denied"),
    row(Command::Undo, "/undo", Argument::Force, "restores the files that the last answer changed"),
    row(Command::Export, "/export", Argument::NewFile, "writes the session to a new file"),
    row(Command::Quit, "/quit", Argument::None, "leaves; the session is kept"),
];

/// The argument of `/undo`.
pub(super) const FORCE: &str = "--force";

/// The levels of effort, for completion.
const EFFORTS: [Effort; 7] = [
    Effort::None,
    Effort::Minimal,
    Effort::Low,
    Effort::Medium,
    Effort::High,
    Effort::XHigh,
    Effort::Max,
];

/// The keys, below the commands.
const KEYS: &str = "\
Enter sends; Alt-Enter, or Enter after a backslash, starts a new line.
Tab completes commands, their arguments, @FILE and paths. Up and Down go through the history, and Ctrl-R searches it; a message that begins with a space is not added to it.
Ctrl-C or Esc stops the answer, and the same key again leaves. Ctrl-D also leaves.";

/// The likeness from which an unknown name is taken for a misspelt one.
const MIN_LIKENESS: f64 = 0.7;

const fn row(command: Command, name: &'static str, argument: Argument, help: &'static str) -> Row {
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
    (name.len() > 1 && likeness(nearest) >= MIN_LIKENESS).then_some(nearest.name)
}

pub(super) fn help() -> String {
    let lines = ROWS.iter().map(|row| {
        let form = format!("{} {}", row.name, row.argument.form());
        format!("  {BOLD}{form:<18}{BOLD:#}{}", row.help)
    });
    let lines: Vec<String> = lines.collect();
    format!("{}\n{DIM}{KEYS}{DIM:#}", lines.join("\n"))
}

/// Returns the commands as the composer completes them.
pub(super) fn words(arguments: &Arguments) -> Vec<CommandWords> {
    let words = ROWS.iter().map(|row| CommandWords {
        name: row.name.to_owned(),
        help: row.help.to_owned(),
        words: match row.argument {
            Argument::None => Words::Any,
            Argument::File | Argument::NewFile => Words::File,
            Argument::Model => Words::List(arguments.models.clone()),
            Argument::Session => Words::List(arguments.sessions.clone()),
            Argument::Force => Words::List(vec![FORCE.to_owned()]),
            Argument::Effort => Words::List(EFFORTS.map(|level| level.name().to_owned()).into()),
        },
    });
    words.collect()
}

impl Argument {
    /// Returns how the help shows it.
    fn form(self) -> &'static str {
        match self {
            Self::None => "",
            Self::File | Self::NewFile => "FILE",
            Self::Model => "[MODEL]",
            Self::Effort => "[LEVEL]",
            Self::Session => "[SESSION]",
            Self::Force => "[--force]",
        }
    }
}
