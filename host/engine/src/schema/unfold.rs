//! The size of a schema with its references unfolded. A validator follows a reference wherever it
//! occurs, so 30 definitions that each use the next one twice are a billion checks of one value, in
//! a schema of 2 kB.

use super::SchemaError;
use serde_json::Value;

/// The most values of a schema, each counted once for every path of references to it. Schemas of
/// real tools have a few hundred; this many are checked against one value in about a millisecond.
pub(super) const MAX_VALUES: usize = 20_000;

/// The longest chain of references. The compiler of the schema recurses as deep.
pub(super) const MAX_REFERENCES: usize = 16;

/// Keys that change the base of references, or make a reference depend on the path to it. With them
/// a reference could resolve to another value than here. An `$anchor` only names a target for
/// references of the form `#NAME`, which are refused.
const BASE_KEYS: [&str; 5] = [
    "$id",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
];

/// Checks that a schema is finite and within the bounds when its references are unfolded.
pub(super) fn check(schema: &Value) -> Result<(), SchemaError> {
    let draft = schema.get("$schema").and_then(Value::as_str);
    if draft.is_some_and(|draft| draft.contains("draft-04")) {
        return Err(SchemaError::Draft4);
    }
    let mut unfolding = Unfolding {
        root: schema,
        trail: Vec::new(),
        left: MAX_VALUES,
    };
    unfolding.visit(schema)
}

struct Unfolding<'a> {
    root: &'a Value,
    /// The references that are being followed.
    trail: Vec<&'a str>,
    /// The number of values that may still be visited.
    left: usize,
}

impl<'a> Unfolding<'a> {
    fn visit(&mut self, value: &'a Value) -> Result<(), SchemaError> {
        self.left = self.left.checked_sub(1).ok_or(SchemaError::TooLarge)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.visit(item)),
            Value::Object(fields) => fields
                .iter()
                // The `$id` of the whole schema changes no reference in it.
                .filter(|(key, _)| *key != "$id" || !std::ptr::eq(value, self.root))
                .try_for_each(|(key, inner)| self.field(key, inner)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn field(&mut self, key: &str, value: &'a Value) -> Result<(), SchemaError> {
        match value {
            Value::String(target) if key == "$ref" => self.follow(target),
            Value::String(_) | Value::Bool(_) if BASE_KEYS.contains(&key) => {
                Err(SchemaError::ReferenceBase(key.to_owned()))
            }
            other => self.visit(other),
        }
    }

    fn follow(&mut self, target: &'a str) -> Result<(), SchemaError> {
        let reference = || target.chars().take(80).collect();
        let Some(value) = find(self.root, target) else {
            return Err(SchemaError::UnresolvedReference(reference()));
        };
        if self.trail.contains(&target) {
            return Err(SchemaError::RecursiveReference(reference()));
        }
        if self.trail.len() == MAX_REFERENCES {
            return Err(SchemaError::ReferenceChain);
        }
        self.trail.push(target);
        let visited = self.visit(value);
        self.trail.pop();
        visited
    }
}

/// Resolves a reference to a value of the schema.
pub(super) fn find<'s>(root: &'s Value, target: &str) -> Option<&'s Value> {
    target
        .strip_prefix('#')
        // A validator would decode it first.
        .filter(|pointer| !pointer.contains('%'))
        .and_then(|pointer| root.pointer(pointer))
}
