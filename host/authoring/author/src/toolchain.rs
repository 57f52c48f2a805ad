//! Finds the programs of a build in a supported version, and runs them. They inherit the
//! environment; their output goes to stderr, since stdout is for the result.

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

/// A version number.
static NUMBER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([0-9]+)\.([0-9]+)(\.[0-9]+)*").ok());

/// The major and minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

impl Version {
    /// Returns the first version in a text, with the text of all its parts.
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

/// The supported versions of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionReq {
    /// This version or newer, for languages with compatible releases.
    AtLeast(Version),
    /// This series only, for tools whose minor releases break.
    Series(Version),
}

impl VersionReq {
    pub(crate) fn admits(self, version: Version) -> bool {
        match self {
            Self::AtLeast(least) => version >= least,
            Self::Series(only) => version == only,
        }
    }
}

impl fmt::Display for VersionReq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "{least} or newer"),
            Self::Series(only) => write!(f, "{only}"),
        }
    }
}

/// A program with its first arguments, such as `python3 -m ziglang`.
pub(crate) type Invocation = Vec<OsString>;

pub(crate) fn invocation<const N: usize>(words: [&dyn AsRef<OsStr>; N]) -> Invocation {
    words.map(|word| word.as_ref().to_owned()).into()
}

/// A program that a build requires.
#[derive(Debug)]
pub(crate) struct Program {
    /// The display name.
    pub(crate) name: &'static str,
    /// The commands that may start it, preferred first.
    pub(crate) invocations: Vec<Invocation>,
    /// The arguments that print its version.
    pub(crate) version_args: &'static [&'static str],
    pub(crate) needed: VersionReq,
    /// The installation instructions, a sentence with the exact command.
    pub(crate) install: String,
}

/// An installed program of a supported version.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InstalledProgram {
    /// The display name.
    pub(crate) name: &'static str,
    pub(crate) version: String,
    invocation: Invocation,
}

impl Program {
    /// Finds the program as started in `dir`.
    pub(crate) fn find(&self, dir: &Path) -> Result<InstalledProgram, AuthorError> {
        let mut wrong = None;
        for invocation in &self.invocations {
            let printed = output(invocation, self.version_args, dir);
            let Some((version, text)) = printed.as_deref().and_then(Version::first_in) else {
                continue;
            };
            if self.needed.admits(version) {
                return Ok(InstalledProgram {
                    name: self.name,
                    version: text.to_owned(),
                    invocation: invocation.clone(),
                });
            }
            wrong.get_or_insert_with(|| format!("`{}` is {text}", shown(invocation)));
        }
        let why = wrong.unwrap_or_else(|| {
            let tried = self.invocations.iter().map(|words| shown(words));
            let tried: Vec<String> = tried.collect();
            format!("`{}` was not found", tried.join("` or `"))
        });
        Err(AuthorError::Usage(format!(
            "this build needs {} {}, but {why}. {}",
            self.name, self.needed, self.install
        )))
    }
}

impl InstalledProgram {
    pub(crate) fn command(&self) -> Command {
        command(&self.invocation)
    }

    /// Runs it in `dir` and returns what it wrote to both streams; `None` if it fails.
    pub(crate) fn output(&self, args: &[&str], dir: &Path) -> Option<String> {
        output(&self.invocation, args, dir)
    }
}

fn command(invocation: &[OsString]) -> Command {
    let mut words = invocation.iter();
    let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words);
    command
}

/// Runs a program and returns what it wrote to both streams; `None` if it does not start or fails.
pub(crate) fn output(invocation: &[OsString], args: &[&str], dir: &Path) -> Option<String> {
    let output = command(invocation)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let printed = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&printed).into_owned())
}

fn shown(invocation: &[OsString]) -> String {
    let words = invocation.join(OsStr::new(" "));
    words.to_string_lossy().into_owned()
}

/// Runs a build step.
///
/// # Errors
/// The program does not start or fails; it has reported why.
pub(crate) fn run(step: &str, command: &mut Command) -> Result<(), AuthorError> {
    run_for(step, command.stdout(io::stderr())).map(drop)
}

/// Runs a build step and returns what it wrote to stdout, if that is a pipe.
///
/// # Errors
/// Fails as [`run`] does.
pub(crate) fn run_for(step: &str, command: &mut Command) -> Result<Vec<u8>, AuthorError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| AuthorError::Failed(format!("cannot start {program} {step}: {error}")))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(AuthorError::Failed(format!(
            "{program} failed {step} ({}); see its output above",
            output.status
        )))
    }
}
