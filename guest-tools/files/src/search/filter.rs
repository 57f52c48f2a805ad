//! The glob of a search, and the directories in which it can match.

use fast_glob::glob_match;

use super::ignore::Pattern;
use crate::failure::Failure;

/// The most braces in a glob. Each doubles the work.
const MAX_BRACES: usize = 8;

/// The glob of the files of a search.
pub(super) struct Filter {
    pattern: Pattern,
    /// The globs of the names of a path, if the glob is of a whole path. A `**` ends them.
    names: Option<Vec<String>>,
}

impl Filter {
    /// Compiles a glob. One without a slash is of a name at any depth, as users expect from other
    /// search tools. Unclosed brackets are refused: they would match nothing without an error.
    pub(super) fn new(glob: &str) -> Result<Self, Failure> {
        for (open, close) in [('{', '}'), ('[', ']')] {
            if glob.matches(open).count() != glob.matches(close).count() {
                return Err(Failure::new(format!(
                    "the glob `{glob}` is not valid: `{open}` and `{close}` are not in pairs"
                )));
            }
        }
        if glob.matches('{').count() > MAX_BRACES {
            return Err(Failure::new(format!(
                "the glob `{glob}` is not valid: it has more than {MAX_BRACES} braces"
            )));
        }
        let glob = glob.trim_start_matches("./");
        let is_path = glob.contains('/') && !has_slash_in_braces(glob);
        let names = is_path.then(|| glob.split('/').map(str::to_owned).collect());
        Ok(Self {
            pattern: Pattern::new(glob, false),
            names,
        })
    }

    pub(super) fn matches(&self, path: &str, name: &str) -> bool {
        self.pattern.matches(path, name)
    }

    /// True if a file below this directory can match.
    pub(super) fn can_match_in(&self, directory: &str) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        let mut names = names.iter();
        for name in directory.split('/') {
            match names.next() {
                None => return false,
                Some(any) if any == "**" => return true,
                Some(glob) if !glob_match(glob, name) => return false,
                Some(_) => {}
            }
        }
        names.next().is_some()
    }

    /// The one directory at this depth, counted from 0, in which a file can match, if its name is
    /// given.
    pub(super) fn only_directory(&self, depth: usize) -> Option<&str> {
        let names = self.names.as_ref()?;
        let (_last, directories) = names.split_last()?;
        let (name, above) = (directories.get(depth)?, directories.get(..depth)?);
        let is_known = !name.is_empty()
            && !name.contains(['*', '?', '[', ']', '{', '}', '\\'])
            && !matches!(name.as_str(), "." | "..")
            && !above.iter().any(|name| name == "**");
        is_known.then_some(name.as_str())
    }
}

fn has_slash_in_braces(glob: &str) -> bool {
    let mut depth = 0_usize;
    glob.chars().any(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == '/' && depth > 0
    })
}

#[cfg(test)]
mod tests;
