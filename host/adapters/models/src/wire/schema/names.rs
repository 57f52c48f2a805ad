//! The names that a model sees for the properties of a tool.

use super::rules::SchemaDialect;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The longest name, in bytes; leaves space for a number.
const MAX_NAME_BYTES: usize = 56;

/// Gives each property whose name the dialect refuses another that nothing in the schema has.
pub(super) struct PropertyNames<'a> {
    dialect: SchemaDialect,
    root: &'a Value,
    /// Every key in the schema, once it is needed, and the given names.
    taken: BTreeSet<String>,
    given: BTreeMap<String, String>,
    /// By base of a name: the last number after it.
    numbers: BTreeMap<String, usize>,
}

impl<'a> PropertyNames<'a> {
    pub(super) fn new(dialect: SchemaDialect, root: &'a Value) -> Self {
        Self {
            dialect,
            root,
            taken: BTreeSet::new(),
            given: BTreeMap::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// Returns the name that the model sees.
    pub(super) fn shown(&mut self, name: &str) -> String {
        if self.dialect.accepts_name(name) {
            return name.to_owned();
        }
        if let Some(given) = self.given.get(name) {
            return given.clone();
        }
        let mut base = String::new();
        for character in name.chars().take(MAX_NAME_BYTES) {
            let byte = if character.is_ascii() { character } else { '_' };
            let alone = ["_", byte.encode_utf8(&mut [0; 4])].concat();
            base.push(if self.dialect.accepts_name(&alone) {
                byte
            } else {
                '_'
            });
        }
        if !self.dialect.accepts_name(&base) {
            base.insert(0, '_');
        }
        let given = self.unused(&base);
        self.given.insert(name.to_owned(), given.clone());
        given
    }

    /// Returns this name, or with a number after it if a key of the schema has it.
    pub(super) fn unused(&mut self, base: &str) -> String {
        if self.taken.is_empty() {
            self.taken = keys(self.root);
        }
        let mut name = base.to_owned();
        let number = self.numbers.entry(base.to_owned()).or_insert(1);
        while !self.taken.insert(name.clone()) {
            *number += 1;
            name = format!("{base}_{number}");
        }
        name
    }
}

/// Returns all keys in a value, at any depth.
fn keys(value: &Value) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(object) => {
                keys.extend(object.keys().cloned());
                open.extend(object.values());
            }
            _ => {}
        }
    }
    keys
}
