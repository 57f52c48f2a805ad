//! The scripted model of these tests: it plays its replies and records its requests.

use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model},
};
use agent_host_types::{
    id::CallId,
    model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason, Usage},
    tool::ToolCall,
};
use std::{
    collections::VecDeque,
    future::ready,
    sync::{Arc, Mutex},
};

/// The tokens of every reply.
pub(super) const USAGE: Usage = Usage {
    input_tokens: 10,
    output_tokens: 5,
    cached_input_tokens: 2,
    cache_write_tokens: 0,
    cost_micros: None,
};

/// Plays its replies in order.
#[derive(Default)]
pub(super) struct Script {
    replies: Mutex<VecDeque<ModelReply>>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Script {
    pub(super) fn new(replies: Vec<ModelReply>) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(replies.into()),
            ..Self::default()
        })
    }

    /// Every request so far.
    pub(super) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }
}

pub(super) fn provenance() -> Provenance {
    Provenance {
        provider: "played".into(),
        model: "m".into(),
    }
}

/// The reply after the last scripted one.
pub(super) fn nothing_left() -> ModelError {
    ModelError::new(ModelErrorKind::Server, "the script has ended")
}

impl Model for Script {
    fn provenance(&self) -> Provenance {
        provenance()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.asked.lock().unwrap().push(request.clone());
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(ready(reply.ok_or_else(nothing_left)))
    }
}

/// A reply of text alone.
pub(super) fn says(text: &str) -> ModelReply {
    ModelReply {
        text: text.into(),
        stop_reason: Some(StopReason::EndTurn),
        usage: USAGE,
        response_id: Some("r".into()),
        ..ModelReply::default()
    }
}

/// A reply that calls tools: id, tool, arguments as the model writes them.
pub(super) fn calls(calls: &[(&str, &str, &str)]) -> ModelReply {
    let parse = |(id, tool, raw): &(&str, &str, &str)| {
        ToolCall::parse(CallId((*id).into()), (*tool).into(), (*raw).into())
    };
    ModelReply {
        tool_calls: calls.iter().map(parse).collect(),
        stop_reason: Some(StopReason::ToolUse),
        ..says("")
    }
}
