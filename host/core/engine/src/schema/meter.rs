//! An upper bound for the cost of checking a value against a schema, counted by walking through
//! both without comparing anything. The validator has no such bound: the sizes of schema and value
//! multiply.

use super::references::find;
use jsonschema::Draft;
use serde_json::{Map, Value};
use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, Hash as _, Hasher, RandomState},
    ptr,
};

/// The most steps of one check. A step costs the validator about ten nanoseconds.
const MAX_STEPS: u64 = 2_000_000;

/// The most steps of applying a schema to a value without parts, counted once for each part of the
/// schema and each path of references to it. The compiler of `unevaluatedProperties` takes as many
/// and keeps memory for each.
pub(super) const MAX_UNFOLDED: u64 = 50_000;

/// The deepest recursion of a check, counting nested schemas and nested values. The validator
/// recurses as deep.
const MAX_DEPTH: usize = 256;

/// The text that counts as one step, in bytes.
const TEXT_STEP_BYTES: usize = 8;

/// A check would exceed [`MAX_DEPTH`] or [`MAX_STEPS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OverBudget;

/// Counts the steps of one check.
pub(super) struct CostMeter<'s> {
    root: &'s Value,
    left: u64,
    /// The steps in `anyOf` and `oneOf`, counted once for each level of them. A mismatch in them
    /// keeps the mismatches of every choice, each with its path.
    in_choices: u64,
}

impl<'s> CostMeter<'s> {
    /// Creates a meter for checks against the whole schema `root`.
    pub(super) fn new(root: &'s Value) -> Self {
        Self {
            root,
            left: MAX_STEPS,
            in_choices: 0,
        }
    }

    /// Bounds a schema as such: the references that are followed without a step into the value lead
    /// neither back to themselves nor to too many schemas. 30 definitions that each refer to the
    /// next one twice are a billion checks of one value, in a schema of 2 KB.
    pub(super) fn check_unfolded(root: &'s Value, draft: Draft) -> Result<(), OverBudget> {
        let mut meter = Self {
            root,
            left: MAX_UNFOLDED,
            in_choices: 0,
        };
        let mut visited = HashSet::new();
        let mut open = vec![root];
        while let Some(schema) = open.pop() {
            if !visited.insert(ptr::from_ref(schema)) {
                continue;
            }
            meter.walk(schema, &Value::Null, 0)?;
            open.extend(draft.subresources_of(schema));
            let reference = schema.get("$ref").and_then(Value::as_str);
            open.extend(reference.and_then(|reference| find(root, reference)));
        }
        Ok(())
    }

    /// Whether the check is cheap enough to collect every mismatch: each one costs about a hundred
    /// steps.
    pub(super) fn is_small(&self) -> bool {
        MAX_STEPS - self.left <= MAX_STEPS / 100
    }

    /// Whether the first mismatch can be named in bounded time and memory.
    pub(super) fn can_name_mismatch(&self) -> bool {
        self.in_choices <= MAX_STEPS / 4
    }

    /// Adds the cost of checking `value` against `schema`.
    pub(super) fn walk(
        &mut self,
        schema: &Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), OverBudget> {
        if depth > MAX_DEPTH {
            return Err(OverBudget);
        }
        self.spend(1)?;
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        for (keyword, of) in keywords {
            self.spend(1)?;
            self.in_place(keyword, of, value, depth + 1)?;
            match value {
                Value::Object(fields) => self.fields(keyword, of, fields, depth + 1)?,
                Value::Array(items) => self.items(keyword, of, items, depth + 1)?,
                Value::String(text) => self.text(keyword, text)?,
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        Ok(())
    }

    fn spend(&mut self, steps: usize) -> Result<(), OverBudget> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(steps).ok_or(OverBudget)?;
        Ok(())
    }

    /// Adds keywords that apply to the value itself.
    fn in_place(
        &mut self,
        keyword: &str,
        of: &Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), OverBudget> {
        match (keyword, of) {
            ("$ref", Value::String(reference)) => match find(self.root, reference) {
                Some(target) => self.walk(target, value, depth),
                None => Ok(()),
            },
            ("not" | "if" | "then" | "else", of) => self.walk(of, value, depth),
            ("allOf", Value::Array(all)) => {
                all.iter().try_for_each(|of| self.walk(of, value, depth))
            }
            ("anyOf" | "oneOf", Value::Array(all)) => {
                let before = self.left;
                let walked = all.iter().try_for_each(|of| self.walk(of, value, depth));
                self.in_choices = self.in_choices.saturating_add(before - self.left);
                walked
            }
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                all.values().try_for_each(|of| self.walk(of, value, depth))
            }
            ("enum", Value::Array(all)) => self.spend(all.len()),
            ("required", Value::Array(all)) => self.spend(all.len()),
            _ => Ok(()),
        }
    }

    /// Adds keywords that apply to the fields of an object.
    fn fields(
        &mut self,
        keyword: &str,
        of: &Value,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), OverBudget> {
        match (keyword, of) {
            ("properties", Value::Object(all)) => {
                for (name, of) in all {
                    self.spend(1)?;
                    if let Some(value) = fields.get(name) {
                        self.walk(of, value, depth)?;
                    }
                }
            }
            ("patternProperties", Value::Object(all)) => {
                for of in all.values() {
                    for (name, value) in fields {
                        self.spend(1 + name.len() / TEXT_STEP_BYTES)?;
                        self.walk(of, value, depth)?;
                    }
                }
            }
            ("propertyNames", of) => {
                for name in fields.keys() {
                    self.walk(of, &Value::String(name.clone()), depth)?;
                }
            }
            ("additionalProperties" | "unevaluatedProperties", of) => {
                for value in fields.values() {
                    self.walk(of, value, depth)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds keywords that apply to the items of an array.
    fn items(
        &mut self,
        keyword: &str,
        of: &Value,
        items: &[Value],
        depth: usize,
    ) -> Result<(), OverBudget> {
        match (keyword, of) {
            ("prefixItems" | "items", Value::Array(all)) => all
                .iter()
                .zip(items)
                .try_for_each(|(of, value)| self.walk(of, value, depth)),
            ("items" | "additionalItems" | "contains" | "unevaluatedItems", of) => items
                .iter()
                .try_for_each(|value| self.walk(of, value, depth)),
            ("uniqueItems", _) => self.unique(items, depth),
            _ => Ok(()),
        }
    }

    /// Adds a comparison of items with each other. The validator (jsonschema 0.61) finds equal ones by
    /// a hash of the scalars in them, and compares those with the same one: `[]`, `[[]]` and so on,
    /// each with all before it. It stops at the first that is equal to another.
    fn unique(&mut self, items: &[Value], depth: usize) -> Result<(), OverBudget> {
        let hasher = RandomState::new();
        let (mut seen, mut groups) = (HashSet::new(), HashMap::<u64, usize>::new());
        for item in items {
            let before = self.left;
            self.whole(item, depth)?;
            if !seen.insert(hasher.hash_one(item)) {
                return Ok(());
            }
            let steps = usize::try_from(before - self.left).unwrap_or(usize::MAX);
            let mut scalars = hasher.build_hasher();
            hash_scalars(item, &mut scalars);
            let group = groups.entry(scalars.finish()).or_default();
            self.spend(steps.saturating_mul(*group))?;
            *group += 1;
        }
        Ok(())
    }

    /// Adds keywords that read every character.
    fn text(&mut self, keyword: &str, text: &str) -> Result<(), OverBudget> {
        match keyword {
            "pattern" | "format" | "minLength" | "maxLength" | "contentEncoding"
            | "contentMediaType" => self.spend(text.len() / TEXT_STEP_BYTES),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, value: &Value, depth: usize) -> Result<(), OverBudget> {
        if depth > MAX_DEPTH {
            return Err(OverBudget);
        }
        self.spend(1)?;
        match value {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.whole(item, depth + 1)),
            Value::Object(fields) => fields
                .values()
                .try_for_each(|value| self.whole(value, depth + 1)),
            Value::String(text) => self.spend(text.len() / TEXT_STEP_BYTES),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}

/// Hashes the names and scalars of a value, and nothing of how they are nested; numbers as the
/// validator does, to which integers beyond 2^53 may look alike. The caller bounds the depth.
fn hash_scalars(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(value) => value.hash(hasher),
        Value::Number(number) => number.as_f64().map(f64::to_bits).hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => items.iter().for_each(|item| hash_scalars(item, hasher)),
        Value::Object(fields) => {
            for (name, value) in fields {
                name.hash(hasher);
                hash_scalars(value, hasher);
            }
        }
    }
}
