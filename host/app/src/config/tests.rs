//! Shared fixtures: a directory tree, and its own environment.

mod agents;
mod approvals;
mod bad;
mod budgets;
mod context;
mod counts;
mod dir_grants;
mod flow;
mod fuzz;
mod golden;
mod good;
mod http_grants;
mod instructions;
mod keys;
mod left_out;
mod mcp;
mod mcp_components;
mod models;
mod named_providers;
mod rules;
mod secrets;
mod session;
mod settings;
mod skills;
mod suggestions;
mod triggers;
mod untrusted_files;
mod words;
mod workflows;

use super::{Config, ConfigError, Environment, Overrides};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Waits for what may run a command.
fn finish<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(work)
}

/// A tree with a home directory and a project in it: `ROOT/home/ann/project`, where the process is.
struct Tree {
    _dir: TempDir,
    root: PathBuf,
    environment: Environment,
}

impl Tree {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = root.join("home/ann");
        let cwd = home.join("project");
        std::fs::create_dir_all(cwd.join("data")).unwrap();
        std::fs::create_dir_all(root.join("srv")).unwrap();
        // Not that of this machine.
        let system = ("AGENT_HOST_SYSTEM_CONFIG", root.join("system.toml"));
        let variables = [("HOME", home.clone()), system];
        let variables = variables.map(|(name, path)| (name.to_owned(), path.display().to_string()));
        let variables = variables.into();
        Self {
            _dir: dir,
            root,
            environment: Environment { cwd, variables },
        }
    }

    fn home(&self) -> PathBuf {
        self.root.join("home/ann")
    }

    fn cwd(&self) -> &Path {
        &self.environment.cwd
    }

    fn set(&mut self, name: &str, value: &str) {
        self.environment
            .variables
            .insert(name.to_owned(), value.to_owned());
    }

    /// Writes `agent.toml` into the project and loads it by its name.
    fn load(&self, toml: &str, overrides: &Overrides) -> Result<Config, ConfigError> {
        let file = self.cwd().join("agent.toml");
        std::fs::write(&file, toml).unwrap();
        Config::load(Some(&file), overrides, &self.environment)
    }

    /// The text of the error that loading has to end in, with `ROOT` for the directory of this
    /// tree.
    fn refusal(&self, toml: &str, overrides: &Overrides) -> String {
        match self.load(toml, overrides) {
            Ok(config) => panic!("{toml}: {config:?}"),
            Err(error) => self.portable(&error),
        }
    }

    /// Returns the reason and the fix of that error, without its place.
    fn problem(&self, toml: &str, overrides: &Overrides) -> String {
        let error = self.load(toml, overrides).unwrap_err();
        let [problem] = error.problems() else {
            panic!("{toml}: {error:?}");
        };
        let text = format!("{}; {}", problem.reason, problem.fix);
        text.replace(&self.root.display().to_string(), "ROOT")
    }

    fn portable(&self, error: &ConfigError) -> String {
        error
            .to_string()
            .replace(&self.root.display().to_string(), "ROOT")
    }
}

fn granted(grants: &[&str]) -> Overrides {
    Overrides {
        grants: grants.iter().map(|&grant| grant.to_owned()).collect(),
        ..Overrides::default()
    }
}
