//! The trait of a language model, and what arrives while it replies.

use crate::BoxFuture;
use agent_host_types::model::{ModelError, ModelReply, ModelRequest, Provenance};

/// What arrives while a reply is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelDelta<'a> {
    /// More text of the answer.
    Text(&'a str),
    /// More text of the model's reasoning.
    Reasoning(&'a str),
    /// The attempt broke off and starts anew: what was shown of it does not count.
    Restarted,
    /// Something that the person should know of this request, such as that another model is asked: a sentence, which is no part
    /// of the answer.
    Note(&'a str),
}

/// Receives deltas as they arrive.
pub type DeltaSink<'a> = &'a (dyn Fn(ModelDelta<'_>) + Send + Sync);

/// A language model. Implemented by the adapters of agent-host-models, and by tests.
pub trait Model: Send + Sync {
    /// Which model this is.
    fn provenance(&self) -> Provenance;

    /// Asks once, retries included, and calls `deltas` as text arrives. Dropping the future closes the connection.
    ///
    /// # Errors
    /// A [`ModelError`] whose text can be shown to a person as it is.
    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;
}
