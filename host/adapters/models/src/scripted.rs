//! The scripted model: plays a TOML file of turns through the real loop and real tools, without a
//! language model. README.md documents the format.
//!
//! It is stateless: the position in the script is computed from the conversation, so a resumed
//! session continues where it was. Tool results are data to its templates and never run as
//! templates.

mod context;
mod error;
mod filters;
mod script;
mod template;
#[cfg(test)]
mod tests;

use crate::call_ids::CallIds;
use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model, ModelDelta},
};
use agent_host_types::{
    message::{Message, Role},
    model::{ModelError, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    output::ContentPart,
    tool::ToolCall,
};
pub use error::ScriptError;

use context::Context;
use script::{Call, Script, Turn};
use template::{Engine, Location};

/// The built-in scripts by name.
const BUILTIN: [(&str, &str); 1] = [("tour", include_str!("scripted/tour.toml"))];

/// The provider name of scripts, as in `script:tour`.
const PROVIDER: &str = "script";

/// A model that plays a script.
///
/// ```
/// use agent_host_engine::model::Model;
/// use agent_host_types::{message::{Message, Role}, model::ModelRequest};
/// use agent_host_models::Scripted;
///
/// let model = Scripted::parse("hello", "[[turn]]\ntext = 'You said: {{ prompt }}'")?;
/// let request = ModelRequest {
///     system: None,
///     messages: vec![Message::text(Role::User, "hi")],
///     tools: vec![],
///     answer_schema: None,
/// };
/// let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// let reply = runtime.block_on(model.respond(&request, &|_delta| ()))?;
/// assert_eq!(reply.text, "You said: hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scripted {
    name: String,
    script: Script,
    engine: Engine,
}

/// The next turn of a conversation.
struct NextTurn<'a> {
    /// Its index in the script.
    index: usize,
    turn: &'a Turn,
    /// The calls that apply, with their indices in the turn.
    calls: Vec<(usize, &'a Call)>,
}

impl Scripted {
    /// Returns a built-in script: `tour`.
    ///
    /// # Errors
    /// There is no such script.
    pub fn builtin(name: &str) -> Result<Self, ScriptError> {
        let Some((name, source)) = BUILTIN.iter().find(|(builtin, _)| *builtin == name) else {
            let known = BUILTIN.map(|(name, _)| format!("`{name}`")).join(", ");
            let name = name.escape_debug();
            let why = format!("No built-in script `{name}`. Available: {known}.");
            return Err(ScriptError(why));
        };
        Self::parse(name, source)
    }

    /// Parses a script. `name` identifies it in error texts and in the journal.
    ///
    /// # Errors
    /// Invalid TOML, fields or template syntax, with the line, or the turn and the template.
    pub fn parse(name: &str, toml: &str) -> Result<Self, ScriptError> {
        let engine = Engine::new(name);
        let script = Script::parse(name, toml)?;
        script.check(&engine)?;
        Ok(Self {
            name: name.to_owned(),
            script,
            engine,
        })
    }

    fn play(&self, request: &ModelRequest) -> Result<ModelReply, ScriptError> {
        let run = run_of(&request.messages);
        let prompt = prompt(&request.messages);
        let mut next = 0;
        // Each reply of this run came from the first turn that applied at that time; find them
        // again.
        for (index, message) in run.iter().enumerate() {
            if message.role == Role::Assistant {
                let known = run.get(..index).unwrap_or_default();
                let context = self.context(&prompt, known, request)?;
                next = match self.choose(next, &context)? {
                    Some(turn) => turn.index + 1,
                    None => self.script.turns.len(),
                };
            }
        }
        let context = self.context(&prompt, run, request)?;
        let Some(turn) = self.choose(next, &context)? else {
            return Err(ScriptError(format!(
                "The script `{}` has ended: all of its {} turns are used. Its last turn should have text and no calls; \
                 start a new session to play it again.",
                self.name,
                self.script.turns.len()
            )));
        };
        self.speak(&turn, &context, request)
    }

    /// Returns the values that templates see, the script's own names included.
    fn context(
        &self,
        prompt: &str,
        known: &[Message],
        request: &ModelRequest,
    ) -> Result<Context, ScriptError> {
        let mut context = Context::new(prompt, known, &request.tools);
        for binding in &self.script.bindings {
            let location = Location::Binding(&binding.name);
            let value = self.engine.evaluate(location, &binding.value, &context)?;
            context.bind(&binding.name, value);
        }
        Ok(context)
    }

    /// Returns the first turn from `start` on that applies, with those of its calls that do. A turn
    /// with calls of which none applies does not apply: its text would announce a missing call, and
    /// a reply without calls would end the run.
    fn choose(&self, start: usize, context: &Context) -> Result<Option<NextTurn<'_>>, ScriptError> {
        for (index, turn) in self.script.turns.iter().enumerate().skip(start) {
            if !self.holds(Location::TurnWhen(index), turn.when.as_deref(), context)? {
                continue;
            }
            let mut calls = Vec::new();
            for (number, call) in turn.calls.iter().enumerate() {
                let location = Location::CallWhen(index, number, &call.tool);
                if self.holds(location, call.when.as_deref(), context)? {
                    calls.push((number, call));
                }
            }
            if turn.calls.is_empty() || !calls.is_empty() {
                return Ok(Some(NextTurn { index, turn, calls }));
            }
        }
        Ok(None)
    }

    fn holds(
        &self,
        location: Location<'_>,
        when: Option<&str>,
        context: &Context,
    ) -> Result<bool, ScriptError> {
        match when {
            Some(when) => Ok(self.engine.evaluate(location, when, context)?.is_true()),
            None => Ok(true),
        }
    }

    fn speak(
        &self,
        next: &NextTurn<'_>,
        context: &Context,
        request: &ModelRequest,
    ) -> Result<ModelReply, ScriptError> {
        let index = next.index;
        let text = match &next.turn.text {
            Some(text) => self.engine.render(Location::Text(index), text, context)?,
            None => String::new(),
        };
        let mut ids = CallIds::after(&request.messages);
        let mut tool_calls = Vec::new();
        for (number, call) in &next.calls {
            let location = Location::Input(index, *number, &call.tool);
            let input = call.input.render(&self.engine, location, context)?;
            tool_calls.push(ToolCall {
                id: ids.next_id(),
                name: call.tool.clone(),
                raw_arguments: serde_json::Value::Object(input.clone()).to_string(),
                input: Some(input.into()),
            });
        }
        let stop_reason = if tool_calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        Ok(ModelReply {
            text: text.trim().to_owned(),
            tool_calls,
            stop_reason: Some(stop_reason),
            usage: Usage::default(),
            ..ModelReply::default()
        })
    }
}

impl Model for Scripted {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: PROVIDER.to_owned(),
            model: self.name.clone(),
        }
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let reply = self.play(request)?;
            if !reply.text.is_empty() {
                deltas(ModelDelta::Text(&reply.text));
            }
            Ok(reply)
        })
    }
}

/// Returns the messages since the last prompt: with each prompt the script starts again.
fn run_of(messages: &[Message]) -> &[Message] {
    let start = messages.iter().rposition(is_prompt);
    let start = start.map_or(0, |index| index + 1);
    messages.get(start..).unwrap_or_default()
}

/// Returns the last prompt, its text parts line by line.
fn prompt(messages: &[Message]) -> String {
    let last = messages.iter().rev().find(|message| is_prompt(message));
    let texts: Vec<&str> = last
        .into_iter()
        .flat_map(|message| &message.content)
        .filter_map(ContentPart::text)
        .collect();
    texts.join("\n")
}

fn is_prompt(message: &Message) -> bool {
    message.role == Role::User && message.content.iter().any(|part| part.text().is_some())
}
