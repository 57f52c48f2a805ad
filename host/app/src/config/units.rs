//! Durations and sizes: a number in the unit that the key's name ends in, or a text with a unit,
//! such as `"10s"` or `"128MiB"`.

#[cfg(test)]
mod tests;

use agent_host_types::reason::Reason;
use serde::de::{Deserializer, Visitor};
use std::{fmt, marker::PhantomData};

/// The units of durations, in milliseconds.
const DURATIONS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// The units of sizes, in bytes.
const SIZES: [(&str, u64); 7] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// A kind of quantity.
struct QuantityKind {
    /// The name, and an example, for messages.
    name: &'static str,
    example: &'static str,
    units: &'static [(&'static str, u64)],
    /// The unit of a number without one, in the smallest of `units`.
    base: u64,
    base_name: &'static str,
}

/// Defines functions that deserialize a quantity.
macro_rules! deserializers {
    ($($(#[$doc:meta])* $name:ident => $kind:expr;)+) => {$(
        $(#[$doc])*
        pub(super) fn $name<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
        where
            D: Deserializer<'de>,
            T: TryFrom<u64>,
        {
            deserializer.deserialize_any(QuantityVisitor($kind, PhantomData)).map(Some)
        }
    )+};
}

deserializers! {
    /// Deserializes a duration in milliseconds.
    milliseconds => duration(1, "milliseconds");
    /// Deserializes a duration in seconds.
    seconds => duration(1_000, "seconds");
    /// Deserializes a duration in days.
    days => duration(86_400_000, "days");
    /// Deserializes a size in bytes.
    bytes => size();
}

/// Parses a duration of a command line, in seconds: a number of them, or a string like `10min`.
///
/// # Errors
/// The text is none of both; the message says what a duration is.
pub fn parse_seconds(text: &str) -> Result<u64, Reason> {
    duration(1_000, "seconds").parse_argument(text)
}

/// Parses a duration of a command line, in days: a number of them, or a string like `7d`.
///
/// # Errors
/// The text is none of both, or there are too many days; the message says what a duration is.
pub fn parse_days(text: &str) -> Result<u32, Reason> {
    let days = duration(86_400_000, "days").parse_argument(text)?;
    u32::try_from(days).map_err(|_| format!("invalid number of days: {days}").into())
}

/// Parses a size of a command line, in bytes: a number of them, or a string like `128MiB`.
///
/// # Errors
/// The text is none of both; the message says what a size is.
pub fn parse_bytes(text: &str) -> Result<u64, Reason> {
    size().parse_argument(text)
}

/// Returns a text with a unit in milliseconds or bytes; `None` for another text.
pub(super) fn smallest(text: &str) -> Option<u64> {
    let (number, unit) = split(text);
    let mut units = DURATIONS.iter().chain(&SIZES);
    let (_, factor) = units.find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Splits a quantity into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number, unit.trim())
}

fn size() -> QuantityKind {
    QuantityKind {
        name: "a size",
        example: "128MiB",
        units: &SIZES,
        base: 1,
        base_name: "bytes",
    }
}

fn duration(base: u64, base_name: &'static str) -> QuantityKind {
    QuantityKind {
        name: "a duration",
        example: "10s",
        units: &DURATIONS,
        base,
        base_name,
    }
}

/// The forms of a quantity.
struct QuantityVisitor<T>(QuantityKind, PhantomData<T>);

impl<T: TryFrom<u64>> QuantityVisitor<T> {
    fn number<E: serde::de::Error>(&self, number: u64) -> Result<T, E> {
        let wrong = || E::custom(format!("{number} {} cannot be used here", self.0.base_name));
        T::try_from(number).map_err(|_| wrong())
    }
}

impl<T: TryFrom<u64>> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QuantityKind {
            name,
            example,
            base_name,
            ..
        } = &self.0;
        write!(
            f,
            "{name}: a number of {base_name}, or a string like \"{example}\""
        )
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.number(number)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.number(number),
            Err(_) => Err(E::invalid_value(
                serde::de::Unexpected::Signed(number),
                &self,
            )),
        }
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        let number = self.0.parse(text).map_err(E::custom)?;
        self.number(number)
    }
}

impl QuantityKind {
    /// Parses a number in the base unit, or a number and a unit.
    fn parse_argument(&self, text: &str) -> Result<u64, Reason> {
        text.parse().or_else(|_| self.parse(text))
    }

    /// Parses a number and a unit.
    fn parse(&self, text: &str) -> Result<u64, Reason> {
        let (number, unit) = split(text);
        let factor = self.units.iter().find(|(name, _)| *name == unit);
        let (Ok(number), Some((_, factor))) = (number.parse::<u64>(), factor) else {
            let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
            return Err(Reason::from(format!(
                "this is not {} like \"{}\": a whole number and one of the units {}",
                self.name,
                self.example,
                names.join(", ")
            )));
        };
        let whole = number
            .checked_mul(*factor)
            .filter(|all| all.is_multiple_of(self.base));
        whole.map(|all| all / self.base).ok_or_else(|| {
            format!(
                "this is not a whole number of {} within 64 bits",
                self.base_name
            )
            .into()
        })
    }
}
