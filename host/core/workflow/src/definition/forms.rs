//! Forms that TOML has two of. The visitors name both in their errors, which an untagged enum of
//! serde would not.

use super::{EdgeDefinition, ForeachDefinition, ForeachMode, Inputs, Next};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeSeq as _,
};
use std::{collections::BTreeMap, fmt, num::NonZeroU32};

/// The table of an edge.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeTable {
    to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    when: Option<String>,
}

/// The table of a `foreach`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ForeachTable {
    over: String,
    #[serde(default)]
    mode: ForeachMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_once: Option<NonZeroU32>,
}

/// The forms of an edge, for the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum EdgeForm {
    Id(String),
    Table(EdgeTable),
}

/// The forms of [`Next`], for the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum NextForm {
    One(EdgeForm),
    List(Vec<EdgeForm>),
}

/// The forms of a `foreach`, for the JSON Schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum ForeachForm {
    Reference(String),
    Table(ForeachTable),
}

impl From<EdgeTable> for EdgeDefinition {
    fn from(EdgeTable { to, when }: EdgeTable) -> Self {
        Self { to, when }
    }
}

impl From<&str> for EdgeDefinition {
    fn from(to: &str) -> Self {
        let (to, when) = (to.to_owned(), None);
        Self { to, when }
    }
}

impl Serialize for EdgeDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.when.clone() {
            None => serializer.serialize_str(&self.to),
            when => {
                let to = self.to.clone();
                EdgeTable { to, when }.serialize(serializer)
            }
        }
    }
}

/// Reads an id or a table.
struct EdgeVisitor;

impl<'de> Visitor<'de> for EdgeVisitor {
    type Value = EdgeDefinition;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a node, or a table `{ to = ID, when = CONDITION }`")
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<EdgeDefinition, E> {
        Ok(id.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<EdgeDefinition, A::Error> {
        EdgeTable::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }
}

impl<'de> Deserialize<'de> for EdgeDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EdgeVisitor)
    }
}

impl Serialize for Next {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Reads an id, a table, or a list of both.
struct NextVisitor;

impl<'de> Visitor<'de> for NextVisitor {
    type Value = Next;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a node, or a list of ids and tables `{ to = ID, when = CONDITION }`")
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<Next, E> {
        Ok(Next(vec![id.into()]))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Next, A::Error> {
        EdgeVisitor.visit_map(map).map(|edge| Next(vec![edge]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Next, A::Error> {
        let mut edges = Vec::new();
        while let Some(edge) = list.next_element()? {
            edges.push(edge);
        }
        Ok(Next(edges))
    }
}

impl<'de> Deserialize<'de> for Next {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NextVisitor)
    }
}

impl Serialize for Inputs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            list.serialize_element(&BTreeMap::from([(key, value)]))?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for Inputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InputsVisitor;

        impl<'de> Visitor<'de> for InputsVisitor {
            type Value = Inputs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tables with one key each, `[{ KEY = REFERENCE }, ...]`")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Inputs, A::Error> {
                let mut inputs = Vec::new();
                while let Some(table) = list.next_element::<BTreeMap<String, String>>()? {
                    if table.len() != 1 {
                        return Err(Error::invalid_length(table.len(), &self));
                    }
                    inputs.extend(table);
                }
                Ok(Inputs(inputs))
            }
        }

        deserializer.deserialize_seq(InputsVisitor)
    }
}

impl Serialize for ForeachDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (over, mode, at_once) = (self.over.clone(), self.mode, self.at_once);
        ForeachTable {
            over,
            mode,
            at_once,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ForeachDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ForeachVisitor;

        impl<'de> Visitor<'de> for ForeachVisitor {
            type Value = ForeachDefinition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a reference to a list, or a table `{ over = REFERENCE, mode = MODE, at-once = COUNT }`")
            }

            fn visit_str<E: Error>(self, over: &str) -> Result<ForeachDefinition, E> {
                Ok(ForeachDefinition {
                    over: over.to_owned(),
                    mode: ForeachMode::Sequential,
                    at_once: None,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ForeachDefinition, A::Error> {
                let table = ForeachTable::deserialize(MapAccessDeserializer::new(map))?;
                let ForeachTable {
                    over,
                    mode,
                    at_once,
                } = table;
                Ok(ForeachDefinition {
                    over,
                    mode,
                    at_once,
                })
            }
        }

        deserializer.deserialize_any(ForeachVisitor)
    }
}
