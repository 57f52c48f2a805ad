//! A model with a smaller one beside it, for questions of the loop itself.

use crate::Fallback;
use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model},
};
use agent_host_types::model::{ModelError, ModelReply, ModelRequest, Provenance};
use std::sync::Arc;

/// A model with a small one, for which it stands in where that does not answer.
pub struct WithSmall {
    model: Arc<dyn Model>,
    small: Arc<dyn Model>,
}

impl WithSmall {
    /// Creates a model with this small one.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, small: Arc<dyn Model>) -> Self {
        let small = Arc::new(Fallback::new(small, vec![Arc::clone(&model)]));
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
