//! Writes any deserializer's value as normalized JSON text, without a tree.

use super::{JsonText, TooDeep};
use serde::{
    Deserializer, Serialize,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use std::{cmp::Ordering, fmt, sync::Arc};

/// Returns what replaces a string, if anything.
type Map<'m> = &'m dyn Fn(&str) -> Option<String>;

/// The text so far. `'m` is the lifetime of the map of strings.
#[derive(Default)]
pub(super) struct JsonWriter<'m> {
    out: Vec<u8>,
    /// The members of all open objects, innermost last.
    members: Vec<Member>,
    /// The number of open arrays and objects.
    depth: usize,
    map: Option<Map<'m>>,
    has_mapped: bool,
}

/// A written member of an open object, as offsets into the text.
#[derive(Clone, Copy)]
struct Member {
    /// The opening quote of the key.
    start: usize,
    colon: usize,
    end: usize,
}

impl<'m> JsonWriter<'m> {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self {
            out: Vec::with_capacity(bytes),
            ..Self::default()
        }
    }

    pub(super) fn with_map(self, map: Map<'m>) -> Self {
        Self {
            map: Some(map),
            ..self
        }
    }

    /// Appends the value of a deserializer.
    pub(super) fn read<'de, D: Deserializer<'de>>(&mut self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }

    /// Whether the map changed a string.
    pub(super) fn has_mapped(&self) -> bool {
        self.has_mapped
    }

    pub(super) fn into_text(self) -> Arc<str> {
        // All that is written is UTF-8, so nothing is replaced.
        String::from_utf8_lossy(&self.out).into()
    }

    fn scalar<E: Error>(&mut self, value: impl Serialize) -> Result<(), E> {
        serde_json::to_writer(&mut self.out, &value).map_err(E::custom)
    }

    fn string<E: Error>(&mut self, text: &str) -> Result<(), E> {
        let mapped = self.map.and_then(|map| map(text));
        self.has_mapped |= mapped.is_some();
        self.scalar(mapped.as_deref().unwrap_or(text))
    }

    fn open<E: Error>(&mut self, bracket: u8) -> Result<(), E> {
        self.depth += 1;
        if self.depth > JsonText::MAX_LEVELS {
            return Err(E::custom(TooDeep));
        }
        self.out.push(bracket);
        Ok(())
    }

    fn close(&mut self, bracket: u8) {
        self.depth -= 1;
        self.out.push(bracket);
    }

    /// Sorts the members from index `first` on, which are those of the innermost object. Of members
    /// with the same key only the last stays.
    fn sort_members(&mut self, first: usize) {
        let Self { out, members, .. } = self;
        let key = |member: &Member| out.get(member.start..member.colon).unwrap_or_default();
        let order = |a: &Member, b: &Member| compare_keys(key(a), key(b));
        let own = members.get_mut(first..).unwrap_or_default();
        if let Some(start) = own.first().map(|member| member.start)
            && !own.is_sorted_by(|a, b| order(a, b) == Ordering::Less)
        {
            // Stable, so that the last of equal keys is the one that was written last.
            own.sort_by(order);
            let mut sorted = Vec::with_capacity(out.len() - start);
            for same in own.chunk_by(|a, b| order(a, b) == Ordering::Equal) {
                let Some(last) = same.last() else { continue };
                if !sorted.is_empty() {
                    sorted.push(b',');
                }
                sorted.extend_from_slice(out.get(last.start..last.end).unwrap_or_default());
            }
            out.truncate(start);
            out.append(&mut sorted);
        }
        members.truncate(first);
    }
}

/// Compares two keys in their written form by the bytes that they stand for.
fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    unescaped(a).cmp(unescaped(b))
}

/// Returns the bytes of a string as `serde_json` writes it. The closing quote is not one of them,
/// so that a key sorts before the longer ones that begin with it.
fn unescaped(quoted: &[u8]) -> impl Iterator<Item = u8> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1));
    let mut bytes = inner.unwrap_or_default().iter().copied();
    std::iter::from_fn(move || match bytes.next()? {
        b'\\' => match bytes.next()? {
            b'b' => Some(0x08),
            b'f' => Some(0x0c),
            b'n' => Some(b'\n'),
            b'r' => Some(b'\r'),
            b't' => Some(b'\t'),
            // Other control characters: `\u00` and two digits.
            b'u' => {
                let (high, low) = (bytes.nth(2)?, bytes.next()?);
                Some(hex_digit(high) << 4 | hex_digit(low))
            }
            itself => Some(itself),
        },
        byte => Some(byte),
    })
}

fn hex_digit(digit: u8) -> u8 {
    char::from(digit)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
        .unwrap_or_default()
}

impl<'de> DeserializeSeed<'de> for &mut JsonWriter<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.read(source)
    }
}

impl<'de> Visitor<'de> for &mut JsonWriter<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.string(text)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar(())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.scalar(())
    }

    fn visit_some<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.read(source)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        self.read(source)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.open(b'[')?;
        let start = self.out.len();
        loop {
            let end = self.out.len();
            if end > start {
                self.out.push(b',');
            }
            if items.next_element_seed(&mut *self)?.is_none() {
                self.out.truncate(end);
                break;
            }
        }
        self.close(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        self.open(b'{')?;
        let first = self.members.len();
        loop {
            let end = self.out.len();
            if self.members.len() > first {
                self.out.push(b',');
            }
            let start = self.out.len();
            if fields.next_key_seed(KeyWriter(self))?.is_none() {
                self.out.truncate(end);
                break;
            }
            let colon = self.out.len();
            self.out.push(b':');
            fields.next_value_seed(&mut *self)?;
            let end = self.out.len();
            self.members.push(Member { start, colon, end });
        }
        self.sort_members(first);
        self.close(b'}');
        Ok(())
    }
}

/// Writes a key, which is a string.
struct KeyWriter<'w, 'm>(&'w mut JsonWriter<'m>);

impl<'de> DeserializeSeed<'de> for KeyWriter<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeyWriter<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.string(text)
    }
}
