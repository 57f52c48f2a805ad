//! `search_files`: by glob, by regular expression, or both. The order is that of the names, so the
//! same directory gives the same result. Linear-time expressions only, and every amount is bounded.
//! The walk and the reading go hand in hand, so that memory does not grow with the files.

mod excludes;
mod filter;
mod ignore;
mod lines;
mod literal;
mod tree;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use agent_tool::workspace::locate;
use agent_tool::{Json, input, output, tool};
use regex_lite::{Regex, RegexBuilder};

use crate::budget::Budget;
use crate::disk::{Dir, OpenFile};
use crate::failure::Failure;
use excludes::global_ignores;
use filter::Filter;
use lines::{FoundLine, Matcher, Searched};
use tree::{FoundFile, LeftOut, Tree};

/// The most hits of one search.
const MAX_HITS: usize = 200;

/// The size of a hit in JSON besides its texts, in bytes.
const HIT_OVERHEAD_BYTES: usize = 80;

/// The most characters of its line that a hit shows.
const MAX_EXCERPT_CHARS: usize = 200;

/// The characters of a long line that are shown before its match.
const EXCERPT_LEAD_CHARS: usize = 60;

/// The largest compiled expression, in bytes. It refuses `\w{1000}{1000}`, which would compile for
/// minutes.
const MAX_REGEX_BYTES: usize = 1 << 20;

#[input]
pub(crate) struct SearchFiles {
    /// A regular expression that a line must match (Rust syntax: no look-around, no
    /// back-references; `(?i)` ignores case; `\w`, `\d` and `(?i)` know ASCII only). Without it,
    /// the files themselves are the result.
    #[serde(default)]
    pattern: Option<String>,
    /// The names of the files, such as `*.rs`, `src/**/*.{ts,tsx}` or `**/*.png`. A glob without
    /// `/` matches names at every depth.
    #[serde(default)]
    glob: Option<String>,
    /// The directory or file to search, relative to the workspace or absolute.
    #[serde(default = "workspace")]
    path: String,
    /// Also search what ignore files (`.gitignore` and others) leave out, and `node_modules`.
    #[serde(default)]
    include_ignored: bool,
}

fn workspace() -> String {
    ".".to_owned()
}

#[output]
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// The requested path.
    path: String,
    /// Without a pattern: the files. Names are relative to `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileHit>>,
    /// With a pattern: the lines that match.
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<LineHit>>,
    /// The number of files searched.
    files_searched: usize,
    /// The number of files and directories not searched because they are not text or may not be
    /// read.
    files_skipped: usize,
    /// The first of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<String>,
    /// The number of files and directories that ignore files leave out.
    #[serde(skip_serializing_if = "is_zero")]
    ignored_count: usize,
    /// The first of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
    /// True if the search stopped early.
    truncated: bool,
    /// The reason, and how to get the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileHit {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
}

#[output]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineHit {
    name: String,
    /// The number of the line, counted from 1.
    line: usize,
    /// The column of the match, if `text` is only a part of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// The line, or the part of a long one around the match.
    text: String,
}

/// Finds files by name (`glob`), lines by content (`pattern`), or lines in some files (both).
/// Ignored files are not searched, nor `.git` unless `path` is in it; symbolic links are not
/// followed.
#[tool(effect = "read-only", title = "Search files", output = Hits)]
pub(crate) fn search_files(input: SearchFiles) -> Result<Json<Hits>, Failure> {
    let SearchFiles {
        pattern,
        glob,
        path,
        include_ignored,
    } = input;
    if pattern.is_none() && glob.is_none() {
        return Err(Failure::new("give a `pattern`, a `glob`, or both"));
    }
    let matcher = pattern
        .as_deref()
        .map(|pattern| compile_regex(pattern).map(|regex| Matcher::new(pattern, regex)))
        .transpose()?;
    let filter = glob.as_deref().map(Filter::new).transpose()?;
    let mut search = Search::new(matcher);
    let failure = |error: io::Error| Failure::io(&error, "searched", &path);
    let root = locate(&path)?;
    let mut hits = if std::fs::metadata(&root).map_err(failure)?.is_file() {
        search.one_file(&root, filter.as_ref()).map_err(failure)?;
        Hits::default()
    } else {
        let ignores = (!include_ignored).then(global_ignores);
        let mut tree = Tree::new(filter.as_ref(), ignores);
        tree.walk(&root, &mut |found| search.visit(found))
            .map_err(failure)?;
        if !tree.is_complete {
            search.stop("there are too many entries, or too many levels");
        }
        search.skipped.append(tree.unread);
        Hits {
            ignored_count: tree.ignored.count,
            ignored: tree.ignored.names,
            ..Hits::default()
        }
    };
    hits.path = path;
    Ok(Json(search.finish(hits)))
}

fn compile_regex(pattern: &str) -> Result<Regex, Failure> {
    RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX_BYTES)
        .build()
        .map_err(|error| {
            Failure::new(format!(
                "the pattern is not a valid regular expression: {error}"
            ))
        })
}

/// A search in progress.
struct Search {
    /// Absent for a search of files by name.
    matcher: Option<Matcher>,
    files: Vec<FileHit>,
    lines: Vec<LineHit>,
    budget: Budget,
    searched: usize,
    skipped: LeftOut,
    /// The reason why it stopped early.
    stopped: Option<String>,
}

impl Search {
    fn new(matcher: Option<Matcher>) -> Self {
        Self {
            matcher,
            files: Vec::new(),
            lines: Vec::new(),
            budget: Budget::new(),
            searched: 0,
            skipped: LeftOut::default(),
            stopped: None,
        }
    }

    fn stop(&mut self, reason: &str) {
        self.stopped.get_or_insert_with(|| {
            format!(
                "the search is not complete: {reason}; search a directory inside, or narrow the glob or the pattern"
            )
        });
    }

    /// Searches the file that was asked for.
    fn one_file(&mut self, root: &Path, filter: Option<&Filter>) -> io::Result<()> {
        let (mounted, rest) = Dir::mounted(root)?;
        let name = rest.rsplit('/').next().unwrap_or_default();
        if filter.is_some_and(|filter| !filter.matches(name, name)) {
            return Ok(());
        }
        if self.matcher.is_some() {
            let _ = self.search_lines(mounted.linked_file(&rest), name);
        } else {
            let _ = self.add_file(name, std::fs::metadata(root).ok().map(|file| file.len()));
        }
        Ok(())
    }

    fn visit(&mut self, found: FoundFile<'_>) -> ControlFlow<()> {
        let FoundFile { dir, name, path } = found;
        if self.matcher.is_some() {
            self.search_lines(dir.file(name), path)
        } else {
            self.add_file(path, dir.size(name))
        }
    }

    fn add_file(&mut self, path: &str, size_bytes: Option<u64>) -> ControlFlow<()> {
        if self.files.len() == MAX_HITS || !self.budget.take(&[path], HIT_OVERHEAD_BYTES) {
            self.stop("there are more files");
            return ControlFlow::Break(());
        }
        self.files.push(FileHit {
            name: path.to_owned(),
            size_bytes,
        });
        ControlFlow::Continue(())
    }

    fn search_lines(&mut self, file: io::Result<OpenFile>, path: &str) -> ControlFlow<()> {
        let Some(matcher) = &mut self.matcher else {
            return ControlFlow::Continue(());
        };
        let (lines, budget) = (&mut self.lines, &mut self.budget);
        let mut visit = |found: FoundLine<'_>| {
            let hit = LineHit::new(path, &found);
            let fits = budget.take(&[&hit.name, &hit.text], HIT_OVERHEAD_BYTES);
            if !fits || lines.len() == MAX_HITS {
                return ControlFlow::Break(());
            }
            lines.push(hit);
            ControlFlow::Continue(())
        };
        match file.and_then(|file| matcher.search(&file, &mut visit)) {
            Ok(Searched::Whole) => self.searched += 1,
            Ok(Searched::NotText) => self.skipped.add(|| format!("{path} (not text)")),
            Err(_) => self.skipped.add(|| format!("{path} (may not be read)")),
            Ok(Searched::Stopped) => {
                self.searched += 1;
                self.stop("there are more matches");
                return ControlFlow::Break(());
            }
            Ok(Searched::Exhausted) => {
                self.stop(&format!(
                    "it read as much, or took as long, as one search may, up to `{path}`"
                ));
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn finish(self, hits: Hits) -> Hits {
        let (files, matches) = match self.matcher {
            Some(_) => (None, Some(self.lines)),
            None => (Some(self.files), None),
        };
        Hits {
            files,
            matches,
            files_searched: self.searched,
            files_skipped: self.skipped.count,
            skipped: self.skipped.names,
            truncated: self.stopped.is_some(),
            note: self.stopped,
            ..hits
        }
    }
}

impl LineHit {
    fn new(path: &str, found: &FoundLine<'_>) -> Self {
        let text = excerpt(found.text, found.start);
        let before = found.text.get(..found.start).unwrap_or_default();
        let is_part = found.before > 0 || text.len() != found.text.trim_end().len();
        Self {
            name: path.to_owned(),
            line: found.number,
            column: is_part.then(|| found.before + before.chars().count() + 1),
            text,
        }
    }
}

/// The line, or the part of a long one around the byte where the match starts.
fn excerpt(line: &str, start: usize) -> String {
    let line = line.trim_end();
    if line.chars().count() <= MAX_EXCERPT_CHARS {
        return line.to_owned();
    }
    let before = line.get(..start).unwrap_or_default().chars().count();
    let skipped = before.saturating_sub(EXCERPT_LEAD_CHARS);
    let shown: String = line.chars().skip(skipped).take(MAX_EXCERPT_CHARS).collect();
    let lead = if skipped > 0 { "..." } else { "" };
    let tail = if line.chars().nth(skipped + MAX_EXCERPT_CHARS).is_some() {
        "..."
    } else {
        ""
    };
    format!("{lead}{shown}{tail}")
}

#[cfg(test)]
mod tests;
