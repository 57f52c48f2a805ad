//! The layers of a configuration: the machine's file, the user's, that of the project, and
//! variables. They are merged as TOML, so that a key that is absent in one layer is told from one
//! that has its default, and each value keeps its origin.
//!
//! Tables are merged key by key, and the higher layer has the value. The elements of some lists are
//! put together: those with a `name` by name, and rules all, so that no layer removes a rule of a
//! lower one. Other lists are replaced as a whole.

mod absolute;
#[cfg(test)]
mod tests;
mod variables;

use super::{
    ConfigError, Environment,
    hints::explain,
    origin::{Origin, Origins},
    parse::ConfigFile,
    problem::key_path,
    raw::RawConfig,
    section::{KeyRole, SectionPlace},
};
use std::path::Path;
use toml::{Table, Value};

/// A layer of a configuration.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) origin: Origin,
    pub(super) table: Table,
    /// The text that it was read from; absent for variables.
    pub(super) text: Option<String>,
}

impl Layer {
    /// Creates a layer of one key, which may be one of a table.
    pub(super) fn of_key(origin: Origin, key: &str, value: Value) -> Self {
        let table = |key: &str, value| Table::from_iter([(key.to_owned(), value)]);
        let table = match key.split_once('.') {
            Some((section, key)) => table(section, Value::Table(table(key, value))),
            None => table(key, value),
        };
        Self {
            origin,
            table,
            text: None,
        }
    }
}

/// The layers of a configuration, the highest first.
#[derive(Debug, Default)]
pub(super) struct Layers(pub(super) Vec<Layer>);

/// A merged configuration, and the origin of each part.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) raw: RawConfig,
    origins: Origins,
    pub(super) layers: Layers,
}

impl Layers {
    /// Reads the layers below that of the project: the user's file, and the machine's.
    ///
    /// # Errors
    /// A file cannot be read, or does not have the form of a configuration.
    pub(super) fn below_project(environment: &Environment) -> Result<Self, ConfigError> {
        let mut layers = Vec::new();
        let user = environment.user_config().map(Origin::User);
        let system = environment.system_config().map(Origin::System);
        for origin in user.into_iter().chain(system) {
            let (Origin::User(path) | Origin::System(path)) = &origin else {
                continue;
            };
            // A dangling link is an error of reading, not an absent file.
            if path.symlink_metadata().is_ok() {
                let file = ConfigFile::read(path.clone())?;
                let mut table = file.table()?;
                let directory = path.parent().unwrap_or(Path::new("/"));
                absolute::make_absolute(&mut table, directory);
                let text = Some(file.text);
                layers.push(Layer {
                    origin,
                    table,
                    text,
                });
            }
        }
        Ok(Self(layers))
    }

    /// Puts the file of the project, and then the variables, above these layers.
    ///
    /// # Errors
    /// A variable cannot be used.
    pub(super) fn with_project(
        mut self,
        project: Option<&ConfigFile>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let mut layers = variables::layers(environment)?;
        if let Some(file) = project {
            layers.push(Layer {
                origin: Origin::Project(file.path.clone()),
                table: file.table()?,
                text: Some(file.text.clone()),
            });
        }
        layers.append(&mut self.0);
        Ok(Self(layers))
    }

    /// Returns the merged table of these layers, and the origin of its parts.
    pub(super) fn table(&self) -> (Table, Origins) {
        let mut table = Table::new();
        let mut origins = Origins::default();
        for (index, layer) in self.0.iter().enumerate() {
            let root = SectionPlace::root::<RawConfig>();
            fill(&mut table, &layer.table, root, "", &mut |merged, local| {
                origins.add(merged, index, local);
            });
        }
        (table, origins)
    }

    /// Returns the origin of a part of the merged table.
    pub(super) fn origin(&self, origins: &Origins, key: &str) -> Option<&Origin> {
        let (layer, _) = origins.of(key)?;
        self.0.get(layer).map(|layer| &layer.origin)
    }

    /// Merges the layers.
    ///
    /// # Errors
    /// Values of several layers do not fit together.
    pub(super) fn merge(self) -> Result<Merged, ConfigError> {
        let (table, origins) = self.table();
        // As text: as values, dates would turn into texts.
        let text = toml::to_string(&table).map_err(|error| ConfigError::of_message(&error))?;
        let raw = toml::from_str(&text).map_err(|error: toml::de::Error| {
            let (reason, fix) = explain(error.message());
            ConfigError::new(
                "",
                format!("the configuration files conflict: {reason}"),
                fix,
            )
        })?;
        Ok(Merged {
            raw,
            origins,
            layers: self,
        })
    }
}

impl Merged {
    /// Returns the layers.
    fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.0.iter()
    }

    /// Puts the problems at the places of their keys, in the layer that each key is from. A key
    /// that is in no layer is looked for in the file of the project.
    pub(super) fn place(&self, error: ConfigError) -> ConfigError {
        error.placed(|key| {
            let found = key.and_then(|key| self.origins.of(key));
            let layer = match found {
                Some((index, _)) => self.layers.0.get(index),
                None => self.layers().find(|layer| layer.text.is_some()),
            }?;
            let key = found.map(|(_, local)| local).or(key.map(str::to_owned));
            Some((&layer.origin, layer.text.as_deref(), key))
        })
    }
}

/// Fills what is absent in a table from that of a lower layer. `filled` gets the paths of what is
/// taken: in the merged table, and in the layer's own.
fn fill(
    target: &mut Table,
    lower: &Table,
    place: SectionPlace,
    path: &str,
    filled: &mut dyn FnMut(String, String),
) {
    for (key, value) in lower {
        let (place, here) = (place.key(key), join(path, key));
        match (target.get_mut(key), value) {
            (None, _) => {
                filled(here.clone(), here);
                target.insert(key.clone(), value.clone());
            }
            (Some(Value::Table(target)), Value::Table(lower)) => {
                fill(target, lower, place, &here, filled);
            }
            (Some(Value::Array(target)), Value::Array(lower))
                if place.has(KeyRole::Named) || place.has(KeyRole::All) =>
            {
                combine(target, lower, place, &here, filled);
            }
            (Some(_), _) => {}
        }
    }
}

/// Adds the elements of a list of a lower layer, except those whose name is taken.
fn combine(
    target: &mut Vec<Value>,
    lower: &[Value],
    place: SectionPlace,
    path: &str,
    filled: &mut dyn FnMut(String, String),
) {
    let taken: Vec<Value> = target.iter().filter_map(name_of).cloned().collect();
    for (index, item) in lower.iter().enumerate() {
        let is_taken = name_of(item).is_some_and(|name| taken.contains(name));
        if place.has(KeyRole::All) || !is_taken {
            filled(
                format!("{path}[{}]", target.len()),
                format!("{path}[{index}]"),
            );
            target.push(item.clone());
        }
    }
}

/// Returns the name of an element of a list.
fn name_of(item: &Value) -> Option<&Value> {
    item.get("name")
}

/// Returns the path of a key of a table.
pub(super) fn join(path: &str, key: &str) -> String {
    let key = key_path(key);
    match path {
        "" => key,
        path => format!("{path}.{key}"),
    }
}
