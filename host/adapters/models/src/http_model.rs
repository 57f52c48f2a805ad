//! A model behind a server: encodes the request, decodes the response as it arrives, and retries.
//! It keeps no conversation: each request carries the whole.

mod recording;
#[cfg(test)]
mod tests;

use crate::{
    endpoint::{Endpoint, EndpointError},
    http::{Body, MAX_BODY_BYTES, Server, failure::AttemptError},
    images::ImageFitter,
    provider::Provider,
    refused::{MAX_REPAIRS, RefusedFiles, is_about_a_file},
    retry::{self, Retry, RetryPolicy, Schedule},
    settings::{ModelSettings, ReasoningTags, SettingsReport},
    wire::{
        Capabilities, Encoded, Wire,
        reply::MAX_REPLY_BYTES,
        response::{BodyEnd, ResponseDecoder},
        schema::fit_request,
        settings,
    },
};
use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model, ModelDelta},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance};
use serde_json::Value;
use std::{
    borrow::Cow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// A model behind a server of any provider.
///
/// ```
/// use agent_host_models::{Endpoint, HttpModel, Provider, Timeouts};
///
/// let provider = Provider::Ollama;
/// let endpoint = Endpoint {
///     base_url: "http://127.0.0.1:11434".to_owned(),
///     key: None,
///     key_source: "OLLAMA_API_KEY".to_owned(),
///     extras: agent_host_models::RequestExtras::default(),
///     timeouts: Timeouts::default(),
/// };
/// let model = HttpModel::new(provider, "qwen3:8b", endpoint, provider.capabilities())?;
/// assert_eq!(model.url(), "http://127.0.0.1:11434/api/chat");
/// # Ok::<(), agent_host_models::EndpointError>(())
/// ```
#[derive(Debug)]
pub struct HttpModel {
    provenance: Provenance,
    wire: &'static Wire,
    server: Server,
    capabilities: Capabilities,
    images: ImageFitter,
    refused: RefusedFiles,
    retry: RetryPolicy,
    settings: ModelSettings,
    /// The settings that the model does not take; reported once.
    lost: Mutex<SettingsReport>,
    /// The server failed on images and worked without.
    blind: AtomicBool,
}

impl HttpModel {
    /// Creates the model; nothing is sent.
    ///
    /// # Errors
    /// A base URL or a key that cannot be used, with the name of the setting.
    pub fn new(
        provider: Provider,
        model: &str,
        endpoint: Endpoint,
        capabilities: Capabilities,
    ) -> Result<Self, EndpointError> {
        let wire = provider.wire();
        let server = Server::new(endpoint, &(wire.reply_path)(model), wire, model)?;
        Ok(Self::with_server(wire, model, server, capabilities))
    }

    fn with_server(
        wire: &'static Wire,
        model: &str,
        server: Server,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            provenance: Provenance {
                provider: wire.name.to_owned(),
                model: model.to_owned(),
            },
            wire,
            server,
            capabilities,
            images: ImageFitter::new(wire.image_limits),
            refused: RefusedFiles::default(),
            retry: RetryPolicy::default(),
            settings: ModelSettings::default(),
            lost: Mutex::default(),
            blind: AtomicBool::new(false),
        }
    }

    /// Replaces the provider's name in the provenance of replies with a configured one.
    #[must_use]
    pub fn with_provider_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.provenance.provider);
        self
    }

    /// Replaces the retry policy.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the settings of replies. Those that the model does not take are left out, and the first
    /// request says so in a [`ModelDelta::Note`].
    #[must_use]
    pub fn with_settings(mut self, settings: ModelSettings) -> Self {
        let model = &self.provenance.model;
        let report = settings::check(self.wire, model, &settings, self.capabilities);
        self.lost = Mutex::new(report);
        self.settings = settings;
        self
    }

    /// Returns the URL of requests. It holds no key.
    #[must_use]
    pub fn url(&self) -> &str {
        self.server.url.as_str()
    }

    /// Returns the body of the HTTP request for a model request.
    #[must_use]
    pub fn body(&self, request: &ModelRequest) -> Value {
        let (request, _) = fit_request(self.wire.schema_dialect, request);
        self.encode(&request, self.capabilities).body
    }

    fn encode(&self, request: &ModelRequest, capabilities: Capabilities) -> Encoded {
        let model = &self.provenance.model;
        let request = capabilities.send.with_ids(request);
        let mut encoded = (self.wire.encode)(model, &request, capabilities);
        settings::apply(
            self.wire,
            model,
            &self.settings,
            &request,
            &mut encoded.body,
        );
        capabilities.send.apply(&mut encoded.body);
        encoded
    }

    /// Notes once which settings the model does not take.
    fn note_lost(&self, deltas: DeltaSink<'_>) {
        let report = std::mem::take(&mut *self.lost.lock().unwrap_or_else(PoisonError::into_inner));
        let model = &self.provenance.model;
        for (setting, why) in report.lost.iter().chain(&report.refused) {
            deltas(ModelDelta::Note(&format!(
                "the setting `{setting}` is not sent to {model}: {why}"
            )));
        }
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Result<ModelReply, ModelError> {
        self.note_lost(deltas);
        let hides_reasoning = self.settings.reasoning_summary == Some(false);
        let deltas = |delta: ModelDelta<'_>| {
            if !(hides_reasoning && matches!(delta, ModelDelta::Reasoning(_))) {
                deltas(delta);
            }
        };
        let deltas: DeltaSink<'_> = &deltas;
        let mut capabilities = self.capabilities;
        capabilities.vision &= !self.blind.load(Ordering::Relaxed);
        let fitted = if capabilities.vision {
            self.images.fit(request, deltas).await
        } else {
            Cow::Borrowed(request)
        };
        let (mut request, arguments) = fit_request(self.wire.schema_dialect, fitted.as_ref());
        let mut repairs_left = MAX_REPAIRS;
        loop {
            request = self.refused.omit(request);
            let asked = self.ask_fitted(request.as_ref(), capabilities, repairs_left > 0, deltas);
            let error = match asked.await {
                Ok(mut reply) => {
                    if hides_reasoning {
                        reply.reasoning.clear();
                    }
                    arguments.restore(&mut reply);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            let refused = self.refused.remember(&error, request.as_ref());
            if refused.is_empty() || repairs_left == 0 {
                return Err(error);
            }
            repairs_left -= 1;
            for file in refused {
                let file = self.server.quote(&file);
                deltas(ModelDelta::Note(&format!(
                    "the model server refused {file}, so the model does not see it"
                )));
            }
        }
    }

    /// Asks with a request that the provider accepts. If the error is about a file and
    /// `may_repair`, it is returned for that file to be replaced.
    async fn ask_fitted(
        &self,
        request: &ModelRequest,
        mut capabilities: Capabilities,
        may_repair: bool,
        deltas: DeltaSink<'_>,
    ) -> Result<ModelReply, ModelError> {
        let encoded = self.encode(request, capabilities);
        let shown = AtomicBool::new(false);
        let sink = |delta: ModelDelta<'_>| {
            if !matches!(delta, ModelDelta::Waiting { .. }) {
                shown.store(true, Ordering::Relaxed);
            }
            deltas(delta);
        };
        let restart = || {
            if shown.swap(false, Ordering::Relaxed) {
                deltas(ModelDelta::Restarted);
            }
        };
        let error = match self
            .attempt_with_retries(&encoded, request, &sink, &restart)
            .await
        {
            Ok(reply) => return Ok(reply),
            Err(error) if encoded.images == 0 || !self.may_be_the_images(error.kind) => {
                return Err(error);
            }
            Err(error) if may_repair && is_about_a_file(&error) => return Err(error),
            Err(error) => error,
        };
        capabilities.vision = false;
        let encoded = self.encode(request, capabilities);
        restart();
        let Ok(reply) = self.attempt(&encoded, request, &sink).await else {
            return Err(error);
        };
        self.blind.store(true, Ordering::Relaxed);
        let model = &self.provenance.model;
        tracing::warn!(%model, %error, "the model server failed on images; no more images are sent to it");
        Ok(reply)
    }

    /// Makes attempts until one succeeds or the retry policy gives up.
    async fn attempt_with_retries(
        &self,
        encoded: &Encoded,
        request: &ModelRequest,
        sink: DeltaSink<'_>,
        restart: &(dyn Fn() + Send + Sync),
    ) -> Result<ModelReply, ModelError> {
        let mut schedule = Schedule::new(self.retry);
        loop {
            let failed = match self.attempt(encoded, request, sink).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            let wait = match schedule.next_wait(failed.retry, retry::jitter()) {
                Ok(wait) => wait,
                Err(end) => return Err(end.explain(failed.error, schedule.attempts())),
            };
            tracing::info!(error = %failed.error, ?wait, "asking the model server again");
            restart();
            let error = &failed.error;
            sink(ModelDelta::Waiting { error, wait });
            self.server.wait(wait).await;
        }
    }

    /// Makes one attempt.
    async fn attempt(
        &self,
        encoded: &Encoded,
        request: &ModelRequest,
        sink: DeltaSink<'_>,
    ) -> Result<ModelReply, AttemptError> {
        let mut body = self.server.post(&encoded.body).await?;
        let model = &self.provenance.model;
        let tags = self.settings.reasoning_tags.unwrap_or(ReasoningTags::Auto);
        let mut decoder = ResponseDecoder::new(self.wire, model, &request.messages, tags);
        let failed = |error| self.server.decode_error(&error);
        let media_type = body.media_type();
        if media_type.contains("html") {
            let why = "it is a web page; the base URL is probably not a model server's";
            return Err(self.server.invalid_response(why, Retry::Never));
        }
        if let Some(encoding) = body.content_encoding() {
            let encoding = self.server.quote(&encoding);
            let why = format!("it is encoded as \"{encoding}\", which was not requested");
            return Err(self.server.invalid_response(&why, Retry::Never));
        }
        let mut raw = None;
        let mut end = BodyEnd::Complete;
        if media_type == "application/json" {
            // Some servers and gateways ignore `stream`.
            let whole = body.whole(MAX_BODY_BYTES).await?;
            decoder
                .whole(&String::from_utf8_lossy(&whole), sink)
                .map_err(failed)?;
            if whole.len() <= MAX_REPLY_BYTES {
                raw = serde_json::from_slice(&whole).ok();
            }
        } else {
            end = read_stream(&self.server, &mut body, &mut decoder, sink).await?;
        }
        let reply = decoder.finish(end, sink).map_err(failed)?;
        Ok(ModelReply { raw, ..reply })
    }

    /// True if the error may be due to images: servers answer 400, 422 or 500 to images that their
    /// model cannot see.
    fn may_be_the_images(&self, kind: ModelErrorKind) -> bool {
        let kinds = [ModelErrorKind::InvalidRequest, ModelErrorKind::Server];
        self.wire.may_be_blind && kinds.contains(&kind)
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
                .unwrap_or_else(|_| Err(self.server.timeout("no complete answer", total).error))
        })
    }
}

/// Feeds the stream to the decoder until it is done or the stream ends. Once the decoder has a stop
/// reason, an error or a timeout of the server is ignored: only token counts can be missing.
async fn read_stream(
    server: &Server,
    body: &mut Body<'_>,
    decoder: &mut ResponseDecoder<'_>,
    sink: DeltaSink<'_>,
) -> Result<BodyEnd, AttemptError> {
    let failed = |error| server.decode_error(&error);
    while !decoder.is_done() {
        let bytes = match body.next().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                decoder.end(sink).map_err(failed)?;
                return Ok(body.end());
            }
            Err(_) if decoder.has_stopped() => return Ok(BodyEnd::Cut),
            Err(error) => return Err(error),
        };
        decoder.push(&bytes, sink).map_err(failed)?;
    }
    Ok(BodyEnd::Complete)
}
