//! Which models a provider has. It is the cheapest thing that a server can be asked for with a key, so it also shows whether the
//! server answers and the key is taken.

#[cfg(test)]
mod tests;

use crate::{
    endpoint::{Endpoint, Timeouts},
    http::Server,
    provider::Provider,
    retry::Retry,
};
use agent_host_types::model::{ModelError, ModelErrorKind};
use serde_json::Value;
use std::time::Duration;

/// The longest list that is read, in bytes. Gateways have some thousand models.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// How long to wait: a person sits before it, and nothing has to be loaded.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_chunk: Duration::from_secs(10),
    idle_chunk: Duration::from_secs(10),
    total: Duration::from_secs(15),
};

/// The models of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelList {
    /// Their names, as in `--model PROVIDER:NAME`.
    pub names: Vec<String>,
}

impl ModelList {
    /// Whether a model is in it. Ollama's list says `NAME:latest` where a person says `NAME`. An alias need not be in any list.
    #[must_use]
    pub fn has(&self, model: &str) -> bool {
        self.names
            .iter()
            .any(|name| name == model || name.strip_suffix(":latest") == Some(model))
    }
}

impl Provider {
    /// The path and query of the list, below the base URL. One page holds all that the provider itself has.
    fn list_operation(self) -> &'static str {
        match self {
            Self::Anthropic => "v1/models?limit=1000",
            Self::OpenAi | Self::OpenAiCompat => "models",
            Self::Gemini => "v1beta/models?pageSize=1000",
            Self::Ollama => "api/tags",
        }
    }

    /// Asks the provider's server for its models, once and not for long.
    ///
    /// # Errors
    /// No answer, a key that is not taken, or an answer that is no list of models. `not-found` means that the server answers and has
    /// no list, as some compatible ones.
    pub async fn list_models(self, mut endpoint: Endpoint) -> Result<ModelList, ModelError> {
        let configured = endpoint.timeouts;
        endpoint.timeouts = Timeouts {
            connect: TIMEOUTS.connect.min(configured.connect),
            first_chunk: TIMEOUTS.first_chunk.min(configured.first_chunk),
            idle_chunk: TIMEOUTS.idle_chunk.min(configured.idle_chunk),
            total: TIMEOUTS.total.min(configured.total),
        };
        let total = endpoint.timeouts.total;
        let wire = self.wire();
        let server = Server::at(endpoint, self.list_operation(), wire.as_ref(), "")?;
        let listed = tokio::time::timeout(total, list(&server)).await;
        listed.unwrap_or_else(|_| Err(server.slow("no whole answer", total).error))
    }
}

async fn list(server: &Server) -> Result<ModelList, ModelError> {
    let mut body = server.get().await.map_err(|fault| match fault.error.kind {
        ModelErrorKind::NotFound => ModelError::new(
            ModelErrorKind::NotFound,
            format!(
                "The server has no list of models at {} (404). Check the base URL.",
                server.url
            ),
        ),
        _ => fault.error,
    })?;
    let whole = body
        .whole(MAX_LIST_BYTES)
        .await
        .map_err(|fault| fault.error)?;
    names_in(&whole).ok_or_else(|| {
        let why = "it is no list of models; the base URL is probably not that of a model server";
        server.garbled(why, Retry::Never).error
    })
}

/// The names in `{"data": [{"id"}]}` (Anthropic, OpenAI) or `{"models": [{"name"}]}` (Gemini, Ollama).
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
