//! Templates and expressions, limited in time, depth and output. Errors name their location in the
//! script.

use super::{
    context::Context,
    error::{Causes, ScriptError},
    filters,
};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, syntax::SyntaxConfig};
use serde_json::{Map, Value};
use std::{
    fmt,
    io::{self, Write},
};

/// The most steps of one template: far more than a script needs, and an endless loop ends within
/// seconds.
const MAX_STEPS: u64 = 5_000_000;

/// The deepest nesting of templates.
const MAX_DEPTH: usize = 64;

/// The longest output of one template, in bytes.
pub(super) const MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// The location of a template in a script. Numbers count from 0 here and from 1 in texts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Location<'a> {
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

impl fmt::Display for Location<'_> {
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

/// The name of templates that write JSON: every inserted value is encoded.
const JSON_TEMPLATE: &str = "input.json";

/// The name of templates that write text.
const TEXT_TEMPLATE: &str = "text";

/// Compiles and renders the templates of one script.
#[derive(Debug)]
pub(super) struct Engine {
    script: String,
    environment: Environment<'static>,
}

impl Engine {
    /// Creates an engine for the script of this name.
    pub(super) fn new(script: &str) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(MAX_STEPS));
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_auto_escape_callback(|name| match name {
            JSON_TEMPLATE => AutoEscape::Json,
            _ => AutoEscape::None,
        });
        // Lines with only a statement vanish. Only custom delimiters can be refused, and these are
        // the defaults.
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
    pub(super) fn check_template(
        &self,
        location: Location<'_>,
        source: &str,
    ) -> Result<(), ScriptError> {
        self.environment
            .template_from_named_str(TEXT_TEMPLATE, source)
            .map(|_| ())
            .map_err(|error| self.error(location, Causes(&error)))
    }

    /// Checks the syntax of an expression.
    pub(super) fn check_expression(
        &self,
        location: Location<'_>,
        source: &str,
    ) -> Result<(), ScriptError> {
        self.environment
            .compile_expression(source)
            .map(|_| ())
            .map_err(|error| self.error(location, Causes(&error)))
    }

    /// Renders a template to text.
    pub(super) fn render(
        &self,
        location: Location<'_>,
        source: &str,
        context: &Context,
    ) -> Result<String, ScriptError> {
        self.render_as(TEXT_TEMPLATE, location, source, context)
    }

    /// Renders a template to a JSON object.
    pub(super) fn render_object(
        &self,
        location: Location<'_>,
        source: &str,
        context: &Context,
    ) -> Result<Map<String, Value>, ScriptError> {
        let text = self.render_as(JSON_TEMPLATE, location, source, context)?;
        let reason = match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => return Ok(object),
            Ok(_) => "it rendered to JSON that is not an object".to_owned(),
            Err(error) => format!(
                "it did not render to JSON ({error}); inserted values include their own quotes, so write \
                 {{\"path\": {{{{ name }}}}}}"
            ),
        };
        Err(self.error(location, reason))
    }

    /// Evaluates an expression. Names in it must exist.
    pub(super) fn evaluate(
        &self,
        location: Location<'_>,
        source: &str,
        context: &Context,
    ) -> Result<minijinja::Value, ScriptError> {
        let value = self
            .environment
            .compile_expression(source)
            .and_then(|expression| expression.eval(context.value()))
            .map_err(|error| self.error(location, Causes(&error)))?;
        if value.is_undefined() {
            let reason = "the value is undefined; test it with `is defined`, or set a default with `default()`";
            return Err(self.error(location, reason));
        }
        Ok(value)
    }

    fn render_as(
        &self,
        name: &str,
        location: Location<'_>,
        source: &str,
        context: &Context,
    ) -> Result<String, ScriptError> {
        let mut output = Bounded(Vec::new());
        self.environment
            .template_from_named_str(name, source)
            .and_then(|template| {
                template
                    .render_captured_to(context.value(), &mut output)
                    .map(|_| ())
            })
            .map_err(|error| self.error(location, Causes(&error)))?;
        Ok(String::from_utf8_lossy(&output.0).into_owned())
    }

    fn error(&self, location: Location<'_>, reason: impl fmt::Display) -> ScriptError {
        ScriptError(format!(
            "The script `{}` failed in {location}: {reason}. Correct the script and run it again.",
            self.script.escape_debug()
        ))
    }
}

/// Collects output up to [`MAX_OUTPUT_BYTES`].
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(io::Error::other(format!(
                "it renders to more than {MAX_OUTPUT_BYTES} bytes"
            )));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
