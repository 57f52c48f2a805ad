//! Copies a value from a deserializer to a serializer, without a tree.

use serde::{
    Deserializer, Serialize, Serializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
    ser::{Error as _, SerializeMap, SerializeSeq},
};
use std::{cell::Cell, fmt, marker::PhantomData};

/// Copies the value of `source`.
pub(super) fn copy<'de, D: Deserializer<'de>, S: Serializer>(
    source: D,
    target: S,
) -> Result<S::Ok, S::Error> {
    // An error of the serializer passes through the deserializer as a text.
    source
        .deserialize_any(Copy(target))
        .map_err(S::Error::custom)
}

struct Copy<S>(S);

impl<'de, S: Serializer> Visitor<'de> for Copy<S> {
    type Value = S::Ok;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<S::Ok, E> {
        self.0.serialize_bool(value).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<S::Ok, E> {
        self.0.serialize_i64(value).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<S::Ok, E> {
        self.0.serialize_u64(value).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<S::Ok, E> {
        self.0.serialize_f64(value).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<S::Ok, E> {
        self.0.serialize_str(text).map_err(E::custom)
    }

    fn visit_unit<E: Error>(self) -> Result<S::Ok, E> {
        self.0.serialize_unit().map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<S::Ok, A::Error> {
        let mut seq = self.0.serialize_seq(None).map_err(A::Error::custom)?;
        while items.next_element_seed(ItemSeed(&mut seq))?.is_some() {}
        seq.end().map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<S::Ok, A::Error> {
        let mut map = self.0.serialize_map(None).map_err(A::Error::custom)?;
        while fields.next_key_seed(KeySeed(&mut map))?.is_some() {
            fields.next_value_seed(FieldValue(&mut map))?;
        }
        map.end().map_err(A::Error::custom)
    }
}

/// A value as something to serialize: serializers of arrays and objects take nothing else.
struct SourceValue<'de, D>(Cell<Option<D>>, PhantomData<&'de ()>);

impl<'de, D: Deserializer<'de>> SourceValue<'de, D> {
    fn new(source: D) -> Self {
        Self(Cell::new(Some(source)), PhantomData)
    }
}

impl<'de, D: Deserializer<'de>> Serialize for SourceValue<'de, D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.take() {
            Some(source) => copy(source, serializer),
            None => Err(S::Error::custom("a value can be copied only once")),
        }
    }
}

struct ItemSeed<'s, S>(&'s mut S);

impl<'de, S: SerializeSeq> DeserializeSeed<'de> for ItemSeed<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        let item = SourceValue::new(source);
        self.0.serialize_element(&item).map_err(D::Error::custom)
    }
}

struct KeySeed<'s, S>(&'s mut S);

impl<'de, S: SerializeMap> DeserializeSeed<'de> for KeySeed<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        let key = SourceValue::new(source);
        self.0.serialize_key(&key).map_err(D::Error::custom)
    }
}

struct FieldValue<'s, S>(&'s mut S);

impl<'de, S: SerializeMap> DeserializeSeed<'de> for FieldValue<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        let value = SourceValue::new(source);
        self.0.serialize_value(&value).map_err(D::Error::custom)
    }
}
