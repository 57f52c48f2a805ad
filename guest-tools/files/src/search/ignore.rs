//! Ignore files, by the rules of the crate `ignore` (that of ripgrep): `.ignore` goes before
//! `.gitignore`, that before `.git/info/exclude`, and that before the global excludes; of each kind
//! the innermost directory decides, and in a file the last line that matches. A repository need not
//! be around them, since the granted directory may be a part of one.

use fast_glob::glob_match;

/// The largest ignore file that is read, in bytes; the rest is left out.
pub(super) const MAX_FILE_BYTES: usize = 256 * 1024;

/// The longest pattern, in bytes, and the most braces in one. Each brace doubles the work.
const MAX_PATTERN_BYTES: usize = 512;
const MAX_BRACES: usize = 4;

/// The kinds of ignore files, the one that goes first first.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Ignore,
    GitIgnore,
    Exclude,
}

const SOURCES: usize = 3;

/// The rules of the directories from the top to the present one.
#[derive(Default)]
pub(super) struct Ignores {
    levels: Vec<Level>,
    global: Rules,
}

/// The rules of one directory.
#[derive(Default)]
pub(super) struct Level {
    /// The length of the directory's path with its slash, which its rules do not see.
    base: usize,
    rules: [Rules; SOURCES],
    is_repository: bool,
}

/// The rules of one file, in order.
#[derive(Default)]
struct Rules(Vec<Rule>);

struct Rule {
    pattern: Pattern,
    /// A match keeps a path instead of ignoring it.
    is_kept: bool,
    only_directories: bool,
}

/// A pattern, by what it is cheapest to match with.
pub(super) enum Pattern {
    /// The name at any depth.
    Name(String),
    /// The end of a name at any depth, as of `*.log`.
    NameEnd(String),
    /// A glob of the name at any depth.
    NameGlob(String),
    /// A glob of the path from the ignore file's directory on.
    Path(String),
}

impl Level {
    /// The level of the directory with this path, which ends with a slash unless it is empty.
    pub(super) fn new(base: &str, is_repository: bool) -> Self {
        Self {
            base: base.len(),
            is_repository,
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, source: Source, bytes: &[u8]) {
        if let Some(rules) = self.rules.get_mut(source as usize) {
            *rules = Rules::parse(bytes);
        }
    }
}

impl Ignores {
    pub(super) fn set_global(&mut self, bytes: &[u8]) {
        self.global = Rules::parse(bytes);
    }

    pub(super) fn push(&mut self, level: Level) {
        self.levels.push(level);
    }

    pub(super) fn pop(&mut self) {
        self.levels.pop();
    }

    /// True if a path is ignored. The directory that it is in is not.
    pub(super) fn is_ignored(&self, path: &str, name: &str, is_directory: bool) -> bool {
        let decide = |source: Source| {
            let mut is_outside = false;
            for level in self.levels.iter().rev() {
                if is_outside && matches!(source, Source::GitIgnore | Source::Exclude) {
                    return None;
                }
                let decided = level.rules.get(source as usize).and_then(|rules| {
                    let path = path.get(level.base..).unwrap_or_default();
                    rules.decide(path, name, is_directory)
                });
                if decided.is_some() {
                    return decided;
                }
                is_outside |= level.is_repository;
            }
            None
        };
        [Source::Ignore, Source::GitIgnore, Source::Exclude]
            .into_iter()
            .find_map(decide)
            .or_else(|| self.global.decide(path, name, is_directory))
            .unwrap_or(false)
    }
}

impl Rules {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Self(text.lines().filter_map(Rule::parse).collect())
    }

    /// True if the path is ignored, false if it is kept, and `None` if no rule matches.
    fn decide(&self, path: &str, name: &str, is_directory: bool) -> Option<bool> {
        let rule = self.0.iter().rev().find(|rule| {
            (is_directory || !rule.only_directories) && rule.pattern.matches(path, name)
        })?;
        Some(!rule.is_kept)
    }
}

impl Rule {
    /// Reads a line as `GitignoreBuilder::add_line` of the crate `ignore` does.
    fn parse(line: &str) -> Option<Self> {
        let trimmed = if line.ends_with("\\ ") {
            line
        } else {
            line.trim_end()
        };
        if trimmed.starts_with('#') || trimmed.len() > MAX_PATTERN_BYTES {
            return None;
        }
        let (pattern, is_kept) = match trimmed.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (trimmed, false),
        };
        let escaped = pattern.strip_prefix('\\').filter(|_| !is_kept);
        let pattern = escaped
            .filter(|rest| rest.starts_with(['!', '#']))
            .unwrap_or(pattern);
        let (pattern, is_rooted) = match pattern.strip_prefix('/') {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let (pattern, only_directories) = match pattern.strip_suffix('/') {
            Some(rest) => (rest.strip_suffix('\\').unwrap_or(rest), true),
            None => (pattern, false),
        };
        if pattern.is_empty() || pattern.matches('{').count() > MAX_BRACES {
            return None;
        }
        Some(Self {
            pattern: Pattern::new(pattern, is_rooted),
            is_kept,
            only_directories,
        })
    }
}

impl Pattern {
    pub(super) fn new(pattern: &str, is_rooted: bool) -> Self {
        let is_plain = |text: &str| !text.contains(['*', '?', '[', ']', '{', '}', '\\', '/']);
        let anywhere = match pattern.strip_prefix("**/") {
            Some(rest) if !rest.contains('/') => Some(rest),
            _ if !is_rooted && !pattern.contains('/') => Some(pattern),
            _ => None,
        };
        match anywhere {
            // It matches all, in every directory.
            Some("**") => Self::NameEnd(String::new()),
            Some(name) if is_plain(name) => Self::Name(name.to_owned()),
            Some(name) => match name.strip_prefix('*') {
                Some(end) if is_plain(end) => Self::NameEnd(end.to_owned()),
                _ => Self::NameGlob(plain_glob(name)),
            },
            // All in the directory, and not the directory itself.
            None if pattern.ends_with("/**") => Self::Path(plain_glob(&format!("{pattern}/*"))),
            None => Self::Path(plain_glob(pattern)),
        }
    }

    pub(super) fn matches(&self, path: &str, name: &str) -> bool {
        match self {
            Self::Name(other) => name == other,
            Self::NameEnd(end) => name.ends_with(end.as_str()),
            Self::NameGlob(glob) => glob_match(glob, name),
            Self::Path(glob) => glob_match(glob, path),
        }
    }
}

/// Writes two stars that are not a whole name as one, which they mean, and escapes a first `!`,
/// which would negate the glob.
fn plain_glob(pattern: &str) -> String {
    if let Some(rest) = pattern.strip_prefix('!') {
        return format!("\\!{}", plain_glob(rest));
    }
    let names = pattern.split('/').map(|name| {
        let mut name = name.to_owned();
        while name != "**" && name.contains("**") {
            name = name.replace("**", "*");
        }
        name
    });
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;
