//! The variables `AGENT_HOST_*` that are keys of the configuration.

use super::Layer;
use crate::config::{
    ConfigError, Environment,
    hints::explain,
    origin::Origin,
    problem::config_error,
    raw::RawConfig,
    section::{KeyRole, SectionKey, ValueForm},
};
use toml::Value;

/// Returns a layer for each variable that is set. An empty one counts as absent.
///
/// # Errors
/// The text of one does not have the form of its key.
pub(super) fn layers(environment: &Environment) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = Vec::new();
    for key in <RawConfig as ValueForm>::keys() {
        layers.extend(layer(key, &key.name(), environment)?);
        for inner in (key.below)() {
            let name = format!("{}.{}", key.name(), inner.name());
            layers.extend(layer(inner, &name, environment)?);
        }
    }
    Ok(layers)
}

/// Returns the layer of the variable of a key, if it has one that is set.
fn layer(
    key: &SectionKey,
    name: &str,
    environment: &Environment,
) -> Result<Option<Layer>, ConfigError> {
    let variable = key.roles.iter().find_map(|role| match role {
        KeyRole::Variable(variable) => Some((*variable, environment.variable(variable)?)),
        _ => None,
    });
    let Some((variable, text)) = variable else {
        return Ok(None);
    };
    let value = if key.roles.contains(&KeyRole::Path) {
        Value::from(environment.cwd.join(text).to_string_lossy().into_owned())
    } else if key.roles.contains(&KeyRole::List) {
        Value::Array(text.split(',').map(|item| item.trim().into()).collect())
    } else if key.roles.contains(&KeyRole::Number) {
        number(variable, text)?
    } else {
        Value::from(text)
    };
    let layer = Layer::of_key(Origin::Variable(variable.to_owned()), name, value);
    let checked: Result<RawConfig, _> = Value::Table(layer.table.clone()).try_into();
    match checked {
        Ok(_) => Ok(Some(layer)),
        Err(error) => {
            let (reason, fix) = explain(error.message());
            let reason = format!("invalid variable {variable}: {reason}");
            Err(ConfigError::new("", reason, fix))
        }
    }
}

fn number(name: &str, text: &str) -> Result<Value, ConfigError> {
    let whole = text.parse().map(Value::Integer);
    let number = whole.or_else(|_| text.parse().map(Value::Float));
    number.map_err(|_| {
        config_error!(
            "",
            "invalid variable {name}: it is not a number",
            "write it like `{name}=50`"
        )
    })
}
