//! Creates the models of a configuration.

use crate::{
    config::{Config, ModelConfig, ModelsConfig},
    error::HostError,
    recording,
};
use agent_host_engine::{BoxFuture, model::Model};
use agent_host_models::{Fallback, HttpModel, Priced, Recorder, Scripted, WithSmall};
use agent_host_types::{model::ModelError, reason::Reason};
use std::{collections::BTreeMap, sync::Arc};

/// The models beside the one of the file's top level.
#[derive(Default)]
pub(crate) struct FurtherModels {
    /// Those of the agents that have their own, by the agents' names.
    pub(crate) of_agents: BTreeMap<String, Arc<dyn Model>>,
    /// Those that a session may choose, by their names ([`ModelsConfig::offered`]).
    pub(crate) choices: BTreeMap<String, Arc<dyn Model>>,
}

/// Creates the models of agents, and those that sessions may choose.
///
/// # Errors
/// One of them cannot be used.
pub(crate) async fn further_models(config: &Config) -> Result<FurtherModels, HostError> {
    let mut models = FurtherModels::default();
    for agent in &config.agent_definitions {
        if let Some(own) = &agent.models {
            let model = model_of(own).await?;
            models.of_agents.insert(agent.name.clone(), model);
        }
    }
    for choice in config.models.fallback.iter().chain(&config.models.choices) {
        let model = make(choice, None).await?;
        let model = with_small(model, &config.models, None).await?;
        models.choices.insert(choice.to_string(), model);
    }
    Ok(models)
}

/// Creates the configured model with its fallbacks; the scripted tour where none is configured.
///
/// # Errors
/// No model can be selected, a script cannot be read, or the settings of an endpoint cannot be
/// used.
pub fn model(config: &Config) -> BoxFuture<'_, Result<Arc<dyn Model>, HostError>> {
    model_of(&config.models)
}

/// Creates a model with its fallbacks.
///
/// # Errors
/// Those of [`model`].
fn model_of(models: &ModelsConfig) -> BoxFuture<'_, Result<Arc<dyn Model>, HostError>> {
    Box::pin(async move {
        let ModelsConfig {
            first,
            fallback,
            selection_error,
            record,
            ..
        } = models;
        if let Some(error) = selection_error {
            return Err(error.clone().into());
        }
        let recorder = match record {
            Some(file) => Some(recording::create(file, models)?),
            None => None,
        };
        let first: Arc<dyn Model> = match first {
            Some(model) => make(model, recorder.as_ref()).await?,
            None => Arc::new(Scripted::builtin("tour").map_err(ModelError::from)?),
        };
        let mut others = Vec::with_capacity(fallback.len());
        for model in fallback {
            others.push(make(model, recorder.as_ref()).await?);
        }
        let model = match others.is_empty() {
            true => first,
            false => Arc::new(Fallback::new(first, others)),
        };
        with_small(model, models, recorder.as_ref()).await
    })
}

/// Puts the small model of a configuration beside a model, if there is one.
async fn with_small(
    model: Arc<dyn Model>,
    models: &ModelsConfig,
    recorder: Option<&Arc<Recorder>>,
) -> Result<Arc<dyn Model>, HostError> {
    // A recording is played by one model.
    Ok(match &models.small {
        Some(small) if recorder.is_none() => {
            Arc::new(WithSmall::new(model, make(small, None).await?))
        }
        _ => model,
    })
}

/// Creates one model, which is recorded if there is a recorder and it is behind a server.
///
/// # Errors
/// Those of [`model`].
pub(crate) async fn make(
    model: &ModelConfig,
    recorder: Option<&Arc<Recorder>>,
) -> Result<Arc<dyn Model>, HostError> {
    Ok(match model {
        ModelConfig::BuiltinScript(name) => {
            Arc::new(Scripted::builtin(name).map_err(ModelError::from)?)
        }
        ModelConfig::Script(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Reason::from(format!(
                    "cannot read the script {}: {error}",
                    path.display()
                ))
            })?;
            let script = Scripted::parse(&path.display().to_string(), &text);
            Arc::new(script.map_err(ModelError::from)?)
        }
        ModelConfig::Replay(path) => HttpModel::replayed(&recording::read(path)?)?,
        ModelConfig::Served {
            name,
            provider,
            settings,
            price,
        } => {
            let endpoint = provider.open().await?;
            let capabilities = provider.capabilities;
            let wire = provider.preset.provider;
            let model = HttpModel::new(wire, name, endpoint, capabilities)
                .map_err(ModelError::from)?
                .with_provider_name(&provider.name)
                .with_retry(provider.retry)
                .with_settings((**settings).clone());
            let model: Arc<dyn Model> = Arc::new(match recorder {
                Some(recorder) => model.recorded(recorder),
                None => model,
            });
            match price {
                Some(price) => Arc::new(Priced::new(model, *price)),
                None => model,
            }
        }
    })
}
