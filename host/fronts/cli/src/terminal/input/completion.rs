//! Completion of commands, their arguments, and files. Nothing of it is a decision: the user sees
//! the text before it is sent.

mod search;
#[cfg(test)]
mod tests;

use std::{
    env, fs,
    ops::Range,
    path::{Path, PathBuf},
};

/// The maximum number of entries of a directory that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The maximum number of candidates.
const MAX_CANDIDATES: usize = 50;

/// A command of the conversation, as it completes.
#[derive(Clone, Debug)]
pub(crate) struct CommandWords {
    /// The command with its slash.
    pub(crate) name: String,
    /// Its purpose, on a line.
    pub(crate) help: String,
    /// Its arguments.
    pub(crate) words: Words,
}

/// The arguments of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// None, or any text.
    Any,
    /// The path of a file.
    File,
    /// One of these.
    List(Vec<String>),
}

/// Completes what stands before the cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completer {
    pub(crate) commands: Vec<CommandWords>,
    /// The directory of relative paths.
    pub(crate) directory: PathBuf,
}

/// The texts that may replace a part of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) range: Range<usize>,
    pub(super) candidates: Vec<String>,
    /// Whether all candidates begin with the text of the range; otherwise one of them alone may
    /// replace it.
    pub(super) by_prefix: bool,
}

impl Completer {
    /// Returns the candidates for the word before the cursor.
    pub(super) fn complete(&self, text: &str, cursor: usize) -> Completion {
        let before = text.get(..cursor).unwrap_or_default();
        let (start, candidates) = match before.split_once(char::is_whitespace) {
            None if is_command(before) => (0, self.names(before)),
            Some((name, rest)) if is_command(name) => {
                let start = before.len() - rest.len();
                match self.words(name) {
                    Some(Words::List(words)) => (start, with_prefix(words, rest)),
                    Some(Words::File) => (start, self.files(rest)),
                    Some(Words::Any) | None => self.path(before),
                }
            }
            _ => self.path(before),
        };
        let range = start..before.len();
        let word = before.get(range.clone()).unwrap_or_default();
        let is_file = before.get(..start).is_some_and(|text| text.ends_with('@'));
        match candidates.is_empty() && is_file && !word.is_empty() {
            true => Completion {
                range,
                candidates: search::files_like(word, &self.directory),
                by_prefix: false,
            },
            false => Completion {
                range,
                candidates,
                by_prefix: true,
            },
        }
    }

    /// Returns the commands that a text begins, each with its purpose.
    pub(super) fn hints(&self, text: &str) -> Vec<String> {
        if !is_command(text) || text.contains(char::is_whitespace) {
            return Vec::new();
        }
        let commands = self.commands.iter();
        let begun = commands.filter(|command| command.name.starts_with(text));
        let line = |command: &CommandWords| format!("{:<12}{}", command.name, command.help);
        begun.map(line).collect()
    }

    fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.commands.iter().map(|command| &command.name);
        let begun = names.filter(|name| name.starts_with(prefix));
        begun.map(|name| format!("{name} ")).collect()
    }

    fn words(&self, name: &str) -> Option<&Words> {
        let mut commands = self.commands.iter();
        let command = commands.find(|command| command.name == name);
        command.map(|command| &command.words)
    }

    /// Completes the last word, if it is a path: behind `@`, or with a slash.
    fn path(&self, before: &str) -> (usize, Vec<String>) {
        let word = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let path = match word.strip_prefix('@') {
            Some(path) => path,
            None if word.contains('/') => word,
            None => return (before.len(), Vec::new()),
        };
        (before.len() - path.len(), self.files(path))
    }

    /// Returns the paths that begin with this one; directories with a slash at the end.
    fn files(&self, path: &str) -> Vec<String> {
        let (parent, prefix) = match path.rsplit_once('/') {
            Some((parent, prefix)) => (format!("{parent}/"), prefix),
            None => (String::new(), path),
        };
        let directory = match (parent.strip_prefix("~/"), env::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.directory.join(&parent),
        };
        let names = names_in(&directory, prefix);
        let paths = names.into_iter().map(|name| format!("{parent}{name}"));
        paths.collect()
    }
}

/// True for a text that begins with one slash: two begin a message with one.
fn is_command(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//") && !text.get(1..).is_some_and(is_path)
}

/// True for the rest of a path such as `/usr/bin`.
fn is_path(rest: &str) -> bool {
    rest.contains('/')
}

fn with_prefix(words: &[String], prefix: &str) -> Vec<String> {
    let begun = words.iter().filter(|word| word.starts_with(prefix));
    begun.take(MAX_CANDIDATES).cloned().collect()
}

/// Returns the names in a directory that begin with a prefix, in order; hidden ones only for a
/// prefix with a dot. A name that no line can have is none.
fn names_in(directory: &Path, prefix: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let Ok(mut name) = entry.file_name().into_string() else {
            continue;
        };
        let is_hidden = name.starts_with('.') && !prefix.starts_with('.');
        if !name.starts_with(prefix) || is_hidden || name.contains(char::is_control) {
            continue;
        }
        if entry.path().is_dir() {
            name.push('/');
        }
        names.push(name);
    }
    names.sort_unstable();
    names.truncate(MAX_CANDIDATES);
    names
}

/// Returns the longest text that all candidates begin with.
pub(super) fn common_prefix(candidates: &[String]) -> &str {
    let Some((first, rest)) = candidates.split_first() else {
        return "";
    };
    let is_common = |end: &usize| {
        let prefix = first.get(..*end);
        prefix.is_some_and(|prefix| rest.iter().all(|other| other.starts_with(prefix)))
    };
    let end = (0..=first.len()).rev().find(is_common);
    first.get(..end.unwrap_or(0)).unwrap_or_default()
}
