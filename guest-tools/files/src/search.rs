//! `search_files`: by glob, by regular expression, or both. The order is that of the names, so the
//! same directory gives the same result. Linear-time expressions only, and every amount is bounded.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use agent_tool::workspace::locate;
use agent_tool::{Json, input, output, tool};
use regex_lite::{Regex, RegexBuilder};

use crate::budget::Budget;
use crate::failure::Failure;
use crate::text::{Text, decode};
use crate::walk::{Bounds, Found, Kind, walk};

/// The most levels of a search.
const MAX_DEPTH: usize = 32;

/// The most entries that a search visits.
const MAX_WALKED: usize = 20_000;

/// The largest file that is searched, in bytes. Larger ones are logs and data, and are counted as
/// skipped.
const MAX_SEARCHED_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The most bytes that one search reads in total.
const MAX_SEARCHED_BYTES: u64 = 64 * 1024 * 1024;

/// The most hits of one search.
const MAX_HITS: usize = 200;

/// The size of a hit in JSON besides its texts, in bytes.
const HIT_OVERHEAD_BYTES: usize = 64;

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
    /// The number of files not searched because they are not text, too large, or may not be read.
    files_skipped: usize,
    /// True if something was left out.
    truncated: bool,
    /// A note on what was left out, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
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
    /// The line, or the part of a long one around the match.
    text: String,
}

/// Finds files by name (`glob`), lines by content (`pattern`), or lines in some files (both).
/// `.git` and `node_modules` are only searched when `path` is in them; symbolic links are not
/// followed.
#[tool(effect = "read-only", title = "Search files", output = Hits)]
pub(crate) fn search_files(input: SearchFiles) -> Result<Json<Hits>, Failure> {
    let SearchFiles {
        pattern,
        glob,
        path,
    } = input;
    if pattern.is_none() && glob.is_none() {
        return Err(Failure::new("give a `pattern`, a `glob`, or both"));
    }
    let regex = pattern.as_deref().map(compile_regex).transpose()?;
    let glob = glob.as_deref().map(anchored).transpose()?;
    let mut candidates = Candidates::find(&path)?;
    candidates.files.retain(|file| {
        glob.as_ref()
            .is_none_or(|glob| fast_glob::glob_match(glob, &file.name))
    });
    let mut hits = Hits {
        path,
        truncated: !candidates.complete,
        ..Hits::default()
    };
    match regex {
        Some(regex) => match_lines(&candidates, &regex, &mut hits),
        None => list_files(candidates.files, &mut hits),
    }
    hits.note = hits.truncated.then(|| {
        "the search is not complete; search a directory inside, or narrow the glob or the pattern"
            .to_owned()
    });
    Ok(Json(hits))
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

/// The glob to match names with. A glob without a slash stands for a name at any depth, as users
/// expect from other search tools. Unclosed brackets are refused: they would match nothing without
/// an error.
fn anchored(glob: &str) -> Result<String, Failure> {
    for (open, close) in [('{', '}'), ('[', ']')] {
        if glob.matches(open).count() != glob.matches(close).count() {
            return Err(Failure::new(format!(
                "the glob `{glob}` is not valid: `{open}` and `{close}` are not in pairs"
            )));
        }
    }
    Ok(if glob.contains('/') {
        glob.trim_start_matches("./").to_owned()
    } else {
        format!("**/{glob}")
    })
}

/// The files that a search may read.
struct Candidates {
    /// The directory that their names are relative to.
    root: std::path::PathBuf,
    files: Vec<Found>,
    complete: bool,
}

impl Candidates {
    fn find(path: &str) -> Result<Self, Failure> {
        let failure = |error: std::io::Error| Failure::io(&error, "searched", path);
        let root = locate(path)?;
        let metadata = std::fs::metadata(&root).map_err(failure)?;
        if !metadata.is_file() {
            let walk = walk(
                &root,
                Bounds {
                    depth: MAX_DEPTH,
                    entries: MAX_WALKED,
                },
            )
            .map_err(failure)?;
            let files = walk
                .found
                .into_iter()
                .filter(|entry| entry.kind == Kind::File)
                .collect();
            return Ok(Self {
                root,
                files,
                complete: walk.complete,
            });
        }
        let name = root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let file = Found {
            name,
            kind: Kind::File,
            size_bytes: Some(metadata.len()),
        };
        Ok(Self {
            root: root.parent().unwrap_or(&root).to_owned(),
            files: vec![file],
            complete: true,
        })
    }
}

fn list_files(files: Vec<Found>, hits: &mut Hits) {
    let count = files.len();
    let mut budget = Budget::new();
    let shown: Vec<FileHit> = files
        .into_iter()
        .take(MAX_HITS)
        .take_while(|file| budget.take(&[&file.name], HIT_OVERHEAD_BYTES))
        .map(|file| FileHit {
            name: file.name,
            size_bytes: file.size_bytes,
        })
        .collect();
    hits.truncated |= shown.len() < count;
    hits.files = Some(shown);
}

fn match_lines(candidates: &Candidates, regex: &Regex, hits: &mut Hits) {
    let mut lines = Vec::new();
    let mut budget = Budget::new();
    let mut left = MAX_SEARCHED_BYTES;
    'files: for file in &candidates.files {
        let Some(text) = searchable(&candidates.root.join(&file.name)) else {
            hits.files_skipped += 1;
            continue;
        };
        let Some(rest) = left.checked_sub(text.len() as u64) else {
            hits.truncated = true;
            break;
        };
        left = rest;
        hits.files_searched += 1;
        for (index, line) in text.lines().enumerate() {
            let Some(found) = regex.find(line) else {
                continue;
            };
            let text = excerpt(line, found.start());
            if lines.len() == MAX_HITS || !budget.take(&[&file.name, &text], HIT_OVERHEAD_BYTES) {
                hits.truncated = true;
                break 'files;
            }
            lines.push(LineHit {
                name: file.name.clone(),
                line: index + 1,
                text,
            });
        }
    }
    hits.matches = Some(lines);
}

/// The text of a file that is small enough and is text.
fn searchable(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MAX_SEARCHED_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .ok()?;
    if bytes.len() as u64 > MAX_SEARCHED_FILE_BYTES {
        None
    } else {
        decode(bytes).ok().map(|Text { text, .. }| text)
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
