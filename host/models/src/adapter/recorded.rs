//! Recording what a model says, and models that say it again.

use super::HttpModel;
use crate::{
    Fallback,
    http::{ModelEntry, Recorder, Recording, Server},
    pictures::{ImageLimits, Pictures},
    provider::Provider,
};
use agent_host_engine::model::Model;
use agent_host_types::model::{ModelError, ModelErrorKind, Provenance};
use std::sync::{Arc, atomic::AtomicBool};

impl HttpModel {
    /// Has everything written down that goes over the wire from now on. Its retry policy is part of that.
    #[must_use]
    pub fn recorded(mut self, recorder: &Arc<Recorder>) -> Self {
        let provider = &self.provenance.provider;
        let entry = ModelEntry::new(provider, &self.server, self.capabilities, self.retry);
        self.server.record(recorder, entry);
        self
    }

    /// The model of a recording, or the models, one in place of the other as they were. It is asked like the recorded one and reads
    /// the recorded answers, in their order; nothing is sent, and waits are left out.
    ///
    /// # Errors
    /// Which line of the recording is wrong, and why.
    pub fn replayed(recording: &str) -> Result<Arc<dyn Model>, ModelError> {
        let (recording, models) = Recording::parse(recording)?;
        let recording = Arc::new(recording);
        let models = models.iter().enumerate().map(|(place, model)| {
            let played = Self::of_entry(model, Arc::clone(&recording), place)?;
            Ok(Arc::new(played) as Arc<dyn Model>)
        });
        let mut models = models.collect::<Result<Vec<_>, ModelError>>()?.into_iter();
        let first = models.next().ok_or_else(|| {
            ModelError::new(ModelErrorKind::Script, "The recording names no model.")
        })?;
        if models.len() == 0 {
            return Ok(first);
        }
        Ok(Arc::new(Fallback::new(first, models.collect())))
    }

    fn of_entry(
        model: &ModelEntry,
        recording: Arc<Recording>,
        place: usize,
    ) -> Result<Self, ModelError> {
        let provider = Provider::from_name(&model.provider).ok_or_else(|| {
            let name = model.provider.escape_debug();
            let text = format!("The recording cannot be played: no provider is called `{name}`.");
            ModelError::new(ModelErrorKind::Script, text)
        })?;
        Ok(Self {
            provenance: Provenance {
                provider: model.provider.clone(),
                model: model.name.clone(),
            },
            wire: provider.wire(),
            server: Server::recorded(model, recording, place)?,
            capabilities: model.capabilities,
            pictures: Pictures::new(ImageLimits::of(provider)),
            retry: model.retry(),
            may_be_blind: provider.may_be_blind(),
            blind: AtomicBool::new(false),
        })
    }
}
