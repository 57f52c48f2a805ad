//! The trait of a language model, and the deltas of a reply.

use crate::BoxFuture;
use agent_host_types::model::{ModelError, ModelReply, ModelRequest, Provenance};
use std::{sync::Arc, time::Duration};

tokio::task_local! {
    /// The `traceparent` of the request that the task makes.
    static TRACEPARENT: Option<String>;
}

/// Returns the [traceparent](https://www.w3.org/TR/trace-context/#traceparent-header) for the model
/// request that this task makes, inside of [`Model::respond`]; `None` where nothing is traced.
#[must_use]
pub fn traceparent() -> Option<String> {
    TRACEPARENT.try_with(Clone::clone).ok().flatten()
}

/// Makes a model request whose [`traceparent`] this is.
pub(crate) async fn traced<T>(traceparent: Option<String>, request: impl Future<Output = T>) -> T {
    TRACEPARENT.scope(traceparent, request).await
}

/// A part of a reply in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelDelta<'a> {
    /// More text of the answer.
    Text(&'a str),
    /// More text of the model's reasoning.
    Reasoning(&'a str),
    /// The attempt failed and restarts; the text so far is void.
    Restarted,
    /// A sentence about the request for the user, such as that another model is called; not part of
    /// the answer.
    Note(&'a str),
    /// The attempt failed, and another one follows after a wait.
    Waiting {
        /// The failure.
        error: &'a ModelError,
        /// The wait.
        wait: Duration,
    },
}

/// Receives deltas as they arrive.
pub type DeltaSink<'a> = &'a (dyn Fn(ModelDelta<'_>) + Send + Sync);

/// A language model. Implemented by the adapters of agent-host-models.
pub trait Model: Send + Sync {
    /// Returns the provider and the model.
    fn provenance(&self) -> Provenance;

    /// Calls the model once, including retries, and calls `deltas` as text arrives. Dropping the
    /// future closes the connection.
    ///
    /// # Errors
    /// A [`ModelError`] whose message can be shown to the user as it is.
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;

    /// Returns the model for questions of the loop itself: it summarises long conversations, and
    /// reads values that are kept from this model. `None` if this model does that, too.
    fn small(&self) -> Option<Arc<dyn Model>> {
        None
    }
}
