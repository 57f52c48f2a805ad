//! Several models in one: where one does not answer for a reason of its service, the next one is asked.

#[cfg(test)]
mod tests;

use agent_host_engine::{
    BoxFuture,
    model::{DeltaSink, Model, ModelDelta},
};
use agent_host_types::model::{ModelError, ModelErrorKind, ModelReply, ModelRequest, Provenance};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// Models in the order of preference. Who answered last is asked first the next time: the wait for a service that is down is waited
/// once, and the prompt cache of the one that answers is used.
pub struct Fallback {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    /// The place of the one that answered last.
    current: AtomicUsize,
}

impl Fallback {
    /// `others` are asked in their order where `first` does not answer.
    #[must_use]
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self {
            first,
            others,
            current: AtomicUsize::new(0),
        }
    }

    /// All of them with their places, from the one that answered last on, and around.
    fn in_turn(&self) -> impl Iterator<Item = (usize, &dyn Model)> {
        let all = std::iter::once(&self.first).chain(&self.others);
        let places = all.map(AsRef::as_ref).enumerate();
        let current = self.current.load(Ordering::Relaxed);
        let count = self.others.len() + 1;
        places.cycle().skip(current).take(count)
    }

    async fn ask(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
    ) -> Result<ModelReply, ModelError> {
        let shown = AtomicBool::new(false);
        let sink = |delta: ModelDelta<'_>| {
            match delta {
                ModelDelta::Text(_) | ModelDelta::Reasoning(_) => {
                    shown.store(true, Ordering::Relaxed);
                }
                ModelDelta::Restarted => shown.store(false, Ordering::Relaxed),
                ModelDelta::Note(_) => {}
            }
            deltas(delta);
        };
        let mut failed: Vec<(String, ModelError)> = Vec::new();
        for (place, model) in self.in_turn() {
            let provenance = model.provenance();
            let name = format!("{}:{}", provenance.provider, provenance.model);
            if let Some((other, error)) = failed.last() {
                if shown.swap(false, Ordering::Relaxed) {
                    deltas(ModelDelta::Restarted);
                }
                deltas(ModelDelta::Note(&format!(
                    "{other} does not answer, so {name} is asked. {error}"
                )));
            }
            match model.respond(request, &sink).await {
                Ok(reply) if failed.is_empty() => return Ok(reply),
                Ok(reply) => {
                    self.current.store(place, Ordering::Relaxed);
                    return Ok(ModelReply {
                        provenance: Some(provenance),
                        ..reply
                    });
                }
                Err(error) => {
                    let goes_on = is_of_the_service(error.kind);
                    failed.push((name, error));
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        Err(all_of(failed))
    }
}

impl Model for Fallback {
    /// The one that is asked first.
    fn provenance(&self) -> Provenance {
        let mut models = self.in_turn();
        models
            .next()
            .map_or_else(|| self.first.provenance(), |(_, model)| model.provenance())
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.ask(request, deltas))
    }
}

/// Whether another service may do better. A key that is wrong, a model that does not exist and a request that is refused are for
/// the person to mend: to go on would hide them.
fn is_of_the_service(kind: ModelErrorKind) -> bool {
    match kind {
        ModelErrorKind::RateLimited
        | ModelErrorKind::Server
        | ModelErrorKind::Unreachable
        | ModelErrorKind::Timeout
        | ModelErrorKind::Protocol => true,
        ModelErrorKind::Unauthorized
        | ModelErrorKind::NotFound
        | ModelErrorKind::InvalidRequest
        | ModelErrorKind::ContextWindow
        | ModelErrorKind::Script => false,
    }
}

/// One error of the kind of the last one, with the words of all.
fn all_of(mut failed: Vec<(String, ModelError)>) -> ModelError {
    let lines: Vec<String> = failed
        .iter()
        .map(|(name, error)| format!("{name}: {error}"))
        .collect();
    match failed.pop() {
        Some((_, error)) if failed.is_empty() => error,
        Some((_, error)) => ModelError::new(
            error.kind,
            format!("No model answered.\n{}", lines.join("\n")),
        ),
        None => ModelError::new(ModelErrorKind::Unreachable, "There is no model to ask."),
    }
}
