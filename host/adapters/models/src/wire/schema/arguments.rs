//! Converts the arguments of a tool between its own schema and the schema that the model sees.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The differences between a tool's arguments and those that the model writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ArgumentMap {
    /// The only property of the arguments that the model writes: the tool's arguments.
    pub(super) wrapper: Option<String>,
    /// The renamed properties.
    pub(super) names: RenamedProperties,
}

/// The renamed properties of a value and of the values in it; empty where no name differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RenamedProperties {
    /// The tool's names, by the names that the model sees.
    pub(super) renamed: BTreeMap<String, String>,
    /// By the tool's name of a property: the names in its value.
    pub(super) properties: BTreeMap<String, RenamedProperties>,
    /// The names in the values of all other properties.
    pub(super) others: Option<Box<RenamedProperties>>,
    /// The names in the items of a list.
    pub(super) items: Option<Box<RenamedProperties>>,
}

/// The direction of a conversion.
#[derive(Clone, Copy)]
enum To {
    Tool,
    Model,
}

impl ArgumentMap {
    /// True if both sides have the same arguments.
    pub(in crate::wire) fn is_identity(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the tool's arguments. Arguments that are not wrapped, although the schema says so,
    /// are taken as the tool's.
    pub(super) fn for_tool(&self, mut written: Map<String, Value>) -> Map<String, Value> {
        if let Some(wrapper) = &self.wrapper
            && written.len() == 1
            && let Some(Value::Object(inner)) = written.get_mut(wrapper)
        {
            written = std::mem::take(inner);
        }
        self.names.convert_object(written, To::Tool)
    }

    /// Returns the arguments as the model writes them.
    pub(super) fn for_model(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let arguments = self.names.convert_object(arguments, To::Model);
        match &self.wrapper {
            Some(wrapper) => Map::from_iter([(wrapper.clone(), Value::Object(arguments))]),
            None => arguments,
        }
    }
}

impl RenamedProperties {
    /// True if no name differs.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the names of a schema for the same value.
    pub(super) fn merge(&mut self, other: Self) {
        self.renamed.extend(other.renamed);
        for (property, names) in other.properties {
            self.properties.entry(property).or_default().merge(names);
        }
        for (mine, its) in [
            (&mut self.others, other.others),
            (&mut self.items, other.items),
        ] {
            if let Some(its) = its {
                mine.get_or_insert_default().merge(*its);
            }
        }
    }

    fn convert(&self, value: Value, to: To) -> Value {
        if self.is_empty() {
            return value;
        }
        match (value, &self.items) {
            (Value::Object(object), _) => Value::Object(self.convert_object(object, to)),
            (Value::Array(list), Some(items)) => {
                let list = list.into_iter().map(|value| items.convert(value, to));
                Value::Array(list.collect())
            }
            (value, _) => value,
        }
    }

    fn convert_object(&self, object: Map<String, Value>, to: To) -> Map<String, Value> {
        if self.is_empty() {
            return object;
        }
        let convert = |(name, value): (String, Value)| {
            let (tool_name, name) = match to {
                To::Tool => {
                    let name = self.renamed.get(&name).cloned().unwrap_or(name);
                    (name.clone(), name)
                }
                To::Model => {
                    let shown = self.renamed.iter().find(|(_, own)| **own == name);
                    let shown = shown.map_or_else(|| name.clone(), |(shown, _)| shown.clone());
                    (name, shown)
                }
            };
            let inner = self.properties.get(&tool_name).or(self.others.as_deref());
            let value = match inner {
                Some(inner) => inner.convert(value, to),
                None => value,
            };
            (name, value)
        };
        object.into_iter().map(convert).collect()
    }
}
