//! Whether the configured models answer: each provider is asked for its list of models, which costs nothing and needs the key.

use crate::{
    OpenError,
    config::{Config, ModelConfig, ProviderConfig},
};
use agent_host_models::ModelList;
use agent_host_types::model::{ModelError, ModelErrorKind};
use futures_util::future::join_all;

/// What a model or a provider is to a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The model that is asked.
    First,
    /// A model that is asked where the one before does not answer.
    Fallback,
    /// A provider that is configured and of which no model is used.
    Spare,
}

/// A model or a provider, and what came of asking.
#[derive(Clone, Debug)]
pub struct CheckedModel {
    /// What it is to the configuration.
    pub role: Role,
    /// `PROVIDER:NAME`; of a spare provider its name alone.
    pub name: String,
    /// What came of it.
    pub answer: ModelAnswer,
}

/// What came of asking.
#[derive(Clone, Debug)]
pub enum ModelAnswer {
    /// It is in the program or in a file, and is there.
    Local,
    /// The server answers and takes the key, if there is one.
    Answers {
        /// Where the server is.
        base_url: String,
        /// Where the key is; absent where none is sent.
        key_source: Option<String>,
        /// Whether the server's list has the model; absent where there is no list or no model.
        listed: Option<bool>,
    },
    /// The configuration cannot be used: an absent key, say. Nobody was asked.
    Unusable(String),
    /// The server did not answer as it should.
    Fails(ModelError),
}

/// Asks for every configured model, and for every other provider that is configured; all at once.
pub async fn check_models(config: &Config) -> Vec<CheckedModel> {
    let models = &config.models;
    let roles = std::iter::once(Role::First).chain(std::iter::repeat(Role::Fallback));
    // Without a first one all of them are fallbacks.
    let roles = roles.skip(usize::from(models.first.is_none()));
    let named = roles.zip(models.all()).map(|(role, model)| async move {
        CheckedModel {
            role,
            name: model.to_string(),
            answer: check(model).await,
        }
    });
    let spare = models.providers.iter().filter(|known| {
        let is_used = models.all().any(|model| {
            matches!(model, ModelConfig::Served { provider, .. } if provider.provider == known.provider)
        });
        known.is_configured() && !is_used
    });
    let spare = spare.map(|provider| async move {
        CheckedModel {
            role: Role::Spare,
            name: provider.provider.name().to_owned(),
            answer: ask(provider, None).await,
        }
    });
    let (mut checked, others) = futures_util::join!(join_all(named), join_all(spare));
    checked.extend(others);
    checked
}

async fn check(model: &ModelConfig) -> ModelAnswer {
    match model {
        ModelConfig::Served { name, provider } => ask(provider, Some(name)).await,
        ModelConfig::BuiltinScript(_) | ModelConfig::Script(_) | ModelConfig::Replay(_) => {
            match crate::host::make(model, None).await {
                Ok(_) => ModelAnswer::Local,
                Err(OpenError::Usage(why) | OpenError::Failed(why)) => ModelAnswer::Unusable(why),
            }
        }
    }
}

async fn ask(provider: &ProviderConfig, model: Option<&str>) -> ModelAnswer {
    let endpoint = match provider.open().await {
        Ok(endpoint) => endpoint,
        Err(error) => return ModelAnswer::Unusable(error.to_string()),
    };
    let base_url = endpoint.base_url.clone();
    let key_source = endpoint.key.is_some().then(|| endpoint.key_source.clone());
    let answers = |listed: Option<ModelList>| ModelAnswer::Answers {
        base_url,
        key_source,
        listed: listed.zip(model).map(|(list, model)| list.has(model)),
    };
    match provider.provider.list_models(endpoint).await {
        Ok(list) => answers(Some(list)),
        // Several compatible servers have no list.
        Err(error) if error.kind == ModelErrorKind::NotFound && !provider.provider.wants_key() => {
            answers(None)
        }
        Err(error) => ModelAnswer::Fails(error),
    }
}
