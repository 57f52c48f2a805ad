//! Configuration problems: what is wrong with which key, why, what to do, and where it is written.

#[cfg(test)]
mod tests;

use super::{hints::explain, origin::Origin};
use agent_host_engine::text::escape_line;
use std::{
    collections::BTreeMap,
    error::Error,
    fmt::{self, Display},
    ops::Range,
    path::{Path, PathBuf},
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The longest excerpt of a line, in characters.
const MAX_EXCERPT_CHARS: usize = 160;

/// The longest reason that quotes text of a file, in characters.
const MAX_REASON_CHARS: usize = 300;

/// Stands for text that an excerpt leaves out.
const ELLIPSIS: &str = "...";

/// A part of the configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The key as a TOML path, such as `tool[0].limits.deadline-ms`, or the option of the command
    /// line, such as `--grant`; absent for problems of a whole file or of the environment.
    pub key: Option<String>,
    /// The rejected value. Absent where there is none, and where it may be a secret.
    pub value: Option<String>,
    /// Why it cannot be used.
    pub reason: String,
    /// The next step.
    pub fix: String,
    /// Where it is written; absent for what is in no file.
    pub span: Option<ConfigSpan>,
}

/// The file of a problem, and its part where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSpan {
    /// The file, by the name under which it was read.
    pub file: PathBuf,
    /// The part of the text.
    pub excerpt: Option<Excerpt>,
}

/// A part of a configuration file, and its first line as it can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The part, in bytes of the file.
    pub bytes: Range<usize>,
    /// The line of its first character, from 1.
    pub line: usize,
    /// The column of its first character, from 1, in characters.
    pub column: usize,
    /// The line without control characters. Values other than [`ConfigProblem::value`] are replaced
    /// by dots, since they may be secrets.
    pub text: String,
    /// The part of `text` to mark, in bytes.
    pub mark: Range<usize>,
}

/// The problems of a configuration; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// Creates an error of one problem without a value or a place. An empty `key` counts as none.
    #[must_use]
    pub fn new(key: &str, reason: impl Display, fix: impl Display) -> Self {
        let problem = ConfigProblem {
            key: (!key.is_empty()).then(|| key.to_owned()),
            value: None,
            reason: reason.to_string(),
            fix: fix.to_string(),
            span: None,
        };
        Self {
            problems: vec![problem],
        }
    }

    /// Creates an error of a message of the form `REASON; FIX`.
    pub(crate) fn of_message(message: &impl Display) -> Self {
        let text = message.to_string();
        let (reason, fix) = text.rsplit_once("; ").unwrap_or((&text, "correct it"));
        Self::new("", reason, fix)
    }

    /// Creates the error of a step that cannot run since an earlier one failed. It adds no problem
    /// to that of the earlier one.
    pub(super) fn reported() -> Self {
        Self {
            problems: Vec::new(),
        }
    }

    /// Returns the problems, in the order of the resolve steps.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Sets the rejected value of the problems that have none.
    #[must_use]
    pub fn with_value(mut self, value: impl Display) -> Self {
        for problem in &mut self.problems {
            problem.value.get_or_insert_with(|| value.to_string());
        }
        self
    }

    /// Sets the key of all problems.
    pub(super) fn with_key(mut self, key: &str) -> Self {
        for problem in &mut self.problems {
            problem.key = Some(key.to_owned());
        }
        self
    }

    /// Puts the keys of the problems below the table or array element `parent`. Options of the
    /// command line stay as they are.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        for problem in &mut self.problems {
            problem.key = Some(match problem.key.take() {
                None => parent.to_owned(),
                Some(key) if key.starts_with("--") => key,
                Some(key) if key.starts_with('[') => format!("{parent}{key}"),
                Some(key) => format!("{parent}.{key}"),
            });
        }
        self
    }

    /// Puts the problems of `text`, which was read from `file`, at the places of their keys.
    /// Problems that have a place already, or are of the command line, stay as they are.
    #[must_use]
    pub fn in_file(self, file: &Path, text: &str) -> Self {
        let origin = Origin::Project(file.to_owned());
        self.placed(|key| Some((&origin, Some(text), key.map(str::to_owned))))
    }

    /// Puts the problems at the places that `find` returns for their keys: an origin, its text if
    /// it is a file, and the key there. Problems that have a place already, or are of the command
    /// line, stay as they are.
    pub(super) fn placed<'a>(
        mut self,
        find: impl Fn(Option<&str>) -> Option<(&'a Origin, Option<&'a str>, Option<String>)>,
    ) -> Self {
        for problem in &mut self.problems {
            let is_argument = problem
                .key
                .as_deref()
                .is_some_and(|key| key.starts_with("--"));
            if problem.span.is_some() || is_argument {
                continue;
            }
            let Some((origin, text, key)) = find(problem.key.as_deref()) else {
                continue;
            };
            match (origin, text) {
                (Origin::System(file) | Origin::User(file) | Origin::Project(file), Some(text)) => {
                    let root = DeTable::parse(text).ok();
                    let bytes = key.as_deref().zip(root.as_ref());
                    let bytes = bytes.and_then(|(key, root)| span_in_table(root.get_ref(), key));
                    problem.set_span(file, text, bytes);
                }
                (Origin::Variable(name), _) => problem.key = Some(name.clone()),
                _ => {}
            }
            if problem.span.is_some() && key.is_some() {
                problem.key = key;
            }
        }
        self
    }

    /// Creates the error of a TOML file that does not have the expected form.
    pub(super) fn of_form(error: &toml::de::Error, file: &Path, text: &str) -> Self {
        let explained = explain(error.message());
        Self::of_value(error, explained, file, text)
    }

    /// Creates the error of a TOML file with this reason and fix.
    pub(super) fn of_value(
        error: &toml::de::Error,
        (reason, fix): (String, String),
        file: &Path,
        text: &str,
    ) -> Self {
        let mut this = Self::new("", shortened(reason), fix);
        let shows_value = ["unknown variant", "invalid type", "invalid value"];
        let is_scalar = |value: &str| !value.starts_with(['[', '{']);
        let value = error.span().and_then(|bytes| text.get(bytes));
        if let Some(value) = value.filter(|value| is_scalar(value))
            && shows_value
                .iter()
                .any(|begin| error.message().starts_with(begin))
        {
            this = this.with_value(value);
        }
        for problem in &mut this.problems {
            problem.set_span(file, text, error.span());
        }
        this
    }
}

impl Error for ConfigError {}

impl Display for ConfigError {
    /// Writes the first problem in one paragraph, and the number of the others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, others)) = self.problems.split_first() else {
            return f.write_str("the configuration cannot be used");
        };
        first.fmt(f)?;
        match others.len() {
            0 => Ok(()),
            1 => f.write_str(" (and 1 more problem)"),
            more => write!(f, " (and {more} more problems)"),
        }
    }
}

impl Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ConfigSpan { file, excerpt }) = &self.span {
            write!(f, "cannot use {}: ", file.display())?;
            if let Some(Excerpt { line, column, .. }) = excerpt {
                write!(f, "line {line}, column {column}: ")?;
            }
        }
        write!(f, "{}; {}", self.reason, self.fix)
    }
}

impl ConfigProblem {
    fn set_span(&mut self, file: &Path, text: &str, bytes: Option<Range<usize>>) {
        let shows_value = self.value.is_some();
        self.span = Some(ConfigSpan {
            file: file.to_owned(),
            excerpt: bytes.map(|bytes| Excerpt::new(text, bytes, shows_value)),
        });
    }
}

impl Excerpt {
    fn new(text: &str, bytes: Range<usize>, shows_value: bool) -> Self {
        let start = text.floor_char_boundary(bytes.start);
        let (before, after) = text.split_at_checked(start).unwrap_or((text, ""));
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let prefix = before.get(line_start..).unwrap_or_default();
        let rest = after.lines().next().unwrap_or_default();
        let length = rest.floor_char_boundary(bytes.len().min(rest.len()));
        let (marked, suffix) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let visible = visible_bytes(&format!("{prefix}{rest}"));
        let prefix = excerpt_of(prefix, visible);
        let marked = match shows_value {
            true => escape_line(marked),
            false => excerpt_of(marked, visible.saturating_sub(start - line_start)),
        };
        let skipped = prefix.chars().count().saturating_sub(MAX_EXCERPT_CHARS / 2);
        let prefix: String = prefix.chars().skip(skipped).collect();
        let marked: String = marked.chars().take(MAX_EXCERPT_CHARS / 2).collect();
        let cut = if suffix.trim().is_empty() {
            ""
        } else {
            ELLIPSIS
        };
        Self {
            bytes,
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            mark: prefix.len()..prefix.len() + marked.len(),
            text: format!("{prefix}{marked}{cut}"),
        }
    }
}

/// Cuts a reason after [`MAX_REASON_CHARS`]: a file decides how long the names in it are.
pub(crate) fn shortened(mut reason: String) -> String {
    if let Some((end, _)) = reason.char_indices().nth(MAX_REASON_CHARS) {
        reason.truncate(end);
        reason.push_str(ELLIPSIS);
    }
    reason
}

/// Returns how much of a line of TOML holds no value: a header, or a key with its equals sign.
fn visible_bytes(line: &str) -> usize {
    let name = line.trim_start().trim_start_matches('[');
    if line.trim_start().starts_with('[') && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return line.rfind(']').map_or(line.len(), |end| end + 1);
    }
    line.find('=').map_or(0, |equals| equals + 1)
}

/// Writes a part of a line, with a dot for each character of a value after the `visible` bytes.
fn excerpt_of(part: &str, visible: usize) -> String {
    let (shown, hidden) = part.split_at_checked(visible).unwrap_or((part, ""));
    let dot = |c: char| if c.is_whitespace() { ' ' } else { '.' };
    escape_line(shown) + &hidden.chars().map(dot).collect::<String>()
}

/// Finds the lines of keys in the text of a file.
pub(super) struct LineFinder<'a> {
    text: &'a str,
    root: Option<Spanned<DeTable<'a>>>,
}

impl<'a> LineFinder<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let root = DeTable::parse(text).ok();
        Self { text, root }
    }

    /// Returns the line, from 1, of a key path, or of the longest beginning of it that is there.
    pub(super) fn line_of(&self, key: &str) -> Option<usize> {
        let bytes = span_in_table(self.root.as_ref()?.get_ref(), key)?;
        let before = self.text.get(..bytes.start)?;
        Some(before.matches('\n').count() + 1)
    }
}

/// Returns the part of the text that a key path names, or the longest beginning of the path that is
/// there; absent where not even its first key is.
fn span_in_table(table: &DeTable<'_>, path: &str) -> Option<Range<usize>> {
    table.iter().find_map(|(key, value)| {
        let rest = path.strip_prefix(&key_path(key.get_ref()))?;
        if rest.is_empty() || rest.starts_with(['.', '[']) {
            return Some(span_of_value(value, rest));
        }
        None
    })
}

fn span_of_value(value: &Spanned<DeValue<'_>>, path: &str) -> Range<usize> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => path
            .strip_prefix('.')
            .and_then(|path| span_in_table(table, path)),
        DeValue::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let rest = path.strip_prefix(&format!("[{index}]"))?;
            Some(span_of_value(item, rest))
        }),
        _ => None,
    };
    inner.unwrap_or_else(|| value.span())
}

/// Writes a key as a part of a path: in quotes unless it is a bare key of TOML.
pub(super) fn key_path(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        format!("{key:?}")
    }
}

/// Collects the problems of several steps.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<ConfigProblem>);

impl Problems {
    /// Takes the value of a step, or keeps its problems.
    pub(super) fn take<T>(&mut self, result: Result<T, ConfigError>) -> Option<T> {
        result.map_err(|error| self.0.extend(error.problems)).ok()
    }

    pub(super) fn into_error(self) -> ConfigError {
        ConfigError { problems: self.0 }
    }

    /// Returns the value unless a step failed.
    ///
    /// # Errors
    /// The problems of all steps.
    pub(super) fn or<T>(self, value: T) -> Result<T, ConfigError> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(self.into_error())
        }
    }
}

/// Resolves each element of the list `key`, and collects the problems of all.
pub(super) fn resolve_all<R, T>(
    key: &str,
    raw: Vec<R>,
    mut resolve: impl FnMut(R) -> Result<T, ConfigError>,
) -> Result<Vec<T>, ConfigError> {
    let mut problems = Problems::default();
    let mut resolved = Vec::with_capacity(raw.len());
    for (index, raw) in raw.into_iter().enumerate() {
        let result = resolve(raw).map_err(|error| error.within(&format!("{key}[{index}]")));
        resolved.extend(problems.take(result));
    }
    problems.or(resolved)
}

/// Resolves each value of the table `key` with its name, and collects the problems of all.
pub(super) fn resolve_map<R, T>(
    key: &str,
    raw: BTreeMap<String, R>,
    mut resolve: impl FnMut(&str, R) -> Result<T, ConfigError>,
) -> Result<BTreeMap<String, T>, ConfigError> {
    let mut problems = Problems::default();
    let mut resolved = BTreeMap::new();
    for (name, raw) in raw {
        let result = resolve(&name, raw);
        let result = result.map_err(|error| error.within(&format!("{key}.{}", key_path(&name))));
        resolved.extend(problems.take(result).map(|value| (name, value)));
    }
    problems.or(resolved)
}

/// Creates a [`ConfigError`] of a key and two format strings, the reason and the fix.
macro_rules! config_error {
    ($key:expr, $reason:literal, $fix:literal $(,)?) => {
        $crate::config::ConfigError::new($key, format_args!($reason), format_args!($fix))
    };
}
pub(super) use config_error;

/// Runs every step, and binds their values if all of them succeed; else returns all problems. A
/// step with names in brackets sees the values of these earlier ones, and runs if they succeeded;
/// the others see them as options.
macro_rules! resolve_steps {
    ($($name:ident $([$($needed:ident),+])? = $step:expr;)+) => {
        let mut problems = $crate::config::problem::Problems::default();
        $(let $name = problems.take($crate::config::problem::resolve_steps! {
            @step $([$($needed),+])? $step
        });)+
        let ($(Some($name),)+) = ($($name,)+) else {
            return Err(problems.into_error());
        };
    };
    (@step $step:expr) => { $step };
    (@step [$($needed:ident),+] $step:expr) => {
        match ($(&$needed,)+) {
            ($(Some($needed),)+) => $step,
            _ => Err($crate::config::ConfigError::reported()),
        }
    };
}
pub(super) use resolve_steps;
