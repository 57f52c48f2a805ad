//! The ways to open a registry: to run its components, to inspect them, and to accept them.

use super::{Registry, skills};
use crate::{
    components::{ComponentKind, load_one, load_source},
    config::{ComponentSource, Config, ToolConfig},
    distribution::PulledComponent,
    error::HostError,
    lock_file::LockFile,
    packages::{Packages, Purpose},
    programs::{self, SandboxedPrograms},
    sandboxed_server::Serving,
    servers::{self, Connected},
    skill::Skill,
};
use agent_host_engine::BoxFuture;
use agent_host_sandbox::{Sandbox, SandboxConfig};
use agent_host_types::lock::LockEntry;
use futures_util::future::try_join_all;
use indexmap::IndexMap;
use std::sync::{Arc, OnceLock};

impl Registry {
    /// Loads every configured component, connects to every MCP server, and checks them against
    /// `agent.lock`.
    ///
    /// # Errors
    /// A component cannot be loaded or a required server not be used, one is not the accepted one,
    /// two have a tool of the same name, or a granted secret cannot be read.
    pub async fn open(config: &Config) -> Result<Self, HostError> {
        let mut registry = Self::open_for(config, Purpose::Run).await?;
        registry.check_lock(config, &config.skills)?;
        registry.add_configured_skills(&config.skills);
        registry.read_secrets(config).await?;
        registry.add_programs(config).await?;
        Ok(registry)
    }

    /// Loads the component that runs programs, if the model of an agent writes any.
    async fn add_programs(&mut self, config: &Config) -> Result<(), HostError> {
        let mut agents = config.agent_definitions.iter();
        if config.code || agents.any(|agent| agent.code) {
            let source = ComponentSource::Builtin(programs::COMPONENT.to_owned());
            let packages = Packages::new(config, Purpose::Run);
            let loaded = load_source(
                &self.sandbox,
                programs::COMPONENT,
                &source,
                ComponentKind::Calls,
                packages,
            )
            .await?;
            self.programs = Some(SandboxedPrograms {
                component: loaded.component,
                limits: config.limits.clone(),
                secrets: Arc::clone(&self.secrets),
            });
        }
        Ok(())
    }

    /// Loads every configured component and reads every skill of the configuration again, into the
    /// same sandbox, and checks them against the present `agent.lock`. Unchanged components are not
    /// compiled again, and no secret is read again.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn reopen<'a>(&'a self, config: &'a Config) -> BoxFuture<'a, Result<Self, HostError>> {
        Box::pin(async move {
            let packages = Packages::new(config, Purpose::Run);
            let mut registry =
                Self::load_in(Arc::clone(&self.sandbox), &config.tools, packages).await?;
            registry.add_hooks(&config.hooks, packages).await?;
            // The servers notice changes of their tools themselves.
            registry.add_servers(self.servers.clone())?;
            registry.add_external(&config.external_tools)?;
            registry.check_names(config)?;
            let skills = try_join_all(config.skills.iter().map(skills::reread)).await?;
            registry.check_lock(config, &skills)?;
            registry.add_configured_skills(&skills);
            registry.secrets = Arc::clone(&self.secrets);
            registry.undo.clone_from(&self.undo);
            registry.programs.clone_from(&self.programs);
            Ok(registry)
        })
    }

    /// Opens the registry without `agent.lock` and secrets, to inspect and accept components.
    ///
    /// # Errors
    /// A component cannot be loaded or a required server not be used, or two have a tool of the
    /// same name.
    pub fn open_unlocked(config: &Config) -> BoxFuture<'_, Result<Self, HostError>> {
        Self::open_for(config, Purpose::Accept)
    }

    fn open_for(config: &Config, purpose: Purpose) -> BoxFuture<'_, Result<Self, HostError>> {
        Box::pin(async move {
            if purpose == Purpose::Run {
                check_known(config)?;
            }
            let packages = Packages::new(config, purpose);
            let sandbox = new_sandbox(config)?;
            let loaded = Self::load_in(Arc::clone(&sandbox), &config.tools, packages);
            let serving = Serving {
                config,
                sandbox: &sandbox,
                purpose,
            };
            let connected = servers::connect(serving, &config.servers);
            let (mut registry, connected) = tokio::try_join!(loaded, connected)?;
            registry.add_hooks(&config.hooks, packages).await?;
            registry.add_servers(connected)?;
            registry.add_external(&config.external_tools)?;
            registry.check_names(config)?;
            Ok(registry)
        })
    }

    /// Loads one component or connects to one MCP server: a configured one by its name, which is
    /// checked against `agent.lock`, or `builtin:NAME` or a file, which is accepted by being named.
    ///
    /// # Errors
    /// There is none, it cannot be loaded or used, it is not the accepted one, or a granted secret
    /// cannot be read.
    pub async fn open_one(config: &Config, name: &str) -> Result<Self, HostError> {
        check_known(config)?;
        let mut registry = Self::open_one_for(config, name, Purpose::Run).await?;
        let mut hooks = config.hooks.iter();
        let configured = config.tools.iter().any(|tool| tool.name == name)
            || hooks.any(|hook| hook.name == name);
        if configured || config.locked || !registry.servers().is_empty() {
            registry.check_lock(config, &config.skills)?;
        }
        registry.read_secrets(config).await?;
        Ok(registry)
    }

    /// Opens one component or server without `agent.lock` and secrets, to inspect it.
    ///
    /// # Errors
    /// There is none, or it cannot be loaded or used.
    pub fn open_one_unlocked<'a>(
        config: &'a Config,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Self, HostError>> {
        Self::open_one_for(config, name, Purpose::Inspect)
    }

    /// Opens one component as its registry has it now, without `agent.lock` and secrets, to accept
    /// it.
    ///
    /// # Errors
    /// There is none, or it cannot be pulled or loaded.
    pub fn open_one_current<'a>(
        config: &'a Config,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Self, HostError>> {
        Self::open_one_for(config, name, Purpose::Accept)
    }

    /// Opens a configured component that was pulled just now, to show and pin it. Nothing is asked
    /// of its registry again.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be loaded.
    pub fn open_pulled<'a>(
        config: &'a Config,
        name: &'a str,
        pulled: &'a PulledComponent,
    ) -> BoxFuture<'a, Result<Self, HostError>> {
        Box::pin(async move {
            let packages = Packages::of_pulled(config, pulled);
            let tool = match config.tools.iter().find(|tool| tool.name == name) {
                Some(tool) => tool.clone(),
                None => config.tool_from_argument(name)?,
            };
            Self::load(config, std::slice::from_ref(&tool), packages).await
        })
    }

    fn open_one_for<'a>(
        config: &'a Config,
        name: &'a str,
        purpose: Purpose,
    ) -> BoxFuture<'a, Result<Self, HostError>> {
        Box::pin(async move {
            let packages = Packages::new(config, purpose);
            if let Some(server) = config.servers.iter().find(|server| server.name == name) {
                // It is requested by its name.
                let mut server = server.clone();
                server.required = true;
                let mut registry = Self::load(config, &[], packages).await?;
                let serving = Serving {
                    config,
                    sandbox: &registry.sandbox,
                    purpose,
                };
                let connected = servers::connect(serving, std::slice::from_ref(&server)).await?;
                registry.add_servers(connected)?;
                return Ok(registry);
            }
            if let Some(hook) = config.hooks.iter().find(|hook| hook.name == name) {
                let mut registry = Self::load(config, &[], packages).await?;
                registry
                    .add_hooks(std::slice::from_ref(hook), packages)
                    .await?;
                return Ok(registry);
            }
            let tool = match config.tools.iter().find(|tool| tool.name == name) {
                Some(tool) => tool.clone(),
                None => config.tool_from_argument(name)?,
            };
            Self::load(config, std::slice::from_ref(&tool), packages).await
        })
    }

    /// Reads the secrets that the components may use, each once. Only to run components that are
    /// known to be the accepted ones: it opens files and runs commands of the operator.
    async fn read_secrets(&mut self, config: &Config) -> Result<(), HostError> {
        let granted = self.components().flat_map(|entry| &entry.grants.secrets);
        let names = granted.map(|grant| grant.name.as_str()).collect();
        self.secrets = Arc::new(config.read_secrets(&names).await?);
        Ok(())
    }

    /// Checks the components from files, the servers and the skills of the configuration against
    /// the accepted ones.
    fn check_lock(&self, config: &Config, skills: &[Arc<Skill>]) -> Result<(), HostError> {
        let Some(mut lock) = LockFile::open(config)? else {
            return Ok(());
        };
        for entry in self.components().filter(|entry| !entry.source.is_builtin()) {
            lock.admit(&entry.name, LockEntry::Component(entry.locked()))?;
        }
        for entry in self.servers() {
            lock.admit(&entry.config.name, LockEntry::Server(entry.locked()))?;
        }
        for skill in skills {
            lock.admit(&skill.name, LockEntry::Skill(skill.locked()))?;
        }
        Ok(())
    }

    async fn load(
        config: &Config,
        tools: &[ToolConfig],
        packages: Packages<'_>,
    ) -> Result<Self, HostError> {
        Self::load_in(new_sandbox(config)?, tools, packages).await
    }

    async fn load_in(
        sandbox: Arc<Sandbox>,
        tools: &[ToolConfig],
        packages: Packages<'_>,
    ) -> Result<Self, HostError> {
        let loading = tools.iter().map(|tool| load_one(&sandbox, tool, packages));
        let entries = try_join_all(loading).await?;
        let mut registry = Self {
            sandbox,
            secrets: Arc::default(),
            entries: Vec::new(),
            hooks: Vec::new(),
            servers: Connected::default(),
            tools: IndexMap::new(),
            set: OnceLock::new(),
            skills: Vec::new(),
            undo: None,
            programs: None,
        };
        for (entry, tool) in entries.into_iter().zip(tools) {
            registry.add_skill(&entry);
            registry.add(entry, tool)?;
        }
        Ok(registry)
    }
}

fn new_sandbox(config: &Config) -> Result<Arc<Sandbox>, HostError> {
    let sandbox = Sandbox::new(SandboxConfig {
        cache_dir: Some(config.cache_dir.clone()),
        protected: config.protected_paths(),
        ..config.sandbox.clone()
    })?;
    Ok(Arc::new(sandbox))
}

/// Refuses what is configured and not in a lock that stays as it is, before anything of it runs.
fn check_known(config: &Config) -> Result<(), HostError> {
    let lock = LockFile::open(config)?;
    lock.map_or(Ok(()), |lock| lock.check_known(config))
}
