//! The shared state: what nodes write to the keys of `reduce`, and the reducers. A node writes a
//! key by an artifact of that name, or by a key of its JSON result. Values are combined in the
//! order of node ids, and within a node of its items, whatever the order in which nodes settled.

use super::{Phase, Run};
use crate::{definition::Reducer, value::select, workflow::NodeIndex};
use agent_host_types::{
    json::JsonText,
    output::ToolResultOutput,
    workflow::{Artifact, NodeFailure, NodeOutput},
};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// A value for a key.
pub(super) type Write = (String, JsonText);

/// Returns what a successful output writes. A value that its reducer cannot combine makes it a
/// failure.
pub(super) fn writes(reduce: &BTreeMap<String, Reducer>, output: &mut NodeOutput) -> Vec<Write> {
    let mut writes = Vec::new();
    if !output.is_success() {
        return writes;
    }
    for (key, &reducer) in reduce {
        let Some(value) = written(output, key) else {
            continue;
        };
        if !fits(reducer, &value) {
            let (name, needs) = match reducer {
                Reducer::Merge => ("merge", "an object"),
                Reducer::Sum | Reducer::Append | Reducer::Replace => ("sum", "a number"),
            };
            let message = format!(
                "the value of `{key}` is not {needs}, which `reduce = {{ {key} = \"{name}\" }}` needs"
            );
            output.error = Some(NodeFailure::new("invalid-state", message));
            return Vec::new();
        }
        writes.push((key.clone(), value));
    }
    writes
}

fn written(output: &NodeOutput, key: &str) -> Option<JsonText> {
    match output.artifacts.get(key) {
        Some(Artifact::Value(json)) => return Some(json.clone()),
        Some(Artifact::Reference(reference)) => {
            let text = serde_json::to_string(reference).ok()?;
            return JsonText::parse(&text).ok();
        }
        None => {}
    }
    match &output.output {
        Some(ToolResultOutput::Json(json)) if json.is_object() => {
            select(json.as_str(), &[key.to_owned()])
        }
        _ => None,
    }
}

fn fits(reducer: Reducer, value: &JsonText) -> bool {
    match reducer {
        Reducer::Append | Reducer::Replace => true,
        Reducer::Merge => value.is_object(),
        Reducer::Sum => serde_json::from_str::<Number>(value.as_str()).is_ok(),
    }
}

/// Combines the values of a key; `None` for no values.
pub(super) fn reduce<'a>(
    reducer: Reducer,
    values: impl Iterator<Item = &'a JsonText>,
) -> Option<Value> {
    let mut values = values.peekable();
    values.peek()?;
    Some(match reducer {
        Reducer::Replace => values.last().map(JsonText::to_value).unwrap_or_default(),
        Reducer::Append => {
            let mut list = Vec::new();
            for value in values {
                match value.to_value() {
                    Value::Array(mut items) => list.append(&mut items),
                    other => list.push(other),
                }
            }
            Value::Array(list)
        }
        Reducer::Merge => {
            let mut merged = Map::new();
            for value in values {
                if let Value::Object(object) = value.to_value() {
                    merge(&mut merged, object);
                }
            }
            Value::Object(merged)
        }
        Reducer::Sum => sum(values),
    })
}

/// Merges deeply; the right one wins. Recurses as deep as JSON is parsed.
fn merge(left: &mut Map<String, Value>, right: Map<String, Value>) {
    for (key, value) in right {
        match (left.get_mut(&key), value) {
            (Some(Value::Object(left)), Value::Object(right)) => merge(left, right),
            (_, value) => {
                left.insert(key, value);
            }
        }
    }
}

/// Adds numbers; exactly, while all are integers of 64 bits.
fn sum<'a>(values: impl Iterator<Item = &'a JsonText>) -> Value {
    let (mut exact, mut rounded) = (Some(0_i64), 0.0_f64);
    for value in values {
        let Ok(number) = serde_json::from_str::<Number>(value.as_str()) else {
            continue;
        };
        exact = exact.and_then(|sum| sum.checked_add(number.as_i64()?));
        rounded += number.as_f64().unwrap_or_default();
    }
    exact.map_or_else(|| Value::from(rounded), Value::from)
}

impl Run {
    /// Returns the values of a key, of some nodes in the order of their ids.
    pub(super) fn values_of<'a>(
        &'a self,
        key: &'a str,
        nodes: impl Iterator<Item = NodeIndex> + 'a,
    ) -> impl Iterator<Item = &'a JsonText> + 'a {
        let writes = nodes.filter_map(|node| match &self.record(node)?.phase {
            Phase::Settled { writes, .. } => Some(writes),
            Phase::Pending | Phase::Active(_) | Phase::Skipped => None,
        });
        let of_key = writes.flatten().filter(move |(name, _)| name == key);
        of_key.map(|(_, value)| value)
    }

    /// Returns the shared state as the nodes that settled left it.
    #[must_use]
    pub fn state(&self) -> Map<String, Value> {
        let count = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        let keys = self.workflow.definition.reduce.iter();
        let entries = keys.filter_map(|(key, &reducer)| {
            let value = reduce(reducer, self.values_of(key, 0..count))?;
            Some((key.clone(), value))
        });
        entries.collect()
    }
}
