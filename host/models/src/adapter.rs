//! One reply from a model behind a server: asked for, read as it arrives, repeated where that helps. It never keeps a
//! conversation: each request carries the whole. What the bytes mean is the wire's to know.

mod recorded;
#[cfg(test)]
mod tests;

use crate::{
    endpoint::Endpoint,
    fault::Fault,
    framing::{Pieces, TooLong},
    http::{Body, MAX_BODY_BYTES, Server},
    pictures::{ImageLimits, Pictures},
    provider::Provider,
    reply::MAX_REPLY_BYTES,
    retry::{self, Retry, RetryPolicy, Schedule},
    wire::{Capabilities, Decode, Encoded, Wire},
};
use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model, ModelDelta},
};
use agent_host_types::model::{
    ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance, StopReason,
};
use serde_json::Value;
use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
};

/// A model behind a server, whatever its wire.
#[derive(Debug)]
pub struct HttpModel {
    provenance: Provenance,
    wire: Box<dyn Wire>,
    server: Server,
    capabilities: Capabilities,
    pictures: Pictures,
    retry: RetryPolicy,
    /// What it can see is not known, so images are left out where it fails on them.
    may_be_blind: bool,
    /// The server failed on images and worked without.
    blind: AtomicBool,
}

impl HttpModel {
    /// Prepares the adapter; nothing is sent.
    ///
    /// # Errors
    /// A base URL or a key that cannot be used, with the name of the setting.
    pub fn new(
        provider: Provider,
        model: &str,
        endpoint: Endpoint,
        capabilities: Capabilities,
    ) -> Result<Self, ModelError> {
        let wire = provider.wire();
        Ok(Self {
            provenance: Provenance {
                provider: provider.name().to_owned(),
                model: model.to_owned(),
            },
            server: Server::new(endpoint, wire.as_ref(), model)?,
            wire,
            capabilities,
            pictures: Pictures::new(ImageLimits::of(provider)),
            retry: RetryPolicy::default(),
            may_be_blind: provider.may_be_blind(),
            blind: AtomicBool::new(false),
        })
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Where requests go. It holds no key.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url.as_str()
    }

    /// The body of the request that would be sent, for whoever wants to look at it.
    #[must_use]
    pub fn body(&self, request: &ModelRequest) -> Value {
        let model = &self.provenance.model;
        self.wire.encode(model, request, self.capabilities).body
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Result<ModelReply, ModelError> {
        let mut capabilities = self.capabilities;
        capabilities.vision &= !self.blind.load(Ordering::Relaxed);
        let fitted = if capabilities.vision {
            self.pictures.fit(request, deltas).await
        } else {
            Cow::Borrowed(request)
        };
        let request = fitted.as_ref();
        let model = &self.provenance.model;
        let asked = self.wire.encode(model, request, capabilities);
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
            Err(error) if asked.images == 0 || !self.may_be_the_images(error.kind) => {
                return Err(error);
            }
            Err(error) => error,
        };
        capabilities.vision = false;
        let asked = self.wire.encode(model, request, capabilities);
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
        asked: &Encoded,
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
            let wait = match schedule.next_wait(fault.retry, retry::jitter()) {
                Ok(wait) => wait,
                Err(end) => return Err(end.explain(fault.error, schedule.attempts())),
            };
            tracing::info!(error = %fault.error, ?wait, "asking the model server again");
            restart();
            self.server.wait(wait).await;
        }
    }

    /// Asks once.
    async fn attempt(
        &self,
        asked: &Encoded,
        request: &ModelRequest,
        sink: DeltaSink<'_>,
    ) -> Result<ModelReply, Fault> {
        let mut body = self.server.post(&asked.body).await?;
        let mut decoder = self.wire.decoder(&self.server, &request.messages);
        let media_type = body.media_type();
        if media_type.contains("html") {
            let why = "it is a web page; the base URL is probably not that of a model server";
            return Err(self.server.garbled(why, Retry::Never));
        }
        if let Some(encoding) = body.content_encoding() {
            let encoding = self.server.quote(&encoding);
            let why = format!("it is encoded as \"{encoding}\", for which it was not asked");
            return Err(self.server.garbled(&why, Retry::Never));
        }
        let mut raw = None;
        if media_type == "application/json" {
            // Some servers and gateways ignore `stream` and answer at once.
            let whole = body.whole(MAX_BODY_BYTES).await?;
            decoder.whole(&String::from_utf8_lossy(&whole), sink)?;
            if whole.len() <= MAX_REPLY_BYTES {
                raw = serde_json::from_slice(&whole).ok();
            }
        } else {
            let pieces = Pieces::new(self.wire.framing());
            read_stream(&self.server, &mut body, pieces, decoder.as_mut(), sink).await?;
        }
        let reply = decoder.finish()?;
        // One that was cut off would be cut off again.
        if reply.is_empty() && reply.stop_reason != Some(StopReason::MaxTokens) {
            let why = "it is empty, with neither text nor a tool call";
            return Err(self.server.garbled(why, Retry::Backoff));
        }
        Ok(ModelReply { raw, ..reply })
    }

    /// Servers answer 400, 422 or 500 to images that their model cannot see; no code says so in common.
    fn may_be_the_images(&self, kind: ModelErrorKind) -> bool {
        let kinds = [ModelErrorKind::InvalidRequest, ModelErrorKind::Server];
        self.may_be_blind && kinds.contains(&kind)
    }
}

impl Model for HttpModel {
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
async fn read_stream(
    server: &Server,
    body: &mut Body<'_>,
    mut pieces: Pieces,
    decoder: &mut dyn Decode,
    sink: DeltaSink<'_>,
) -> Result<(), Fault> {
    let too_long = |error: TooLong| server.garbled(&error.to_string(), Retry::Never);
    while !decoder.is_done() {
        let bytes = match body.next().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                if let Some(data) = pieces.finish().map_err(too_long)? {
                    decoder.event(&data, sink)?;
                }
                return Ok(());
            }
            Err(_) if decoder.has_stopped() => return Ok(()),
            Err(fault) => return Err(fault),
        };
        for data in pieces.push(&bytes).map_err(too_long)? {
            decoder.event(&data, sink)?;
        }
    }
    Ok(())
}
