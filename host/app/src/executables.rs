//! Finds the files that run, now or later, among those that a call's arguments name, so that the
//! user who approves the call sees that it may rewrite a program: executable files, and those of the
//! policy's table of files that run later where the grant lets the tool write them. Names that the call makes up or encodes are known only when
//! it runs; such writes are in the audit as `write-executable`.

#[cfg(test)]
mod tests;

use agent_host_engine::policy::{DirGrant, DirMode, Grants};
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The maximum number of strings of the arguments that are checked.
const MAX_STRINGS: usize = 256;
/// The longest path in bytes, as in Linux (PATH_MAX).
const MAX_PATH_BYTES: usize = 4_096;

/// The executable files and files that run later in writable directories that the arguments name,
/// by the tool's paths, sorted.
pub(crate) fn named(grants: &Grants, input: &Map<String, Value>) -> Vec<String> {
    let mut texts = Vec::new();
    input.iter().for_each(|entry| strings_of(entry, &mut texts));
    let named = |text| {
        let mut dirs = grants.dirs.iter().enumerate();
        dirs.find_map(|dir| runnable(dir, text))
    };
    let found: BTreeSet<String> = texts.into_iter().filter_map(named).collect();
    found.into_iter().collect()
}

/// Collects the names and strings of a field. The depth of parsed JSON is bounded.
fn strings_of<'a>((name, value): (&'a String, &'a Value), found: &mut Vec<&'a str>) {
    fn of_value<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => add(text, found),
            Value::Array(items) => items.iter().for_each(|item| of_value(item, found)),
            Value::Object(fields) => fields.iter().for_each(|field| strings_of(field, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    add(name, found);
    of_value(value, found);
}

fn add<'a>(text: &'a str, found: &mut Vec<&'a str>) {
    if found.len() < MAX_STRINGS && text.len() <= MAX_PATH_BYTES {
        found.push(text);
    }
}

/// The file at a tool's path in a granted directory, if it runs. Relative paths are in the first
/// directory, and so are absolute ones that are in none: the libraries of some languages take them
/// so.
fn runnable((index, dir): (usize, &DirGrant), text: &str) -> Option<String> {
    if dir.mode != DirMode::ReadWrite {
        return None;
    }
    let inside = text
        .strip_prefix(&dir.guest)
        .filter(|rest| rest.starts_with('/'));
    let relative = inside
        .or((index == 0).then_some(text))?
        .trim_start_matches('/');
    // A link may lead to the file, but not out of the directory: no tool follows that.
    let real = canonical(&dir.host.join(relative))?;
    let path = real.strip_prefix(&dir.host).ok()?.to_string_lossy();
    let meta = real.metadata();
    let is_executable =
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    (is_executable || dir.allows_to_run_later(&path)).then(|| format!("{}/{path}", dir.guest))
}

/// Returns a path without links, of which the last name may be missing.
fn canonical(path: &Path) -> Option<PathBuf> {
    let missing = || {
        let above = path.parent()?.canonicalize().ok()?;
        Some(above.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(missing)
}
