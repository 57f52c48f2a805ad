//! Parses script files and checks what needs no conversation.

use super::{
    context::{Context, RESERVED},
    error::ScriptError,
    template::{Engine, Location},
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest script, in bytes.
pub(super) const MAX_SCRIPT_BYTES: usize = 1024 * 1024;

/// A script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// Named expressions, evaluated in order before each turn; later ones may use earlier ones.
    #[serde(default, rename = "let")]
    pub(super) bindings: Vec<Binding>,
    /// The turns, in order.
    #[serde(rename = "turn")]
    pub(super) turns: Vec<Turn>,
}

/// A named expression.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Binding {
    pub(super) name: String,
    /// The expression.
    pub(super) value: String,
}

/// One reply.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// The template of the text.
    pub(super) text: Option<String>,
    /// An expression; false skips the turn.
    pub(super) when: Option<String>,
    /// The calls.
    #[serde(default, rename = "call")]
    pub(super) calls: Vec<Call>,
}

/// One call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// The tool's name.
    pub(super) tool: String,
    /// The arguments; empty by default.
    #[serde(default)]
    pub(super) input: Input,
    /// An expression; false omits the call.
    pub(super) when: Option<String>,
}

/// The arguments of a call.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) enum Input {
    /// A template that renders to a JSON object. Values are inserted as JSON, quotes included.
    Json(String),
    /// A table. Its strings are text templates; other values are literal.
    Table(toml::Table),
}

/// An `input` of a type that has no meaning.
#[derive(Debug, thiserror::Error)]
#[error("`input` is a table or a string that renders to a JSON object, not a value of type {0}")]
pub(super) struct InvalidInput(&'static str);

impl Default for Input {
    fn default() -> Self {
        Self::Table(toml::Table::new())
    }
}

impl TryFrom<toml::Value> for Input {
    type Error = InvalidInput;

    fn try_from(value: toml::Value) -> Result<Self, InvalidInput> {
        match value {
            toml::Value::String(template) => Ok(Self::Json(template)),
            toml::Value::Table(table) => Ok(Self::Table(table)),
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => Err(InvalidInput(value.type_str())),
        }
    }
}

impl Input {
    /// Renders the arguments.
    pub(super) fn render(
        &self,
        engine: &Engine,
        location: Location<'_>,
        context: &Context,
    ) -> Result<Map<String, Value>, ScriptError> {
        match self {
            Self::Json(template) => engine.render_object(location, template, context),
            Self::Table(table) => {
                let mut fill =
                    |text: &str| engine.render(location, text, context).map(Value::String);
                walk_table(table, &mut fill)
            }
        }
    }

    fn check(&self, engine: &Engine, location: Location<'_>) -> Result<(), ScriptError> {
        match self {
            Self::Json(template) => engine.check_template(location, template),
            Self::Table(table) => {
                let mut check = |text: &str| {
                    engine.check_template(location, text)?;
                    Ok(Value::Null)
                };
                walk_table(table, &mut check).map(|_| ())
            }
        }
    }
}

type OnString<'a> = dyn FnMut(&str) -> Result<Value, ScriptError> + 'a;

/// Converts a table to JSON and replaces each string. The TOML parser limits the depth.
fn walk_table(
    table: &toml::Table,
    on_string: &mut OnString<'_>,
) -> Result<Map<String, Value>, ScriptError> {
    table
        .iter()
        .map(|(key, value)| Ok((key.clone(), walk(value, on_string)?)))
        .collect()
}

fn walk(value: &toml::Value, on_string: &mut OnString<'_>) -> Result<Value, ScriptError> {
    Ok(match value {
        toml::Value::String(text) => on_string(text)?,
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Datetime(date) => Value::from(date.to_string()),
        toml::Value::Array(items) => items
            .iter()
            .map(|item| walk(item, on_string))
            .collect::<Result<_, _>>()?,
        toml::Value::Table(table) => Value::Object(walk_table(table, on_string)?),
    })
}

impl Script {
    /// Parses the TOML.
    pub(super) fn parse(name: &str, source: &str) -> Result<Self, ScriptError> {
        let invalid = |reason: &str| {
            let name = name.escape_debug();
            ScriptError(format!("Cannot read the script `{name}`: {reason}."))
        };
        if source.len() > MAX_SCRIPT_BYTES {
            return Err(invalid(&format!(
                "it is longer than {MAX_SCRIPT_BYTES} bytes"
            )));
        }
        let script: Self = toml::from_str(source).map_err(|error| {
            let before = error.span().and_then(|span| source.get(..span.start));
            let line = before.map(|before| format!("line {}: ", before.matches('\n').count() + 1));
            let (line, why) = (line.unwrap_or_default(), error.message().trim_end());
            invalid(&format!("{line}{why}"))
        })?;
        if script.turns.is_empty() {
            return Err(invalid("it has no turns; write at least one `[[turn]]`"));
        }
        let is_empty = |turn: &Turn| turn.text.is_none() && turn.calls.is_empty();
        if let Some(index) = script.turns.iter().position(is_empty) {
            let turn = index + 1;
            let reason = format!("turn {turn} is empty; give it a `text` or a `[[turn.call]]`");
            return Err(invalid(&reason));
        }
        let reserved = |binding: &&Binding| RESERVED.contains(&binding.name.as_str());
        if let Some(binding) = script.bindings.iter().find(reserved) {
            let reason = "is a built-in name; choose another one for this `[[let]]`";
            return Err(invalid(&format!("`{}` {reason}", binding.name)));
        }
        Ok(script)
    }

    /// Compiles every template and expression, so that mistakes show before anything runs.
    pub(super) fn check(&self, engine: &Engine) -> Result<(), ScriptError> {
        for binding in &self.bindings {
            engine.check_expression(Location::Binding(&binding.name), &binding.value)?;
        }
        for (index, turn) in self.turns.iter().enumerate() {
            if let Some(when) = &turn.when {
                engine.check_expression(Location::TurnWhen(index), when)?;
            }
            if let Some(text) = &turn.text {
                engine.check_template(Location::Text(index), text)?;
            }
            for (number, call) in turn.calls.iter().enumerate() {
                if let Some(when) = &call.when {
                    engine.check_expression(Location::CallWhen(index, number, &call.tool), when)?;
                }
                call.input
                    .check(engine, Location::Input(index, number, &call.tool))?;
            }
        }
        Ok(())
    }
}
