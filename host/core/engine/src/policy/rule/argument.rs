//! Conditions of rules on arguments: a JSON pointer to one, and a test of its value.
//!
//! A value can be written in several ways. An `allow` rule has to be sure that the value is what
//! the operator meant, so its glob matches the value exactly; for `ask` and `deny` the possibility
//! is enough. So there are two readings of each glob.

use super::{MAX_PATTERN_BYTES, RuleError, check_length};
use crate::policy::{GrantError, PathRules, paths, run_later};
use agent_host_types::{approval::ArgumentPattern, json};
use globset::GlobMatcher;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The maximum number of steps of a pointer.
const MAX_POINTER_STEPS: usize = 16;

/// A JSON pointer (RFC 6901) to a part of a call's arguments, such as `/path`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArgumentPointer {
    /// The first key, without escapes.
    first: String,
    /// The rest as written; empty for an argument itself.
    rest: String,
}

impl ArgumentPointer {
    /// Parses a pointer.
    ///
    /// # Errors
    /// It names no argument, is too long, or has an escape that is neither `~0` nor `~1`.
    pub fn new(text: &str) -> Result<Self, RuleError> {
        let refuse = |reason| {
            let pointer = text.chars().take(80).collect();
            Err(RuleError::Pointer { pointer, reason })
        };
        let Some(steps) = text.strip_prefix('/') else {
            return refuse("must start with `/`");
        };
        if text.len() > MAX_PATTERN_BYTES || steps.split('/').count() > MAX_POINTER_STEPS {
            return refuse("is longer than 512 bytes or 16 steps");
        }
        if text
            .split('~')
            .skip(1)
            .any(|rest| !rest.starts_with(['0', '1']))
        {
            return refuse("has a `~`, which must be written as `~0` (and `/` in a key as `~1`)");
        }
        let (first, _) = steps.split_once('/').unwrap_or((steps, ""));
        Ok(Self {
            first: first.replace("~1", "/").replace("~0", "~"),
            rest: steps.get(first.len()..).unwrap_or_default().to_owned(),
        })
    }

    /// Returns the value; `None` if the arguments do not have it.
    pub(super) fn find<'v>(&self, input: &'v Map<String, Value>) -> Option<&'v Value> {
        input.get(&self.first)?.pointer(&self.rest)
    }
}

impl TryFrom<String> for ArgumentPointer {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        Self::new(&text)
    }
}

impl From<ArgumentPointer> for String {
    fn from(pointer: ArgumentPointer) -> Self {
        let first = pointer.first.replace('~', "~0").replace('/', "~1");
        format!("/{first}{}", pointer.rest)
    }
}

/// A test of an argument's value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArgumentTest {
    /// A text that the glob matches, or a list of such texts.
    Glob(Box<ArgumentGlob>),
    /// This value; numbers are equal by value (1 and 1.0).
    Equals(Value),
}

impl ArgumentTest {
    /// Returns whether a value passes. A strict test, of `ask` and `deny`, also passes for a value
    /// that is not text; null counts as an argument that is not there.
    pub(super) fn matches(&self, value: &Value, is_strict: bool) -> bool {
        let glob = match self {
            Self::Equals(expected) => return json::is_equal(expected, value),
            Self::Glob(glob) => glob,
        };
        let matches = |value: &Value| match value {
            Value::String(text) if is_strict => glob.may_mean(text),
            Value::String(text) => glob.means(text),
            _ => is_strict,
        };
        match value {
            Value::Null => false,
            Value::Array(items) if is_strict => items.iter().any(matches),
            Value::Array(items) => !items.is_empty() && items.iter().all(matches),
            other => matches(other),
        }
    }
}

/// Returns whether a remembered pattern surely matches these arguments; never if it cannot be read.
#[must_use]
pub fn pattern_fits(pattern: &ArgumentPattern, input: &Map<String, Value>) -> bool {
    let pointer = ArgumentPointer::new(&pattern.pointer);
    let glob = ArgumentGlob::new(&pattern.glob);
    let (Ok(pointer), Ok(glob)) = (pointer, glob) else {
        return false;
    };
    let test = ArgumentTest::Glob(Box::new(glob));
    let value = pointer.find(input);
    value.is_some_and(|value| test.matches(value, /*is_strict*/ false))
}

/// A glob over the text of an argument: `*` stays within one name, `**` crosses `/`.
///
/// Texts are compared as paths: without `.`, empty names and a `/` at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArgumentGlob {
    text: String,
    is_rooted: bool,
    /// Matches a whole path.
    exact: GlobMatcher,
    /// Matches a path or an ancestor of it, written as here or folded.
    covering: PathRules,
    /// The same below any directory.
    floating: PathRules,
}

impl ArgumentGlob {
    /// Compiles a glob.
    ///
    /// # Errors
    /// It is empty, too long, not a glob, or has a `..`.
    pub fn new(text: &str) -> Result<Self, RuleError> {
        check_length(text)?;
        let refuse = |error| match error {
            GrantError::Pattern { reason, .. } => RuleError::pattern(text, &reason),
            GrantError::Glob { source, .. } => RuleError::pattern(text, source.kind()),
            other => RuleError::pattern(text, &other),
        };
        // Whatever is done to a directory is done to all in it: `a/**` covers `a`, and only where
        // it is, unlike a name without `/`.
        let below = text.strip_suffix("/**").filter(|dir| !dir.is_empty());
        let pattern = below.map_or(text.to_owned(), |dir| format!("/{dir}"));
        let folded = run_later::fold(&pattern);
        let rules = |before: &str| {
            let written = format!("{before}{pattern}");
            // Folding can leave nothing of a pattern.
            PathRules::new(&[&written, &format!("{before}{folded}")])
                .or_else(|_| PathRules::new(&[&written]))
        };
        let reading = Reading::of(text);
        Ok(Self {
            covering: rules("").map_err(refuse)?,
            floating: rules("**/").map_err(refuse)?,
            exact: paths::glob(text, &reading.path)
                .map_err(refuse)?
                .compile_matcher(),
            is_rooted: reading.is_rooted,
            text: text.to_owned(),
        })
    }

    /// Returns whether a text is surely one that the operator meant. One with a `..` never is, and
    /// a glob that begins at no root matches no absolute path and no URL.
    fn means(&self, text: &str) -> bool {
        let reading = Reading::of(text);
        !reading.climbs && reading.is_rooted == self.is_rooted && self.exact.is_match(&reading.path)
    }

    /// Returns whether a text could be one that the operator meant: also below a path that matches,
    /// in other case, with invisible characters or space around it, and by its end if its beginning
    /// is a root or climbs with `..`.
    fn may_mean(&self, text: &str) -> bool {
        let reading = Reading::of(text);
        let rules = match reading.is_rooted || reading.climbs {
            true => &self.floating,
            false => &self.covering,
        };
        let matches = |path: &str| rules.first_match(path).is_some();
        matches(&reading.path) || matches(&run_later::fold(reading.path.trim()))
    }
}

impl TryFrom<String> for ArgumentGlob {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        Self::new(&text)
    }
}

impl From<ArgumentGlob> for String {
    fn from(glob: ArgumentGlob) -> Self {
        glob.text
    }
}

impl PartialEq for ArgumentGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ArgumentGlob {}

/// A text as a path.
struct Reading {
    /// The names without `.`, empty ones and what `..` removes, joined by `/`; `.` if there are
    /// none.
    path: String,
    /// Whether it begins at a root: `/`, `~`, or a scheme or drive such as `https:`.
    is_rooted: bool,
    /// Whether it has a name that is or could be read as `..`.
    climbs: bool,
}

impl Reading {
    fn of(text: &str) -> Self {
        // Some tools trim their arguments.
        let start = text.trim_start();
        let mut names: Vec<&str> = Vec::new();
        for name in text.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." {
                names.pop();
            } else {
                names.push(name);
            }
        }
        Self {
            path: if names.is_empty() {
                ".".to_owned()
            } else {
                names.join("/")
            },
            is_rooted: start.starts_with(['/', '\\', '~']) || has_scheme(start),
            climbs: text.split(['/', '\\']).any(is_parent),
        }
    }
}

/// Whether a text begins with the scheme of a URL (RFC 3986, section 3.1) or a drive.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else {
        return false;
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(is_part)
}

/// Whether a name is `..`, also with the dots encoded as URL parsers decode them.
fn is_parent(name: &str) -> bool {
    let name = name.trim();
    // At most two encoded dots; a longer name is not copied.
    name.len() <= 6 && name.to_ascii_lowercase().replace("%2e", ".") == ".."
}
