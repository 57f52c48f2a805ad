//! The declaration of a component of ACT about itself in its section `act:component`: capabilities
//! that it asks for. A declaration grants nothing.

use super::{SESSIONS, cbor};
use crate::{component::section::custom_section, text};
use serde_json::Value;
use wasmtime::component::Component;

const SECTION: &str = "act:component";

/// The most capabilities that are named, the most entries of each, and the bytes shown of all.
const MAX_CAPABILITIES: usize = 8;
const MAX_ENTRIES: usize = 8;
const MAX_NOTE_BYTES: usize = 500;

/// Returns notes for the operator: what a component asks for, and what of it is not offered.
pub(super) fn notes(bytes: &[u8], component: &Component) -> Vec<String> {
    let requested = custom_section(bytes, SECTION)
        .and_then(|section| cbor::decode(section).ok())
        .and_then(|declared| requested(&declared));
    let ty = component.component_type();
    let mut exports = ty.exports(component.engine());
    let keeps_sessions = exports.any(|(name, _)| name.starts_with(SESSIONS));
    let sessions = keeps_sessions.then(|| {
        "it keeps sessions, which are not offered: each call has a fresh instance".to_owned()
    });
    requested.into_iter().chain(sessions).collect()
}

pub(super) fn requested(declared: &Value) -> Option<String> {
    let capabilities = declared.get("std")?.get("capabilities")?.as_object()?;
    let named = capabilities.iter().take(MAX_CAPABILITIES);
    let named: Vec<String> = named.map(|(name, value)| capability(name, value)).collect();
    if named.is_empty() {
        return None;
    }
    let note = format!(
        "it asks for {}; it has what its grants allow",
        named.join(", ")
    );
    Some(text::sanitize(&note, MAX_NOTE_BYTES))
}

/// `wasi:http (GET https://api.example.com)`
fn capability(name: &str, value: &Value) -> String {
    // `allow` in the specification of act:core 0.4, and `constraints` of act-build 0.14.
    let mut keys = ["allow", "constraints"].into_iter();
    let entries = keys.find_map(|key| value.get(key)?.as_array());
    let entries = entries.into_iter().flatten().take(MAX_ENTRIES);
    let entries: Vec<String> = entries.map(entry).collect();
    if entries.is_empty() {
        name.to_owned()
    } else {
        format!("{name} ({})", entries.join(", "))
    }
}

fn entry(entry: &Value) -> String {
    let of = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let methods = entry.get("methods").and_then(Value::as_array);
    let methods = methods.into_iter().flatten().filter_map(Value::as_str);
    let methods: Vec<&str> = methods.collect();
    let (path, host) = (of("path"), of("host"));
    let words = [
        methods.join(" "),
        of("scheme").to_owned(),
        format!("{path}{host}"),
        of("mode").to_owned(),
    ];
    let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
