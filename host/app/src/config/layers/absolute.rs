//! Makes the paths of a file absolute before it is merged with files of other directories.

use crate::config::{
    model::is_file,
    raw::RawConfig,
    section::{KeyRole, SectionPlace},
};
use std::path::Path;
use toml::{Table, Value};

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
    visit_table(table, SectionPlace::root::<RawConfig>(), directory);
}

fn visit_table(table: &mut Table, place: SectionPlace, directory: &Path) {
    for (key, value) in table {
        visit(value, place.key(key), directory);
    }
}

fn visit(value: &mut Value, place: SectionPlace, directory: &Path) {
    let text = match value {
        Value::Table(_) if place.has(KeyRole::PathOrTable) => return,
        Value::Table(table) => return visit_table(table, place, directory),
        Value::Array(items) => {
            return items
                .iter_mut()
                .for_each(|item| visit(item, place, directory));
        }
        Value::String(text) => text.clone(),
        _ => return,
    };
    let is_elsewhere = text.starts_with("builtin:") || text.starts_with("oci://");
    let prefix = match &text {
        _ if place.has(KeyRole::Path) || place.has(KeyRole::PathOrTable) => "",
        _ if place.has(KeyRole::Component) && !is_elsewhere => "",
        _ if place.has(KeyRole::Directory) && text != WORKING_DIRECTORY => "",
        _ if place.has(KeyRole::Model) && is_file(&text) => {
            text.split_inclusive(':').next().unwrap_or_default()
        }
        _ if place.has(KeyRole::Source) => "file:",
        _ => return,
    };
    take(value, prefix, directory);
}

/// True for a key whose text is a path, or may be one.
#[cfg(test)]
pub(super) fn is_path(key: &[String]) -> bool {
    let keys = key.iter().filter(|key| *key != "*");
    let place = keys.fold(SectionPlace::root::<RawConfig>(), |place, key| {
        place.key(key)
    });
    let roles = [
        KeyRole::Path,
        KeyRole::Component,
        KeyRole::Directory,
        KeyRole::Model,
        KeyRole::Source,
    ];
    roles.into_iter().any(|role| place.has(role))
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
