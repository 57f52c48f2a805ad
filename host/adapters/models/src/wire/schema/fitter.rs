//! Rewrites a schema in a dialect. References are put in place; a recursive one is cut. The result
//! is bounded in depth, schemas and bytes, and so is the work.

use super::{
    arguments::{ArgumentMap, RenamedProperties},
    bounded::{quoted, size},
    finish::finish,
    merge::{describe, merge},
    names::PropertyNames,
    read::{is_valid, required_alone, resolve, types, value_of},
    rules::{KEYWORDS, Keyword, KeywordForm, NOT_AT_ROOT, SchemaDialect},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The deepest nesting of schemas.
const MAX_DEPTH: usize = 24;

/// The most schemas in the result.
const MAX_SCHEMAS: usize = 5_000;

/// The most bytes of the parts that are copied into the result.
const MAX_BYTES: usize = 512 * 1024;

/// The most parts of a union that are said in a sentence.
const MAX_PRESENCE_LISTS: usize = 64;

const TOO_LARGE: &str = "The schema is too large to be shown whole; a part is left out here.";
const ELSEWHERE: &str = "Any value; its schema is not available.";

/// A schema in the dialect.
#[derive(Default)]
struct Fitted {
    schema: Map<String, Value>,
    names: RenamedProperties,
}

impl Fitted {
    fn described(text: &str) -> Self {
        let mut fitted = Self::default();
        describe(&mut fitted.schema, text);
        fitted
    }
}

/// Fits one schema.
pub(super) struct Fitter<'a> {
    dialect: SchemaDialect,
    root: &'a Value,
    /// The schemas that are being put in place of references, and the root.
    unfolding: Vec<&'a Value>,
    schemas_left: usize,
    bytes_left: usize,
    names: PropertyNames<'a>,
}

impl<'a> Fitter<'a> {
    /// Prepares to fit a schema.
    pub(super) fn new(dialect: SchemaDialect, root: &'a Value) -> Self {
        Self {
            dialect,
            root,
            unfolding: vec![root],
            schemas_left: MAX_SCHEMAS,
            bytes_left: MAX_BYTES,
            names: PropertyNames::new(dialect, root),
        }
    }

    /// Fits the whole schema. Its root becomes an object with properties; one that is a union
    /// becomes the only property of another.
    pub(super) fn root(mut self) -> (Value, ArgumentMap) {
        let Fitted { mut schema, names } = self.schema(self.root, 0);
        let unions = ["anyOf", "oneOf", "allOf", "enum", "const"];
        let mut wrapper = None;
        if unions.iter().any(|keyword| schema.contains_key(*keyword)) {
            let name = self.names.unused("arguments");
            schema = Map::from_iter([
                ("required".to_owned(), json!([name])),
                ("properties".to_owned(), json!({&name: schema})),
            ]);
            wrapper = Some(name);
        }
        for keyword in KEYWORDS
            .iter()
            .filter(|keyword| NOT_AT_ROOT.contains(&keyword.name))
        {
            if let Some(value) = schema.remove(keyword.name) {
                describe(&mut schema, &sentence(keyword, &value));
            }
        }
        schema.insert("type".to_owned(), json!("object"));
        if !schema.get("properties").is_some_and(Value::is_object) {
            schema.insert("properties".to_owned(), json!({}));
        }
        (Value::Object(schema), ArgumentMap { wrapper, names })
    }

    fn schema(&mut self, schema: &'a Value, depth: usize) -> Fitted {
        let Some(left) = self
            .schemas_left
            .checked_sub(1)
            .filter(|_| depth <= MAX_DEPTH)
        else {
            return Fitted::described(TOO_LARGE);
        };
        self.schemas_left = left;
        match schema {
            Value::Object(schema) => self.object(schema, depth),
            Value::Bool(false) => Fitted::described("No value is allowed here."),
            _ => Fitted::default(),
        }
    }

    fn object(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Fitted {
        let mut fitted = Fitted::default();
        let mut sentences = Vec::new();
        let types = types(schema);
        match types.as_slice() {
            [] => {}
            [one] => drop(fitted.schema.insert("type".to_owned(), json!(one))),
            several => drop(fitted.schema.insert("type".to_owned(), json!(several))),
        }
        if let Some(text @ Value::String(_)) = schema.get("description") {
            self.copy("description", text, &mut fitted, &mut sentences);
        }
        for keyword in &KEYWORDS {
            let Some(value) = value_of(schema, keyword.name) else {
                continue;
            };
            if !is_valid(keyword.form, value) || keyword.is_idle(&types) {
                continue;
            }
            if let Some(text) = self.presence(keyword, value, depth) {
                sentences.push(text);
            } else if keyword.name == "oneOf" && !self.dialect.is_full() {
                self.keep(keyword, "anyOf", value, depth, &mut fitted, &mut sentences);
            } else if keyword.is_kept(self.dialect, value, &types) {
                self.keep(
                    keyword,
                    keyword.name,
                    value,
                    depth,
                    &mut fitted,
                    &mut sentences,
                );
            } else if !(keyword.name == "additionalProperties" && value.is_boolean()) {
                sentences.push(sentence(keyword, value));
            }
        }
        if let Some(value) = schema.get("const") {
            self.copy("const", value, &mut fitted, &mut sentences);
            if !self.dialect.is_full()
                && let Some(value) = fitted.schema.remove("const")
            {
                fitted.schema.insert("enum".to_owned(), json!([value]));
            }
        }
        let parts = schema.get("allOf").and_then(Value::as_array);
        self.intersection(parts, depth, &mut fitted, &mut sentences);
        if let Some(reference) = schema.get("$ref").or(schema.get("$dynamicRef")) {
            let target = self.reference(reference, depth);
            let left = &mut self.bytes_left;
            merge(self.dialect, &mut fitted.schema, target.schema, left);
            fitted.names.merge(target.names);
        }
        for sentence in sentences {
            if !sentence.is_empty() && self.bytes_left >= sentence.len() {
                self.bytes_left -= sentence.len();
                describe(&mut fitted.schema, &sentence);
            }
        }
        finish(self.dialect, &mut fitted.schema, &mut self.bytes_left);
        fitted
    }

    /// Adds a keyword that the dialect accepts.
    fn keep(
        &mut self,
        keyword: &Keyword,
        name: &str,
        value: &'a Value,
        depth: usize,
        fitted: &mut Fitted,
        sentences: &mut Vec<String>,
    ) {
        let kept = match (keyword.form, value) {
            (KeywordForm::Schema, value) => {
                let inner = self.schema(value, depth + 1);
                fitted.place(name, inner.names);
                // Dialects differ about schemas that are booleans, except for this one.
                match (name, value) {
                    ("additionalProperties" | "unevaluatedProperties", Value::Bool(_)) => {
                        value.clone()
                    }
                    _ => Value::Object(inner.schema),
                }
            }
            (KeywordForm::Schemas, Value::Array(list)) => {
                let mut parts = match fitted.schema.remove(name) {
                    Some(Value::Array(parts)) => parts,
                    _ => Vec::new(),
                };
                for part in list {
                    if self.is_exhausted(sentences) {
                        break;
                    }
                    let inner = self.schema(part, depth + 1);
                    fitted.place(name, inner.names);
                    parts.push(Value::Object(inner.schema));
                }
                Value::Array(parts)
            }
            (
                KeywordForm::PropertySchemas | KeywordForm::PatternSchemas,
                Value::Object(schemas),
            ) => self.properties(keyword, schemas, depth, fitted, sentences),
            (KeywordForm::Names, Value::Array(names)) => self.names(names, sentences),
            (KeywordForm::NameLists, Value::Object(lists)) => {
                let mut kept = Map::new();
                for (name, list) in lists {
                    if !self.spend(name.len(), sentences) {
                        break;
                    }
                    if let Value::Array(names) = list {
                        let names = self.names(names, sentences);
                        kept.insert(self.names.shown(name), names);
                    }
                }
                Value::Object(kept)
            }
            (_, value) => return self.copy(name, value, fitted, sentences),
        };
        fitted.schema.insert(name.to_owned(), kept);
    }

    fn properties(
        &mut self,
        keyword: &Keyword,
        schemas: &'a Map<String, Value>,
        depth: usize,
        fitted: &mut Fitted,
        sentences: &mut Vec<String>,
    ) -> Value {
        let mut kept = Map::new();
        for (name, schema) in schemas {
            if self.is_exhausted(sentences) || !self.spend(name.len(), sentences) {
                break;
            }
            let mut inner = self.schema(schema, depth + 1);
            if keyword.form == KeywordForm::PatternSchemas {
                fitted.place("additionalProperties", inner.names);
                kept.insert(name.clone(), Value::Object(inner.schema));
                continue;
            }
            let shown = self.names.shown(name);
            if shown != *name {
                let own = quoted(&json!(name));
                describe(
                    &mut inner.schema,
                    &format!("The tool's name for it: {own}."),
                );
                fitted.names.renamed.insert(shown.clone(), name.clone());
            }
            if keyword.name == "dependentSchemas" {
                fitted.names.merge(inner.names);
            } else if !inner.names.is_empty() {
                let names = fitted.names.properties.entry(name.clone()).or_default();
                names.merge(inner.names);
            }
            kept.insert(shown, Value::Object(inner.schema));
        }
        Value::Object(kept)
    }

    fn names(&mut self, names: &[Value], sentences: &mut Vec<String>) -> Value {
        let mut kept: Vec<Value> = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names {
            let name = name.as_str();
            if !self.spend(name.map_or(0, str::len), sentences) {
                break;
            }
            let new = name.filter(|name| seen.insert(*name));
            kept.extend(new.map(|name| json!(self.names.shown(name))));
        }
        Value::Array(kept)
    }

    /// Adds the parts of an `allOf`. Below the root they stay a list where the dialect has one.
    fn intersection(
        &mut self,
        parts: Option<&'a Vec<Value>>,
        depth: usize,
        fitted: &mut Fitted,
        sentences: &mut Vec<String>,
    ) {
        let mut list = Vec::new();
        for part in parts.into_iter().flatten() {
            if self.is_exhausted(sentences) {
                break;
            }
            let inner = self.schema(part, depth + 1);
            fitted.names.merge(inner.names);
            if depth == 0 || !self.dialect.is_full() {
                let left = &mut self.bytes_left;
                merge(self.dialect, &mut fitted.schema, inner.schema, left);
            } else {
                list.push(Value::Object(inner.schema));
            }
        }
        if !list.is_empty() {
            fitted.schema.insert("allOf".to_owned(), Value::Array(list));
        }
    }

    /// Returns the schema that a reference stands for.
    fn reference(&mut self, reference: &'a Value, depth: usize) -> Fitted {
        let text = reference.as_str().unwrap_or_default();
        let Some(target) = resolve(self.root, text) else {
            return Fitted::described(ELSEWHERE);
        };
        if self
            .unfolding
            .iter()
            .any(|open| std::ptr::eq(*open, target))
        {
            let name = text.rsplit('/').next().unwrap_or_default();
            let name = if name == "#" {
                json!("the arguments")
            } else {
                json!(name)
            };
            let mut cut = Fitted::described(&format!(
                "A value of the same form as {}, which contains itself; its schema is given above.",
                quoted(&name)
            ));
            if let [of] = target.as_object().map(types).unwrap_or_default().as_slice() {
                cut.schema.insert("type".to_owned(), json!(of));
            }
            finish(self.dialect, &mut cut.schema, &mut self.bytes_left);
            return cut;
        }
        self.unfolding.push(target);
        let fitted = self.schema(target, depth + 1);
        self.unfolding.pop();
        fitted
    }

    /// Returns the sentence in place of a union that only says which properties must be there; no
    /// root can have it, and a schema without a type is refused by Gemini.
    fn presence(&self, keyword: &Keyword, value: &Value, depth: usize) -> Option<String> {
        let applies = depth == 0 || !self.dialect.is_full();
        if !applies || !matches!(keyword.name, "anyOf" | "oneOf") {
            return None;
        }
        let list = value.as_array()?;
        let list = list.as_slice();
        let list = (list.len() <= MAX_PRESENCE_LISTS).then_some(list)?;
        let lists: Option<Vec<&Value>> = list.iter().map(required_alone).collect();
        let lists = quoted(&lists?);
        let count = if keyword.name == "anyOf" {
            "at least"
        } else {
            "exactly"
        };
        Some(format!(
            "Must have all properties of {count} one of these lists: {lists}."
        ))
    }

    /// Copies a value, or says it if it is too large.
    fn copy(
        &mut self,
        name: &str,
        value: &Value,
        fitted: &mut Fitted,
        sentences: &mut Vec<String>,
    ) {
        match size(value, self.bytes_left) {
            Some(size) => {
                self.bytes_left -= size;
                fitted.schema.insert(name.to_owned(), value.clone());
            }
            None => {
                // Counting in vain costs too.
                self.bytes_left /= 2;
                sentences.push(format!("{name}: {}", quoted(value)));
            }
        }
    }

    fn spend(&mut self, bytes: usize, sentences: &mut Vec<String>) -> bool {
        let left = self.bytes_left.checked_sub(bytes + 1);
        match left {
            Some(left) => self.bytes_left = left,
            None => too_large(sentences),
        }
        left.is_some()
    }

    fn is_exhausted(&self, sentences: &mut Vec<String>) -> bool {
        let is_exhausted = self.schemas_left == 0;
        if is_exhausted {
            too_large(sentences);
        }
        is_exhausted
    }
}

impl Fitted {
    /// Adds the names in the schema of a keyword where its values are.
    fn place(&mut self, keyword: &str, names: RenamedProperties) {
        if names.is_empty() {
            return;
        }
        let place = match keyword {
            "items" | "prefixItems" | "contains" | "unevaluatedItems" => {
                self.names.items.get_or_insert_default()
            }
            "additionalProperties" | "unevaluatedProperties" => {
                self.names.others.get_or_insert_default()
            }
            _ => return self.names.merge(names),
        };
        place.merge(names);
    }
}

fn too_large(sentences: &mut Vec<String>) {
    if sentences.iter().all(|sentence| sentence != TOO_LARGE) {
        sentences.push(TOO_LARGE.to_owned());
    }
}

fn sentence(keyword: &Keyword, value: &Value) -> String {
    match (keyword.form, keyword.sentence) {
        (_, "") => String::new(),
        (KeywordForm::Flag, sentence) => sentence.to_owned(),
        (_, sentence) => sentence.replace("{}", &quoted(value)),
    }
}
