//! A running host: journal, model and tools, wired by a configuration.

use crate::{
    approvals::{ApprovalFile, project},
    config::{Config, ModelConfig, ModelsConfig},
    error::HostError,
    no_model::NoModel,
    recording,
    registry::Registry,
};
use agent_host_core::{
    id::SessionId,
    model::Model,
    observer::Observer,
    policy::ApprovalRule,
    session::{ClientSession, Session, SessionStart},
    turn::{Agent, ContinuationKey, Prompts, Settings},
};
use agent_host_models::{Fallback, HttpModel, Recorder, Scripted};
use agent_host_store::{Store, StoreOptions};
use std::sync::Arc;

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
/// let mut config = Config::load(None, overrides, &environment)?;
/// config.tools.clear();
/// let host = Host::open(config).await?;
/// let session = host.start_session()?;
/// assert_eq!(host.model().provenance().model, "tour");
/// # drop(session);
/// # Ok(())
/// # }
/// ```
pub struct Host {
    config: Config,
    registry: Arc<Registry>,
    model: Arc<dyn Model>,
    store: Store,
    key: ContinuationKey,
    approvals: ApprovalFile,
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
    /// One of them cannot be used.
    pub async fn open(config: Config) -> Result<Self, HostError> {
        let model = model(&config).await?;
        Self::open_with_model(config, model).await
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
    pub async fn open_with_model(config: Config, model: Arc<dyn Model>) -> Result<Self, HostError> {
        if let Some(error) = &config.default_dir_refusal {
            return Err(error.clone().into());
        }
        let options = StoreOptions {
            lock_timeout: config.session.lock_timeout,
            keep: config.session.keep,
        };
        let store = Store::open_with(&config.state_dir, options)?;
        let key = ContinuationKey::new(store.continuation_key()?);
        let approvals = ApprovalFile::of(&config.state_dir);
        // An unreadable file is an error before anything runs.
        approvals.read()?;
        let registry = Arc::new(Registry::open(&config).await?);
        Ok(Self {
            config,
            approvals,
            registry,
            model,
            store,
            key,
        })
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the tools.
    #[must_use]
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns the model.
    #[must_use]
    pub fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// Creates the engine over this host's model and tools. Approvals are asked for only where both
    /// the caller and the configuration allow it.
    #[must_use]
    pub fn agent(&self, observer: Arc<dyn Observer>, prompts: Prompts) -> Agent {
        let prompts = match (prompts, self.config.prompts) {
            (Prompts::Ask, Prompts::Ask) => Prompts::Ask,
            (Prompts::Deny, _) | (_, Prompts::Deny) => Prompts::Deny,
        };
        let settings = Settings {
            budgets: self.config.budgets.clone(),
            prompts,
            timing: self.config.timing,
            approval_expiry_ms: self.config.approval_expiry_ms,
            context: self.config.context,
            ..Settings::default()
        };
        Agent {
            model: self.model.clone(),
            tools: self.registry.clone(),
            observer,
            hooks: Vec::new(),
            key: self.key.clone(),
            settings,
        }
    }

    /// Reads the approvals that are remembered for this project, for [`Settings::remembered`].
    /// Another process may revoke one at any time, so they are read for each turn.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn remembered(&self) -> Result<Vec<ApprovalRule>, HostError> {
        Ok(self.approvals.rules(project(&self.config))?)
    }

    /// Remembers, for this project, the approvals of a session. Only for decisions of the user.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn remember(&self, session: SessionId, rules: Vec<ApprovalRule>) -> Result<(), HostError> {
        Ok(self.approvals.add(project(&self.config), session, rules)?)
    }

    /// Starts a session.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn start_session(&self) -> Result<Session, HostError> {
        self.start(self.config.system.clone(), None)
    }

    /// Starts a session driven by an external client; `client` is its name and version.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn start_client_session(&self, client: String) -> Result<ClientSession, HostError> {
        Ok(ClientSession::new(self.start(None, Some(client))?))
    }

    /// Starts the session that follows a client's session.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn continue_client_session(
        &self,
        before: &ClientSession,
        client: String,
    ) -> Result<Arc<ClientSession>, HostError> {
        Ok(before.continue_in(self.start(None, Some(client))?))
    }

    fn start(&self, system: Option<String>, client: Option<String>) -> Result<Session, HostError> {
        let journal = self.store.create(SessionId::new())?;
        let start = SessionStart {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            system,
            folder: Some(self.config.working_dir.display().to_string()),
            client,
        };
        Ok(Session::start(Arc::new(journal), start))
    }

    /// Resumes a session, by its id, the beginning of its id, or `latest`.
    ///
    /// # Errors
    /// There is no such session, another process has it, or its records cannot be read.
    pub async fn resume_session(&self, name: &str) -> Result<Session, HostError> {
        let id = self.store.find(name)?;
        let journal = self.store.open_session(id)?;
        Ok(Session::resume(Arc::new(journal)).await?)
    }
}

/// Creates the configured model with its fallbacks; the scripted tour where none is configured.
///
/// # Errors
/// No model can be selected, a script cannot be read, or the settings of an endpoint cannot be
/// used.
pub async fn model(config: &Config) -> Result<Arc<dyn Model>, HostError> {
    let ModelsConfig {
        first,
        fallback,
        selection_error,
        record,
        ..
    } = &config.models;
    if let Some(error) = selection_error {
        return Err(error.clone().into());
    }
    let recorder = match record {
        Some(file) => Some(recording::create(file, &config.models)?),
        None => None,
    };
    let first: Arc<dyn Model> = match first {
        Some(model) => make(model, recorder.as_ref()).await?,
        None => Arc::new(Scripted::builtin("tour")?),
    };
    let mut others = Vec::with_capacity(fallback.len());
    for model in fallback {
        others.push(make(model, recorder.as_ref()).await?);
    }
    if others.is_empty() {
        return Ok(first);
    }
    Ok(Arc::new(Fallback::new(first, others)))
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
        ModelConfig::BuiltinScript(name) => Arc::new(Scripted::builtin(name)?),
        ModelConfig::Script(path) => {
            let text = std::fs::read_to_string(path).map_err(|source| HostError::Script {
                path: path.clone(),
                source,
            })?;
            Arc::new(Scripted::parse(&path.display().to_string(), &text)?)
        }
        ModelConfig::Replay(path) => HttpModel::replayed(&recording::read(path)?)?,
        ModelConfig::Served { name, provider } => {
            let endpoint = provider.open().await?;
            let capabilities = provider.capabilities;
            let model = HttpModel::new(provider.provider, name, endpoint, capabilities)?;
            let model = model.with_retry(provider.retry);
            Arc::new(match recorder {
                Some(recorder) => model.recorded(recorder),
                None => model,
            })
        }
    })
}
