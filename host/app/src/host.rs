//! A running host: journal, model and tools, wired by a configuration.

mod folded;
mod sessions;

use crate::{
    agents::{AgentModels, open_models},
    config::{Config, ModelConfig, ModelsConfig},
    default_prompt::default_prompt,
    error::HostError,
    loops::LoopParts,
    no_model::NoModel,
    placement::HostPlacement,
    reach::reach,
    recording,
    registry::Registry,
    rules::{CommandRules, check_rules},
    skill::{Skill, skill_reader},
    store::{open_store, project},
    tool_choice,
    undo::UndoLogs,
};
use agent_host_engine::{
    BoxFuture,
    artifact::Artifacts,
    model::Model,
    observer::Observer,
    session::{Session, now_ms},
    turn::{Agent, ContinuationKey, Prompts},
};
use agent_host_journal::{FoundEvents, JournalStore, ProjectApproval};
use agent_host_models::{Fallback, HttpModel, Priced, Recorder, Scripted};
use agent_host_telemetry::{Metrics, Telemetry, TelemetryError};
use agent_host_types::{
    approval::ApprovalRule,
    event::EventRecord,
    id::{Digest, SessionId},
    model::ModelError,
};
use folded::FoldedSessions;
use std::sync::{Arc, OnceLock};

/// A running host.
///
/// ```
/// use agent_host_app::{Config, Environment, Host, Overrides};
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
/// let session = host.start_session().await?;
/// assert_eq!(host.model().provenance().model, "tour");
/// # drop(session);
/// # Ok(())
/// # }
/// ```
pub struct Host {
    config: Arc<Config>,
    placement: HostPlacement,
    registry: Arc<Registry>,
    pub(crate) model: Arc<dyn Model>,
    /// Makes the loops of agents.
    pub(crate) loops: Arc<LoopParts>,
    pub(crate) store: Arc<dyn JournalStore>,
    pub(crate) key: ContinuationKey,
    metrics: Metrics,
    telemetry: Option<Result<Telemetry, TelemetryError>>,
    folded: FoldedSessions,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Opens the journal, the model and the tools of a configuration. Nothing is run.
    ///
    /// # Errors
    /// One of them cannot be used, or `tool-choice` names a tool that the model is not offered.
    pub async fn open(config: Config) -> Result<Self, HostError> {
        let model = model(&config).await?;
        let agent_models = open_models(&config).await?;
        let host = Self::open_with(config, model, agent_models).await?;
        let tools = host.agent(Prompts::Deny).tools;
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
        Self::open_with(config, model, AgentModels::new())
    }

    fn open_with(
        config: Config,
        model: Arc<dyn Model>,
        agent_models: AgentModels,
    ) -> BoxFuture<'static, Result<Self, HostError>> {
        Box::pin(async move {
            let store = open_store(&config, config.session.keep).await?;
            let key = ContinuationKey::new(store.continuation_key().await?);
            // An error is reported before anything runs.
            store.approvals().await?;
            let settings = match &config.telemetry {
                Some(telemetry) => Some(telemetry.open().await?),
                None => None,
            };
            let service = settings.as_ref().map(|set| set.service_name.as_str());
            let metrics = Metrics::new(service.unwrap_or("agent-host"));
            let telemetry =
                settings.map(|settings| Telemetry::start(&settings, Arc::clone(&store), &metrics));
            let mut registry = Registry::open(&config).await?;
            registry.check_default_dir(&config)?;
            if let Some(undo) = UndoLogs::new(&store, config.session.undo_bytes) {
                registry.keep_changes(undo);
            }
            let registry = Arc::new(registry);
            check_rules(&config, &registry)?;
            let rules = CommandRules::resolve(&config, &registry)?;
            let placement = HostPlacement::new(&config, &registry, &rules);
            let config = Arc::new(config);
            let loops = LoopParts {
                config: Arc::clone(&config),
                rules,
                registry: Arc::clone(&registry),
                skill_reader: skill_reader(registry.skills()),
                models: agent_models,
                store: Arc::clone(&store),
                key: key.clone(),
                effects: OnceLock::new(),
            };
            Ok(Self {
                config,
                placement,
                registry,
                model,
                loops: Arc::new(loops),
                store,
                key,
                metrics,
                telemetry,
                folded: FoldedSessions::default(),
            })
        })
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns what it runs, and where.
    #[must_use]
    pub fn placement(&self) -> &HostPlacement {
        &self.placement
    }

    /// Returns the skills of the configuration, and those that came in components.
    #[must_use]
    pub fn skills(&self) -> &[Arc<Skill>] {
        self.registry.skills()
    }

    /// Returns the tools.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns the store of sessions.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn JournalStore> {
        &self.store
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

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// Creates the engine over this host's model and tools. Approvals are asked for only where both
    /// the caller and the configuration allow it.
    #[must_use]
    pub fn agent(&self, prompts: Prompts) -> Agent {
        self.agent_with_model(&self.model, prompts)
    }

    /// Creates the engine as [`Self::agent`] does, with another model; agents without a model of
    /// their own have it, too.
    #[must_use]
    pub fn agent_with_model(&self, model: &Arc<dyn Model>, prompts: Prompts) -> Agent {
        let prompts = self.prompts(prompts);
        let depth = self.config.agent_depth;
        let loops = &self.loops;
        let agents = loops.agents(&self.config.agents, model, prompts, depth);
        let tools = self.registry.tool_set().clone();
        let settings = loops.settings(prompts);
        loops.assemble(tools, model, settings, agents, self.config.code)
    }

    pub(crate) fn prompts(&self, prompts: Prompts) -> Prompts {
        match (prompts, self.config.prompts) {
            (Prompts::Ask, Prompts::Ask) => Prompts::Ask,
            (Prompts::Deny, _) | (_, Prompts::Deny) => Prompts::Deny,
        }
    }

    /// Creates the engine of a session that began before: that of its workflow, of its agent, or of
    /// the file's top level.
    ///
    /// # Errors
    /// The workflow or the agent is no longer configured.
    pub fn session_agent(&self, session: &Session, prompts: Prompts) -> Result<Agent, HostError> {
        let (state, run) = (session.state(), session.state().run_arguments());
        let agent = match (state.workflow(), run.agent) {
            (Some(run), _) => self.workflow_agent(&run.name, prompts)?,
            (None, Some(name)) => self.named_agent(&name, prompts)?.0,
            (None, None) => self.agent(prompts),
        };
        Ok(match run.runs_tools_outside {
            true => self.run_outside(agent),
            false => agent,
        })
    }

    /// Returns the approvals that are remembered for this project now, for
    /// [`agent_host_engine::turn::TurnContext::approvals`]. Another process may revoke one at any
    /// time, so they are read for each turn.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn remembered(&self) -> Result<Vec<ApprovalRule>, HostError> {
        let project = project(&self.config);
        let approvals = self.store.approvals().await?.into_iter();
        let here = approvals.filter(|approval| approval.project == project);
        Ok(here.map(|approval| approval.rule).collect())
    }

    /// Remembers, for this project, the approvals of a session. Only for decisions of the user.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub async fn remember(
        &self,
        session: SessionId,
        rules: Vec<ApprovalRule>,
    ) -> Result<(), HostError> {
        let (project, at_ms) = (project(&self.config), now_ms());
        let approvals = rules.into_iter().map(|rule| ProjectApproval {
            project: project.clone(),
            rule,
            session,
            at_ms,
        });
        Ok(self.store.remember_approvals(approvals.collect()).await?)
    }

    /// Returns the files that the durable calls of a session returned.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn artifacts(&self, session: SessionId) -> Result<Artifacts, HostError> {
        let mut artifacts = Artifacts::default();
        let add = |record: EventRecord| artifacts.add(&record.event);
        let store = self.store.as_ref();
        store
            .for_each_found(session, FoundEvents::OfArtifacts, add)
            .await?;
        Ok(artifacts)
    }

    /// Returns the bytes of an artifact.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn read_blob(&self, digest: Digest) -> Result<Vec<u8>, HostError> {
        Ok(self.store.read_blob(digest).await?)
    }

    /// Returns the system prompt of the agent of the file's top level: the configured one, or the
    /// default one before the instruction files. It changes from day to day alone.
    #[must_use]
    pub fn system_prompt(&self, prompts: Prompts) -> Option<String> {
        let configured = self.config.system.clone();
        if !self.config.default_system {
            return configured;
        }
        let day = i64::try_from(now_ms()).unwrap_or_default();
        let day = jiff::Timestamp::from_millisecond(day).unwrap_or_default();
        let prompt = default_prompt(
            &day.strftime("%F").to_string(),
            &self.config.working_dir.display().to_string(),
            &reach(&self.registry),
            self.prompts(prompts) == Prompts::Ask,
        );
        let sections = std::iter::once(prompt).chain(configured);
        Some(sections.collect::<Vec<_>>().join("\n\n"))
    }
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
pub(crate) fn model_of(models: &ModelsConfig) -> BoxFuture<'_, Result<Arc<dyn Model>, HostError>> {
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
        if others.is_empty() {
            return Ok(first);
        }
        Ok(Arc::new(Fallback::new(first, others)))
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
            let text = std::fs::read_to_string(path).map_err(|source| HostError::Script {
                path: path.clone(),
                source,
            })?;
            let script = Scripted::parse(&path.display().to_string(), &text);
            Arc::new(script.map_err(ModelError::from)?)
        }
        ModelConfig::Replay(path) => {
            HttpModel::replayed(&recording::read(path)?).map_err(ModelError::from)?
        }
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
