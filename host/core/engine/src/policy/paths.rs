//! Glob patterns over paths inside a granted directory. Reads no files.

use super::GrantError;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs over paths relative to a grant, with their text for messages.
#[derive(Clone, Debug, Default)]
pub struct PathRules {
    patterns: Vec<String>,
    /// Two globs for each pattern: the path itself and its descendants.
    covered: GlobSet,
    /// The ancestors of what the patterns name: moving one of them moves that as well.
    above: GlobSet,
    /// The index of the pattern of each glob of `above`.
    above_pattern: Vec<usize>,
}

impl PathRules {
    /// Compiles globs: `*` stays within one name, `**` crosses directories, a pattern without `/`
    /// matches the name at any depth, and a pattern that matches a directory covers everything in
    /// it.
    ///
    /// # Errors
    /// The first pattern that is not a glob or cannot match a path inside the directory.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, GrantError> {
        let mut covered = GlobSetBuilder::new();
        let mut above = GlobSetBuilder::new();
        let mut above_pattern = Vec::new();
        for (index, pattern) in patterns.iter().map(AsRef::as_ref).enumerate() {
            let names = names(pattern)?;
            let rooted = names.join("/");
            covered.add(glob(pattern, &rooted)?);
            covered.add(glob(pattern, &format!("{rooted}/**"))?);
            // A leading `**` matches any depth, and moving a directory only changes the depth.
            let floating = names.iter().take_while(|name| **name == "**").count();
            for end in floating + 1..names.len() {
                if let Some(prefix) = names.get(..end) {
                    above.add(glob(pattern, &prefix.join("/"))?);
                    above_pattern.push(index);
                }
            }
        }
        let build = |set: GlobSetBuilder| set.build().map_err(GrantError::Globs);
        Ok(Self {
            patterns: patterns
                .iter()
                .map(|pattern| pattern.as_ref().to_owned())
                .collect(),
            covered: build(covered)?,
            above: build(above)?,
            above_pattern,
        })
    }

    /// Whether there are no patterns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the patterns as written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns the first pattern that matches a path relative to the grant, written with `/` and
    /// without `.` or `..`.
    #[must_use]
    pub fn first_match(&self, path: &str) -> Option<&str> {
        let index = self.covered.matches(path).first().copied()? / 2;
        self.patterns.get(index).map(String::as_str)
    }

    /// Returns whether a pattern matches a path, as [`Self::first_match`] takes it.
    #[must_use]
    pub fn is_match(&self, path: &str) -> bool {
        self.covered.is_match(path)
    }

    /// Returns the first pattern that may match below this directory and would stop (or start) to
    /// match if the directory were renamed. A single name matches at any depth, so it is never
    /// returned.
    #[must_use]
    pub fn first_below(&self, directory: &str) -> Option<&str> {
        let glob = self.above.matches(directory).first().copied()?;
        let index = self.above_pattern.get(glob).copied()?;
        self.patterns.get(index).map(String::as_str)
    }
}

/// Splits a pattern into names, from the granted directory down.
fn names(pattern: &str) -> Result<Vec<&str>, GrantError> {
    let refuse = |reason| {
        let pattern = pattern.to_owned();
        Err(GrantError::Pattern { pattern, reason })
    };
    let mut names: Vec<&str> = pattern
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".")
        .collect();
    if names.is_empty() {
        return refuse("names nothing");
    }
    if names.contains(&"..") {
        return refuse("leaves the directory with `..`");
    }
    if names
        .iter()
        .any(|name| name.matches('{').count() != name.matches('}').count())
    {
        return refuse("has a `/` inside braces; write two patterns instead");
    }
    if !pattern.trim_end_matches('/').contains('/') {
        names.insert(0, "**");
    }
    Ok(names)
}

/// Compiles `text`, the normal form of a pattern.
pub(super) fn glob(pattern: &str, text: &str) -> Result<globset::Glob, GrantError> {
    GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .map_err(|source| GrantError::Glob {
            pattern: pattern.to_owned(),
            source,
        })
}
