//! The form of a script file, and the checks that need no conversation.

use super::{
    context::{Context, RESERVED},
    template::{Engine, Place},
};
use agent_host_types::model::{ModelError, ModelErrorKind};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The largest script, in bytes.
pub(super) const MAX_SCRIPT_BYTES: usize = 1024 * 1024;

/// A whole script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// Names for expressions, evaluated in order before each turn; a later one may use the earlier ones.
    #[serde(default, rename = "let")]
    pub(super) bindings: Vec<Binding>,
    /// The turns, in order.
    #[serde(rename = "turn")]
    pub(super) turns: Vec<Turn>,
}

/// A name for an expression.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Binding {
    /// The name.
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
    /// An expression; where it is false the turn is skipped.
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
    /// The arguments; none where it is absent.
    #[serde(default)]
    pub(super) input: Input,
    /// An expression; where it is false the call is left out.
    pub(super) when: Option<String>,
}

/// The arguments of a call.
#[derive(Debug, Deserialize)]
#[serde(try_from = "toml::Value")]
pub(super) enum Input {
    /// A template that renders to a JSON object. Values are inserted as JSON, quotes included.
    Json(String),
    /// A table. Its strings are templates whose text becomes the string; everything else is taken as it is.
    Table(toml::Table),
}

impl Default for Input {
    fn default() -> Self {
        Self::Table(toml::Table::new())
    }
}

impl TryFrom<toml::Value> for Input {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(template) => Ok(Self::Json(template)),
            toml::Value::Table(table) => Ok(Self::Table(table)),
            toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => Err(format!(
                "`input` is a table or a string that renders to a JSON object, not a value of type {}",
                value.type_str()
            )),
        }
    }
}

impl Input {
    /// The arguments with their templates filled in.
    pub(super) fn render(
        &self,
        engine: &Engine,
        place: Place<'_>,
        context: &Context,
    ) -> Result<Map<String, Value>, ModelError> {
        match self {
            Self::Json(template) => engine.render_object(place, template, context),
            Self::Table(table) => {
                let mut fill = |text: &str| engine.render(place, text, context).map(Value::String);
                walk_table(table, &mut fill)
            }
        }
    }

    fn check(&self, engine: &Engine, place: Place<'_>) -> Result<(), ModelError> {
        match self {
            Self::Json(template) => engine.check_template(place, template),
            Self::Table(table) => {
                let mut check = |text: &str| {
                    engine.check_template(place, text)?;
                    Ok(Value::Null)
                };
                walk_table(table, &mut check).map(|_| ())
            }
        }
    }
}

type OnString<'a> = dyn FnMut(&str) -> Result<Value, ModelError> + 'a;

/// A table as JSON, each string replaced. TOML's parser bounds the depth.
fn walk_table(
    table: &toml::Table,
    on_string: &mut OnString<'_>,
) -> Result<Map<String, Value>, ModelError> {
    table
        .iter()
        .map(|(key, value)| Ok((key.clone(), walk(value, on_string)?)))
        .collect()
}

fn walk(value: &toml::Value, on_string: &mut OnString<'_>) -> Result<Value, ModelError> {
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
    /// Reads the TOML.
    pub(super) fn parse(name: &str, source: &str) -> Result<Self, ModelError> {
        let refuse = |why: String| {
            let text = format!("The script `{}` cannot be read: {why}", name.escape_debug());
            ModelError::new(ModelErrorKind::Script, text)
        };
        if source.len() > MAX_SCRIPT_BYTES {
            return Err(refuse(format!(
                "it is longer than {MAX_SCRIPT_BYTES} bytes."
            )));
        }
        let script: Self = toml::from_str(source).map_err(|error| {
            let before = error.span().and_then(|span| source.get(..span.start));
            let line = before.map_or(String::new(), |before| {
                format!("line {}: ", before.matches('\n').count() + 1)
            });
            refuse(format!("{line}{}.", error.message().trim_end()))
        })?;
        if script.turns.is_empty() {
            return Err(refuse(
                "it has no turns; write at least one `[[turn]]`.".to_owned(),
            ));
        }
        if let Some(index) = script
            .turns
            .iter()
            .position(|turn| turn.text.is_none() && turn.calls.is_empty())
        {
            return Err(refuse(format!(
                "turn {} says nothing and calls nothing; give it a `text` or a `[[turn.call]]`.",
                index + 1
            )));
        }
        let reserved = |binding: &&Binding| RESERVED.contains(&binding.name.as_str());
        if let Some(binding) = script.bindings.iter().find(reserved) {
            return Err(refuse(format!(
                "`{}` is a name that every script has; choose another for this `[[let]]`.",
                binding.name
            )));
        }
        Ok(script)
    }

    /// Compiles every template and expression once, so that a mistake shows before anything runs.
    pub(super) fn check(&self, engine: &Engine) -> Result<(), ModelError> {
        for binding in &self.bindings {
            engine.check_expression(Place::Binding(&binding.name), &binding.value)?;
        }
        for (index, turn) in self.turns.iter().enumerate() {
            if let Some(when) = &turn.when {
                engine.check_expression(Place::TurnWhen(index), when)?;
            }
            if let Some(text) = &turn.text {
                engine.check_template(Place::Text(index), text)?;
            }
            for (number, call) in turn.calls.iter().enumerate() {
                if let Some(when) = &call.when {
                    engine.check_expression(Place::CallWhen(index, number, &call.tool), when)?;
                }
                call.input
                    .check(engine, Place::Input(index, number, &call.tool))?;
            }
        }
        Ok(())
    }
}
