//! The commands of a conversation: one table that parses, completes and explains them.

#[cfg(test)]
mod tests;

use crate::terminal::{BOLD, CommandWords, DIM, SHOW_LAST, Words};
use agent_host_app::Effort;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Help,
    Retry,
    Model,
    Effort,
    Tools,
    Grants,
    Approvals,
    Memory,
    Cost,
    Context,
    Reasoning,
    Compact,
    Clear,
    Resume,
    Fork,
    Image,
    File,
    Last,
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
    Words,
}

/// The words that complete arguments.
#[derive(Debug, Default)]
pub(super) struct ArgumentWords {
    pub(super) models: Vec<String>,
    pub(super) sessions: Vec<String>,
}

/// A row of the table.
struct CommandRow {
    command: SlashCommand,
    /// The name with its slash.
    name: &'static str,
    argument: Argument,
    help: &'static str,
}

/// The table.
#[rustfmt::skip]
const ROWS: [CommandRow; 22] = [
    row(SlashCommand::Help, "/help", Argument::None, "lists the commands and keys"),
    row(SlashCommand::Retry, "/retry", Argument::None, "retries the last message"),
    row(SlashCommand::Model, "/model", Argument::Model, "shows the model, or switches to another one"),
    row(SlashCommand::Effort, "/effort", Argument::Effort, "shows or sets how much the model reasons"),
    row(SlashCommand::Tools, "/tools", Argument::None, "lists the tools"),
    row(SlashCommand::Grants, "/grants", Argument::None, "shows what the tools can access"),
    row(SlashCommand::Approvals, "/approvals", Argument::None, "lists the remembered approvals"),
    row(SlashCommand::Memory, "/memory", Argument::Words, "lists what agents remember for this project, or what has one of the words"),
    row(SlashCommand::Cost, "/cost", Argument::None, "shows the tokens and the cost of the session"),
    row(SlashCommand::Context, "/context", Argument::None, "shows how full the model's window is"),
    row(SlashCommand::Reasoning, "/reasoning", Argument::None, "shows the model's last reasoning in full"),
    row(SlashCommand::Compact, "/compact", Argument::None, "shortens the conversation before the next answer"),
    row(SlashCommand::Clear, "/clear", Argument::None, "starts a new session"),
    row(SlashCommand::Resume, "/resume", Argument::Session, "lists the sessions of this project, or resumes one"),
    row(SlashCommand::Fork, "/fork", Argument::None, "continues in a copy of the session"),
    row(SlashCommand::Image, "/image", Argument::File, "attaches an image to the next message"),
    row(SlashCommand::File, "/file", Argument::File, "attaches a document, an image or text to the next message"),
    row(SlashCommand::Last, SHOW_LAST, Argument::None, "shows the last call: arguments, result, resources and requests"),
    row(SlashCommand::Explain, "/explain", Argument::None, "shows what calls requested, and what was denied"),
    row(SlashCommand::Undo, "/undo", Argument::Force, "restores the files that the last answer changed"),
    row(SlashCommand::Export, "/export", Argument::NewFile, "writes the session to a new file"),
    row(SlashCommand::Quit, "/quit", Argument::None, "leaves; the session is kept"),
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
Tab completes commands, their arguments, paths, and @FILE by any part of its path. Up and Down go through the history, and Ctrl-R searches it; a message that begins with a space is not added to it.
Paste or drop the path of an image to attach it; Ctrl-V attaches the image of the clipboard. Ctrl-O shows the last call, as /last does. Ctrl-C or Esc stops the answer, and the same key again leaves. Ctrl-D also leaves.";

/// The likeness from which an unknown name is taken for a misspelt one.
const MIN_LIKENESS: f64 = 0.7;

const fn row(
    command: SlashCommand,
    name: &'static str,
    argument: Argument,
    help: &'static str,
) -> CommandRow {
    CommandRow {
        command,
        name,
        argument,
        help,
    }
}

/// The meaning of what the user sent.
#[derive(Debug, PartialEq)]
pub(super) enum UserLine<'t> {
    /// A message for the model.
    Message(&'t str),
    /// A command and its argument.
    Command(SlashCommand, &'t str),
    /// A command that does not exist, and one with a similar name.
    Unknown {
        name: &'t str,
        near: Option<&'static str>,
    },
    /// A shell command, as other programs run it.
    Shell,
}

/// Tells commands from messages. Two slashes begin a message with one, and a path is a message.
pub(super) fn parse(text: &str) -> UserLine<'_> {
    let begins_command = |rest: &str| rest.starts_with(|first: char| !first.is_whitespace());
    if text.strip_prefix('!').is_some_and(begins_command) {
        return UserLine::Shell;
    }
    let Some(rest) = text.strip_prefix('/') else {
        return UserLine::Message(text);
    };
    if rest.starts_with('/') {
        return UserLine::Message(rest);
    }
    let (name, argument) = match text.split_once(char::is_whitespace) {
        Some((name, argument)) => (name, argument.trim()),
        None => (text, ""),
    };
    if name
        .strip_prefix('/')
        .is_some_and(|name| name.contains('/'))
    {
        return UserLine::Message(text);
    }
    match ROWS.iter().find(|row| row.name == name) {
        Some(row) => UserLine::Command(row.command, argument),
        None => UserLine::Unknown {
            name,
            near: near(name),
        },
    }
}

/// Returns the name that one may have meant.
fn near(name: &str) -> Option<&'static str> {
    let likeness = |row: &CommandRow| strsim::jaro_winkler(row.name, name);
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
pub(super) fn words(arguments: &ArgumentWords) -> Vec<CommandWords> {
    let words = ROWS.iter().map(|row| CommandWords {
        name: row.name.to_owned(),
        help: row.help.to_owned(),
        words: match row.argument {
            Argument::None | Argument::Words => Words::Any,
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
            Self::Words => "[WORDS]",
        }
    }
}
