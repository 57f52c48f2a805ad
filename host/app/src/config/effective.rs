//! The effective configuration: each value with its origin, as `config show` prints it. Values that
//! may be secrets are hidden.

use super::{
    Config, ConfigError, Environment, LeftOut, Overrides,
    layers::{Layer, Layers, Merged, join},
    origin::{Origin, Origins},
    problem::{LineFinder, key_path},
    raw::RawConfig,
    sandbox::RawSandbox,
    section::{KeyRole, Section as _, SectionPlace},
    session::RawSession,
    source::ValueSource,
};
use agent_host_engine::policy::DirMode;
use agent_host_types::limits::Limits;
use serde_json::json;
use std::path::Path;
use toml::{Table, Value};

/// The text in the place of a value that may be a secret.
pub const HIDDEN: &str = "(hidden)";

/// The column of the origins, in characters; longer values move them.
const ORIGIN_COLUMN: usize = 44;

/// An effective configuration.
#[derive(Debug)]
pub struct Effective {
    left_out: Option<LeftOut>,
    table: Table,
    origins: Origins,
    layers: Layers,
}

/// A value of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectiveValue {
    /// The path of its key, such as `tool[0].name`.
    pub key: String,
    /// The value; hidden if it may be a secret.
    pub value: Value,
    /// Where it is from: `FILE:LINE`, a variable, an option, or `built-in`.
    pub origin: String,
}

/// A line of the configuration as TOML.
enum TomlLine {
    Header(String, Option<String>),
    Value(String, EffectiveValue),
}

impl Effective {
    /// Loads a configuration as [`Config::load`] does, with its origins.
    ///
    /// # Errors
    /// Those of [`Config::load`].
    pub fn load(
        file: Option<&Path>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let (config, Merged { layers, .. }) = Config::load_merged(file, overrides, environment)?;
        let mut all = option_layers(overrides);
        all.extend(layers.0);
        all.push(built_in(&config));
        let layers = Layers(all);
        let (table, origins) = layers.table();
        Ok(Self {
            left_out: config.left_out,
            table,
            origins,
            layers,
        })
    }

    /// Returns [`Config::left_out`].
    #[must_use]
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.left_out.as_ref()
    }

    /// Returns the values in the order of the keys.
    #[must_use]
    pub fn values(&self) -> Vec<EffectiveValue> {
        let lines = self.lines().into_iter();
        let values = lines.filter_map(|line| match line {
            TomlLine::Value(_, value) => Some(value),
            TomlLine::Header(..) => None,
        });
        values.collect()
    }

    /// Returns the configuration as TOML, with the origin of each value in a comment.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for line in self.lines() {
            let (shown, origin) = match line {
                TomlLine::Header(header, origin) => (format!("\n{header}"), origin),
                TomlLine::Value(key, EffectiveValue { value, origin, .. }) => {
                    (format!("{key} = {}", inline(&value)), Some(origin))
                }
            };
            match origin {
                Some(origin) => text.push_str(&format!("{shown:<ORIGIN_COLUMN$} # {origin}\n")),
                None => text.push_str(&format!("{shown}\n")),
            }
        }
        text.trim_start().to_owned()
    }

    fn lines(&self) -> Vec<TomlLine> {
        let texts = self.layers.0.iter().map(|layer| layer.text.as_deref());
        let writer = ConfigWriter {
            effective: self,
            finders: texts.map(|text| text.map(LineFinder::new)).collect(),
        };
        let mut lines = Vec::new();
        let root = SectionPlace::root::<RawConfig>();
        writer.table(&self.table, root, "", "", &mut lines);
        lines
    }
}

/// Writes the lines of a configuration.
struct ConfigWriter<'a> {
    effective: &'a Effective,
    /// Finds the lines of keys in the text of each layer.
    finders: Vec<Option<LineFinder<'a>>>,
}

impl ConfigWriter<'_> {
    /// Writes a table: values first, then the tables in it. `header` has no indexes.
    fn table(
        &self,
        table: &Table,
        place: SectionPlace,
        path: &str,
        header: &str,
        lines: &mut Vec<TomlLine>,
    ) {
        let (tables, values): (Vec<_>, Vec<_>) =
            table.iter().partition(|(_, value)| is_table(value));
        for (key, value) in values {
            let here = join(path, key);
            let value = EffectiveValue {
                value: match is_secret(place.key(key), value) {
                    true => HIDDEN.into(),
                    false => value.clone(),
                },
                origin: self.origin(&here),
                key: here,
            };
            lines.push(TomlLine::Value(key_path(key), value));
        }
        for (key, value) in tables {
            let (here, header) = (join(path, key), join(header, key));
            let place = place.key(key);
            match value {
                Value::Table(table) => {
                    lines.push(TomlLine::Header(format!("[{header}]"), None));
                    self.table(table, place, &here, &header, lines);
                }
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        let here = format!("{here}[{index}]");
                        let origin = Some(self.origin(&here));
                        lines.push(TomlLine::Header(format!("[[{header}]]"), origin));
                        let table = item.as_table().cloned().unwrap_or_default();
                        self.table(&table, place, &here, &header, lines);
                    }
                }
                _ => {}
            }
        }
    }

    fn origin(&self, key: &str) -> String {
        let Some((index, local)) = self.effective.origins.of(key) else {
            return Origin::BuiltIn.to_string();
        };
        let origin = self
            .effective
            .layers
            .0
            .get(index)
            .map(|layer| &layer.origin);
        let origin = origin.map(ToString::to_string).unwrap_or_default();
        let finder = self.finders.get(index).and_then(Option::as_ref);
        match finder.and_then(|finder| finder.line_of(&local)) {
            Some(line) => format!("{origin}:{line}"),
            None => origin,
        }
    }
}

/// True for what TOML writes below a header.
fn is_table(value: &Value) -> bool {
    match value {
        Value::Table(_) => true,
        Value::Array(items) => !items.is_empty() && items.iter().all(Value::is_table),
        _ => false,
    }
}

/// Writes a value on one line.
fn inline(value: &Value) -> String {
    match value {
        // The escapes of JSON are escapes of TOML, too.
        Value::String(text) => json!(text).to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => {
            let fields = table.iter();
            let fields =
                fields.map(|(key, value)| format!("{} = {}", key_path(key), inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

/// True for a value that may be a secret: the values of variables, headers and queries, whatever is
/// merged over requests, arguments of programs, and addresses with a password. Sources of secrets
/// (`env:NAME`) are none.
fn is_secret(place: SectionPlace, value: &Value) -> bool {
    if let Value::Array(items) = value {
        let has_arguments =
            place.has(KeyRole::Arguments) && (items.len() > 1 || place.has(KeyRole::Secret));
        return has_arguments || items.iter().any(|item| is_secret(place, item));
    }
    let text = value.as_str().unwrap_or_default();
    let has_password = text
        .split_once("://")
        .and_then(|(_, rest)| rest.split(['/', '?', '#']).next())
        .is_some_and(|authority| authority.contains('@'));
    place.has(KeyRole::Secret) && !ValueSource::is_meant(text) || has_password
}

/// Returns a layer for each option of the command line that is a key.
fn option_layers(overrides: &Overrides) -> Vec<Layer> {
    let text = |text: Option<String>| text.map(Value::from);
    let number = |number: Option<u64>| number.map(|number| Value::from(number.cast_signed()));
    let state_dir = overrides.state_dir.as_deref();
    let state_dir = state_dir.map(|path| path.display().to_string());
    let effort = overrides.effort.map(|effort| effort.name().to_owned());
    let tokens = number(overrides.max_total_tokens);
    let options = [
        ("--model", "model", text(overrides.model.clone())),
        ("--system", "system", text(overrides.system.clone())),
        ("--state-dir", "state-dir", text(state_dir)),
        ("--effort", "settings.effort", text(effort)),
        ("--max-turns", "max-turns", number(overrides.max_turns)),
        ("--max-total-tokens", "budgets.tokens", tokens),
        (
            "--max-usd",
            "budgets.usd",
            overrides.max_usd.map(Value::from),
        ),
        (
            "--max-tool-calls",
            "budgets.tool-calls",
            number(overrides.max_tool_calls),
        ),
    ];
    let set = options.into_iter().filter_map(|(option, key, value)| {
        let origin = Origin::Option(option.to_owned());
        Some(Layer::of_key(origin, key, value?))
    });
    set.collect()
}

/// Returns the layer of what holds without a configuration. A key that has no default is absent.
fn built_in(config: &Config) -> Layer {
    let model = match (&config.models.first, &config.models.selection_error) {
        (Some(model), _) => Some(model.to_string()),
        (None, None) => Some("script:tour".to_owned()),
        (None, Some(_)) => None,
    };
    let context = config.context.map(|context| {
        json!({
            "window-tokens": context.window_tokens,
            "compact-at": context.compact_at,
            "compact-to": context.compact_to,
            "keep-results": context.keep_results,
        })
    });
    let grants = config.implied_grant().map(
        |_| json!({ "dir": [{ "host": ".", "guest": "/workspace", "mode": DirMode::ReadOnly }] }),
    );
    let tools = config.tools.iter();
    let tools =
        tools.map(|tool| json!({ "name": tool.name, "component": tool.source.to_string() }));
    let computed = [
        ("model", json!(model)),
        ("state-dir", json!(config.state_dir.to_string_lossy())),
        ("cache-dir", json!(config.cache_dir.to_string_lossy())),
        ("context", json!(context)),
        ("session", RawSession::defaults().into()),
        ("limits", json!(Limits::default())),
        ("sandbox", RawSandbox::defaults().into()),
        ("grants", json!(grants)),
        ("tool", tools.collect()),
    ];
    let mut defaults = RawConfig::defaults();
    defaults.extend(computed.map(|(key, value)| (key.to_owned(), value)));
    Layer {
        origin: Origin::BuiltIn,
        table: match table(defaults.into()) {
            Some(Value::Table(table)) => table,
            _ => Table::new(),
        },
        text: None,
    }
}

/// Turns JSON into TOML, which has no null.
fn table(value: serde_json::Value) -> Option<Value> {
    Some(match value {
        serde_json::Value::Null => return None,
        serde_json::Value::Bool(value) => value.into(),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        serde_json::Value::String(text) => text.into(),
        serde_json::Value::Array(items) => {
            Value::Array(items.into_iter().filter_map(table).collect())
        }
        serde_json::Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.filter_map(|(key, value)| Some((key, table(value)?)));
            Value::Table(fields.collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::Effective;
    use crate::config::{Environment, Overrides};
    use pretty_assertions::assert_eq;
    use std::{collections::BTreeMap, fs};
    use toml::Table;

    /// The origins of some values, and the whole text.
    fn shown(project: &str) -> (BTreeMap<String, (String, String)>, String) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let user = root.join(".config/agent-host");
        let cwd = root.join("work");
        fs::create_dir_all(&user).unwrap();
        fs::create_dir_all(&cwd).unwrap();
        fs::write(
            user.join("config.toml"),
            "model = \"openai:gpt-5\"\n[openai]\napi-key = \"env:KEY\"\nheaders = { x-team = \"sk-secret\", x-source = \"env:X\" }\n",
        )
        .unwrap();
        let file = cwd.join("agent.toml");
        fs::write(&file, project).unwrap();
        let environment = Environment {
            cwd,
            variables: [
                ("HOME", root.to_str().unwrap()),
                ("KEY", "sk-secret"),
                ("AGENT_HOST_SYSTEM_CONFIG", ""),
                ("AGENT_HOST_MAX_USD", "2.5"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        };
        let overrides = Overrides {
            max_turns: Some(7),
            ..Overrides::default()
        };
        let effective = Effective::load(Some(&file), &overrides, &environment).unwrap();
        let portable = |text: String| text.replace(root.to_str().unwrap(), "~");
        let values = effective.values().into_iter();
        let values =
            values.map(|value| (value.key, (value.value.to_string(), portable(value.origin))));
        (values.collect(), portable(effective.to_toml()))
    }

    #[test]
    fn effective_values_have_their_origins() {
        let (values, text) = shown(
            "# A comment\nmax-turns = 3\n\n[limits]\ndeadline-ms = \"10s\"\n[[tool]]\nname = \"a\"\ncomponent = \"builtin:files\"\n[[tool.env]]\nname = \"T\"\nvalue = \"sk-secret\"\n",
        );
        for (key, value, origin) in [
            (
                "model",
                "\"openai:gpt-5\"",
                "~/.config/agent-host/config.toml:1",
            ),
            (
                "openai.api-key",
                "\"env:KEY\"",
                "~/.config/agent-host/config.toml:3",
            ),
            (
                "openai.headers.x-team",
                "\"(hidden)\"",
                "~/.config/agent-host/config.toml:4",
            ),
            (
                "openai.headers.x-source",
                "\"env:X\"",
                "~/.config/agent-host/config.toml:4",
            ),
            ("max-turns", "7", "--max-turns"),
            ("budgets.usd", "2.5", "AGENT_HOST_MAX_USD"),
            ("limits.deadline-ms", "\"10s\"", "~/work/agent.toml:5"),
            ("limits.http-requests", "64", "built-in"),
            ("permission-prompts", "\"ask\"", "built-in"),
            (
                "tool[0].component",
                "\"builtin:files\"",
                "~/work/agent.toml:8",
            ),
            (
                "tool[0].env[0].value",
                "\"(hidden)\"",
                "~/work/agent.toml:11",
            ),
        ] {
            let expected = (value.to_owned(), origin.to_owned());
            assert_eq!(values.get(key), Some(&expected), "{key}: {values:#?}");
        }
        assert!(!text.contains("sk-secret"), "{text}");
        // It is TOML, with the values in their places.
        let table: Table = toml::from_str(&text).unwrap();
        assert_eq!(table["tool"][0]["env"][0]["name"].as_str(), Some("T"));
        assert_eq!(table["max-turns"].as_integer(), Some(7));
        assert!(text.contains("\nmax-turns = 7 "), "{text}");
        assert!(text.contains("[[tool]]"), "{text}");
    }
}
