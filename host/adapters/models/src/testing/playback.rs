//! Plays a recorded stream to a wire's decoder, in any pieces.

use crate::{
    Endpoint, Timeouts,
    http::{Server, failure::AttemptError},
    settings::ReasoningTags,
    wire::{
        DecodeError, Wire,
        response::{BodyEnd, ResponseDecoder},
    },
};
use agent_host_engine::model::ModelDelta;
use agent_host_types::{id::CallId, message::Message, model::ModelReply, tool::ToolCall};
use std::sync::Mutex;

/// A reply, and the deltas before it.
pub(crate) type Played = (Result<ModelReply, AttemptError>, Vec<Shown>);

/// A delta as an owned value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shown {
    Text(String),
    Reasoning(String),
}

pub(crate) fn text(text: &str) -> Shown {
    Shown::Text(text.to_owned())
}

pub(crate) fn reasoning(text: &str) -> Shown {
    Shown::Reasoning(text.to_owned())
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::parse(CallId(id.to_owned()), name.to_owned(), arguments.to_owned())
}

/// A server of the model `m` that is never asked. It classifies errors.
pub(crate) fn server(wire: &Wire) -> Server {
    let endpoint = Endpoint {
        base_url: "http://127.0.0.1:1".to_owned(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        extras: crate::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    Server::new(endpoint, &(wire.reply_path)("m"), wire, "m").unwrap()
}

/// Plays a stream of the server that arrives in these pieces, whose body may be cut off.
pub(crate) fn play<'a>(
    wire: &Wire,
    server: &Server,
    history: &[Message],
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Played {
    let shown = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| {
        shown.lock().unwrap().push(match delta {
            ModelDelta::Text(text) => Shown::Text(text.to_owned()),
            ModelDelta::Reasoning(text) => Shown::Reasoning(text.to_owned()),
            ModelDelta::Restarted | ModelDelta::Note(_) | ModelDelta::Waiting { .. } => {
                panic!("a decoder emits neither")
            }
        });
    };
    let mut decoder = ResponseDecoder::new(wire, "m", history, ReasoningTags::Auto);
    let decode = || -> Result<ModelReply, DecodeError> {
        for piece in pieces {
            decoder.push(piece, &sink)?;
        }
        decoder.end(&sink)?;
        decoder.finish(BodyEnd::Cut, &sink)
    };
    let decoded = decode();
    let shown = shown.into_inner().unwrap();
    // The reply keeps the reasoning that was shown, so that cases name it once.
    let reasoning = shown.iter().filter_map(|shown| match shown {
        Shown::Reasoning(text) => Some(text.as_str()),
        Shown::Text(_) => None,
    });
    let reasoning: String = reasoning.collect();
    let reply = decoded.map(|reply| {
        assert_eq!(reply.reasoning, reasoning);
        ModelReply {
            reasoning: String::new(),
            ..reply
        }
    });
    (reply.map_err(|error| server.decode_error(&error)), shown)
}

/// Plays a stream whole, cut in two at every byte, and byte by byte; all the same.
pub(crate) fn play_cut(wire: &Wire, stream: &[u8]) -> Played {
    let server = server(wire);
    let whole = play(wire, &server, &[], [stream]);
    for cut in 0..=stream.len() {
        let (left, right) = stream.split_at(cut);
        assert_eq!(
            play(wire, &server, &[], [left, right]),
            whole,
            "cut at {cut}"
        );
    }
    assert_eq!(
        play(wire, &server, &[], stream.chunks(1)),
        whole,
        "byte by byte"
    );
    whole
}
