//! Every key that takes words names them in the error about another value.

use super::Tree;
use crate::config::{Overrides, config_schema};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// A way to a value, from the outermost table on.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    /// An element of a list of tables, or of words.
    Item,
}

/// A key that takes words.
#[derive(Debug)]
struct WordKey {
    steps: Vec<Step>,
    words: Vec<String>,
    /// Its schema, without the ones around it.
    schema: Json,
}

/// Collects the keys that take words below a schema. No definition is entered twice on one way.
struct Search<'a> {
    root: &'a Json,
    entered: Vec<&'a str>,
    found: Vec<WordKey>,
}

impl<'a> Search<'a> {
    /// `whole` is the schema of the value, of which `schema` may be one alternative.
    fn visit(&mut self, schema: &'a Json, whole: &'a Json, steps: &[Step]) {
        if let Some(name) = schema["$ref"].as_str() {
            if !self.entered.contains(&name) {
                self.entered.push(name);
                let pointer = name.strip_prefix('#').unwrap();
                let target = self.root.pointer(pointer).unwrap();
                self.visit(target, whole, steps);
                self.entered.pop();
            }
            return;
        }
        let listed = schema["enum"].as_array().into_iter().flatten();
        let parts = ["anyOf", "oneOf"]
            .into_iter()
            .flat_map(|key| schema[key].as_array());
        let parts: Vec<&Json> = parts.flatten().collect();
        let constants = parts.iter().map(|part| &part["const"]);
        let words = listed.chain(constants).filter_map(Json::as_str);
        let words: Vec<String> = words.map(str::to_owned).collect();
        if !words.is_empty() {
            let mut schema = whole.clone();
            schema["$defs"] = self.root["$defs"].clone();
            self.found.push(WordKey {
                steps: steps.to_vec(),
                words,
                schema,
            });
        }
        let below = |step: Step| [steps, &[step]].concat();
        for part in parts {
            self.visit(part, whole, steps);
        }
        let inside = [
            (&schema["items"], Step::Item),
            (&schema["additionalProperties"], Step::Key("x".to_owned())),
        ];
        for (schema, step) in inside.into_iter().filter(|(schema, _)| schema.is_object()) {
            self.visit(schema, schema, &below(step));
        }
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            self.visit(property, property, &below(Step::Key(key.clone())));
        }
    }
}

/// The keys that the tables of these keys need besides, so that the words are looked at.
const NEEDED: [(&str, &str); 5] = [
    ("mcp", "name = \"m\"\ncomponent = \"m.wasm\""),
    ("agent", "name = \"a\"\ndescription = \"A.\""),
    (
        "hook",
        "name = \"h\"\ncomponent = \"h.wasm\"\npoints = [\"before-tool\"]",
    ),
    ("tool", "name = \"t\"\ncomponent = \"builtin:files\""),
    ("provider", "name = \"p\""),
];

/// A configuration with this value, and what its tables need besides.
fn file(steps: &[Step], value: Value) -> Value {
    let Some((first, rest)) = steps.split_first() else {
        return value;
    };
    let mut inner = file(rest, value);
    let key = match first {
        Step::Item => return Value::Array(vec![inner]),
        Step::Key(key) => key,
    };
    if let Some((_, needed)) = NEEDED.iter().find(|(name, _)| name == key)
        && let Some(Value::Table(table)) = inner.as_array_mut().and_then(|items| items.first_mut())
    {
        for (key, value) in needed.parse::<Table>().unwrap() {
            table.entry(key).or_insert(value);
        }
    }
    let mut table = Table::from_iter([(key.clone(), inner)]);
    if key == "scheme" {
        table.insert("host".to_owned(), "a.example".into());
    }
    Value::Table(table)
}

#[test]
fn another_value_of_a_key_with_words_names_them() {
    let root = config_schema();
    let mut search = Search {
        root: &root,
        entered: Vec::new(),
        found: Vec::new(),
    };
    search.visit(&root, &root, &[]);
    let mut wrong = Vec::new();
    for WordKey {
        steps,
        words,
        schema,
    } in &search.found
    {
        let validator = jsonschema::validator_for(schema).unwrap();
        for bad in [Value::from(false), Value::from(3), Value::from("nonsense")] {
            // `thinking` takes a number, too; and the sections of the own providers take no `kind`.
            let is_taken = validator.is_valid(&serde_json::to_value(&bad).unwrap());
            let is_of_provider = matches!(&steps[..], [_, Step::Key(key)] if key == "kind");
            if is_taken || (is_of_provider && bad.is_str()) {
                continue;
            }
            let tree = Tree::new();
            let toml = toml::to_string(&file(steps, bad)).unwrap();
            let told = match tree.load(&toml, &Overrides::default()) {
                Ok(_) => "it is accepted".to_owned(),
                Err(error) => error
                    .problems()
                    .iter()
                    .map(|problem| format!("{problem}\n"))
                    .collect(),
            };
            if words
                .iter()
                .any(|word| !told.contains(&format!("`{word}`")))
            {
                wrong.push(format!("{toml}{words:?}: {told}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let keys = search.found.iter().filter_map(|key| {
        let names = key.steps.iter().rev();
        names
            .filter_map(|step| match step {
                Step::Key(name) => Some(name.as_str()),
                Step::Item => None,
            })
            .next()
    });
    let keys: BTreeSet<&str> = keys.collect();
    // No key of these is lost with a change of the schema's form.
    for key in [
        "approval",
        "x",
        "effort",
        "kind",
        "scheme",
        "mode",
        "decision",
        "points",
        "durability",
    ] {
        assert!(keys.contains(key), "{key} is not among {keys:?}");
    }
}
