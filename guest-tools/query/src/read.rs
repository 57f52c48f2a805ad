//! Data as the values that a filter takes.

use agent_tool::input;
use jaq_json::{Map, Num, Val, read};

use crate::query::Failure;

/// A format of data.
#[input]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Json,
    Jsonl,
    Csv,
    Tsv,
    Toml,
}

impl Format {
    /// The format for the extension of a file's name.
    pub(crate) fn of_name(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "toml" => Some(Self::Toml),
            _ => None,
        }
    }
}

/// The values of a text: one, but for JSON lines.
pub(crate) fn values(text: &str, format: Format) -> Result<Vec<Val>, Failure> {
    match format {
        Format::Json => read::parse_single(text.as_bytes())
            .map(|value| vec![value])
            .map_err(|error| misfit("JSON", &error)),
        Format::Jsonl => read::parse_many(text.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| misfit("JSON lines", &error)),
        Format::Csv => table(text, b',').map_err(|error| misfit("CSV", &error)),
        Format::Tsv => table(text, b'\t').map_err(|error| misfit("TSV", &error)),
        Format::Toml => text
            .parse()
            .map(|table| vec![of_toml(toml::Value::Table(table))])
            .map_err(|error: toml::de::Error| misfit("TOML", &error)),
    }
}

fn misfit(format: &str, error: &dyn std::fmt::Display) -> Failure {
    let error = error.to_string();
    Failure::new(format!(
        "the data is not {format}: {}; say in `format` what it is",
        error.trim_end()
    ))
}

/// A list of objects, one for each row, with the names of the first row. What has no name is left
/// out.
fn table(text: &str, delimiter: u8) -> Result<Vec<Val>, csv::Error> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(text.as_bytes());
    let names: Vec<Val> = reader.headers()?.iter().map(text_val).collect();
    let rows = reader.records().map(|row| {
        let row = row?;
        let cells = names.iter().cloned().zip(row.iter().map(text_val));
        Ok(Val::obj(cells.collect()))
    });
    Ok(vec![rows.collect::<Result<_, csv::Error>>()?])
}

fn text_val(text: &str) -> Val {
    Val::from(text.to_owned())
}

fn of_toml(value: toml::Value) -> Val {
    match value {
        toml::Value::String(text) => Val::from(text),
        toml::Value::Integer(number) => Val::Num(Num::from_integral(number)),
        toml::Value::Float(number) => Val::Num(Num::Float(number)),
        toml::Value::Boolean(truth) => Val::Bool(truth),
        // JSON has no dates.
        toml::Value::Datetime(date) => Val::from(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(of_toml).collect(),
        toml::Value::Table(table) => {
            let fields = table.into_iter();
            let fields: Map = fields
                .map(|(name, value)| (Val::from(name), of_toml(value)))
                .collect();
            Val::obj(fields)
        }
    }
}

#[cfg(test)]
mod tests;
