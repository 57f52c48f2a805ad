//! The variables `AGENT_HOST_*` that are keys of the configuration.

use super::Layer;
use crate::config::{
    ConfigError, Environment, hints::explain, origin::Origin, problem::config_error, raw::RawConfig,
};
use toml::{Table, Value};

/// The form of the text of a variable.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    /// A path, which begins at the working directory.
    Path,
    /// Texts with commas between them.
    List,
    Number,
}

/// Each variable, the table of its key, and the key.
const VARIABLES: [(&str, &str, &str, Form); 10] = [
    ("AGENT_HOST_MODEL", "", "model", Form::Text),
    ("AGENT_HOST_FALLBACK", "", "fallback", Form::List),
    ("AGENT_HOST_SYSTEM", "", "system", Form::Text),
    ("AGENT_HOST_CACHE_DIR", "", "cache-dir", Form::Path),
    (
        "AGENT_HOST_PERMISSION_PROMPTS",
        "",
        "permission-prompts",
        Form::Text,
    ),
    ("AGENT_HOST_KEYS", "", "keys", Form::Text),
    ("AGENT_HOST_EFFORT", "settings", "effort", Form::Text),
    ("AGENT_HOST_MAX_TURNS", "", "max-turns", Form::Number),
    (
        "AGENT_HOST_MAX_TOTAL_TOKENS",
        "budgets",
        "tokens",
        Form::Number,
    ),
    ("AGENT_HOST_MAX_USD", "budgets", "usd", Form::Number),
];

/// Returns a layer for each variable that is set. An empty one counts as absent.
///
/// # Errors
/// The text of one does not have the form of its key.
pub(super) fn layers(environment: &Environment) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = Vec::new();
    for (name, section, key, form) in VARIABLES {
        let Some(text) = environment.variable(name) else {
            continue;
        };
        let value = match form {
            Form::Text => Value::from(text),
            Form::Path => Value::from(environment.cwd.join(text).to_string_lossy().into_owned()),
            Form::List => Value::Array(text.split(',').map(|item| item.trim().into()).collect()),
            Form::Number => number(name, text)?,
        };
        let mut table = Table::from_iter([(key.to_owned(), value)]);
        if !section.is_empty() {
            table = Table::from_iter([(section.to_owned(), Value::Table(table))]);
        }
        let checked: Result<RawConfig, _> = Value::Table(table.clone()).try_into();
        checked.map_err(|error: toml::de::Error| {
            let (reason, fix) = explain(error.message());
            ConfigError::new(
                "",
                format!("the variable {name} cannot be used: {reason}"),
                fix,
            )
        })?;
        layers.push(Layer {
            origin: Origin::Variable(name.to_owned()),
            table,
            text: None,
        });
    }
    Ok(layers)
}

fn number(name: &str, text: &str) -> Result<Value, ConfigError> {
    let whole = text.parse().map(Value::Integer);
    let number = whole.or_else(|_| text.parse().map(Value::Float));
    number.map_err(|_| {
        config_error!(
            "",
            "the variable {name} cannot be used: it is no number",
            "write it like `{name}=50`"
        )
    })
}
