//! Explains a value that fits no choice of a `oneOf` or `anyOf`: which choices there are, which one
//! is meant, and what differs in it. The validator itself says that none fits.

use super::{MAX_MISMATCHES, references::find};
use agent_host_types::reason::Reason;
use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
    types::JsonType,
};
use serde_json::Value;
use std::slice;

/// The most choices that a message names, and the most properties that are tried as a tag.
const MAX_NAMED: usize = 20;
const MAX_TAGS: usize = 8;

/// The deepest nesting of choices that is explained.
const MAX_DEPTH: usize = 32;

/// Explains mismatches of the validator. Schemas come from untrusted components, so that the number
/// of messages and the work for each are bounded.
pub(super) struct Explainer<'s> {
    /// The whole schema.
    pub(super) source: &'s Value,
    /// The name of the whole value in messages.
    pub(super) root: &'static str,
}

impl Explainer<'_> {
    /// Returns at most [`MAX_MISMATCHES`] messages.
    pub(super) fn messages<'e>(
        &self,
        errors: impl Iterator<Item = ValidationError<'e>>,
    ) -> Vec<String> {
        let mut messages = Vec::new();
        for error in errors {
            self.explain(&error, 0, &mut messages);
            if messages.len() >= MAX_MISMATCHES {
                break;
            }
        }
        messages.truncate(MAX_MISMATCHES);
        messages
    }

    fn explain(&self, error: &ValidationError<'_>, depth: usize, messages: &mut Vec<String>) {
        let explained = match error.kind() {
            ValidationErrorKind::OneOfNotValid { context }
            | ValidationErrorKind::AnyOf { context }
                if depth < MAX_DEPTH =>
            {
                self.explain_choices(error, context, depth, messages)
            }
            _ => false,
        };
        if !explained {
            messages.push(self.at(error, &error.to_string()));
        }
    }

    /// Explains an error by the mismatches of each choice, if one of them is meant.
    fn explain_choices(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        depth: usize,
        messages: &mut Vec<String>,
    ) -> bool {
        let choices = self.choices(error);
        let mut case = None;
        let meant = match tag(&choices) {
            Some((name, values)) => match self.by_tag(error, name, &values) {
                Ok((meant, said)) => {
                    case = Some(said);
                    Some(meant)
                }
                Err(message) => {
                    messages.push(message.into());
                    return true;
                }
            },
            None => None,
        };
        let meant = meant.or_else(|| by_type(error, context));
        if let Some(errors) = meant.and_then(|index| context.get(index)) {
            let before = messages.len();
            for error in errors.iter().take(MAX_MISMATCHES) {
                self.explain(error, depth + 1, messages);
            }
            if let (Some(case), Some(first)) = (case, messages.get_mut(before)) {
                first.push_str(&case);
            }
            return !errors.is_empty();
        }
        match types(error, context) {
            Some(types) => {
                let message = format!("{} is not {}", error.instance(), listed(&types));
                messages.push(self.at(error, &message));
                true
            }
            None => false,
        }
    }

    /// Returns the schemas of the choices, without their references.
    fn choices(&self, error: &ValidationError<'_>) -> Vec<&Value> {
        let choices = self.source.pointer(error.schema_path().as_str());
        let choices = choices.and_then(Value::as_array).into_iter().flatten();
        choices.map(|choice| self.resolved(choice)).collect()
    }

    fn resolved<'v>(&'v self, schema: &'v Value) -> &'v Value {
        let mut schema = schema;
        for _ in 0..MAX_TAGS {
            let reference = schema.get("$ref").and_then(Value::as_str);
            match reference.and_then(|reference| find(self.source, reference)) {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    /// Returns the index of the choice that the tag of the value names, and says which of all it
    /// is. An error says which there are.
    fn by_tag(
        &self,
        error: &ValidationError<'_>,
        name: &str,
        values: &[Option<&Value>],
    ) -> Result<(usize, String), Reason> {
        let tags: Vec<String> = values.iter().flatten().map(ToString::to_string).collect();
        let tags = listed(&tags);
        let given = match error.instance().as_ref() {
            Value::Object(fields) => fields.get(name),
            Value::Null if values.contains(&None) => {
                return Err(self.at(error, &error.to_string()).into());
            }
            other => {
                let message = format!("{other} is not an object whose \"{name}\" is {tags}");
                return Err(self.at(error, &message).into());
            }
        };
        let Some(given) = given else {
            let message = format!("\"{name}\" is a required property; it is {tags}");
            return Err(self.at(error, &message).into());
        };
        let meant = values.iter().position(|value| *value == Some(given));
        match meant {
            Some(meant) => Ok((meant, format!(" (in the case {given} of {tags})"))),
            None => {
                let path = error.instance_path();
                Err(format!("`{path}/{name}`: {given} is not {tags}").into())
            }
        }
    }

    /// Puts the place of an error before its message.
    fn at(&self, error: &ValidationError<'_>, message: &str) -> String {
        let path = error.instance_path().to_string();
        if path.is_empty() {
            format!("{}: {message}", self.root)
        } else {
            format!("`{path}`: {message}")
        }
    }
}

/// Returns the property that tells the choices apart, with its value in each. A choice without
/// properties, such as `null`, has none.
fn tag<'v>(choices: &[&'v Value]) -> Option<(&'v str, Vec<Option<&'v Value>>)> {
    let properties = |choice: &&'v Value| choice.get("properties").and_then(Value::as_object);
    let first = choices.iter().find_map(properties)?;
    let names = first
        .iter()
        .filter(|(_, schema)| only_value(schema).is_some());
    names.take(MAX_TAGS).find_map(|(name, _)| {
        let value = |choice: &&'v Value| match properties(choice) {
            Some(properties) => properties.get(name).and_then(only_value).map(Some),
            None => Some(None),
        };
        let values: Option<Vec<Option<&Value>>> = choices.iter().map(value).collect();
        let values = values?;
        (values.iter().flatten().count() > 1).then_some((name.as_str(), values))
    })
}

/// Returns the only value that fits a schema, if it says so.
fn only_value(schema: &Value) -> Option<&Value> {
    let options = match schema.get("const") {
        Some(value) => slice::from_ref(value),
        None => schema.get("enum")?.as_array()?,
    };
    match options {
        [only] => Some(only),
        _ => None,
    }
}

/// Returns the index of the only choice whose type is that of the value.
fn by_type(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
) -> Option<usize> {
    let fits = |errors: &&Vec<ValidationError<'static>>| {
        !errors.iter().any(|inner| {
            let is_own = inner.instance_path() == error.instance_path();
            is_own
                && matches!(
                    inner.kind(),
                    ValidationErrorKind::Type { .. }
                        | ValidationErrorKind::Enum { .. }
                        | ValidationErrorKind::Constant { .. }
                )
        })
    };
    let mut fitting = context
        .iter()
        .enumerate()
        .filter(|(_, errors)| fits(errors));
    match (fitting.next(), fitting.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    }
}

/// Returns the types and values that fit a value, if each choice is of other ones.
fn types(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for errors in context {
        let own = errors
            .iter()
            .filter(|inner| inner.instance_path() == error.instance_path());
        let mut own = own.filter_map(|inner| match inner.kind() {
            ValidationErrorKind::Type { kind } => Some(match kind {
                TypeKind::Single(kind) => vec![described(*kind)],
                TypeKind::Multiple(kinds) => kinds.iter().map(described).collect(),
            }),
            ValidationErrorKind::Constant { expected_value } => {
                Some(vec![expected_value.to_string()])
            }
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().into_iter().flatten();
                Some(options.map(ToString::to_string).collect())
            }
            _ => None,
        });
        for name in own.next()? {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        if found.len() > MAX_NAMED {
            break;
        }
    }
    (!found.is_empty()).then_some(found)
}

fn described(kind: JsonType) -> String {
    match kind {
        JsonType::Null => "null".to_owned(),
        JsonType::Array | JsonType::Integer | JsonType::Object => format!("an {kind}"),
        JsonType::Boolean | JsonType::Number | JsonType::String => format!("a {kind}"),
    }
}

/// Lists alternatives: `a, b or c`. Those beyond the bound are counted.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] if items.len() <= MAX_NAMED => {
            format!("{} or {last}", rest.join(", "))
        }
        items => {
            let named = items.get(..MAX_NAMED).unwrap_or_default().join(", ");
            format!("{named} or {} others", items.len() - MAX_NAMED)
        }
    }
}
