//! Finds what an untrusted file changes of the configuration of the user and the machine. Even a
//! value that needs no trust by itself does where it replaces one that the user chose, unless it is
//! harmless or a lower limit.

use crate::config::{
    layers::{Layers, join},
    raw::RawConfig,
    review::{Danger, quoted},
    section::{KeyRole, SectionPlace},
    units,
};
use serde::Serialize;
use toml::{Table, Value};

/// The grants of every tool without grants of its own.
const GRANTS: &str = "grants";

/// A replaced value.
#[derive(Debug, Serialize)]
pub(super) struct Replaced {
    /// Not a part of the digest: the order of demands may change.
    #[serde(skip)]
    pub(super) danger: Danger,
    /// The end of a sentence that begins with "it".
    pub(super) text: String,
    /// The value of the user, which is not shown: it may be a secret.
    old: Value,
}

/// Returns what the file replaces, and what its tools get of the user's grants.
pub(super) fn replaced(file: &Table, below: &Layers) -> Vec<Replaced> {
    let (users, origins) = below.table();
    let origin = |key: &str| {
        let origin = below.origin(&origins, key).map(ToString::to_string);
        quoted(&origin.unwrap_or_default())
    };
    let mut all = Vec::new();
    compare(
        file,
        &users,
        SectionPlace::root::<RawConfig>(),
        "",
        &mut |key, what, old, new| {
            let text = format!("replaces {what} of {} with {new}", origin(key));
            all.push(Replaced {
                danger: Danger::Other,
                text,
                old: old.clone(),
            });
        },
    );
    // Components came with the file, so they get them with trust alone. The user's rules, limits
    // and
    // `accept-idempotent` are about calls, which these grants alone let reach anything.
    let grants = users.get(GRANTS).and_then(Value::as_table);
    if let Some(grants) = grants.filter(|grants| !grants.is_empty()) {
        for name in components(file) {
            let (name, origin) = (quoted(name), origin(GRANTS));
            all.push(Replaced {
                // The grants may be any.
                danger: Danger::Writes,
                text: format!("lets its tool {name} use the [grants] of {origin}"),
                old: Value::Table(grants.clone()),
            });
        }
    }
    all
}

/// Calls `differs` with each value of the user that the merged configuration has otherwise, and is
/// not allowed to: its key, the key in words, the value, and the new one in words.
pub(in crate::config) fn compare(
    file: &Table,
    users: &Table,
    place: SectionPlace,
    path: &str,
    differs: &mut dyn FnMut(&str, &str, &Value, &str),
) {
    for (key, old) in users {
        let (place, here) = (place.key(key), join(path, key));
        match (old, file.get(key)) {
            (_, None) => {}
            (Value::Table(old), Some(Value::Table(new))) => {
                compare(new, old, place, &here, differs);
            }
            // The rules of all layers hold.
            (Value::Array(_), Some(Value::Array(_))) if place.has(KeyRole::All) => {}
            (Value::Array(old), Some(Value::Array(new))) if place.has(KeyRole::Named) => {
                for item in old.iter().filter(|old| replaces(new, old)) {
                    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
                    differs(&here, &format!("{here} {}", quoted(name)), item, "its own");
                }
            }
            (old, Some(new)) if is_allowed(place, &here, old, new) => {}
            (old, Some(new)) => {
                differs(&here, &here.escape_debug().to_string(), old, &shown(new));
            }
        }
    }
}

/// Returns the names of the tools of a file whose components are no built-in ones.
fn components(file: &Table) -> impl Iterator<Item = &str> {
    let tools = file.get("tool").and_then(Value::as_array);
    let tools = tools.into_iter().flatten().filter(|tool| {
        let component = tool.get("component").and_then(Value::as_str);
        component.is_none_or(|component| !component.starts_with("builtin:"))
    });
    tools.map(|tool| tool.get("name").and_then(Value::as_str).unwrap_or_default())
}

/// True if the list has another element of this name.
fn replaces(list: &[Value], old: &Value) -> bool {
    list.iter()
        .any(|new| new.get("name") == old.get("name") && new != old)
}

fn is_allowed(place: SectionPlace, key: &str, old: &Value, new: &Value) -> bool {
    // Numbers are in the unit of the key.
    let factor = if key.ends_with("-seconds") {
        1_000.0
    } else {
        1.0
    };
    let amount = |value: &Value| match value {
        Value::Integer(number) => Some(*number as f64 * factor),
        Value::Float(number) => Some(number * factor),
        Value::String(text) => units::smallest(text).map(|amount| amount as f64),
        _ => None,
    };
    let is_stricter = match (amount(old), amount(new)) {
        (Some(old), Some(new)) => new > 0.0 && new <= old,
        _ => false,
    };
    // The style of the replies of one model is what the user found to suit it.
    let is_of_model = key.starts_with("settings.models.");
    old == new
        || place.has(KeyRole::Replaceable) && !is_of_model
        || place.has(KeyRole::Lower) && is_stricter
}

/// Shows a value of the file.
fn shown(value: &Value) -> String {
    match value {
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => value.to_string(),
        Value::String(text) => quoted(text),
        _ => "its own".to_owned(),
    }
}
