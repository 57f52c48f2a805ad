//! `query_data`: the tool itself, from its input to the text that the model reads.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{ErrorKind, Read as _};

use agent_tool::workspace::{PathError, explain, locate};
use agent_tool::{input, tool};

use crate::filter::{self, Filter};
use crate::read::{self, Format};

/// The largest file that is read, in bytes. As a value it takes some ten times as much memory.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The most bytes of results: an amount that a model can read.
const MAX_RESULT_BYTES: usize = 48 * 1024;

#[input]
pub(crate) struct QueryData {
    /// The filter, in the language of jq, such as `.items[] | select(.price > 10) | .name`.
    filter: String,
    /// The file to query, relative to the workspace or absolute. Give this or `text`.
    path: Option<String>,
    /// The data to query, where it is not in a file.
    text: Option<String>,
    /// The format of the data. The default is that of the file name's extension, or else JSON.
    format: Option<Format>,
    /// Give results that are text as they are, not as JSON in quotes.
    #[serde(default)]
    raw: bool,
}

/// A failed call, as the text that the model reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Queries a file of JSON, JSON lines, CSV or TOML, or a text in one of these formats, in the
/// language of jq. Each result is a line of JSON. JSON lines are queried one by one. CSV with a
/// heading is a list of objects, whose values are texts: use `tonumber`.
#[tool(effect = "read-only", title = "Query data")]
pub(crate) fn query_data(input: QueryData) -> Result<String, Failure> {
    let QueryData {
        filter,
        path,
        text,
        format,
        raw,
    } = input;
    let filter = Filter::compile(&filter)?;
    let (text, named) = match (path, text) {
        (Some(path), None) => (read_file(&path)?, Format::of_name(&path)),
        (None, Some(text)) => (text, None),
        (Some(_), Some(_)) => {
            return Err(Failure::new(
                "there are both `path` and `text`; give one of them",
            ));
        }
        (None, None) => {
            return Err(Failure::new(
                "there is nothing to query; give `path` or `text`",
            ));
        }
    };
    let values = read::values(&text, format.or(named).unwrap_or(Format::Json))?;
    let mut results = Results::default();
    for value in values {
        for result in filter.run(value) {
            let line = result
                .map_err(|error| results.failed(&error))
                .map(|value| filter::line(&value, raw))?;
            if !results.add(&line) {
                return Ok(results.cut());
            }
        }
    }
    Ok(results.complete())
}

/// The results so far, a line each.
#[derive(Default)]
struct Results {
    text: String,
    count: usize,
}

impl Results {
    /// Adds a result; false if it does not fit.
    fn add(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < MAX_RESULT_BYTES;
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
            self.count += 1;
        }
        fits
    }

    fn complete(mut self) -> String {
        if self.count == 0 {
            return "[no results]".to_owned();
        }
        self.text.pop();
        self.text
    }

    fn cut(mut self) -> String {
        let _ = write!(
            self.text,
            "[cut after {} results, which have {} bytes; more than {MAX_RESULT_BYTES} are not given. Select less, or use `limit(n; f)`]",
            self.count,
            self.text.len()
        );
        self.text
    }

    fn failed(&self, error: &str) -> Failure {
        Failure::new(format!(
            "the filter failed after {} results: {error}; `type` tells what a value is, and `?` passes over what does not fit",
            self.count
        ))
    }
}

fn read_file(path: &str) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::new(explain(&error, "read", path));
    let file = File::open(locate(path)?).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::new(format!(
            "`{path}` has more than the {MAX_FILE_BYTES} bytes that can be queried; use search_files to find the part you need"
        )));
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(format!(
            "`{path}` is not text in UTF-8, and cannot be queried"
        ))
    })
}

#[cfg(test)]
mod tests;
