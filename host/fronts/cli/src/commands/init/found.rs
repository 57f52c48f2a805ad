//! The services that `init` offers, with those first that can be used at once.

use agent_host_app::{Environment, Preset, config::Setup, list_models};
use futures_util::future::join_all;
use std::{path::Path, time::Duration};

/// The maximum time for a server on this machine to list its models.
const PROBE_TIME: Duration = Duration::from_millis(700);

/// A service, and what was found of it.
#[derive(Clone, Debug)]
pub(super) struct OfferedService {
    pub(super) preset: Preset,
    /// A note about it; empty for none.
    pub(super) about: String,
    /// Whether its key is set, or its server answers.
    pub(super) is_found: bool,
}

/// Returns every service: first those on this machine that answer, then those whose key is in the
/// environment, then the others. Only servers that need no key are asked: on this machine, or at an
/// address from the environment.
pub(super) async fn offered_services(
    file: &Path,
    environment: &Environment,
) -> Vec<OfferedService> {
    let services = Preset::all().map(|preset| async move {
        let running = match preset.wants_key {
            true => None,
            false => models_of(preset, file, environment).await,
        };
        let key = key_variable(preset, environment);
        let about = match (running, key) {
            (Some(1), _) => "is running, with 1 model".to_owned(),
            (Some(models), _) => format!("is running, with {models} models"),
            (None, Some(name)) => format!("{name} is set"),
            (None, None) if preset.wants_key => String::new(),
            (None, None) => "needs no key".to_owned(),
        };
        let rank = match (running, key) {
            (Some(1..), _) => 0,
            (_, Some(_)) => 1,
            _ => 2,
        };
        let service = OfferedService {
            preset,
            about,
            is_found: rank < 2,
        };
        (rank, service)
    });
    let mut services = join_all(services).await;
    services.sort_by_key(|(rank, _)| *rank);
    services.into_iter().map(|(_, service)| service).collect()
}

/// Returns the number of models that a server without a key lists; `None` if it does not answer.
async fn models_of(preset: Preset, file: &Path, environment: &Environment) -> Option<usize> {
    let setup = Setup {
        preset,
        base_url: None,
        key: None,
        model: None,
    };
    let config = setup.config(file, environment).ok()?;
    let names = [preset.name.to_owned()];
    let listed = tokio::time::timeout(PROBE_TIME, list_models(&config, &names));
    let listed = listed.await.ok()?.into_iter().next()?;
    listed.models.ok().map(|models| models.len())
}

/// Returns the variable with the key of a service that is set.
pub(super) fn key_variable(preset: Preset, environment: &Environment) -> Option<&'static str> {
    let mut names = preset.key_variables.iter().copied();
    let is_set = |name: &str| {
        let value = environment.variables.get(name);
        value.is_some_and(|value| !value.is_empty())
    };
    names.find(|name| is_set(name))
}
