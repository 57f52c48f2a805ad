//! Finds what an untrusted file changes of the configuration of the user and the machine. Even a
//! value that needs no trust by itself does where it replaces one that the user chose, unless it is
//! harmless or a lower limit.

use super::{Danger, quoted};
use crate::config::{
    layers::{COMBINED, Layers, RULES, join},
    units,
};
use serde::Serialize;
use toml::{Table, Value};

/// The keys that a project may always choose: models (of providers that the user has), prompts and
/// the style of replies.
const HARMLESS: [&str; 17] = [
    "model",
    "fallback",
    "system",
    "instructions",
    "skills",
    "agents",
    "todo-list",
    "code",
    "settings.thinking",
    "settings.reasoning-summary",
    "settings.reasoning-tags",
    "settings.temperature",
    "settings.top-p",
    "settings.seed",
    "settings.stop",
    "settings.tool-choice",
    "settings.verbosity",
];

/// The grants of every tool without grants of its own.
const GRANTS: &str = "grants";

/// The keys, or the tables of keys, of which a lower number is stricter.
const LOWER_IS_STRICTER: [&str; 6] = [
    "max-turns",
    "budgets",
    "limits",
    "agent-depth",
    "code-calls",
    "search-tools-from",
];

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
    compare(file, &users, "", &mut |key, what, old, new| {
        let text = format!("replaces {what} of {} by {new}", origin(key));
        all.push(Replaced {
            danger: Danger::Other,
            text,
            old: old.clone(),
        });
    });
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
    path: &str,
    differs: &mut dyn FnMut(&str, &str, &Value, &str),
) {
    for (key, old) in users {
        let here = join(path, key);
        let is_combined = path.is_empty() && COMBINED.contains(&key.as_str());
        match (old, file.get(key)) {
            (_, None) => {}
            (Value::Table(old), Some(Value::Table(new))) => compare(new, old, &here, differs),
            // The rules of all layers hold.
            (Value::Array(_), Some(Value::Array(_))) if here == RULES => {}
            (Value::Array(old), Some(Value::Array(new))) if is_combined => {
                for item in old.iter().filter(|old| replaces(new, old)) {
                    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
                    differs(&here, &format!("{here} {}", quoted(name)), item, "its own");
                }
            }
            (old, Some(new)) if is_allowed(&here, old, new) => {}
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

fn is_allowed(key: &str, old: &Value, new: &Value) -> bool {
    let within = |keys: &[&str]| {
        keys.iter().any(|known| {
            key.strip_prefix(known)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
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
    old == new || within(&HARMLESS) || is_stricter && within(&LOWER_IS_STRICTER)
}

/// Shows a value of the file.
fn shown(value: &Value) -> String {
    match value {
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => value.to_string(),
        Value::String(text) => quoted(text),
        _ => "its own".to_owned(),
    }
}
