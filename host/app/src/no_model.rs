//! The model of a host for external clients, which have models of their own.

use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance};

/// Refuses every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoModel;

impl Model for NoModel {
    fn provenance(&self) -> Provenance {
        Provenance {
            provider: "none".to_owned(),
            model: "none".to_owned(),
        }
    }

    fn respond<'a>(
        &'a self,
        _request: &'a ModelRequest,
        _deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let why = "this host was opened only for its tools and has no model; open it with a model to run a turn";
        Box::pin(std::future::ready(Err(ModelError::new(
            ModelErrorKind::InvalidRequest,
            why,
        ))))
    }
}
