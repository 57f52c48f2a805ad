//! The programs that a build starts: whether they are there, whether they are of a version that is known to work, and running
//! them. They inherit the environment, and what they say goes to stderr: stdout is for the answer.

#[cfg(test)]
mod tests;

use crate::error::AuthorError;
use regex::Regex;
use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    path::Path,
    process::{Command, Stdio},
    sync::LazyLock,
};

/// The number in what a program says of its version.
static NUMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([0-9]+)\.([0-9]+)(\.[0-9]+)*").ok());

/// The first two parts of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl Version {
    /// The first version in a text, with the text of all its parts.
    pub(crate) fn first_in(text: &str) -> Option<(Self, &str)> {
        let found = NUMBER.as_ref()?.captures(text)?;
        let part = |index| found.get(index)?.as_str().parse().ok();
        Some((Self(part(1)?, part(2)?), found.get(0)?.as_str()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The versions of a program that are known to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// This one and those after it, of languages that keep their promises.
    AtLeast(Version),
    /// Those of this number only, of tools that change with every one.
    Series(Version),
}

impl Needed {
    pub(crate) fn admits(self, version: Version) -> bool {
        match self {
            Self::AtLeast(least) => version >= least,
            Self::Series(only) => version == only,
        }
    }
}

impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "{least} or newer"),
            Self::Series(only) => write!(f, "{only}"),
        }
    }
}

/// A program with its first arguments: `python3 -m ziglang`.
pub(crate) type Way = Vec<OsString>;

/// Makes a way of what it consists of.
pub(crate) fn way<const N: usize>(words: [&dyn AsRef<OsStr>; N]) -> Way {
    words.map(|word| word.as_ref().to_owned()).into()
}

/// A program that a build needs.
#[derive(Debug)]
pub(crate) struct Program {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The ways to start it, the preferred one first.
    pub(crate) ways: Vec<Way>,
    /// The arguments that make it say its version.
    pub(crate) says_version: &'static [&'static str],
    /// The versions that work.
    pub(crate) needed: Needed,
    /// What to do to have it, as a sentence with the exact command.
    pub(crate) install: String,
}

/// A program that is there, in a version that works.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What people call it.
    pub(crate) name: &'static str,
    /// All parts of its version.
    pub(crate) version: String,
    way: Way,
}

impl Program {
    /// Finds it, as it is started in `dir`.
    pub(crate) fn find(&self, dir: &Path) -> Result<Found, AuthorError> {
        let mut wrong = None;
        for way in &self.ways {
            let said = output(way, self.says_version, dir);
            let Some((version, text)) = said.as_deref().and_then(Version::first_in) else {
                continue;
            };
            if self.needed.admits(version) {
                return Ok(Found {
                    name: self.name,
                    version: text.to_owned(),
                    way: way.clone(),
                });
            }
            wrong.get_or_insert_with(|| format!("`{}` is {text}", shown(way)));
        }
        let why = wrong.unwrap_or_else(|| {
            let ways: Vec<String> = self
                .ways
                .iter()
                .map(|way| format!("`{}`", shown(way)))
                .collect();
            format!("it is not there as {}", ways.join(" or "))
        });
        Err(AuthorError::usage(format!(
            "this build needs {} {}, and {why}. {}",
            self.name, self.needed, self.install
        )))
    }
}

impl Found {
    /// A command that starts it.
    pub(crate) fn command(&self) -> Command {
        command(&self.way)
    }
}

fn command(way: &[OsString]) -> Command {
    let mut words = way.iter();
    let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words);
    command
}

/// What a program says on both of its streams; nothing where it does not start or fails.
pub(crate) fn output(way: &[OsString], args: &[&str], dir: &Path) -> Option<String> {
    let output = command(way)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let said = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&said).into_owned())
}

fn shown(way: &[OsString]) -> String {
    let words: Vec<_> = way.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Runs a step of a build to its end.
///
/// # Errors
/// When the program does not start, or ends with a failure: it has said why.
pub(crate) fn run(step: &str, command: &mut Command) -> Result<(), AuthorError> {
    run_for(step, command.stdout(io::stderr())).map(drop)
}

/// Runs a step of a build to its end and returns what it wrote to stdout, if that is a pipe.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_for(step: &str, command: &mut Command) -> Result<Vec<u8>, AuthorError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| AuthorError::failed(format!("cannot start {program} {step}: {error}")))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(AuthorError::failed(format!(
            "{program} failed {step} ({}); what it said is above",
            output.status
        )))
    }
}
