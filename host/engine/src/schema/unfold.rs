//! How large a schema is once its references are unfolded. A validator follows a reference wherever it stands, so thirty
//! definitions that each use the next one twice are a billion checks of one value, in a schema of two kilobytes.

use serde_json::Value;

/// The most values of a schema, each counted as often as references lead to it. The schemas of real tools have a few hundred;
/// so many are checked against one value in about a millisecond.
pub(super) const MAX_VALUES: usize = 20_000;

/// How many references may lead from one to the next. Whoever compiles the schema recurses as deep.
pub(super) const MAX_REFERENCES: usize = 16;

/// The keys that give a part of a schema another base, or lead to a part that depends on the way to it. With them a reference
/// could lead elsewhere than where it is followed here. An `$anchor` is a name for references of the form `#NAME`, which are
/// not taken, and changes nothing for the others.
const RENAMING: [&str; 5] = [
    "$id",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
];

/// Checks that a schema is small when it is unfolded, and ends.
///
/// # Errors
/// What of it is not taken, as a fragment.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    let draft = schema.get("$schema").and_then(Value::as_str);
    if draft.is_some_and(|draft| draft.contains("draft-04")) {
        return Err("it is written in draft 4, in which the key `id` moves references; write it in a later draft of JSON Schema".to_owned());
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
    left: usize,
}

impl<'a> Unfolding<'a> {
    fn visit(&mut self, value: &'a Value) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            format!("with its references unfolded it has more than {MAX_VALUES} values; use fewer references to parts with references")
        })?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.visit(item)),
            Value::Object(fields) => fields
                .iter()
                // The name of the whole schema renames nothing in it.
                .filter(|(key, _)| *key != "$id" || !std::ptr::eq(value, self.root))
                .try_for_each(|(key, inner)| self.field(key, inner)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn field(&mut self, key: &str, value: &'a Value) -> Result<(), String> {
        match value {
            Value::String(target) if key == "$ref" => self.follow(target),
            Value::String(_) | Value::Bool(_) if RENAMING.contains(&key) => Err(format!(
                "it has the key `{key}`; name its parts by `$defs` and refer to them by `#/$defs/NAME`"
            )),
            other => self.visit(other),
        }
    }

    fn follow(&mut self, target: &'a str) -> Result<(), String> {
        let shown: String = target.chars().take(80).collect();
        let found = find(self.root, target).ok_or_else(|| {
            format!("the reference `{shown}` leads nowhere in it; refer to its own parts, as `#/$defs/NAME`")
        })?;
        if self.trail.contains(&target) {
            return Err(format!(
                "the reference `{shown}` leads back to itself; write the levels out that are needed"
            ));
        }
        if self.trail.len() == MAX_REFERENCES {
            return Err(format!(
                "more than {MAX_REFERENCES} references lead from one to the next; put the parts in place"
            ));
        }
        self.trail.push(target);
        let visited = self.visit(found);
        self.trail.pop();
        visited
    }
}

/// Where a reference leads in a schema, if it leads to a part of it.
pub(super) fn find<'s>(root: &'s Value, target: &str) -> Option<&'s Value> {
    target
        .strip_prefix('#')
        // A validator would decode it first.
        .filter(|pointer| !pointer.contains('%'))
        .and_then(|pointer| root.pointer(pointer))
}
