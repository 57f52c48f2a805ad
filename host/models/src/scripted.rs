//! The scripted model: it plays a TOML file of turns through the real loop and real tools. No language model is involved.
//!
//! It keeps no state: where a conversation stands in the script is computed from its messages, so a resumed session goes on
//! where it was. What tools return is data to its templates and is never itself run as a template.

mod context;
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
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    output::ContentPart,
    tool::ToolCall,
};
use context::Context;
use script::{Call, Script, Turn};
use template::{Engine, Place};

/// The scripts that are part of the program, by name.
const BUILTIN: [(&str, &str); 1] = [("tour", include_str!("scripted/tour.toml"))];

/// The provider under which scripts are chosen, as in `script:tour`.
const PROVIDER: &str = "script";

/// A model that plays a script.
#[derive(Debug)]
pub struct Scripted {
    name: String,
    script: Script,
    engine: Engine,
}

/// A turn whose time has come.
struct Chosen<'a> {
    /// Its place in the script.
    index: usize,
    turn: &'a Turn,
    /// Those of its calls that apply, with their places in it.
    calls: Vec<(usize, &'a Call)>,
}

impl Scripted {
    /// A script that is part of the program: `tour`.
    ///
    /// # Errors
    /// There is no such script; the text names those that exist.
    pub fn builtin(name: &str) -> Result<Self, ModelError> {
        let Some((name, source)) = BUILTIN.iter().find(|(builtin, _)| *builtin == name) else {
            let names: Vec<String> = BUILTIN
                .iter()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            return Err(ModelError::new(
                ModelErrorKind::Script,
                format!(
                    "There is no built-in script `{}`. Built in: {}.",
                    name.escape_debug(),
                    names.join(", ")
                ),
            ));
        };
        Self::parse(name, source)
    }

    /// Reads a script. `name` stands for it in error texts and in the journal.
    ///
    /// # Errors
    /// The TOML, a field or the syntax of a template is wrong; the text names the line, or the turn and the template.
    pub fn parse(name: &str, toml: &str) -> Result<Self, ModelError> {
        let engine = Engine::new(name);
        let script = Script::parse(name, toml)?;
        script.check(&engine)?;
        Ok(Self {
            name: name.to_owned(),
            script,
            engine,
        })
    }

    fn play(&self, request: &ModelRequest) -> Result<ModelReply, ModelError> {
        let run = run_of(&request.messages);
        let prompt = prompt(&request.messages);
        let mut next = 0;
        // Each reply of this run came from the first turn that applied to what was known then; find them again.
        for (index, message) in run.iter().enumerate() {
            if message.role == Role::Assistant {
                let known = run.get(..index).unwrap_or_default();
                let context = self.context(&prompt, known, request)?;
                next = match self.choose(next, &context)? {
                    Some(chosen) => chosen.index + 1,
                    None => self.script.turns.len(),
                };
            }
        }
        let context = self.context(&prompt, run, request)?;
        let Some(chosen) = self.choose(next, &context)? else {
            return Err(ModelError::new(
                ModelErrorKind::Script,
                format!(
                    "The script `{}` has ended: none of its {} turns is left. Its last turn should have a text and no \
                     calls; begin a new session to play it again.",
                    self.name,
                    self.script.turns.len()
                ),
            ));
        };
        self.speak(&chosen, &context, request)
    }

    /// What templates see, with the script's own names.
    fn context(
        &self,
        prompt: &str,
        known: &[Message],
        request: &ModelRequest,
    ) -> Result<Context, ModelError> {
        let mut context = Context::new(prompt, known, &request.tools);
        for binding in &self.script.bindings {
            let place = Place::Binding(&binding.name);
            let value = self.engine.evaluate(place, &binding.value, &context)?;
            context.bind(&binding.name, value);
        }
        Ok(context)
    }

    /// The first turn from `start` on that applies, and those of its calls that do. A turn with calls of which none applies
    /// does not apply: its text would announce what does not come, and a reply without calls would end the run.
    fn choose(&self, start: usize, context: &Context) -> Result<Option<Chosen<'_>>, ModelError> {
        for (index, turn) in self.script.turns.iter().enumerate().skip(start) {
            if !self.holds(Place::TurnWhen(index), turn.when.as_deref(), context)? {
                continue;
            }
            let mut calls = Vec::new();
            for (number, call) in turn.calls.iter().enumerate() {
                let place = Place::CallWhen(index, number, &call.tool);
                if self.holds(place, call.when.as_deref(), context)? {
                    calls.push((number, call));
                }
            }
            if turn.calls.is_empty() || !calls.is_empty() {
                return Ok(Some(Chosen { index, turn, calls }));
            }
        }
        Ok(None)
    }

    fn holds(
        &self,
        place: Place<'_>,
        when: Option<&str>,
        context: &Context,
    ) -> Result<bool, ModelError> {
        match when {
            Some(when) => Ok(self.engine.evaluate(place, when, context)?.is_true()),
            None => Ok(true),
        }
    }

    fn speak(
        &self,
        chosen: &Chosen<'_>,
        context: &Context,
        request: &ModelRequest,
    ) -> Result<ModelReply, ModelError> {
        let index = chosen.index;
        let text = match &chosen.turn.text {
            Some(text) => self.engine.render(Place::Text(index), text, context)?,
            None => String::new(),
        };
        let mut ids = CallIds::after(&request.messages);
        let mut tool_calls = Vec::new();
        for (number, call) in &chosen.calls {
            let place = Place::Input(index, *number, &call.tool);
            let input = call.input.render(&self.engine, place, context)?;
            tool_calls.push(ToolCall {
                id: ids.next_id(),
                name: call.tool.clone(),
                raw_arguments: serde_json::Value::Object(input.clone()).to_string(),
                input: Some(input),
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

/// The messages since the person last said something: with each prompt the script begins anew.
fn run_of(messages: &[Message]) -> &[Message] {
    let start = messages.iter().rposition(is_prompt);
    let start = start.map_or(0, |index| index + 1);
    messages.get(start..).unwrap_or_default()
}

/// What the person last said, its text parts line by line.
fn prompt(messages: &[Message]) -> String {
    let last = messages.iter().rev().find(|message| is_prompt(message));
    let texts: Vec<&str> = last
        .into_iter()
        .flat_map(|message| &message.content)
        .filter_map(text_of)
        .collect();
    texts.join("\n")
}

fn is_prompt(message: &Message) -> bool {
    message.role == Role::User && message.content.iter().any(|part| text_of(part).is_some())
}

fn text_of(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text } => Some(text),
        ContentPart::File(_) => None,
    }
}
