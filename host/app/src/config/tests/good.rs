//! Configurations that hold: defaults, precedence, and where paths begin.

use super::{Tree, finish, granted};
use crate::config::{
    ComponentSource, Config, LimitsSection, ModelConfig, Overrides, parse, raw::RawConfig,
};
use agent_host_engine::{
    policy::{DirMode, DirQuota},
    turn::Prompts,
};
use agent_host_models::{Capabilities, Provider, Timeouts};
use agent_host_sandbox::{CompileLimits, Pooling, SandboxConfig};
use agent_host_types::{limits::Limits, tool::Approval};
use pretty_assertions::assert_eq;
use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

/// Name, source, approval and whether its word is believed, of each tool.
fn tools(config: &Config) -> Vec<(&str, ComponentSource, Approval, bool)> {
    let tools = config.tools.iter();
    tools
        .map(|tool| {
            (
                tool.name.as_str(),
                tool.source.clone(),
                tool.confirmations.general.approval,
                tool.accept_idempotent,
            )
        })
        .collect()
}

fn builtin(name: &'static str) -> (&'static str, ComponentSource, Approval, bool) {
    (
        name,
        ComponentSource::Builtin(name.to_owned()),
        Approval::ByEffect,
        false,
    )
}

/// A file may be a link to one elsewhere, such as those of a volume of Kubernetes, which have
/// another place after each change.
#[test]
fn project_is_the_directory_that_has_the_name_of_the_file() {
    let tree = Tree::new();
    let of = |file: &Path| {
        let config = Config::load(Some(file), &Overrides::default(), &tree.environment);
        config.unwrap().project_dir
    };
    let real = tree.root.join("srv/agent.toml");
    std::fs::write(&real, "").unwrap();
    assert_eq!(of(&real), tree.root.join("srv"));
    let link = tree.cwd().join("agent.toml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(of(&link), tree.cwd());
    let directory = tree.root.join("linked");
    std::os::unix::fs::symlink(tree.cwd(), &directory).unwrap();
    assert_eq!(of(&directory.join("agent.toml")), tree.cwd());
}

#[test]
fn config_without_a_file_is_the_default() {
    let tree = Tree::new();
    let config = Config::load(None, &Overrides::default(), &tree.environment).unwrap();
    assert_eq!(config.file, None);
    assert_eq!(config.working_dir, tree.cwd());
    assert_eq!(config.project_dir, tree.cwd());
    assert_eq!(
        config.state_dir,
        tree.home().join(".local/state/agent-host")
    );
    assert_eq!(config.cache_dir, tree.home().join(".cache/agent-host"));
    assert!(
        config.models.first.is_none()
            && config.system.is_none()
            && config.default_dir_refusal.is_none()
    );
    assert_eq!((config.budgets.turns, config.prompts), (50, Prompts::Ask));
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.sandbox, SandboxConfig::default());
    assert_eq!(
        tools(&config),
        [builtin("files"), builtin("fetch"), builtin("image")]
    );
    let dirs = &config.grants.dirs;
    assert_eq!((dirs.len(), config.grants.http.len()), (1, 0));
    assert_eq!(
        (&dirs[0].host, dirs[0].guest.as_str()),
        (&tree.cwd().to_owned(), "/workspace")
    );
    assert_eq!(dirs[0].mode, DirMode::ReadOnly);
    for masked in [
        ".env",
        "a/.env.local",
        ".ssh/id_rsa",
        "sub/.git/config",
        ".git/config",
        "x/agent.toml",
        "agent.lock",
        ".ssh-keys/id_ecdsa_sk",
        "id_dsa",
        "certs/server.pem",
        "server.key",
        "signing.p12",
        "home/.pgpass",
        ".kube/cache/x",
        ".git/modules/lib/config",
        ".cargo/credentials.toml",
    ] {
        assert!(dirs[0].mask.first_match(masked).is_some(), "{masked}");
    }
    for open in [
        "README.md",
        ".git/HEAD",
        ".github/workflows/ci.yml",
        "environment",
        "src/key.rs",
        ".cargo/config.toml",
        ".git/modules/lib/HEAD",
    ] {
        assert_eq!(dirs[0].mask.first_match(open), None, "{open}");
    }
    assert_eq!(config.tools[0].grants.dirs[0].host, tree.cwd());
}

#[test]
fn raw_config_every_key_is_read() {
    let tree = Tree::new();
    let toml = r#"
        model = "openai-compat:llama3.2"
        system = "Be brief."
        state-dir = "state"
        cache-dir = "/var/cache/agent"
        max-turns = 3
        permission-prompts = "none"
        [openai-compat]
        base-url = "http://127.0.0.1:11434/v1"
        vision = false
        documents = true
        files-in-results = true
        parallel-calls = false
        max-output-tokens = 1000
        denied-is-error = true
        connect-timeout-seconds = 1
        first-chunk-timeout-seconds = 2
        idle-chunk-timeout-seconds = 3
        total-timeout-seconds = 4
        retries = 0
        [[tool]]
        name = "files"
        component = "builtin:files"
        approval = "always"
        [[tool]]
        name = "mine"
        component = "tools/mine.wasm"
        approval = "never"
        accept-idempotent = true
        concurrent-calls = 5
        dir = []
        [tool.limits]
        deadline-ms = 7
        [[grants.dir]]
        host = "data"
        guest = "/data/in/"
        mode = "read-write"
        allow = ["*.txt"]
        deny = ["private"]
        mask = ["hidden"]
        allow-run-later = [".github/workflows"]
        quota = { write-bytes = 1000 }
        [[grants.http]]
        host = "API.example.com"
        scheme = "https"
        port = 8443
        [limits]
        deadline-ms = 1000
        memory-bytes = 1048576
        [sandbox]
        concurrent-calls = 2
        queued-calls = 3
        concurrent-calls-per-tool = 1
        queued-calls-per-tool = 2
        result-memory-bytes = 2097152
        guest-threads = 4
        pooling = "off"
        compile-memory-bytes = 1073741824
        compile-cpu-seconds = 5
        compile-deadline-ms = 6000
    "#;
    let config = tree.load(toml, &Overrides::default()).unwrap();
    assert_eq!(config.file, Some(tree.cwd().join("agent.toml")));
    assert_eq!(config.state_dir, tree.cwd().join("state"));
    assert_eq!(config.cache_dir, PathBuf::from("/var/cache/agent"));
    assert_eq!(config.system.as_deref(), Some("Be brief."));
    assert_eq!((config.budgets.turns, config.prompts), (3, Prompts::Deny));
    let Some(ModelConfig::Served { name, provider, .. }) = &config.models.first else {
        panic!("{:?}", config.models);
    };
    let capabilities = Capabilities {
        vision: false,
        documents: true,
        audio: false,
        files_in_results: true,
        parallel_calls: false,
        denied_is_error: true,
        max_output_tokens: NonZeroU32::new(1000),
        ..Provider::OpenAiCompat.capabilities()
    };
    assert_eq!(
        (name.as_str(), provider.capabilities, provider.retry.retries),
        ("llama3.2", capabilities, 0)
    );
    let endpoint = finish(provider.open()).unwrap();
    let timeouts = Timeouts {
        connect: Duration::from_secs(1),
        first_chunk: Duration::from_secs(2),
        idle_chunk: Duration::from_secs(3),
        total: Duration::from_secs(4),
    };
    assert_eq!(
        (endpoint.base_url.as_str(), endpoint.timeouts),
        ("http://127.0.0.1:11434/v1", timeouts)
    );
    let mine = ComponentSource::File(tree.cwd().join("tools/mine.wasm"));
    let files = ComponentSource::Builtin("files".to_owned());
    assert_eq!(
        tools(&config),
        [
            ("files", files, Approval::Always, false),
            ("mine", mine, Approval::Never, true)
        ]
    );
    let own: Vec<_> = config
        .tools
        .iter()
        .map(|tool| tool.concurrent_calls.map(NonZeroUsize::get))
        .collect();
    assert_eq!(own, [None, Some(5)]);
    let limits = Limits {
        deadline_ms: 1000,
        memory_bytes: 1 << 20,
        ..Limits::default()
    };
    assert_eq!(config.limits, limits);
    assert_eq!(config.tools[0].limits, limits);
    assert_eq!(
        config.tools[1].limits,
        Limits {
            deadline_ms: 7,
            ..limits
        }
    );
    let dir = &config.grants.dirs[0];
    assert_eq!(
        (&dir.host, dir.guest.as_str(), dir.mode),
        (&tree.cwd().join("data"), "/data/in", DirMode::ReadWrite)
    );
    assert_eq!(
        (dir.allow.patterns(), dir.deny.patterns()),
        (&["*.txt".to_owned()][..], &["private".to_owned()][..])
    );
    assert_eq!(dir.mask.patterns(), ["hidden", "agent.toml", "agent.lock"]);
    assert_eq!(dir.allow_run_later.patterns(), [".github/workflows"]);
    let quota = DirQuota {
        write_bytes: Some(1000),
        creates: None,
    };
    assert_eq!(dir.quota, quota);
    let http = &config.grants.http[0];
    assert_eq!(
        (http.scheme.as_deref(), http.host.as_str(), http.port),
        (Some("https"), "api.example.com", Some(8443))
    );
    // Its own empty list of directories replaces the general one; it has no list of hosts of its
    // own.
    assert_eq!(
        (
            config.tools[1].grants.dirs.len(),
            config.tools[1].grants.http.len()
        ),
        (0, 1)
    );
    let expected = SandboxConfig {
        concurrent_calls: 2,
        queued_calls: 3,
        concurrent_calls_per_tool: Some(1),
        queued_calls_per_tool: Some(2),
        result_memory_bytes: 2_097_152,
        guest_threads: 4,
        pooling: Pooling::Off,
        compile_limits: CompileLimits {
            memory_bytes: 1_073_741_824,
            cpu_seconds: 5,
            deadline_ms: 6_000,
        },
        ..SandboxConfig::default()
    };
    assert_eq!(config.sandbox, expected);
}

#[test]
fn overrides_win_over_the_file() {
    let mut tree = Tree::new();
    tree.set("XDG_STATE_HOME", "/xdg/state");
    tree.set("XDG_CACHE_HOME", "/xdg/cache");
    let directory = tree.root.join("srv");
    std::fs::write(
        directory.join("my.toml"),
        "model = \"script:./a.toml\"\nmax-turns = 2\n[grants]",
    )
    .unwrap();
    std::fs::write(tree.cwd().join("files.wasm"), "").unwrap();
    let file = Path::new("../../../srv/my.toml");

    let config = Config::load(Some(file), &Overrides::default(), &tree.environment).unwrap();
    assert_eq!(config.file, Some(directory.join("my.toml")));
    assert_eq!(config.state_dir, PathBuf::from("/xdg/state/agent-host"));
    assert_eq!(config.cache_dir, PathBuf::from("/xdg/cache/agent-host"));
    assert!(
        matches!(&config.models.first, Some(ModelConfig::Script(path)) if *path == directory.join("./a.toml"))
    );
    assert_eq!(
        config.grants.dirs.len(),
        0,
        "an empty [grants] grants nothing"
    );

    let overrides = Overrides {
        model: Some("script:./b.toml".to_owned()),
        tools: vec!["files.wasm".to_owned(), "builtin:image".to_owned()],
        max_turns: Some(9),
        state_dir: Some("st".into()),
        ..granted(&["http:example.com"])
    };
    let config = Config::load(Some(file), &overrides, &tree.environment).unwrap();
    assert_eq!(config.budgets.turns, 9);
    assert_eq!(config.state_dir, tree.cwd().join("st"));
    assert!(
        matches!(&config.models.first, Some(ModelConfig::Script(path)) if *path == tree.cwd().join("./b.toml"))
    );
    let added: Vec<_> = tools(&config).split_off(3);
    let file = ComponentSource::File(tree.cwd().join("files.wasm"));
    let image = ComponentSource::Builtin("image".to_owned());
    // Names that are taken get a number.
    assert_eq!(
        added,
        [
            ("files-2", file, Approval::ByEffect, false),
            ("image-2", image, Approval::ByEffect, false)
        ]
    );
    assert_eq!(config.tools[3].grants.http[0].host, "example.com");
}

#[test]
fn cache_dir_without_home_is_in_state_dir() {
    let mut tree = Tree::new();
    tree.environment.variables.clear();
    let config = tree
        .load("state-dir = \"/var/lib/agent\"", &Overrides::default())
        .unwrap();
    assert_eq!(config.cache_dir, PathBuf::from("/var/lib/agent/cache"));
}

#[test]
fn script_is_a_word_or_a_file() {
    let tree = Tree::new();
    for (model, expected) in [
        ("script:tour", Err("tour")),
        ("script:demo.toml", Ok(tree.cwd().join("demo.toml"))),
        ("script:~/demo", Ok(tree.home().join("demo"))),
        ("script:/demo", Ok(PathBuf::from("/demo"))),
    ] {
        let config = tree
            .load(&format!("model = \"{model}\""), &Overrides::default())
            .unwrap();
        match (config.models.first.unwrap(), expected) {
            (ModelConfig::Script(path), Ok(expected)) => assert_eq!(path, expected),
            (ModelConfig::BuiltinScript(name), Err(expected)) => assert_eq!(name, expected),
            (other, expected) => panic!("{other:?} is not {expected:?}"),
        }
    }
}

#[test]
fn protected_paths_cover_configuration() {
    let tree = Tree::new();
    let toml = "model = \"script:s.toml\"\nstate-dir = \"../state\"\ncache-dir = \"/nowhere/cache\"\n[openai-compat]\napi-key \
                = \"file:key\"\n[[tool]]\nname = \"t\"\ncomponent = \"t.wasm\"\n[[tool]]\nname = \"f\"\ncomponent = \
                \"builtin:files\"";
    // A link to the configuration: what it leads to is protected.
    let real = tree.root.join("srv/real.toml");
    std::fs::write(&real, toml).unwrap();
    std::os::unix::fs::symlink(&real, tree.cwd().join("agent.toml")).unwrap();
    let file = tree.cwd().join("agent.toml");
    let config = Config::load(Some(&file), &Overrides::default(), &tree.environment).unwrap();
    let (srv, cwd) = (tree.root.join("srv"), tree.cwd());
    let mut expected = vec![
        PathBuf::from("/nowhere/cache"),
        tree.root.join("state"),
        // Where trust is remembered, also where sessions are kept elsewhere.
        tree.home().join(".local/state/agent-host"),
        // Whether they exist or not, so that no guest creates them.
        tree.home().join(".config/agent-host"),
        // Credentials for registries.
        tree.home().join(".docker/config.json"),
        tree.root.join("system.toml"),
        cwd.join("agent.lock"),
        srv.join("agent.lock"),
        srv.join("agent.toml"),
        srv.join("key"),
        srv.join("real.toml"),
        srv.join("s.toml"),
        srv.join("t.wasm"),
    ];
    expected.sort();
    assert_eq!(config.protected_paths(), expected);
}

#[test]
fn raw_config_keeps_absent_keys_absent() {
    assert_eq!(
        parse::<RawConfig>(Path::new("x"), "").unwrap(),
        RawConfig::default()
    );
    let raw: RawConfig = parse(Path::new("x"), "[limits]\nhttp-requests = 0").unwrap();
    let limits = LimitsSection {
        http_requests: Some(0),
        ..LimitsSection::default()
    };
    assert_eq!(
        raw,
        RawConfig {
            limits,
            ..RawConfig::default()
        }
    );
}

/// The keys of a table, from the hint for an unknown one.
fn known_keys(table: &str) -> Vec<String> {
    let toml = format!("{table}\nunknown-key-of-a-test = 1");
    let error = parse::<RawConfig>(Path::new("x"), &toml).unwrap_err();
    let fix = &error.problems()[0].fix;
    let keys = fix.strip_prefix("the keys are ").expect(fix).split(", ");
    keys.map(|key| key.trim_matches('`').to_owned()).collect()
}

#[test]
fn configuration_reference_names_every_key() {
    let page = include_str!("../../../../../docs/reference/configuration.md");
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("\n```").unwrap();
    parse::<RawConfig>(Path::new("CONFIGURATION.md"), example).unwrap();
    for table in [
        "",
        "[budgets]",
        "[context]",
        "[session]",
        "[prices.x]",
        "[settings]",
        "[network]",
        "[store]",
        "[hosts]",
        "[telemetry]",
        "[openai-compat]",
        "[[provider]]",
        "[[tool]]",
        "[[mcp]]",
        "[[external-tool]]",
        "[[agent]]",
        "[[workflow]]",
        "[[workflow]]\n[[workflow.node]]",
        "[[hook]]",
        "[[schedule]]",
        "[[webhook]]",
        "[[rule]]",
        "[[grants.dir]]",
        "[[grants.http]]",
        "[[grants.env]]",
        "[grants]",
        "[[secret]]",
        "[sandbox]",
    ] {
        for key in known_keys(table) {
            let is_named = example.contains(&format!("{key} = "))
                || example.contains(&format!("[{key}"))
                || example.contains(&format!(".{key}]"))
                || example.contains(&format!(".{key}.\""));
            assert!(is_named, "{table} {key}");
        }
    }
}
