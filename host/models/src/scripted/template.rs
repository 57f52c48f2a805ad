//! Templates and expressions, bounded in time, depth and output, and errors that name their place in the script.

use super::{context::Context, filters};
use agent_host_types::model::{ModelError, ModelErrorKind};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig};
use serde_json::{Map, Value};
use std::{
    fmt,
    io::{self, Write},
};

/// How many steps one template may take: far more than a script needs, and an endless loop ends within seconds.
const MAX_STEPS: u64 = 5_000_000;

/// How deep templates may nest.
const MAX_DEPTH: usize = 64;

/// The longest text that one template may write, in bytes.
pub(super) const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// Where in a script a template is. Numbers count from 0 here and from 1 in texts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// The value of a `[[let]]`.
    Binding(&'a str),
    /// The `when` of a turn.
    TurnWhen(usize),
    /// The `text` of a turn.
    Text(usize),
    /// The `when` of a call: turn, call, tool.
    CallWhen(usize, usize, &'a str),
    /// The `input` of a call: turn, call, tool.
    Input(usize, usize, &'a str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binding(name) => write!(f, "`let {name}`"),
            Self::TurnWhen(turn) => write!(f, "turn {}, `when`", turn + 1),
            Self::Text(turn) => write!(f, "turn {}, `text`", turn + 1),
            Self::CallWhen(turn, call, tool) => {
                write!(f, "turn {}, call {} (`{tool}`), `when`", turn + 1, call + 1)
            }
            Self::Input(turn, call, tool) => {
                write!(
                    f,
                    "turn {}, call {} (`{tool}`), `input`",
                    turn + 1,
                    call + 1
                )
            }
        }
    }
}

/// Templates of this name write JSON: every value that they insert is encoded.
const JSON_TEMPLATE: &str = "input.json";

/// Templates of this name write text.
const TEXT_TEMPLATE: &str = "text";

/// Compiles and runs the templates of one script.
#[derive(Debug)]
pub(super) struct Engine {
    script: String,
    environment: Environment<'static>,
}

impl Engine {
    /// An engine for the script of this name.
    pub(super) fn new(script: &str) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_auto_escape_callback(|name| match name {
            JSON_TEMPLATE => AutoEscape::Json,
            _ => AutoEscape::None,
        });
        // Lines that hold only a statement leave nothing behind. Only delimiters can be refused here, and they are the usual.
        if let Ok(syntax) = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
        {
            environment.set_syntax(syntax);
        }
        filters::add_to(&mut environment);
        Self {
            script: script.to_owned(),
            environment,
        }
    }

    /// Checks the syntax of a template.
    pub(super) fn check_template(&self, place: Place<'_>, source: &str) -> Result<(), ModelError> {
        self.environment
            .template_from_named_str(TEXT_TEMPLATE, source)
            .map(|_| ())
            .map_err(|error| self.failure(place, &error))
    }

    /// Checks the syntax of an expression.
    pub(super) fn check_expression(
        &self,
        place: Place<'_>,
        source: &str,
    ) -> Result<(), ModelError> {
        self.environment
            .compile_expression(source)
            .map(|_| ())
            .map_err(|error| self.failure(place, &error))
    }

    /// Renders a template to text.
    pub(super) fn render(
        &self,
        place: Place<'_>,
        source: &str,
        context: &Context,
    ) -> Result<String, ModelError> {
        self.render_as(TEXT_TEMPLATE, place, source, context)
    }

    /// Renders a template to a JSON object.
    pub(super) fn render_object(
        &self,
        place: Place<'_>,
        source: &str,
        context: &Context,
    ) -> Result<Map<String, Value>, ModelError> {
        let text = self.render_as(JSON_TEMPLATE, place, source, context)?;
        let why = match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => return Ok(object),
            Ok(_) => "it rendered to JSON that is not an object".to_owned(),
            Err(error) => format!(
                "it did not render to JSON ({error}); inserted values bring their own quotes, so write \
                 {{\"path\": {{{{ name }}}}}}"
            ),
        };
        Err(self.fault(place, &why))
    }

    /// Evaluates an expression. What it names must exist.
    pub(super) fn evaluate(
        &self,
        place: Place<'_>,
        source: &str,
        context: &Context,
    ) -> Result<minijinja::Value, ModelError> {
        let value = self
            .environment
            .compile_expression(source)
            .and_then(|expression| expression.eval(context.value()))
            .map_err(|error| self.failure(place, &error))?;
        if value.is_undefined() {
            return Err(self.fault(
                place,
                "the value is undefined; `is defined` asks, and `default()` gives another",
            ));
        }
        Ok(value)
    }

    fn render_as(
        &self,
        name: &str,
        place: Place<'_>,
        source: &str,
        context: &Context,
    ) -> Result<String, ModelError> {
        let mut output = Bounded(Vec::new());
        self.environment
            .template_from_named_str(name, source)
            .and_then(|template| {
                template
                    .render_captured_to(context.value(), &mut output)
                    .map(|_| ())
            })
            .map_err(|error| self.failure(place, &error))?;
        Ok(String::from_utf8_lossy(&output.0).into_owned())
    }

    /// An error of the template engine, with its causes and its line.
    fn failure(&self, place: Place<'_>, error: &minijinja::Error) -> ModelError {
        let mut why = error.kind().to_string();
        if let Some(detail) = error.detail() {
            why += &format!(": {detail}");
        }
        if let Some(line) = error.line() {
            why = format!("line {line}: {why}");
        }
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            why += &format!(": {inner}");
            cause = inner.source();
        }
        self.fault(place, &why)
    }

    fn fault(&self, place: Place<'_>, why: &str) -> ModelError {
        let script = self.script.escape_debug();
        ModelError::new(
            ModelErrorKind::Script,
            format!(
                "The script `{script}` fails in {place}: {why}. Correct the script and run it again."
            ),
        )
    }
}

/// Collects output up to [`MAX_OUTPUT_BYTES`].
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(io::Error::other(format!(
                "it writes more than {MAX_OUTPUT_BYTES} bytes"
            )));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
