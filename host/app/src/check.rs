//! Checks that the configured models answer: requests each provider's list of models, which costs
//! nothing and needs the key.

use crate::{
    config::{Config, ModelConfig, ProviderConfig},
    error::HostError,
};
use agent_host_engine::BoxFuture;
use agent_host_models::ModelList;
use agent_host_types::model::{ModelError, ModelErrorKind};
use futures_util::future::join_all;

/// The role of a model or a provider in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The model that is asked.
    First,
    /// A model that is asked where the one before does not answer.
    Fallback,
    /// The small model.
    Small,
    /// A configured provider of which no model is used.
    Unused,
}

/// A model or a provider, and its answer.
#[derive(Debug)]
pub struct CheckedModel {
    /// Its role in the configuration.
    pub role: Role,
    /// `PROVIDER:NAME`; of an unused provider its name alone.
    pub name: String,
    /// Its answer.
    pub answer: ModelAnswer,
}

/// The answer of a model or a provider.
#[derive(Debug)]
pub enum ModelAnswer {
    /// It is built in or a file, and was read.
    Local,
    /// The server answers and accepts the key, if there is one.
    Answers {
        /// The address of the server.
        base_url: String,
        /// The source of the key; absent where none is sent.
        key_source: Option<String>,
        /// Whether the server's list has the model; absent where there is no list or no model.
        listed: Option<bool>,
    },
    /// The configuration cannot be used, for example without a key. No request was made.
    Unusable(HostError),
    /// The server did not answer as it should.
    Fails(ModelError),
}

/// Checks every configured model, and every other configured provider, concurrently.
pub fn check_models(config: &Config) -> BoxFuture<'_, Vec<CheckedModel>> {
    Box::pin(async move {
        let models = &config.models;
        let roles = std::iter::once(Role::First).chain(std::iter::repeat(Role::Fallback));
        // Without a first one all of them are fallbacks.
        let roles = roles.skip(usize::from(models.first.is_none()));
        let small = models.small.iter().map(|small| (Role::Small, small));
        let named = roles.zip(models.all()).chain(small);
        let named = named.map(|(role, model)| async move {
            CheckedModel {
                role,
                name: model.to_string(),
                answer: check(model).await,
            }
        });
        let unused = models.providers.iter().filter(|known| {
            let is_used = models.all().chain(&models.small).any(|model| {
            matches!(model, ModelConfig::Served { provider, .. } if provider.name == known.name)
        });
            known.is_configured() && !is_used
        });
        let unused = unused.map(|provider| async move {
            CheckedModel {
                role: Role::Unused,
                name: provider.name.clone(),
                answer: ask(provider, None).await,
            }
        });
        let (mut checked, others) = futures_util::join!(join_all(named), join_all(unused));
        checked.extend(others);
        checked
    })
}

async fn check(model: &ModelConfig) -> ModelAnswer {
    match model {
        ModelConfig::Served { name, provider, .. } => ask(provider, Some(name)).await,
        ModelConfig::BuiltinScript(_) | ModelConfig::Script(_) | ModelConfig::Replay(_) => {
            match crate::models::make(model, None).await {
                Ok(_) => ModelAnswer::Local,
                Err(error) => ModelAnswer::Unusable(error),
            }
        }
    }
}

async fn ask(provider: &ProviderConfig, model: Option<&str>) -> ModelAnswer {
    let endpoint = match provider.open().await {
        Ok(endpoint) => endpoint,
        Err(error) => return ModelAnswer::Unusable(error.into()),
    };
    let base_url = endpoint.base_url.clone();
    let key_source = endpoint.key.is_some().then(|| endpoint.key_source.clone());
    let answers = |listed: Option<ModelList>| ModelAnswer::Answers {
        base_url,
        key_source,
        listed: listed.zip(model).map(|(list, model)| list.has(model)),
    };
    let wire = provider.preset.provider;
    match wire.list_models(endpoint).await {
        Ok(list) => answers(Some(list)),
        // Several compatible servers have no list.
        Err(error) if error.kind == ModelErrorKind::NotFound && !wire.wants_key() => answers(None),
        Err(error) => ModelAnswer::Fails(error),
    }
}
