//! Lists the models of the configured providers, with their windows and prices where they are
//! known.

use crate::config::{Config, ProviderConfig};
use agent_host_engine::BoxFuture;
use agent_host_types::{budget::TokenPrices, reason::Reason};
use futures_util::future::join_all;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// `PROVIDER:NAME`. The text of a server: it is not escaped.
    pub name: String,
    /// The window in tokens, if it is known.
    pub window_tokens: Option<u64>,
    /// The price of a million tokens, if it is known.
    pub price: Option<TokenPrices>,
}

/// The models of a provider, or why they cannot be listed.
#[derive(Debug)]
pub struct ListedProvider {
    /// The name of the provider.
    pub name: String,
    /// Its models, by name.
    pub models: Result<Vec<ListedModel>, Reason>,
}

/// Asks every configured provider, or the named ones, for its models, concurrently.
pub fn list_models<'a>(
    config: &'a Config,
    named: &'a [String],
) -> BoxFuture<'a, Vec<ListedProvider>> {
    Box::pin(async move {
        let asked = config
            .models
            .providers
            .iter()
            .filter(|provider| match named {
                [] => provider.is_configured(),
                named => named.contains(&provider.name),
            });
        join_all(asked.map(|provider| list(config, provider))).await
    })
}

async fn list(config: &Config, provider: &ProviderConfig) -> ListedProvider {
    let listed = async {
        let endpoint = provider.open().await.map_err(|error| error.to_string())?;
        let wire = provider.preset.provider;
        let listed = wire.list_models(endpoint).await;
        listed.map_err(|error| Reason::from(error.to_string()))
    };
    let models = listed.await.map(|list| {
        let mut models: Vec<ListedModel> = list
            .names
            .iter()
            .map(|name| {
                let (window_tokens, price) = config.known_model(provider, name);
                ListedModel {
                    name: format!("{}:{name}", provider.name),
                    window_tokens,
                    price: price.map(|price| price.tokens),
                }
            })
            .collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        models
    });
    ListedProvider {
        name: provider.name.clone(),
        models,
    }
}
