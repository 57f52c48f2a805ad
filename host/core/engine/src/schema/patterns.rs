//! Patterns of schemas: their number, and those that cannot be run here.

use super::SchemaError;
use jsonschema::PatternOptions;
use serde_json::{Value, json};

/// The largest compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512 * 1024;

/// The most escapes of control characters (`\cA`) in a pattern.
pub(super) const MAX_CONTROL_ESCAPES: usize = 64;

/// Keywords under which a schema that takes more values makes the whole take fewer.
const REVERSING: [&str; 6] = [
    "not",
    "if",
    "oneOf",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Returns the engine, which takes linear time and knows no look-around and no back-reference: a
/// hostile pattern could keep a backtracking one busy for ever.
pub(super) fn engine() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(MAX_PATTERN_BYTES)
}

/// Counts the patterns in a schema, and data that looks like one.
///
/// # Errors
/// One takes too long to compile.
pub(super) fn count(schema: &Value) -> Result<usize, SchemaError> {
    let (mut count, mut slow) = (0, None);
    each(schema, &mut |pattern| {
        count += 1;
        if slow.is_none() && is_slow(pattern) {
            slow = Some(short(pattern));
        }
    });
    match slow {
        Some(pattern) => Err(SchemaError::SlowPattern(pattern)),
        None => Ok(count),
    }
}

/// Whether the validator (jsonschema 0.61) takes long to translate a pattern: it reads a pattern
/// from its beginning for each of these escapes.
fn is_slow(pattern: &str) -> bool {
    pattern.matches("\\c").count() > MAX_CONTROL_ESCAPES
}

/// Visits the patterns in a schema. The parser bounds the recursion at 128 levels.
fn each(schema: &Value, visit: &mut impl FnMut(&str)) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("pattern", Value::String(pattern)) => visit(pattern),
                    ("patternProperties", Value::Object(all)) => {
                        all.keys().for_each(|pattern| visit(pattern));
                    }
                    _ => {}
                }
                each(value, visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the beginning of a pattern for a message.
fn short(pattern: &str) -> String {
    pattern.chars().take(80).collect()
}

/// Removes the patterns that cannot be run and those beyond the first `max`, so that the schema
/// takes more values. Returns the removed ones.
///
/// # Errors
/// One is unusable, and a keyword such as `not` could make the schema take fewer values without it.
pub(super) fn relax(schema: &mut Value, max: usize) -> Result<Vec<String>, SchemaError> {
    let mut relaxed = Relaxed {
        left: max,
        removed: Vec::new(),
    };
    relaxed.visit(schema);
    match relaxed.removed.first() {
        Some(pattern) if has_reversing(schema) => Err(SchemaError::Pattern(short(pattern))),
        _ => Ok(relaxed.removed),
    }
}

struct Relaxed {
    /// The number of patterns that may still be kept.
    left: usize,
    removed: Vec<String>,
}

impl Relaxed {
    fn keep(&mut self, pattern: &str) -> bool {
        let keep = self.left > 0 && is_usable(pattern);
        if keep {
            self.left -= 1;
        } else {
            self.removed.push(pattern.to_owned());
        }
        keep
    }

    fn visit(&mut self, value: &mut Value) {
        let Value::Object(fields) = value else {
            if let Value::Array(items) = value {
                items.iter_mut().for_each(|item| self.visit(item));
            }
            return;
        };
        if let Some(Value::String(pattern)) = fields.get("pattern")
            && !self.keep(pattern)
        {
            fields.remove("pattern");
        }
        if let Some(Value::Object(all)) = fields.get_mut("patternProperties") {
            let before = all.len();
            all.retain(|pattern, _| self.keep(pattern));
            if all.len() < before {
                // It would refuse the properties of the removed pattern.
                fields.remove("additionalProperties");
            }
        }
        for (key, inner) in fields.iter_mut() {
            // A property of this name keeps its patterns, and is then refused with the schema.
            if !matches!(key.as_str(), "const" | "enum") {
                self.visit(inner);
            }
        }
    }
}

fn is_usable(pattern: &str) -> bool {
    let alone = json!({"pattern": pattern});
    let options = jsonschema::options().with_pattern_options(engine());
    !is_slow(pattern) && options.build(&alone).is_ok()
}

fn has_reversing(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_reversing),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, inner)| REVERSING.contains(&key.as_str()) || has_reversing(inner)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
