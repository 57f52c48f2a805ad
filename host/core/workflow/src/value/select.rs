//! Selects a part of JSON without a tree of the rest.

use agent_host_types::json::JsonText;
use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

/// Returns the value at the path; `None` where there is none.
pub(crate) fn select(json: &str, path: &[String]) -> Option<JsonText> {
    let mut source = serde_json::Deserializer::from_str(json);
    Path(path).deserialize(&mut source).ok().flatten()
}

/// The steps that are left.
struct Path<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Path<'_> {
    type Value = Option<JsonText>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        match self.0.split_first() {
            None => JsonText::deserialize(source).map(Some),
            Some((step, rest)) => source.deserialize_any(SelectStep { step, rest }),
        }
    }
}

/// One step into an array or an object; other values have no parts.
struct SelectStep<'p> {
    step: &'p str,
    rest: &'p [String],
}

impl<'de> Visitor<'de> for SelectStep<'_> {
    type Value = Option<JsonText>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.step {
                found = map.next_value_seed(Path(self.rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (wanted, mut found) = (self.step.parse::<usize>().ok(), None);
        for index in 0.. {
            if Some(index) == wanted {
                match list.next_element_seed(Path(self.rest))? {
                    Some(value) => found = value,
                    None => break,
                }
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}
