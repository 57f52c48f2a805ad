//! Layers: their order, their paths, and what an untrusted project may replace.

use super::absolute;
use crate::config::{
    Config, ConfigError, Environment, Overrides, Untrusted, raw::RawConfig, section::SectionPlace,
    untrusted::replaced::compare,
};
use pretty_assertions::assert_eq;
use std::{collections::BTreeSet, fs, path::PathBuf};
use tempfile::TempDir;
use toml::{Table, Value};

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

/// The demands about what is replaced.
fn replaced(tree: &Tree) -> Vec<String> {
    let mut demands = tree.demands();
    demands.retain(|demand| demand.starts_with("replaces"));
    demands
}

/// The keys of the user that a file changes.
fn compared(file: &Table, user: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    let root = SectionPlace::root::<RawConfig>();
    compare(file, user, root, "", &mut |key, _, _, _| {
        keys.push(key.to_owned())
    });
    keys
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
            Some(format!("replaces max-turns {of_user} with 11")),
        ),
        (
            "permission-prompts = \"ask\"\n",
            Some(format!(
                "replaces permission-prompts {of_user} with \"ask\""
            )),
        ),
        (
            "[limits]\ndeadline-ms = 501\n",
            Some(format!("replaces limits.deadline-ms {of_user} with 501")),
        ),
        (
            tool,
            Some(format!("replaces tool \"files\" {of_user} with its own")),
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

/// Whatever form the new value has.
#[test]
fn layers_value_of_another_form_is_a_replaced_one() {
    let tree = Tree::new();
    let user = "[limits]\ndeadline-ms = \"1s\"\n[prices.\"a.b\"]\ninput = 1\noutput = 2\n\
                [network]\nno-proxy = [\"internal.example\"]\n[session]\nlock-timeout-ms = 5\n";
    let file = |what: &str, new: &str| {
        let user = "ROOT/home/.config/agent-host/config.toml";
        vec![format!("replaces {what} of \"{user}\" with {new}")]
    };
    let prices = "[prices.\"a.b\"]\ninput = 1\noutput = 3\n";
    for (project, expected) in [
        (
            "limits = { deadline-ms = 1001 }\n",
            file("limits.deadline-ms", "1001"),
        ),
        ("limits = { deadline-ms = \"900ms\" }\n", Vec::new()),
        ("limits = {}\nprices = {}\nnetwork = {}\n", Vec::new()),
        (
            "network = { no-proxy = [] }\n",
            file("network.no-proxy", "its own"),
        ),
        (prices, file("prices.\\\"a.b\\\".output", "3")),
    ] {
        tree.write("", user, project);
        let found = replaced(&tree);
        assert_eq!(found, expected, "{project}");
    }
    // Of forms that no configuration has; they are refused later.
    for (user, project, what) in [
        ("limits = 3\n", "[limits]\ndeadline-ms = 1\n", "limits"),
        ("[limits]\ndeadline-ms = 1\n", "limits = 3\n", "limits"),
        ("tool = 3\n", "[[tool]]\nname = \"x\"\n", "tool"),
    ] {
        let (user, project) = (user.parse().unwrap(), project.parse().unwrap());
        let found = compared(&project, &user);
        assert_eq!(found, [what]);
    }
}

/// Grants of the user reach the components of a project with trust alone, and one that the user
/// adds later needs it anew.
#[test]
fn layers_grants_reach_components_of_a_trusted_project_alone() {
    let tree = Tree::new();
    let own = "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n";
    let built_in = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
    let grants = "[[grants.http]]\nhost = \"a.example\"\n";
    let runs = "runs the component \"mine.wasm\" as \"mine\"".to_owned();
    let user = "ROOT/home/.config/agent-host/config.toml";
    let uses = format!("lets its tool \"mine\" use the [grants] of \"{user}\"");
    for (user, project, expected) in [
        ("", own, vec![runs.clone()]),
        ("[grants]\n", own, vec![runs.clone()]),
        (grants, own, vec![runs, uses]),
        (grants, built_in, Vec::new()),
    ] {
        tree.write("", user, project);
        assert_eq!(tree.demands(), expected, "{user}{project}");
    }
    let digest = |user: &str| {
        tree.write("", user, own);
        Untrusted::found(&tree.environment).unwrap().unwrap().digest
    };
    let more = "[[grants.http]]\nhost = \"b.example\"\n";
    assert_eq!(digest(grants), digest(grants));
    assert_ne!(digest(grants), digest(&format!("{grants}{more}")));
    // The same for a replaced value, which is not part of the file.
    let digest = |turns: u32| {
        tree.write("", &format!("max-turns = {turns}\n"), "max-turns = 30\n");
        Untrusted::found(&tree.environment).unwrap().unwrap().digest
    };
    assert_ne!(digest(10), digest(11));
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
        "invalid variable AGENT_HOST_MAX_TURNS: it is not a number; write it like `AGENT_HOST_MAX_TURNS=50`"
    );
}

/// The keys of the reference whose texts are paths, or may be.
const PATHS: &str = "agent/*/grants/dir/*/host agent/*/instructions/* agent/*/model cache-dir fallback/* grants/dir/*/host hook/*/component \
    hook/*/dir/*/host hosts/shared-directories/* instructions/* \
    mcp/*/oauth/client-secret mcp/*/roots/* model model-choices/* network/proxy openai-compat/api-key \
    provider/*/headers/x-team publisher/*/keys/* schedule/*/notify/secret secret/*/from settings/headers/x-team skills/* small-model state-dir \
    store/ca store/key store/url tool/*/component tool/*/dir/*/host webhook/*/notify/secret webhook/*/secret";

/// The other ones with texts. Programs of MCP servers start in a directory that is made absolute by
/// itself, and the inputs of workflows are of its tools.
const OTHERS: &str = "agent/*/approval agent/*/description agent/*/flow agent/*/grants/dir/*/mode agent/*/name agent/*/output-schema/type agent/*/system agent/*/tools/* \
    agent/*/until-tool/* agents/* approval-timing cache-bytes external-tool/*/approval/* \
    external-tool/*/description external-tool/*/effect external-tool/*/input-schema/type \
    external-tool/*/name external-tool/*/title flow/audience/*/from flow/audience/*/to/* flow/mode flow/rule/*/arguments/* flow/rule/*/decision flow/rule/*/from \
    flow/rule/*/name flow/rule/*/to flow/trusted/* flow/untrusted/* flow/withhold/* grants/artifacts grants/dir/*/guest \
    grants/dir/*/mask/* grants/dir/*/mode grants/env/*/name grants/env/*/value \
    grants/http/*/host grants/http/*/methods/* grants/http/*/path grants/http/*/scheme \
    grants/secrets/* hook/*/name hook/*/on-error hook/*/points/* hook/*/tools/* hosts/machine hosts/max-memory-bytes mcp/*/approval \
    mcp/*/args/* mcp/*/command mcp/*/dir mcp/*/env/*/name mcp/*/name mcp/*/oauth/client-id \
    mcp/*/oauth/client-metadata-url mcp/*/oauth/scopes/* mcp/*/read-only/* mcp/*/tools/* \
    network/no-proxy/* openai-compat/base-url permission-prompts provider/*/base-url \
    provider/*/key-header provider/*/kind provider/*/name provider/*/query/api-version \
    publisher/*/accept publisher/*/components/* publisher/*/name \
    rule/*/agent rule/*/arguments//path rule/*/decision rule/*/name rule/*/reason rule/*/tool rule/*/where \
    sandbox/pooling sandbox/wasi schedule/*/agent schedule/*/catch-up-seconds schedule/*/cron \
    schedule/*/name \
    schedule/*/notify/url schedule/*/overlap schedule/*/prompt schedule/*/session schedule/*/zone \
    secret/*/audience secret/*/name session/durability session/undo-bytes settings/cache-lifetime \
    settings/effort settings/models/openai:gpt-*/effort settings/prompt-cache-key \
    settings/reasoning-tags settings/service-tier settings/stop/* settings/thinking settings/tool-choice \
    settings/verbosity system telemetry/endpoint tool/*/approval tool/*/approvals/write_file tool/*/artifacts tool/*/exports/* \
    tool/*/name webhook/*/agent webhook/*/max-body-bytes webhook/*/name webhook/*/notify/url \
    webhook/*/prompt webhook/*/session webhook/*/signature workflow/*/description workflow/*/name workflow/*/node/*/agent \
    workflow/*/node/*/foreach/mode workflow/*/node/*/foreach/over workflow/*/node/*/handler \
    workflow/*/node/*/id workflow/*/node/*/input/glob workflow/*/node/*/inputs/*/file \
    workflow/*/node/*/inputs/*/question workflow/*/node/*/message workflow/*/node/*/mode \
    workflow/*/node/*/needs workflow/*/node/*/next/* workflow/*/node/*/next/*/to \
    workflow/*/node/*/next/*/when workflow/*/node/*/on-error workflow/*/node/*/tool \
    workflow/*/reduce/notes";

/// Every key of the reference with a text is in a list, so that a new one is looked at: a path that
/// is not made absolute would begin at the directory of another file.
#[test]
fn layers_keys_of_paths_are_known() {
    let page = include_str!("../../../../../docs/reference/configuration.md");
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("\n```").unwrap();
    let mut keys = BTreeSet::new();
    keys_of_texts(&Value::Table(example.parse().unwrap()), "", &mut keys);
    let is_path = |key: &String| {
        let parts: Vec<String> = key.split('/').map(str::to_owned).collect();
        absolute::is_path(&parts)
    };
    let (paths, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_path);
    assert_eq!(paths.join(" "), PATHS);
    assert_eq!(others.join(" "), OTHERS);
}

fn keys_of_texts(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}/{key}"),
    };
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                keys_of_texts(value, &below(key), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                keys_of_texts(item, &below("*"), found);
            }
        }
        Value::String(_) => {
            found.insert(path.to_owned());
        }
        _ => {}
    }
}
