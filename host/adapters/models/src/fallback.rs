//! A model that asks the next one of a list when the service of one fails.

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

/// Models in order of preference. The one that answered last is asked first the next time: a failed
/// service costs one wait, and the prompt cache of the answering one is used.
pub struct Fallback {
    first: Arc<dyn Model>,
    others: Vec<Arc<dyn Model>>,
    /// The index of the model that answered last.
    current: AtomicUsize,
}

impl Fallback {
    /// Creates a model that asks `others` in their order if `first` fails.
    #[must_use]
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        Self {
            first,
            others,
            current: AtomicUsize::new(0),
        }
    }

    /// Returns all models with their indices, in cyclic order from the one that answered last.
    fn in_order(&self) -> impl Iterator<Item = (usize, &dyn Model)> {
        let all = std::iter::once(&self.first).chain(&self.others);
        let indexed = all.map(AsRef::as_ref).enumerate();
        let current = self.current.load(Ordering::Relaxed);
        let count = self.others.len() + 1;
        indexed.cycle().skip(current).take(count)
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
                ModelDelta::Note(_) | ModelDelta::Waiting { .. } => {}
            }
            deltas(delta);
        };
        let mut failed: Vec<(String, ModelError)> = Vec::new();
        for (index, model) in self.in_order() {
            let provenance = model.provenance();
            let name = format!("{}:{}", provenance.provider, provenance.model);
            if let Some((other, error)) = failed.last() {
                if shown.swap(false, Ordering::Relaxed) {
                    deltas(ModelDelta::Restarted);
                }
                deltas(ModelDelta::Note(&format!(
                    "{other} does not answer; using {name} instead. {error}"
                )));
            }
            match model.respond(request, &sink).await {
                Ok(reply) if failed.is_empty() => return Ok(reply),
                Ok(reply) => {
                    self.current.store(index, Ordering::Relaxed);
                    return Ok(ModelReply {
                        provenance: Some(provenance),
                        ..reply
                    });
                }
                Err(error) => {
                    // The user must fix a wrong key, an unknown model or a refused request: falling
                    // back would hide them.
                    let may_another = error.kind.is_transient();
                    failed.push((name, error));
                    if !may_another {
                        break;
                    }
                }
            }
        }
        Err(combined(failed))
    }
}

impl Model for Fallback {
    /// Returns that of the model that is asked first.
    fn provenance(&self) -> Provenance {
        let mut models = self.in_order();
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

/// Combines errors into one of the last error's kind, with the texts of all.
fn combined(mut failed: Vec<(String, ModelError)>) -> ModelError {
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
