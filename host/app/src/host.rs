//! A running host: its sessions and its agents, opened from a configuration.

use crate::{
    agents::ConfiguredAgents,
    config::Config,
    error::HostError,
    models::{FurtherModels, further_models, model},
    no_model::NoModel,
    placement::HostPlacement,
    sessions::Sessions,
    tool_choice,
};
use agent_host_engine::{
    BoxFuture, model::Model, observer::Observer, session::Session, turn::Prompts,
};
use agent_host_telemetry::{Metrics, Telemetry};
use agent_host_types::reason::Reason;
use std::sync::Arc;

/// A running host.
///
/// ```
/// use agent_host_app::{Config, Environment, Host, Overrides};
/// use agent_host_engine::turn::Prompts;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let project = tempfile::tempdir()?;
/// let environment = Environment {
///     cwd: project.path().to_owned(),
///     ..Environment::default()
/// };
/// let overrides = Overrides {
///     state_dir: Some("state".into()),
///     ..Overrides::default()
/// };
/// let mut config = Config::load(None, &overrides, &environment)?;
/// config.tools.clear();
/// let host = Host::open(config).await?;
/// let system = host.agents().system_prompt(Prompts::Ask);
/// let session = host.sessions().start(system).await?;
/// assert_eq!(host.agents().model().provenance().model, "tour");
/// # drop(session);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Host {
    config: Arc<Config>,
    sessions: Sessions,
    agents: Arc<ConfiguredAgents>,
    placement: HostPlacement,
    metrics: Metrics,
    telemetry: Option<Result<Telemetry, Reason>>,
}

impl Host {
    /// Opens the journal, the model and the tools of a configuration. Nothing is run.
    ///
    /// # Errors
    /// One of them cannot be used, or `tool-choice` names a tool that the model is not offered.
    pub async fn open(config: Config) -> Result<Self, HostError> {
        let model = model(&config).await?;
        let models = further_models(&config).await?;
        let host = Self::open_with(config, model, models).await?;
        let tools = host.agents.agent(Prompts::Deny).tools;
        tool_choice::check(&host.config.models, tools.as_ref())?;
        Ok(host)
    }

    /// Opens the journal and the tools, for external clients with a loop and a model of their own.
    /// The configured models are ignored, and no turn can be run.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub async fn open_tools(config: Config) -> Result<Self, HostError> {
        Self::open_with_model(config, Arc::new(NoModel)).await
    }

    /// Opens the journal and the tools, with a model of the embedder. The configured models are
    /// ignored.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn open_with_model(
        config: Config,
        model: Arc<dyn Model>,
    ) -> BoxFuture<'static, Result<Self, HostError>> {
        Self::open_with(config, model, FurtherModels::default())
    }

    fn open_with(
        config: Config,
        model: Arc<dyn Model>,
        models: FurtherModels,
    ) -> BoxFuture<'static, Result<Self, HostError>> {
        Box::pin(async move {
            let sessions = Sessions::open(&config).await?;
            let settings = match &config.telemetry {
                Some(telemetry) => Some(telemetry.open().await?),
                None => None,
            };
            let service = settings.as_ref().map(|set| set.service_name.as_str());
            let metrics = Metrics::new(service.unwrap_or("agent-host"));
            let store = sessions.store();
            let telemetry =
                settings.map(|settings| Telemetry::start(&settings, Arc::clone(store), &metrics));
            let config = Arc::new(config);
            let agents =
                ConfiguredAgents::open(Arc::clone(&config), Arc::clone(store), model, models);
            let agents = agents.await?;
            Ok(Self {
                config,
                placement: HostPlacement::new(&agents),
                sessions,
                agents: Arc::new(agents),
                metrics,
                telemetry,
            })
        })
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns its sessions.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns its agents.
    #[must_use]
    pub fn agents(&self) -> &Arc<ConfiguredAgents> {
        &self.agents
    }

    /// Returns what it runs, and where.
    #[must_use]
    pub fn placement(&self) -> &HostPlacement {
        &self.placement
    }

    /// Returns the observers of a session that count what it does and, where they go anywhere, make
    /// traces of it.
    #[must_use]
    pub fn observers(&self, session: &Session) -> Vec<Box<dyn Observer>> {
        let agent = session.state().run_arguments().agent;
        let mut observers = vec![self.metrics.observer(agent)];
        if let Some(Ok(telemetry)) = &self.telemetry {
            observers.extend(telemetry.observer());
        }
        observers
    }

    /// Returns the metrics of this process.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Sends the traces and metrics that are left, within 2 s. Returns a sentence about what was
    /// not sent, if anything was not.
    pub async fn flush_telemetry(&self) -> Option<String> {
        match self.telemetry.as_ref()? {
            Ok(telemetry) => telemetry.flush().await,
            Err(error) => Some(error.to_string()),
        }
    }
}
