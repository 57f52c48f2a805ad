//! JSON values of cases: their conversion.

#[cfg(test)]
mod tests;

use super::case_error;
use agent_host_app::config::ConfigError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// The maximum of levels of a value that is written as TOML. Deeper ones are read more easily as
/// JSON, and TOML's parser bounds them, too.
const MAX_TOML_LEVELS: usize = 32;

/// Converts a TOML value to JSON.
///
/// # Errors
/// JSON has no such value: a date, or a number that is not finite.
pub(super) fn from_toml(value: toml::Value) -> Result<Value, ConfigError> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => {
            Number::from_f64(number).map(Value::Number).ok_or_else(|| {
                case_error!("JSON cannot represent the number {number}", "correct it")
            })?
        }
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => {
            return Err(case_error!(
                "JSON has no dates such as {date}",
                "write it in quotes"
            ));
        }
        toml::Value::Array(values) => values
            .into_iter()
            .map(from_toml)
            .collect::<Result<_, _>>()?,
        toml::Value::Table(table) => Value::Object(from_table(table)?),
    })
}

/// Converts a TOML table to a JSON object.
///
/// # Errors
/// Fails as [`from_toml`] does.
pub(super) fn from_table(table: toml::Table) -> Result<Map<String, Value>, ConfigError> {
    table
        .into_iter()
        .map(|(key, value)| Ok((key, from_toml(value)?)))
        .collect()
}

/// Converts a JSON value to TOML; `None` if TOML has no such value: null, an integer beyond 64 bits
/// with a sign, or one of more than [`MAX_TOML_LEVELS`] levels.
pub(super) fn to_toml(value: &Value) -> Option<toml::Value> {
    to_toml_within(value, MAX_TOML_LEVELS)
}

fn to_toml_within(value: &Value, levels: usize) -> Option<toml::Value> {
    let levels = levels.checked_sub(1)?;
    Some(match value {
        Value::Null => return None,
        Value::Bool(truth) => (*truth).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None if number.is_f64() => number.as_f64()?.into(),
            None => return None,
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => {
            let values = values.iter().map(|value| to_toml_within(value, levels));
            toml::Value::Array(values.collect::<Option<_>>()?)
        }
        Value::Object(object) => {
            let entries = object.iter();
            let entries =
                entries.map(|(key, value)| Some((key.clone(), to_toml_within(value, levels)?)));
            toml::Value::Table(entries.collect::<Option<_>>()?)
        }
    })
}

/// Parses JSON text. `key` is its key for messages.
///
/// # Errors
/// The text is not JSON or not of this form.
pub(super) fn from_text<T: DeserializeOwned>(key: &str, text: &str) -> Result<T, ConfigError> {
    serde_json::from_str(text)
        .map_err(|error| case_error!("invalid `{key}`: {error}", "correct it"))
}
