//! OpenAI's Chat Completions, as many servers speak it: Ollama, vLLM, llama.cpp, gateways, OpenAI itself.
//!
//! `request.rs` translates the conversation, `stream.rs` the answer, `error.rs` the errors; here one reply is asked for,
//! repeated where that helps. It never keeps a conversation: each request carries the whole.

mod error;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use crate::{
    endpoint::Endpoint,
    fault::Fault,
    http::{Body, MAX_BODY_BYTES, Server},
    retry::{self, Retry, RetryPolicy, Schedule},
    sse,
};
use agent_host_core::{
    BoxFuture,
    model::{
        DeltaSink, Model, ModelDelta, ModelError, ModelErrorKind, ModelReply, ModelRequest,
        Provenance,
    },
};
use std::sync::atomic::{AtomicBool, Ordering};
use stream::Decoder;

/// What a server and its model can take beyond text. Compatible servers differ, so configuration can say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Images in user messages. Where this is set and the server fails on a request with images, it is asked once more
    /// without; if that works, it is shown none from then on.
    pub vision: bool,
    /// PDF documents in user messages. OpenAI takes them, most other servers do not.
    pub documents: bool,
}

impl Default for Capabilities {
    /// Images are tried, since a server that cannot take them is found out; documents are not.
    fn default() -> Self {
        Self {
            vision: true,
            documents: false,
        }
    }
}

/// A model behind a Chat Completions server.
#[derive(Debug)]
pub struct OpenAiChat {
    provenance: Provenance,
    server: Server,
    capabilities: Capabilities,
    retry: RetryPolicy,
    /// The server failed on images and worked without.
    blind: AtomicBool,
}

impl OpenAiChat {
    /// Prepares the adapter; nothing is sent. `provider` is the name under which the model was chosen, such as
    /// `openai-compat`.
    ///
    /// # Errors
    /// A base URL or a key that cannot be used, with the name of the setting.
    pub fn new(
        provider: &str,
        model: &str,
        endpoint: Endpoint,
        capabilities: Capabilities,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            provenance: Provenance {
                provider: provider.to_owned(),
                model: model.to_owned(),
            },
            server: Server::new(endpoint, "chat/completions", model)?,
            capabilities,
            retry: RetryPolicy::default(),
            blind: AtomicBool::new(false),
        })
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Result<ModelReply, ModelError> {
        let mut capabilities = self.capabilities;
        capabilities.vision &= !self.blind.load(Ordering::Relaxed);
        let model = &self.provenance.model;
        let asked = request::encode(model, request, capabilities);
        let shown = AtomicBool::new(false);
        let sink = |delta: ModelDelta<'_>| {
            shown.store(true, Ordering::Relaxed);
            deltas(delta);
        };
        let restart = || {
            if shown.swap(false, Ordering::Relaxed) {
                deltas(ModelDelta::Restarted);
            }
        };
        let error = match self.repeat(&asked, request, &sink, &restart).await {
            Ok(reply) => return Ok(reply),
            Err(error) if asked.images == 0 || !may_be_the_images(error.kind) => return Err(error),
            Err(error) => error,
        };
        capabilities.vision = false;
        let asked = request::encode(model, request, capabilities);
        restart();
        let Ok(reply) = self.attempt(&asked, request, &sink).await else {
            return Err(error);
        };
        self.blind.store(true, Ordering::Relaxed);
        tracing::warn!(%model, %error, "the model server failed on images; it is shown none from now on");
        Ok(reply)
    }

    async fn repeat(
        &self,
        asked: &request::Encoded,
        request: &ModelRequest,
        sink: DeltaSink<'_>,
        restart: &(dyn Fn() + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let mut schedule = Schedule::new(self.retry);
        loop {
            let fault = match self.attempt(asked, request, sink).await {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            let Some(wait) = schedule.next_wait(fault.retry, retry::jitter()) else {
                let mut error = fault.error;
                if schedule.attempts() > 1 {
                    error.message =
                        format!("{} (tried {} times)", error.message, schedule.attempts());
                }
                return Err(error);
            };
            tracing::info!(error = %fault.error, ?wait, "asking the model server again");
            restart();
            tokio::time::sleep(wait).await;
        }
    }

    /// Asks once.
    async fn attempt(
        &self,
        asked: &request::Encoded,
        request: &ModelRequest,
        sink: DeltaSink<'_>,
    ) -> Result<ModelReply, Fault> {
        let body = asked.body.to_string().into_bytes();
        let mut body = self.server.post(body, error::words_in).await?;
        let mut decoder = Decoder::new(&self.server, &request.messages);
        let media_type = body.media_type();
        if media_type.contains("html") {
            let why = "it is a web page; the base URL is probably not that of a model server";
            return Err(self.server.garbled(why, Retry::Never));
        }
        let mut raw = None;
        if media_type.ends_with("json") {
            // Some servers and gateways ignore `stream` and answer at once.
            let whole = body.whole(MAX_BODY_BYTES).await?;
            decoder.data(&String::from_utf8_lossy(&whole), sink)?;
            if whole.len() <= stream::MAX_REPLY_BYTES {
                raw = serde_json::from_slice(&whole).ok();
            }
        } else {
            read_events(&self.server, &mut body, &mut decoder, sink).await?;
        }
        let reply = decoder.finish()?;
        Ok(ModelReply { raw, ..reply })
    }
}

impl Model for OpenAiChat {
    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let total = self.server.timeouts.total;
            tokio::time::timeout(total, self.ask(request, deltas))
                .await
                .unwrap_or_else(|_| Err(self.server.slow("no whole answer", total).error))
        })
    }
}

/// Feeds the stream to the decoder until it says that it is done, or the stream ends. Once the model has said why it
/// stopped, a server that breaks off or dawdles has withheld nothing but numbers.
async fn read_events(
    server: &Server,
    body: &mut Body<'_>,
    decoder: &mut Decoder<'_>,
    sink: DeltaSink<'_>,
) -> Result<(), Fault> {
    let too_long = |error: sse::TooLong| server.garbled(&error.to_string(), Retry::Never);
    let mut events = sse::Decoder::new();
    while !decoder.is_done() {
        let bytes = match body.next().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                if let Some(data) = events.finish().map_err(too_long)? {
                    decoder.data(&data, sink)?;
                }
                return Ok(());
            }
            Err(_) if decoder.has_stopped() => return Ok(()),
            Err(fault) => return Err(fault),
        };
        for data in events.push(&bytes).map_err(too_long)? {
            decoder.data(&data, sink)?;
        }
    }
    Ok(())
}

/// Servers answer 400, 422 or 500 to images that their model cannot see; no code says so in common.
fn may_be_the_images(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::InvalidRequest | ModelErrorKind::Server => true,
        ModelErrorKind::Unauthorized
        | ModelErrorKind::NotFound
        | ModelErrorKind::RateLimited
        | ModelErrorKind::Unreachable
        | ModelErrorKind::Timeout
        | ModelErrorKind::Protocol
        | ModelErrorKind::Script => false,
    }
}
