//! Recording the exchanges of a model, and replaying them.

use super::HttpModel;
use crate::{
    fallback::Fallback,
    http::{ModelEntry, ModelRecording, NO_MODEL, Recorder, Server, unplayable},
    provider::Provider,
};
use agent_host_engine::model::Model;
use agent_host_types::model::ModelError;
use std::sync::Arc;

impl HttpModel {
    /// Records all further exchanges, with the current retry policy.
    #[must_use]
    pub fn recorded(mut self, recorder: &Arc<Recorder>) -> Self {
        let mut entry = ModelEntry::new(
            &self.provenance.provider,
            &self.server,
            self.capabilities,
            self.retry,
        );
        if entry.provider != self.wire.name {
            entry.wire = Some(self.wire.name.to_owned());
        }
        entry.settings = self.settings.clone();
        self.server.record(recorder, entry);
        self
    }

    /// Returns the model of a recording, or all of them behind a [`Fallback`] as recorded. It makes
    /// the same requests and gets the recorded responses in their order; nothing is sent, and waits
    /// are skipped.
    ///
    /// # Errors
    /// An invalid recording.
    pub fn replayed(recording: &str) -> Result<Arc<dyn Model>, ModelError> {
        let (recording, models) = ModelRecording::parse(recording)?;
        let recording = Arc::new(recording);
        let models = models.iter().enumerate().map(|(index, model)| {
            let replayed = Self::of_entry(model, Arc::clone(&recording), index)?;
            Ok(Arc::new(replayed) as Arc<dyn Model>)
        });
        let models: Vec<_> = models.collect::<Result<_, ModelError>>()?;
        let mut models = models.into_iter();
        let first = models.next().ok_or_else(|| unplayable(NO_MODEL))?;
        if models.len() == 0 {
            return Ok(first);
        }
        Ok(Arc::new(Fallback::new(first, models.collect())))
    }

    fn of_entry(
        entry: &ModelEntry,
        recording: Arc<ModelRecording>,
        index: usize,
    ) -> Result<Self, ModelError> {
        let wire = entry.wire.as_ref().unwrap_or(&entry.provider);
        let provider = Provider::from_name(wire).ok_or_else(|| {
            unplayable(&format!("no provider is named `{}`", wire.escape_debug()))
        })?;
        let server = Server::replayed(entry, recording, index)?;
        let model = Self::with_server(provider.wire(), &entry.name, server, entry.capabilities);
        Ok(model
            .with_provider_name(&entry.provider)
            .with_settings(entry.settings.clone())
            .with_retry(entry.retry()))
    }
}
