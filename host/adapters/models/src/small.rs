//! A model with a smaller one beside it, for questions of the loop itself.

#[cfg(test)]
mod tests;

use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model, ModelDelta},
};
use agent_host_types::model::{ModelError, ModelReply, ModelRequest, Provenance};
use std::sync::Arc;

/// A model with a small one.
pub struct WithSmall {
    model: Arc<dyn Model>,
    small: Arc<dyn Model>,
}

/// The small model, for which the other one answers where it cannot, for whatever reason.
struct Small {
    small: Arc<dyn Model>,
    model: Arc<dyn Model>,
}

impl WithSmall {
    /// Creates a model with this small one.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, small: Arc<dyn Model>) -> Self {
        let small = Arc::new(Small {
            small,
            model: Arc::clone(&model),
        });
        Self { model, small }
    }
}

impl Model for WithSmall {
    fn provenance(&self) -> Provenance {
        self.model.provenance()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        self.model.respond(request, deltas)
    }

    fn small(&self) -> Option<Arc<dyn Model>> {
        Some(Arc::clone(&self.small))
    }
}

impl Model for Small {
    fn provenance(&self) -> Provenance {
        self.small.provenance()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let error = match self.small.respond(request, deltas).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            deltas(ModelDelta::Restarted);
            deltas(ModelDelta::Note(&format!(
                "the small model does not answer, and the other one does instead. {error}"
            )));
            let reply = self.model.respond(request, deltas).await?;
            let provenance = reply.provenance.clone();
            Ok(ModelReply {
                provenance: Some(provenance.unwrap_or_else(|| self.model.provenance())),
                ..reply
            })
        })
    }
}
