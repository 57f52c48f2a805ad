//! Layers: their order, their paths, and what an untrusted project may replace.

use crate::config::{Config, ConfigError, Environment, Overrides, Untrusted};
use pretty_assertions::assert_eq;
use std::{fs, path::PathBuf};
use tempfile::TempDir;

/// A home directory with a project in it, and a configuration of the machine.
struct Tree {
    _dir: TempDir,
    root: PathBuf,
    environment: Environment,
}

impl Tree {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let cwd = root.join("home/project");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(root.join("home/.config/agent-host")).unwrap();
        let variable =
            |name: &str, path: &str| (name.to_owned(), root.join(path).display().to_string());
        let variables = [
            variable("HOME", "home"),
            variable("AGENT_HOST_SYSTEM_CONFIG", "system.toml"),
        ];
        let variables = variables.into();
        Self {
            _dir: dir,
            root,
            environment: Environment { cwd, variables },
        }
    }

    fn write(&self, system: &str, user: &str, project: &str) {
        fs::write(self.root.join("system.toml"), system).unwrap();
        fs::write(self.root.join("home/.config/agent-host/config.toml"), user).unwrap();
        fs::write(self.environment.cwd.join("agent.toml"), project).unwrap();
    }

    fn load(&self) -> Result<Config, ConfigError> {
        Config::load(None, &Overrides::default(), &self.environment)
    }

    fn demands(&self) -> Vec<String> {
        let found = Untrusted::found(&self.environment).unwrap();
        let root = self.root.display().to_string();
        let demands = found.map_or_else(Vec::new, |found| found.demands);
        demands
            .iter()
            .map(|demand| demand.replace(&root, "ROOT"))
            .collect()
    }
}

#[test]
fn layers_higher_one_has_the_value() {
    let mut tree = Tree::new();
    tree.write(
        "max-turns = 40\nsystem = \"machine\"\n[limits]\ndeadline-ms = \"9s\"\noutput-bytes = 7000\n",
        "max-turns = 30\nsystem = \"user\"\n[limits]\ndeadline-ms = \"8s\"\n",
        "max-turns = 20\n",
    );
    let config = tree.load().unwrap();
    assert_eq!(config.budgets.turns, 20);
    assert_eq!(config.system.as_deref(), Some("user"));
    assert_eq!(
        (config.limits.deadline_ms, config.limits.output_bytes),
        (8_000, 7_000)
    );
    let variables = &mut tree.environment.variables;
    variables.insert("AGENT_HOST_MAX_TURNS".to_owned(), "10".to_owned());
    assert_eq!(tree.load().unwrap().budgets.turns, 10);
    let overrides = Overrides {
        max_turns: Some(5),
        ..Overrides::default()
    };
    let config = Config::load(None, &overrides, &tree.environment).unwrap();
    assert_eq!(config.budgets.turns, 5);
}

#[test]
fn layers_rules_of_all_hold_and_names_differ() {
    let tree = Tree::new();
    tree.write(
        "[[rule]]\ndecision = \"deny\"\ntool = \"write_file\"\nname = \"machine\"\n",
        "[[rule]]\ndecision = \"ask\"\ntool = \"*\"\nname = \"user\"\n",
        "[[rule]]\ndecision = \"ask\"\ntool = \"read_file\"\nname = \"project\"\n",
    );
    let config = tree.load().unwrap();
    let names: Vec<&str> = config.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["rule.project", "rule.user", "rule.machine"]);
}

#[test]
fn layers_paths_begin_at_the_directory_of_their_file() {
    let tree = Tree::new();
    tree.write(
        "",
        "state-dir = \"state\"\n[[grants.dir]]\nhost = \".\"\n",
        "",
    );
    let config = tree.load().unwrap();
    assert_eq!(
        config.state_dir,
        tree.root.join("home/.config/agent-host/state")
    );
    assert_eq!(config.grants.dirs[0].host, tree.environment.cwd);
    let protected = config.protected_paths();
    for path in ["home/.config/agent-host", "system.toml"] {
        assert!(protected.contains(&tree.root.join(path)), "{path}");
    }
}

#[test]
fn layers_untrusted_project_replaces_no_stricter_value() {
    let tree = Tree::new();
    let user = "permission-prompts = \"none\"\nmax-turns = 10\nmodel = \"ollama:a\"\n[limits]\ndeadline-ms = 500\n\
                [[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = \"always\"\n";
    let of_user = "of \"ROOT/home/.config/agent-host/config.toml\"";
    let tool = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
    for (project, expected) in [
        ("max-turns = 9\nmodel = \"ollama:b\"\n", None),
        (
            "max-turns = 11\n",
            Some(format!("replaces max-turns {of_user} by 11")),
        ),
        (
            "permission-prompts = \"ask\"\n",
            Some(format!("replaces permission-prompts {of_user} by \"ask\"")),
        ),
        (
            "[limits]\ndeadline-ms = 501\n",
            Some(format!("replaces limits.deadline-ms {of_user} by 501")),
        ),
        (
            tool,
            Some(format!("replaces tool \"files\" {of_user} by its own")),
        ),
    ] {
        tree.write("", user, project);
        assert_eq!(
            tree.demands(),
            Vec::from_iter(expected.clone()),
            "{project}"
        );
        assert_eq!(tree.load().is_err(), expected.is_some(), "{project}");
    }
}

#[test]
fn layers_problem_is_shown_in_the_layer_of_its_key() {
    let mut tree = Tree::new();
    tree.write("", "\n[limits]\ndeadline-ms = 0\n", "max-turns = 3\n");
    let error = tree.load().unwrap_err();
    let span = error.problems()[0].span.clone().unwrap();
    assert_eq!(
        span.file,
        tree.root.join("home/.config/agent-host/config.toml")
    );
    assert_eq!(span.excerpt.unwrap().line, 3);
    tree.write("", "", "");
    let variables = &mut tree.environment.variables;
    variables.insert("AGENT_HOST_MAX_TURNS".to_owned(), "many".to_owned());
    assert_eq!(
        tree.load().unwrap_err().to_string(),
        "the variable AGENT_HOST_MAX_TURNS cannot be used: it is no number; write it like `AGENT_HOST_MAX_TURNS=50`"
    );
}
