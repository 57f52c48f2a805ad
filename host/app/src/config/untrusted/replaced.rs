//! Finds what an untrusted file changes of the configuration of the user and the machine. Even a
//! value that needs no trust by itself does where it replaces one that the user chose, unless it is
//! harmless or a lower limit.

use super::quoted;
use crate::config::layers::{Layers, join, leaves};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// The keys that a project may always choose: models (of providers that the user has), prompts and
/// the style of replies.
const HARMLESS: [&str; 15] = [
    "model",
    "fallback",
    "system",
    "instructions",
    "skills",
    "agents",
    "search-tools-from",
    "settings.thinking",
    "settings.reasoning-summary",
    "settings.temperature",
    "settings.top-p",
    "settings.seed",
    "settings.stop",
    "settings.tool-choice",
    "settings.verbosity",
];

/// The keys, or the tables of keys, of which a lower number is stricter.
const LOWER_IS_STRICTER: [&str; 4] = ["max-turns", "budgets", "limits", "agent-depth"];

/// A replaced value.
#[derive(Debug, Serialize)]
pub(super) struct Replaced {
    /// The end of a sentence that begins with "it".
    pub(super) text: String,
    /// The value of the user, which is not shown: it may be a secret.
    old: Value,
}

/// Returns what the file replaces.
pub(super) fn replaced(file: &Table, below: &Layers) -> Vec<Replaced> {
    let (users, origins) = below.table();
    let mut all = Vec::new();
    let mut add = |what: &str, key: &str, old: &Value, new: &str| {
        let origin = below.origin(&origins, key).map(ToString::to_string);
        let origin = quoted(&origin.unwrap_or_default());
        let text = format!("replaces {what} of {origin} by {new}");
        let old = old.clone();
        all.push(Replaced { text, old });
    };
    let mut of_file = BTreeMap::new();
    leaves(file, "", &mut |key, value| {
        of_file.insert(key, value);
    });
    let mut of_user = BTreeMap::new();
    leaves(&users, "", &mut |key, value| {
        of_user.insert(key, value);
    });
    for (key, old) in &of_user {
        // Elements of lists are compared by name, or with their whole list.
        if key.contains('[') {
            continue;
        }
        if let Some(new) = of_file.get(key).filter(|new| !is_allowed(key, old, new)) {
            add(&key.escape_debug().to_string(), key, old, &shown(new));
        }
    }
    for (key, old, new) in lists(file, &users, "") {
        match named(old) {
            true => {
                for item in old.iter().filter(|old| replaces(new, old)) {
                    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
                    add(&format!("{key} {}", quoted(name)), &key, item, "its own");
                }
            }
            false if old != new => {
                add(&key, &key, &Value::Array(old.clone()), "its own");
            }
            false => {}
        }
    }
    all
}

/// Returns the lists of tables that both have, with their keys.
fn lists<'a>(
    file: &'a Table,
    users: &'a Table,
    path: &str,
) -> Vec<(String, &'a Vec<Value>, &'a Vec<Value>)> {
    let mut found = Vec::new();
    for (key, old) in users {
        let here = join(path, key);
        match (old, file.get(key)) {
            (Value::Table(old), Some(Value::Table(new))) => found.extend(lists(new, old, &here)),
            (Value::Array(old), Some(Value::Array(new)))
                if here != "rule" && old.iter().any(Value::is_table) =>
            {
                found.push((here, old, new));
            }
            _ => {}
        }
    }
    found
}

/// True for a list whose elements have names, except variables, which are replaced as a whole.
fn named(list: &[Value]) -> bool {
    list.iter().all(|item| {
        item.get("name").is_some() && item.get("value").is_none() && item.get("from-host").is_none()
    })
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
    let number = |value: &Value| {
        let whole = value.as_integer().map(|number| number as f64);
        whole.or(value.as_float())
    };
    let is_stricter = match (number(old), number(new)) {
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
