//! Lists the models of a provider. It is the cheapest request that needs the key, so it also checks
//! server and key.

#[cfg(test)]
mod tests;

use crate::{
    endpoint::{Endpoint, Timeouts},
    http::Server,
    provider::Provider,
    retry::Retry,
};
use agent_host_engine::BoxFuture;
use agent_host_types::model::{ModelError, ModelErrorKind};
use serde_json::Value;
use std::time::Duration;

/// The most that is read of a list, in bytes. Gateways have some thousand models.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// The longest timeouts: a user is waiting, and no model has to be loaded.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_chunk: Duration::from_secs(10),
    idle_chunk: Duration::from_secs(10),
    total: Duration::from_secs(15),
};

/// The models of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelList {
    /// The names, as in `--model PROVIDER:NAME`.
    pub names: Vec<String>,
}

impl ModelList {
    /// True if the list has this model. Ollama lists `NAME` as `NAME:latest`. Aliases need not be
    /// in any list.
    #[must_use]
    pub fn has(&self, model: &str) -> bool {
        self.names
            .iter()
            .any(|name| name == model || name.strip_suffix(":latest") == Some(model))
    }
}

impl Provider {
    /// Lists the models of the provider's server: one request, at most 15 s.
    ///
    /// # Errors
    /// No response, a refused key, or a response that is no list of models. `not-found` means that
    /// the server responds but has no list, as some compatible ones.
    pub fn list_models(
        self,
        mut endpoint: Endpoint,
    ) -> BoxFuture<'static, Result<ModelList, ModelError>> {
        Box::pin(async move {
            let configured = endpoint.timeouts;
            endpoint.timeouts = Timeouts {
                connect: TIMEOUTS.connect.min(configured.connect),
                first_chunk: TIMEOUTS.first_chunk.min(configured.first_chunk),
                idle_chunk: TIMEOUTS.idle_chunk.min(configured.idle_chunk),
                total: TIMEOUTS.total.min(configured.total),
            };
            let total = endpoint.timeouts.total;
            let wire = self.wire();
            let server = Server::new(endpoint, wire.list_path, wire, "")?;
            let listed = tokio::time::timeout(total, list(&server)).await;
            listed.unwrap_or_else(|_| Err(server.timeout("no complete answer", total).error))
        })
    }
}

async fn list(server: &Server) -> Result<ModelList, ModelError> {
    let mut body = server
        .get()
        .await
        .map_err(|failed| match failed.error.kind {
            ModelErrorKind::NotFound => ModelError::new(
                ModelErrorKind::NotFound,
                format!(
                    "The server does not list its models at {} (404). Check the base URL.",
                    server.shown_url()
                ),
            ),
            _ => failed.error,
        })?;
    let whole = body
        .whole(MAX_LIST_BYTES)
        .await
        .map_err(|failed| failed.error)?;
    names_in(&whole).ok_or_else(|| {
        let why = "it is not a list of models; the base URL is probably not a model server's";
        server.invalid_response(why, Retry::Never).error
    })
}

/// Reads `{"data": [{"id"}]}` (Anthropic, OpenAI) or `{"models": [{"name"}]}` (Gemini, Ollama).
fn names_in(body: &[u8]) -> Option<ModelList> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let models = body
        .get("data")
        .or_else(|| body.get("models"))?
        .as_array()?;
    let names = models.iter().filter_map(|model| {
        let name = model.get("id").or_else(|| model.get("name"))?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    });
    Some(ModelList {
        names: names.collect(),
    })
}
