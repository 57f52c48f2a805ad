//! The arguments of a call on the command line: one JSON object, or `KEY=VALUE` words, whose types
//! the schema of the tool decides.

use crate::{
    exit::Failure,
    terminal::{escape_line, piped_input},
};
use serde_json::{Map, Value};

/// The maximum input from standard input, in bytes.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the arguments of a call of a tool with this input schema.
///
/// # Errors
/// They are neither a JSON object nor `KEY=VALUE` words, or a value does not fit its key.
pub(super) fn read(words: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    match words {
        [] => Ok(Map::new()),
        [word] if word == "-" => object(&piped_input(MAX_INPUT_BYTES, "the arguments")?),
        [word] if word.trim_start().starts_with(['{', '[']) || !word.contains('=') => object(word),
        words => pairs(words, schema),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(format!(
            "the arguments are neither `KEY=VALUE` nor a JSON object: {error}. Write them like `path=.`, or like \
             '{{\"path\": \".\"}}' in single quotes, so that the shell does not change them."
        ))
    })
}

fn pairs(words: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut arguments = Map::new();
    for word in words {
        let pair = word.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, text) = pair.ok_or_else(|| {
            Failure::usage(format!(
                "the argument `{}` is not `KEY=VALUE`; put a value with spaces in quotes, like `query='two words'`",
                escape_line(word)
            ))
        })?;
        let types = Types::of(schema, key);
        let value = types.value(text).ok_or_else(|| {
            Failure::usage(format!(
                "the value of `{}` must be {}, and `{}` is not",
                escape_line(key),
                types.described(),
                escape_line(text)
            ))
        })?;
        let Some(earlier) = arguments.get_mut(key) else {
            arguments.insert(key.to_owned(), value);
            continue;
        };
        match (earlier, value) {
            (Value::Array(earlier), Value::Array(more)) => earlier.extend(more),
            _ => {
                return Err(Failure::usage(format!(
                    "`{}` is given twice but is not a list; give it once",
                    escape_line(key)
                )));
            }
        }
    }
    Ok(arguments)
}

/// The types that a schema allows for one value.
#[derive(Debug, Default)]
struct Types<'a> {
    /// Names of JSON types; empty if any is allowed.
    names: Vec<&'a str>,
    /// The schema of the elements of a list.
    items: Option<&'a Value>,
    /// The whole schema, for references.
    root: Option<&'a Value>,
}

impl<'a> Types<'a> {
    /// Returns the types of a property.
    fn of(schema: &'a Value, key: &str) -> Self {
        let mut types = Self {
            root: Some(schema),
            ..Self::default()
        };
        if let Some(property) = schema.get("properties").and_then(|all| all.get(key)) {
            types.add(property, /*depth*/ 0);
        }
        types
    }

    /// Adds the types that a schema allows, through references and alternatives.
    fn add(&mut self, schema: &'a Value, depth: usize) {
        const MAX_DEPTH: usize = 8;
        if depth > MAX_DEPTH {
            return;
        }
        let reference = schema.get("$ref").and_then(Value::as_str);
        let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
        if let Some(found) = pointer.and_then(|pointer| self.root?.pointer(pointer)) {
            self.add(found, depth + 1);
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.names.push(name),
            Some(Value::Array(names)) => self.names.extend(names.iter().filter_map(Value::as_str)),
            _ => {}
        }
        self.items = schema.get("items").or(self.items);
        for key in ["anyOf", "oneOf", "allOf"] {
            let schemas = schema.get(key).and_then(Value::as_array);
            for one in schemas.into_iter().flatten() {
                self.add(one, depth + 1);
            }
        }
        // Without a type, the listed values have one.
        if schema.get("type").is_none() && schema.get("enum").is_some_and(is_all_text) {
            self.names.push("string");
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Returns the value of a text; absent if it fits no type.
    fn value(&self, text: &str) -> Option<Value> {
        let others = self
            .names
            .iter()
            .any(|name| !["string", "null"].contains(name));
        if self.has("string") && !others {
            return Some(text.into());
        }
        let parsed = serde_json::from_str::<Value>(text).ok();
        if let Some(value) = parsed.filter(|value| self.allows(value)) {
            return Some(value);
        }
        if self.names.is_empty() || self.has("string") {
            return Some(text.into());
        }
        // One element of a list, which may be given again.
        let mut element = Self {
            root: self.root,
            ..Self::default()
        };
        if let Some(items) = self.items {
            element.add(items, /*depth*/ 0);
        }
        let element = self.has("array").then(|| element.value(text)).flatten()?;
        Some(vec![element].into())
    }

    fn allows(&self, value: &Value) -> bool {
        let is = |name: &&str| match *name {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            _ => false,
        };
        self.names.is_empty() || self.names.iter().any(is)
    }

    fn described(&self) -> String {
        let named = self.names.iter().map(|name| match *name {
            "integer" => "a whole number",
            "number" => "a number",
            "boolean" => "`true` or `false`",
            "array" => "a list in JSON",
            "object" => "an object in JSON",
            "null" => "`null`",
            _ => "text",
        });
        named.collect::<Vec<_>>().join(" or ")
    }
}

fn is_all_text(values: &Value) -> bool {
    let values = values.as_array();
    values.is_some_and(|values| values.iter().all(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::read;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "text": { "type": "string" },
                "maybe": { "type": ["string", "null"] },
                "count": { "type": "integer" },
                "ratio": { "type": "number" },
                "deep": { "type": "boolean" },
                "names": { "type": "array", "items": { "type": "string" } },
                "numbers": { "type": "array", "items": { "type": "integer" } },
                "size": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
                "kind": { "$ref": "#/$defs/kind" },
                "mode": { "enum": ["1", "2"] },
                "any": {},
            },
            "$defs": { "kind": { "type": "string" } },
        })
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        for (words, expected) in [
            (&[][..], json!({})),
            (&[r#"{"a": 1}"#], json!({ "a": 1 })),
            (&["text=7", "count=7"], json!({ "text": "7", "count": 7 })),
            (
                &["text=a=b", "text2="],
                json!({ "text": "a=b", "text2": "" }),
            ),
            (&["maybe=null"], json!({ "maybe": "null" })),
            (
                &["ratio=-0.5", "deep=true"],
                json!({ "ratio": -0.5, "deep": true }),
            ),
            (&["names=1", "names=b"], json!({ "names": ["1", "b"] })),
            (&["names=[\"a\",\"b\"]"], json!({ "names": ["a", "b"] })),
            (
                &["numbers=1", "numbers=[2,3]"],
                json!({ "numbers": [1, 2, 3] }),
            ),
            (&["size=12"], json!({ "size": 12 })),
            (&["size=large"], json!({ "size": "large" })),
            (&["kind=1", "mode=2"], json!({ "kind": "1", "mode": "2" })),
            (
                &["any={\"a\":1}", "other=x"],
                json!({ "any": { "a": 1 }, "other": "x" }),
            ),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let read = read(&words, &schema()).unwrap();
            assert_eq!(Value::from(read), expected, "{words:?}");
        }
    }

    #[test]
    fn words_that_do_not_fit_are_refused() {
        for (words, expected) in [
            (
                &["count=7.5"][..],
                "the value of `count` must be a whole number, and `7.5` is not",
            ),
            (
                &["deep=yes"],
                "the value of `deep` must be `true` or `false`, and `yes` is not",
            ),
            (
                &["numbers=x"],
                "the value of `numbers` must be a list in JSON, and `x` is not",
            ),
            (
                &["count=1", "count=2"],
                "`count` is given twice but is not a list; give it once",
            ),
            (
                &["text=a", "b"],
                "the argument `b` is not `KEY=VALUE`; put a value with spaces in quotes, like `query='two words'`",
            ),
            (
                &["text=a", "=b"],
                "the argument `=b` is not `KEY=VALUE`; put a value with spaces in quotes, like `query='two words'`",
            ),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let refused = read(&words, &schema()).unwrap_err();
            assert_eq!(refused.text(), expected, "{words:?}");
        }
    }
}
