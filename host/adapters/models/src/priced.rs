//! A model with the price of its tokens.

#[cfg(test)]
mod tests;

use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model},
};
use agent_host_types::{
    budget::Price,
    model::{ModelError, ModelReply, ModelRequest, Provenance},
};
use std::sync::Arc;

/// A model whose replies have their cost. A server that counts no tokens has none.
pub struct Priced {
    model: Arc<dyn Model>,
    price: Price,
}

impl Priced {
    /// Creates a model with this price.
    #[must_use]
    pub fn new(model: Arc<dyn Model>, price: Price) -> Self {
        Self { model, price }
    }
}

impl Model for Priced {
    fn provenance(&self) -> Provenance {
        self.model.provenance()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let mut reply = self.model.respond(request, deltas).await?;
            if !reply.usage.is_none() {
                reply.usage.cost_micros = Some(self.price.micros(reply.usage));
            }
            Ok(reply)
        })
    }
}
