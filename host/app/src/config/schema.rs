//! The JSON Schema of `agent.toml`, generated from the types of its form, for editors.

use super::raw::RawConfig;
use agent_host_types::schema;
use serde_json::{Map, Value, json};

/// The ends of the names of durations and sizes, which a text with a unit may be, too.
const UNITS: [(&str, &str); 5] = [
    ("-ms", DURATION),
    ("-seconds", DURATION),
    ("-bytes", SIZE),
    ("days", DURATION),
    ("bytes", SIZE),
];

/// A whole number and a unit of time.
const DURATION: &str = "^[0-9]+ *(ms|s|min|h|d)$";

/// A whole number and a unit of size.
const SIZE: &str = "^[0-9]+ *(B|KiB|MiB|GiB|kB|MB|GB)$";

/// The types whose durations and sizes are numbers alone.
const PLAIN: [&str; 3] = ["DirQuota", "NodeDefinition", "Retry"];

/// Returns the JSON Schema (draft 2020-12) of `agent.toml`.
#[must_use]
pub fn config_schema() -> Value {
    let mut schema = schema::of_input::<RawConfig>();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), "agent.toml".into());
        add_units(root);
        let definitions = root.get_mut("$defs").and_then(Value::as_object_mut);
        for (name, definition) in definitions.into_iter().flatten() {
            if let Some(definition) = definition.as_object_mut()
                && !PLAIN.contains(&name.as_str())
            {
                add_units(definition);
            }
        }
    }
    schema
}

/// Allows a text with a unit for each property of a table that is a duration or a size.
fn add_units(table: &mut Map<String, Value>) {
    let properties = table.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
        let Some((_, pattern)) = unit else { continue };
        let Some(fields) = property.as_object_mut() else {
            continue;
        };
        let mut number = Map::new();
        for key in ["type", "format", "minimum", "maximum"] {
            number.extend(fields.remove(key).map(|value| (key.to_owned(), value)));
        }
        // Tables and lists of this name have no type of their own here.
        if number.contains_key("format") {
            let text = json!({ "type": "string", "pattern": pattern });
            fields.insert("anyOf".to_owned(), json!([number, text]));
        } else {
            fields.extend(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::config_schema;
    use crate::config::{parse, raw::RawConfig};
    use pretty_assertions::assert_eq;
    use serde_json::Value;
    use std::path::Path;

    /// Returns whether the schema accepts a text of TOML, and whether the program does.
    fn valid(toml: &str) -> (bool, bool) {
        let validator = jsonschema::validator_for(&config_schema()).unwrap();
        let value: toml::Value = toml::from_str(toml).unwrap();
        let value: Value = serde_json::to_value(value).unwrap();
        let parsed = parse::<RawConfig>(Path::new("agent.toml"), toml);
        (validator.is_valid(&value), parsed.is_ok())
    }

    #[test]
    fn schema_accepts_the_forms_of_the_file() {
        let page = include_str!("../../../../docs/reference/configuration.md");
        let (_, example) = page.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("\n```").unwrap();
        for toml in [
            example,
            "cache-bytes = \"2GiB\"\napproval-expires-seconds = \"1h\"",
            "[limits]\ndeadline-ms = \"10 s\"\nmemory-bytes = 1000\n[session]\nkeep = { days = \"30d\", bytes = \"1GiB\" }",
            "[settings]\nthinking = \"off\"\n[settings.models.\"a:b\"]\nthinking = 1000\ntool-choice = { tool = \"a\" }",
            "[[tool]]\nname = \"a\"\ncomponent = \"b\"\napproval = [\"approve\", \"reject\"]",
            "[[workflow]]\nname = \"w\"\n[[workflow.node]]\nid = \"a\"\ntool = \"t\"\nnext = [\"b\", { to = \"c\", when = \"a.text == 'x'\" }]\nforeach = { over = \"a.output\", at-once = 2 }\ninputs = [{ a = \"b.text\" }]",
        ] {
            assert_eq!(valid(toml), (true, true), "{toml}");
        }
    }

    #[test]
    fn schema_refuses_what_the_program_refuses() {
        for toml in [
            "max-turms = 1",
            "max-turns = \"many\"",
            "cache-bytes = \"2 parsecs\"",
            "[limits]\ndeadline-ms = -1",
            "[[grants.dir]]\nhost = \".\"\nmode = \"readwrite\"",
            "[[grants.dir]]\nhost = \".\"\nquota = { write-bytes = \"1KiB\" }",
            "[settings]\nthinking = \"much\"",
            "[[tool]]\ncomponent = \"b\"",
            "[[workflow]]\nname = \"w\"\n[[workflow.node]]\nmode = \"fast\"",
        ] {
            assert_eq!(valid(toml), (false, false), "{toml}");
        }
    }
}
