//! A reply that is being put together, whatever the wire: text and calls in the order in which they come, within bounds, and
//! every call with an id of its own.

#[cfg(test)]
mod tests;

use crate::{call_ids::CallIds, fault::Fault, http::Server, retry::Retry};
use agent_host_engine::model::{DeltaSink, ModelDelta};
use agent_host_types::{
    message::Message,
    model::{ModelReply, StopReason},
    tool::ToolCall,
};
use serde::Deserialize;
use std::borrow::Cow;

/// The longest reply, in bytes: text, reasoning, arguments and what is kept for the provider. It is far above what any model
/// writes in one reply.
pub(crate) const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// The most calls in one reply.
pub(crate) const MAX_CALLS: usize = 128;

/// A text in an event, read where it is if nothing in it is escaped; a field of its own type can be null or absent.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A call whose parts are still coming.
#[derive(Debug, Default)]
pub(crate) struct PartialCall {
    /// The provider's id, if it gave one.
    pub(crate) id: Option<String>,
    /// The tool's name.
    pub(crate) name: String,
    /// The arguments as JSON text.
    pub(crate) arguments: String,
}

/// The reply so far.
pub(crate) struct Draft<'a> {
    server: &'a Server,
    /// The conversation that was sent.
    history: &'a [Message],
    /// Everything but the calls and the reason to stop. Wires fill in usage, id and metadata.
    pub(crate) reply: ModelReply,
    /// The calls, in the model's order.
    calls: Vec<PartialCall>,
    bytes: usize,
}

impl<'a> Draft<'a> {
    /// Nothing has arrived yet.
    pub(crate) fn new(server: &'a Server, history: &'a [Message]) -> Self {
        Self {
            server,
            history,
            reply: ModelReply::default(),
            calls: Vec::new(),
            bytes: 0,
        }
    }

    /// Where the reply comes from.
    pub(crate) fn server(&self) -> &'a Server {
        self.server
    }

    /// Adds text, and shows it.
    pub(crate) fn text(&mut self, text: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if !text.is_empty() {
            self.grow(text.len())?;
            self.reply.text.push_str(text);
            sink(ModelDelta::Text(text));
        }
        Ok(())
    }

    /// Shows reasoning. It is no part of the text; a wire that has to send it back keeps it in the metadata.
    pub(crate) fn reasoning(&mut self, text: &str, sink: DeltaSink<'_>) -> Result<(), Fault> {
        if !text.is_empty() {
            self.grow(text.len())?;
            sink(ModelDelta::Reasoning(text));
        }
        Ok(())
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> &[PartialCall] {
        &self.calls
    }

    /// Adds a call, and gives its place.
    pub(crate) fn begin_call(&mut self, id: Option<String>, name: &str) -> Result<usize, Fault> {
        if self.calls.len() == MAX_CALLS {
            let why = format!("it calls more than {MAX_CALLS} tools");
            return Err(self.server.garbled(&why, Retry::Never));
        }
        self.grow(name.len())?;
        self.calls.push(PartialCall {
            id,
            name: name.to_owned(),
            arguments: String::new(),
        });
        Ok(self.calls.len() - 1)
    }

    /// Adds to a call: its id and name where it has none yet, and more of its arguments. A place without a call is ignored.
    pub(crate) fn go_on(
        &mut self,
        place: usize,
        id: Option<String>,
        name: &str,
        arguments: &str,
    ) -> Result<(), Fault> {
        self.grow(name.len() + arguments.len())?;
        if let Some(call) = self.calls.get_mut(place) {
            call.id = call.id.take().or(id);
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
            }
            call.arguments.push_str(arguments);
        }
        Ok(())
    }

    /// Counts bytes that the reply keeps.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Fault> {
        self.bytes += bytes;
        if self.bytes > MAX_REPLY_BYTES {
            let why = format!("the reply is longer than {MAX_REPLY_BYTES} bytes");
            return Err(self.server.garbled(&why, Retry::Never));
        }
        Ok(())
    }

    /// The whole reply. A call without an id, or with one that an earlier call has, in the conversation or in this reply, gets
    /// another.
    ///
    /// # Errors
    /// A call has no name.
    pub(crate) fn finish(self, stop_reason: Option<StopReason>) -> Result<ModelReply, Fault> {
        if self.calls.iter().any(|call| call.name.is_empty()) {
            let why = "it calls a tool without a name";
            return Err(self.server.garbled(why, Retry::Backoff));
        }
        let mut ids = CallIds::after(self.history);
        let calls = self.calls.into_iter();
        let tool_calls = calls
            .map(|call| ToolCall::parse(ids.accept(call.id), call.name, call.arguments))
            .collect();
        Ok(ModelReply {
            tool_calls,
            stop_reason,
            ..self.reply
        })
    }
}

/// The fault of an answer that ended before the model had said why it stopped.
pub(crate) fn unfinished(server: &Server) -> Fault {
    let why = "it ended before the model had said why it stopped";
    server.garbled(why, Retry::Backoff)
}
