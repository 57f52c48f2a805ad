//! Rewrites the references of a schema to JSON pointers into the schema and removes its
//! identifiers. The validator and the cost meter then read the same references in the same way,
//! and neither leaves the schema.

use super::SchemaError;
use jsonschema::{Draft, Registry, Retrieve, Uri, uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashMap, error::Error, ptr, sync::Arc};

/// The base of the references in a schema without an absolute `$id`.
const NO_BASE: &str = "json-schema:///";

/// The maximum length of all rewritten references, in bytes: a pointer repeats the keys on its way.
const MAX_POINTERS_BYTES: usize = 256 * 1024;

/// The characters to encode in a pointer.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'~')
    .remove(b'$')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.');

/// Returns the schema with every reference as a JSON pointer into it, without identifiers.
///
/// # Errors
/// A reference leads out of the schema or depends on the path to it, or the dialect is unknown.
pub(super) fn localize(schema: &Value) -> Result<Value, SchemaError> {
    let draft = draft(schema)?;
    let mut found = References::of(schema, draft)?;
    while let Some(position) = found.open.pop() {
        found.visit(position)?;
    }
    found.refuse_dynamic()?;
    found.rewritten(schema)
}

/// Returns the draft in which a schema is written.
pub(super) fn draft(schema: &Value) -> Result<Draft, SchemaError> {
    match Draft::default().detect(schema) {
        Draft::Unknown => Err(SchemaError::Dialect(cut(dialect(schema)))),
        draft => Ok(draft),
    }
}

/// Resolves a rewritten reference.
pub(super) fn find<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?);
    root.pointer(&pointer.decode_utf8().ok()?)
}

/// A place of a schema in which a schema is expected.
struct Position<'s> {
    schema: &'s Value,
    /// The base of its references.
    base: Arc<Uri<String>>,
    /// True beside a `$ref` of draft 7 and before, where all other keywords are ignored.
    ignored: bool,
}

/// A value of the schema: its parent and its key or index there.
struct SchemaPlace<'s> {
    value: &'s Value,
    parent: Option<(*const Value, Cow<'s, str>)>,
}

/// The references and identifiers of a schema.
struct References<'s> {
    draft: Draft,
    registry: Registry<'s>,
    places: HashMap<*const Value, SchemaPlace<'s>>,
    open: Vec<Position<'s>>,
    /// The visited positions, and whether they are ignored.
    visited: HashMap<*const Value, bool>,
    /// The targets of the references at these positions.
    targets: HashMap<*const Value, *const Value>,
    /// The references by a name, which depend on the path if several targets have it.
    named: Vec<(&'s str, &'s str)>,
    /// The number of targets by their dynamic names; the empty one stands for `$recursiveAnchor`.
    dynamic: HashMap<&'s str, usize>,
}

/// Finds nothing outside the schema. What a remote reference leads to is refused later, by the name
/// of the reference.
struct NothingRemote;

impl Retrieve for NothingRemote {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Ok(Value::Bool(true))
    }
}

impl<'s> References<'s> {
    fn of(schema: &'s Value, draft: Draft) -> Result<Self, SchemaError> {
        let invalid = |error: jsonschema::ReferencingError| SchemaError::Invalid(error.into());
        let root = draft.create_resource_ref(schema);
        let base = uri::from_str(root.id().unwrap_or(NO_BASE)).map_err(invalid)?;
        let registry = Registry::new().draft(draft).retriever(NothingRemote);
        let registry = registry.add(base.as_str(), root).map_err(invalid)?;
        let mut places = HashMap::new();
        locate(schema, None, &mut places);
        Ok(Self {
            draft,
            registry: registry.prepare().map_err(invalid)?,
            places,
            open: vec![Position {
                schema,
                base: Arc::new(base),
                ignored: false,
            }],
            visited: HashMap::new(),
            targets: HashMap::new(),
            named: Vec::new(),
            dynamic: HashMap::new(),
        })
    }

    fn visit(&mut self, position: Position<'s>) -> Result<(), SchemaError> {
        let Position {
            schema,
            base,
            ignored,
        } = position;
        let Value::Object(fields) = schema else {
            return Ok(());
        };
        // A position that was ignored is visited again where a reference leads to it.
        let before = self.visited.get(&ptr::from_ref(schema));
        if before.is_some_and(|was_ignored| ignored || !was_ignored) {
            return Ok(());
        }
        self.visited.insert(ptr::from_ref(schema), ignored);
        if self.draft.detect(schema) != self.draft {
            return Err(SchemaError::Dialect(cut(dialect(schema))));
        }
        let base = match self.draft.create_resource_ref(schema).id() {
            Some(id) => {
                let resolved = self.registry.resolve_uri(&base.borrow(), id);
                resolved.map_err(|error| SchemaError::Invalid(error.into()))?
            }
            None => base,
        };
        if !ignored {
            self.name(fields);
            self.follow(schema, fields, &base)?;
        }
        let is_old = self.draft <= Draft::Draft7;
        let ignored = ignored || (is_old && fields.get("$ref").is_some_and(Value::is_string));
        for inner in self.draft.subresources_of(schema) {
            self.open.push(Position {
                schema: inner,
                base: Arc::clone(&base),
                ignored,
            });
        }
        Ok(())
    }

    /// Counts the dynamic names of a position.
    fn name(&mut self, fields: &'s Map<String, Value>) {
        if let Some(name) = fields.get("$dynamicAnchor").and_then(Value::as_str) {
            *self.dynamic.entry(name).or_default() += 1;
        }
        if fields.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
            *self.dynamic.entry("").or_default() += 1;
        }
    }

    /// Resolves the reference of a position.
    fn follow(
        &mut self,
        schema: &'s Value,
        fields: &'s Map<String, Value>,
        base: &Arc<Uri<String>>,
    ) -> Result<(), SchemaError> {
        let keywords = reference_keywords(self.draft).iter();
        let mut references = keywords.filter_map(|keyword| {
            let reference = fields.get(*keyword)?.as_str()?;
            Some((*keyword, reference))
        });
        let Some((keyword, reference)) = references.next() else {
            return Ok(());
        };
        if references.next().is_some() {
            return Err(SchemaError::DynamicReference(cut(reference)));
        }
        let resolver = self.registry.resolver(Uri::clone(base));
        let resolved = resolver.lookup(reference);
        let target = resolved.ok().and_then(|resolved| {
            let place = self.places.get(&ptr::from_ref(resolved.contents()))?;
            Some((place.value, resolved.resolver().base_uri()))
        });
        let Some((target, base)) = target else {
            return Err(SchemaError::UnresolvedReference(cut(reference)));
        };
        let name = reference.split_once('#').map_or("", |(_, name)| name);
        if keyword == "$recursiveRef" || !(name.is_empty() || name.starts_with('/')) {
            self.named.push((name, reference));
        }
        self.targets
            .insert(ptr::from_ref(schema), ptr::from_ref(target));
        self.open.push(Position {
            schema: target,
            base,
            ignored: false,
        });
        Ok(())
    }

    /// A reference to one of several targets of a dynamic name depends on the path to it.
    fn refuse_dynamic(&self) -> Result<(), SchemaError> {
        let mut named = self.named.iter();
        let several =
            named.find(|(name, _)| self.dynamic.get(name).is_some_and(|count| *count > 1));
        match several {
            Some((_, reference)) => Err(SchemaError::DynamicReference(cut(reference))),
            None => Ok(()),
        }
    }

    fn rewritten(&self, schema: &Value) -> Result<Value, SchemaError> {
        let mut left = MAX_POINTERS_BYTES;
        self.rewrite(schema, &mut left)
    }

    fn rewrite(&self, value: &Value, left: &mut usize) -> Result<Value, SchemaError> {
        let Value::Object(fields) = value else {
            let Value::Array(items) = value else {
                return Ok(value.clone());
            };
            let items = items.iter().map(|item| self.rewrite(item, left));
            return items.collect::<Result<_, _>>().map(Value::Array);
        };
        let position = self.visited.get(&ptr::from_ref(value)).copied();
        let target = self.targets.get(&ptr::from_ref(value));
        let mut written = Map::new();
        for (key, inner) in fields {
            let is_ignored = position == Some(true) && is_reference(self.draft, key);
            if is_ignored || (position.is_some() && is_identifier(self.draft, key, inner)) {
                continue;
            }
            match target {
                Some(target) if inner.is_string() && is_reference(self.draft, key) => {
                    let pointer = self.pointer(*target);
                    *left = left
                        .checked_sub(pointer.len())
                        .ok_or(SchemaError::TooLarge)?;
                    written.insert("$ref".to_owned(), Value::String(pointer));
                }
                _ => drop(written.insert(key.clone(), self.rewrite(inner, left)?)),
            }
        }
        Ok(Value::Object(written))
    }

    /// Returns the reference to a value of the schema.
    fn pointer(&self, to: *const Value) -> String {
        let mut keys = Vec::new();
        let mut place = self.places.get(&to);
        while let Some((parent, key)) = place.and_then(|place| place.parent.as_ref()) {
            keys.push(key);
            place = self.places.get(parent);
        }
        let mut pointer = String::from("#");
        for key in keys.iter().rev() {
            let key = key.replace('~', "~0").replace('/', "~1");
            pointer.push('/');
            pointer.extend(utf8_percent_encode(&key, ENCODED));
        }
        pointer
    }
}

/// Records the places of all values. The parser bounds the recursion at 128 levels.
fn locate<'s>(
    value: &'s Value,
    parent: Option<(*const Value, Cow<'s, str>)>,
    places: &mut HashMap<*const Value, SchemaPlace<'s>>,
) {
    let here = ptr::from_ref(value);
    places.insert(here, SchemaPlace { value, parent });
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                locate(item, Some((here, index.to_string().into())), places);
            }
        }
        Value::Object(fields) => {
            for (key, inner) in fields {
                locate(inner, Some((here, key.into())), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn reference_keywords(draft: Draft) -> &'static [&'static str] {
    match draft {
        Draft::Draft201909 => &["$ref", "$recursiveRef"],
        Draft::Draft202012 => &["$ref", "$dynamicRef"],
        _ => &["$ref"],
    }
}

fn is_reference(draft: Draft, key: &str) -> bool {
    reference_keywords(draft).contains(&key)
}

/// Whether a keyword names its schema or moves the base of its references.
fn is_identifier(draft: Draft, key: &str, value: &Value) -> bool {
    match key {
        "$id" | "$anchor" | "$dynamicAnchor" => value.is_string(),
        "$recursiveAnchor" => value.is_boolean(),
        "id" => draft == Draft::Draft4 && value.is_string(),
        _ => false,
    }
}

fn dialect(schema: &Value) -> &str {
    let dialect = schema.get("$schema").and_then(Value::as_str);
    dialect.unwrap_or_default()
}

/// Returns the first 80 characters, for messages.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}
