//! What checking a value against a schema can cost at most, found out by walking through both without comparing anything. The
//! validator itself has no such bound: a schema of bounded size and a value of bounded size multiply.

use super::unfold::find;
use serde_json::{Map, Value};

/// How many steps one check may take. A step costs the validator some ten nanoseconds.
const MAX_STEPS: u64 = 2_000_000;

/// How deep a check may go, schemas within schemas and values within values together. The validator recurses as deep.
const MAX_DEPTH: usize = 256;

/// How much text is looked at in one step, in bytes.
const TEXT_STEP_BYTES: usize = 8;

/// A check would go too deep, or take too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooMuch;

/// Adds up the steps of one check.
pub(super) struct Meter<'s> {
    root: &'s Value,
    left: u64,
}

impl<'s> Meter<'s> {
    /// For a check against this whole schema.
    pub(super) fn new(root: &'s Value) -> Self {
        Self {
            root,
            left: MAX_STEPS,
        }
    }

    /// Whether the check is so small that every fault may be looked for: each one that is found costs a hundred steps.
    pub(super) fn is_small(&self) -> bool {
        MAX_STEPS - self.left <= MAX_STEPS / 100
    }

    /// Walks through a schema and a value.
    pub(super) fn walk(
        &mut self,
        schema: &Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooMuch> {
        if depth > MAX_DEPTH {
            return Err(TooMuch);
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

    fn spend(&mut self, steps: usize) -> Result<(), TooMuch> {
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Keywords that hold for the value itself.
    fn in_place(
        &mut self,
        keyword: &str,
        of: &Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooMuch> {
        match (keyword, of) {
            ("$ref", Value::String(reference)) => match find(self.root, reference) {
                Some(target) => self.walk(target, value, depth),
                None => Ok(()),
            },
            ("not" | "if" | "then" | "else", of) => self.walk(of, value, depth),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                all.iter().try_for_each(|of| self.walk(of, value, depth))
            }
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                all.values().try_for_each(|of| self.walk(of, value, depth))
            }
            ("enum", Value::Array(all)) => self.spend(all.len()),
            ("required", Value::Array(all)) => self.spend(all.len()),
            _ => Ok(()),
        }
    }

    /// Keywords that hold for the fields of an object.
    fn fields(
        &mut self,
        keyword: &str,
        of: &Value,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), TooMuch> {
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

    /// Keywords that hold for the items of a list.
    fn items(
        &mut self,
        keyword: &str,
        of: &Value,
        items: &[Value],
        depth: usize,
    ) -> Result<(), TooMuch> {
        match (keyword, of) {
            ("prefixItems" | "items", Value::Array(all)) => all
                .iter()
                .zip(items)
                .try_for_each(|(of, value)| self.walk(of, value, depth)),
            ("items" | "additionalItems" | "contains" | "unevaluatedItems", of) => items
                .iter()
                .try_for_each(|value| self.walk(of, value, depth)),
            // The validator hashes every item whole.
            ("uniqueItems", _) => items.iter().try_for_each(|item| self.whole(item, depth)),
            _ => Ok(()),
        }
    }

    /// Keywords that look at every character.
    fn text(&mut self, keyword: &str, text: &str) -> Result<(), TooMuch> {
        match keyword {
            "pattern" | "format" | "minLength" | "maxLength" | "contentEncoding"
            | "contentMediaType" => self.spend(text.len() / TEXT_STEP_BYTES),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, value: &Value, depth: usize) -> Result<(), TooMuch> {
        if depth > MAX_DEPTH {
            return Err(TooMuch);
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
