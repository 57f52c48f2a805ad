//! Makes the paths of a file absolute before it is merged with files of other directories.

use crate::config::model::is_file;
use std::path::Path;
use toml::{Table, Value};

/// The keys of paths. `*` is an element of a list, or any key of a table.
const PATHS: [&[&str]; 16] = [
    &["state-dir"],
    &["cache-dir"],
    &["instructions", "*"],
    &["skills", "*"],
    &["tool", "*", "component"],
    &["tool", "*", "dir", "*", "host"],
    &["hook", "*", "component"],
    &["hook", "*", "dir", "*", "host"],
    &["grants", "dir", "*", "host"],
    &["external-tool", "*", "input-schema"],
    &["mcp", "*", "roots", "*"],
    &["agent", "*", "instructions", "*"],
    &["agent", "*", "grants", "dir", "*", "host"],
    &["publisher", "*", "keys", "*"],
    &["hosts", "shared-directories", "*"],
    &["store", "ca"],
];

/// The keys of models, which may be files.
const MODELS: [&[&str]; 3] = [&["model"], &["fallback", "*"], &["agent", "*", "model"]];

/// The keys of sources, which may be files: `file:PATH`.
const SOURCES: [&[&str]; 15] = [
    &["*", "api-key"],
    &["*", "headers", "*"],
    &["provider", "*", "api-key"],
    &["provider", "*", "headers", "*"],
    &["settings", "models", "*", "headers", "*"],
    &["mcp", "*", "token"],
    &["mcp", "*", "headers", "*"],
    &["mcp", "*", "oauth", "client-secret"],
    &["secret", "*", "from"],
    &["network", "proxy"],
    &["store", "url"],
    &["store", "key"],
    &["schedule", "*", "notify", "secret"],
    &["webhook", "*", "secret"],
    &["webhook", "*", "notify", "secret"],
];

/// The keys of MCP servers that are programs, and of the directory that they run in.
const COMMAND: &str = "command";
const DIRECTORY: &str = "dir";

/// The host of a directory grant that stays as it is: the working directory, whichever that is.
const WORKING_DIRECTORY: &str = ".";

/// Makes the relative paths of a table begin at `directory`.
pub(super) fn make_absolute(table: &mut Table, directory: &Path) {
    for item in table
        .get_mut("mcp")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(server) = item
            .as_table_mut()
            .filter(|server| server.contains_key(COMMAND))
        {
            let own = server.entry(DIRECTORY).or_insert_with(|| ".".into());
            take(own, "", directory);
        }
    }
    let mut path = Vec::new();
    for (key, value) in table {
        path.push(key.clone());
        visit(value, &mut path, directory);
        path.pop();
    }
}

fn visit(value: &mut Value, path: &mut Vec<String>, directory: &Path) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                path.push(key.clone());
                visit(value, path, directory);
                path.pop();
            }
        }
        Value::Array(items) => {
            path.push("*".to_owned());
            items
                .iter_mut()
                .for_each(|item| visit(item, path, directory));
            path.pop();
        }
        value => {
            let Some(text) = value.as_str() else { return };
            if is_in(&PATHS, path) {
                let is_kept = text.starts_with("builtin:")
                    || path.ends_with(&["component".to_owned()]) && text.starts_with("oci://")
                    || text == WORKING_DIRECTORY && path.ends_with(&["host".to_owned()]);
                if !is_kept {
                    take(value, "", directory);
                }
            } else if is_in(&MODELS, path) && is_file(text) {
                let prefix = text
                    .split_inclusive(':')
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                take(value, &prefix, directory);
            } else if is_in(&SOURCES, path) && text.starts_with("file:") {
                take(value, "file:", directory);
            }
        }
    }
}

/// True for a key whose text is a path, or may be one.
#[cfg(test)]
pub(super) fn is_path(key: &[String]) -> bool {
    is_in(&PATHS, key) || is_in(&MODELS, key) || is_in(&SOURCES, key)
}

fn is_in(keys: &[&[&str]], path: &[String]) -> bool {
    keys.iter().any(|key| {
        let mut parts = key.iter().zip(path);
        key.len() == path.len() && parts.all(|(key, part)| *key == "*" || key == part)
    })
}

/// Makes the path after the prefix of a text begin at the directory, unless it is absolute or
/// begins with the home directory.
fn take(value: &mut Value, prefix: &str, directory: &Path) {
    let Some(path) = value.as_str().and_then(|text| text.strip_prefix(prefix)) else {
        return;
    };
    if !path.is_empty() && !path.starts_with(['/', '~']) {
        let whole = directory.join(path);
        *value = Value::from(format!("{prefix}{}", whole.to_string_lossy()));
    }
}
