//! The words that a key of `agent.toml` takes, by the JSON Schema of the file, for the error about
//! another value: whatever reads the value, and whatever that says, the error names them.

use super::{hints::nearest, schema::config_schema};
use serde_json::{Map, Value};
use std::{fmt, ops::Range};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// The maximum length of the value in the error, in characters; no word is near it.
const MAX_FOUND: usize = 100;

/// The form of a table whose values are no words.
const TABLE: &str = "a table";

/// The form of a list of them.
const LIST_OF_TABLES: &str = "a list of tables";

/// A step from a table or a list to a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    /// The value of a key.
    Key(String),
    /// An element of a list.
    Item,
}

/// The forms of the values of a key.
#[derive(Debug, Default)]
struct ValueForms {
    words: Vec<String>,
    /// Further forms, such as "a number".
    others: Vec<String>,
    /// True if one of them is a list or a table of words.
    nests_words: bool,
}

impl fmt::Display for ValueForms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Some(quoted(&self.words)).filter(|words| !words.is_empty());
        let forms: Vec<String> = words
            .into_iter()
            .chain(self.others.iter().cloned())
            .collect();
        f.write_str(&forms.join(", or "))
    }
}

/// Lists words in backquotes.
fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// Returns why the value at this byte of a configuration cannot be used, and what can; none where
/// its key takes no words.
pub(super) fn explain_value(text: &str, at: usize) -> Option<(String, String)> {
    let root = DeTable::parse(text).ok()?;
    let (steps, bytes) = value_in_table(root.get_ref(), at)?;
    let schema = config_schema();
    let found = text.get(bytes)?;
    let forms = match forms_at(&schema, &steps) {
        Some(forms) => forms,
        None => return explain_header(&schema, &steps, found),
    };
    let found = found.trim_matches(['"', '\'']);
    let found: String = found.chars().take(MAX_FOUND).collect();
    let words: Vec<&str> = forms.words.iter().map(String::as_str).collect();
    let fix = match nearest(&found, &words) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the values are {forms}"),
    };
    Some((format!("invalid value `{found}`"), fix))
}

/// Returns what is wrong with a header of one table where the key takes a list of them, or the
/// other way round; none where the value is something else.
fn explain_header(schema: &Value, steps: &[PathStep], found: &str) -> Option<(String, String)> {
    let is_table = found.starts_with('[') && !found.starts_with("[[");
    (1..=steps.len()).find_map(|depth| {
        let (path, rest) = steps.split_at_checked(depth)?;
        let forms = ValueForms::at(schema, path);
        let keys = path.iter().filter_map(|step| match step {
            PathStep::Key(key) => Some(key.as_str()),
            PathStep::Item => None,
        });
        let keys: Vec<&str> = keys.collect();
        let (key, path) = (keys.last()?, keys.join("."));
        match rest.first() {
            // A table where there is a list further up: `[tool.limits]` without `[[tool]]`.
            Some(PathStep::Key(_)) if forms.has(LIST_OF_TABLES) => {}
            None if is_table && forms.has(LIST_OF_TABLES) => {}
            // A list has no place here, whatever is in it.
            Some(PathStep::Item) if forms.takes_table() => {
                return Some((
                    format!("`{key}` takes one table, and this is a list of tables"),
                    format!("write `[{path}]`"),
                ));
            }
            _ => return None,
        }
        Some((
            format!("`{key}` takes a list of tables, and this is one table"),
            format!("write `[[{path}]]`"),
        ))
    })
}

/// Returns the steps to the innermost value at this byte, and its bytes.
fn value_in_table(table: &DeTable<'_>, at: usize) -> Option<(Vec<PathStep>, Range<usize>)> {
    table.iter().find_map(|(key, value)| {
        let (mut steps, bytes) = value_in_value(value, at)?;
        steps.insert(0, PathStep::Key(key.get_ref().clone().into_owned()));
        Some((steps, bytes))
    })
}

fn value_in_value(
    value: &Spanned<DeValue<'_>>,
    at: usize,
) -> Option<(Vec<PathStep>, Range<usize>)> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => value_in_table(table, at),
        DeValue::Array(items) => items.iter().find_map(|item| {
            let (mut steps, bytes) = value_in_value(item, at)?;
            steps.insert(0, PathStep::Item);
            Some((steps, bytes))
        }),
        _ => None,
    };
    // The bytes of a table with a header of its own are those of the header.
    inner.or_else(|| {
        value
            .span()
            .contains(&at)
            .then(|| (Vec::new(), value.span()))
    })
}

/// Returns the schemas of the value that the steps lead to, each without alternatives.
fn schemas_at<'a>(schema: &'a Value, steps: &[PathStep]) -> Vec<&'a Value> {
    let mut found = alternatives(schema, schema);
    for step in steps {
        let inner = found.into_iter().filter_map(|at| below(at, step));
        found = inner.flat_map(|at| alternatives(schema, at)).collect();
    }
    found
}

/// Returns the forms of the value that the steps lead to; none where there are no words among them.
fn forms_at(schema: &Value, steps: &[PathStep]) -> Option<ValueForms> {
    let forms = ValueForms::at(schema, steps);
    let has_words = !forms.words.is_empty() || forms.nests_words;
    has_words.then_some(forms)
}

/// Returns the schema behind references and alternatives, each without any.
fn alternatives<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        let target = root.pointer(pointer).filter(|_| !pointer.is_empty());
        return target.map_or_else(Vec::new, |target| alternatives(root, target));
    }
    let lists = ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key));
    let parts: Vec<&Value> = lists.filter_map(Value::as_array).flatten().collect();
    match parts.is_empty() {
        true => vec![schema],
        false => parts
            .into_iter()
            .flat_map(|part| alternatives(root, part))
            .collect(),
    }
}

/// Returns the schema of what the step leads to.
fn below<'a>(schema: &'a Value, step: &PathStep) -> Option<&'a Value> {
    match step {
        PathStep::Item => schema.get("items"),
        PathStep::Key(key) => {
            let own = schema.get("properties").and_then(Value::as_object);
            let own = own.and_then(|properties: &Map<String, Value>| properties.get(key));
            own.or_else(|| {
                schema
                    .get("additionalProperties")
                    .filter(|all| all.is_object())
            })
        }
    }
}

impl ValueForms {
    /// Collects the forms of the value that the steps lead to.
    fn at(schema: &Value, steps: &[PathStep]) -> Self {
        let mut forms = Self::default();
        for alternative in schemas_at(schema, steps) {
            forms.add(schema, alternative);
        }
        forms
    }

    /// True if one table is taken, and no list.
    fn takes_table(&self) -> bool {
        let is_table = |form: &String| form.starts_with(TABLE);
        !self.others.is_empty() && self.words.is_empty() && self.others.iter().all(is_table)
    }

    fn has(&self, form: &str) -> bool {
        self.others.iter().any(|other| other == form)
    }

    /// Adds the form of a schema without alternatives.
    fn add(&mut self, root: &Value, schema: &Value) {
        let listed = schema.get("enum").and_then(Value::as_array);
        let listed = listed.into_iter().flatten().chain(schema.get("const"));
        let words: Vec<String> = listed
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        if !words.is_empty() {
            return self.words.extend(words);
        }
        let types = match schema.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for name in types {
            let form = match name {
                "array" => self.list(root, schema),
                "integer" | "number" => "a number".to_owned(),
                "boolean" => "true or false".to_owned(),
                "object" => self.table(root, schema),
                // With a pattern it is another way to write a word.
                "string" if schema.get("pattern").is_none() => "a text".to_owned(),
                _ => continue,
            };
            if !self.others.contains(&form) {
                self.others.push(form);
            }
        }
    }
    /// Describes a list by the words of its elements.
    fn list(&mut self, root: &Value, schema: &Value) -> String {
        let mut elements = Self::default();
        let items = schema.get("items").into_iter();
        for item in items.flat_map(|items| alternatives(root, items)) {
            elements.add(root, item);
        }
        self.nests_words |= !elements.words.is_empty();
        match elements.words.as_slice() {
            [] if elements.others == [TABLE] => LIST_OF_TABLES.to_owned(),
            [] => "a list".to_owned(),
            words => format!("a list of {}", quoted(words)),
        }
    }

    /// Describes a table by the words of its values, where its keys are names.
    fn table(&mut self, root: &Value, schema: &Value) -> String {
        let values = schema
            .get("additionalProperties")
            .filter(|all| all.is_object());
        let mut elements = Self::default();
        for value in values
            .into_iter()
            .flat_map(|values| alternatives(root, values))
        {
            elements.add(root, value);
        }
        self.nests_words |= !elements.words.is_empty();
        match elements.words.as_slice() {
            [] => TABLE.to_owned(),
            _ => format!("a table with values of {elements}"),
        }
    }
}
