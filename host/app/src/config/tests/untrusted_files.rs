//! Limits on configuration that came with its directory, and the digest that trust is bound to.

use super::Tree;
use crate::{
    config::{Config, ConfigError, OnUntrusted, Overrides, Untrusted},
    trust::TrustFile,
};
use agent_host_types::id::Digest;
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::symlink};

/// A hook, which is a demand by itself.
const HOOK: &str =
    "[[hook]]\nname = \"h\"\ncomponent = \"h.wasm\"\npoints = [\"before-tool\", \"after-model\"]\n";

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
const SERVER: &str = "[[mcp]]\nname = \"m\"\n";

impl Tree {
    fn found(&self, toml: &str) -> Option<Untrusted> {
        fs::write(self.cwd().join("agent.toml"), toml).unwrap();
        Untrusted::found(&self.environment).unwrap()
    }

    fn demands(&self, toml: &str) -> Vec<String> {
        let found = self.found(toml);
        let demands = found.map_or_else(Vec::new, |found| found.demands);
        let root = self.root.display().to_string();
        let portable = |demand: String| demand.replace(&root, "ROOT");
        demands.into_iter().map(portable).collect()
    }

    fn load_found(&self, overrides: &Overrides) -> Result<Config, ConfigError> {
        Config::load(None, overrides, &self.environment)
    }
}

/// A tree with what a file may be tempted to grant.
fn tree() -> Tree {
    let tree = Tree::new();
    for directory in [
        ".git",
        ".aws",
        "sub/.config",
        "sub/.git/hooks",
        "sub/.git/modules",
        "id_rsa_old",
    ] {
        fs::create_dir_all(tree.cwd().join(directory)).unwrap();
    }
    fs::create_dir_all(tree.home().join(".ssh")).unwrap();
    symlink(tree.home().join(".ssh"), tree.cwd().join("link")).unwrap();
    fs::write(tree.cwd().join("AGENTS.md"), "Use tabs.").unwrap();
    tree
}

/// Every field that asks for something, with the words in which it is told.
fn demanding() -> Vec<(String, &'static str)> {
    let dir = |lines: &str| format!("[[grants.dir]]\n{lines}\n");
    let http = |lines: &str| format!("[[grants.http]]\n{lines}\n");
    let tool = |lines: &str| format!("{FILES}{lines}\n");
    let server = |lines: &str| format!("{SERVER}{lines}\n");
    let mut all = vec![
        ("model = \"script:./a.toml\"\n".to_owned(), "answers as a model from \"script:./a.toml\""),
        ("fallback = [\"replay:/tmp/a\"]\n".to_owned(), "answers as a model from \"replay:/tmp/a\""),
        (
            "session-links = true\n".to_owned(),
            "lets users of `serve` make links that show a session to others (session-links = true)",
        ),
        ("instructions = [\"~/keys.md\"]\n".to_owned(), "shows the model the contents of \"~/keys.md\", outside of \
            its directory"),
        ("state-dir = \"state\"\n".to_owned(), "keeps sessions in \"state\""),
        ("cache-dir = \"cache\"\n".to_owned(), "reads compiled code from \"cache\""),
        ("max-turns = 51\n".to_owned(), "raises max-turns to 51 (the default is 50)"),
        ("agent-depth = 3\n".to_owned(), "raises agent-depth to 3 (the default is 2)"),
        ("code-calls = 257\n".to_owned(), "raises code-calls to 257 (the default is 256)"),
        ("search-tools-from = 31\n".to_owned(), "raises search-tools-from to 31 (the default is 30)"),
        ("search-tools-from = 0\n".to_owned(), "offers the model all tools at once, however many there are (search-tools-from = 0)"),
        ("approval-timing = \"in-order\"\n".to_owned(), "runs calls that need no approval before you decide on the other calls of a reply (approval-timing = \"in-order\")"),
        ("[prices.\"openai-compat:*\"]\ninput = 0\noutput = 0.5\n".to_owned(), "sets the price of \
            \"openai-compat:*\" in budgets to 0 (cached 0, output 0.5) US dollars per million tokens"),
        ("[settings]\neffort = \"xhigh\"\n".to_owned(), "raises the effort of [settings] to \"xhigh\""),
        ("[settings]\nservice-tier = \"priority\"\n".to_owned(), "buys the service tier \"priority\" for [settings]"),
        ("[settings]\ncache-lifetime = \"1h\"\n".to_owned(), "caches prompts of [settings] for \"1h\""),
        ("[settings]\nprompt-cache-key = \"k\"\n".to_owned(), "shares cached prompts of [settings] under the key \
            \"k\""),
        ("[settings.models.\"openai:*\"]\nextra-body = { user = \"u\" }\n".to_owned(), "adds the fields \"user\" to the requests of the model \"openai:*\""),
        ("[settings]\nheaders = { x-a = \"env:HOME\" }\n".to_owned(), "sends the header \"x-a\" with the requests of [settings]: \"env:HOME\""),
        ("[prices.\"openai:*\"]\ninput = 1\noutput = 2\nlong-context = { above-tokens = 9, input = 3, output = 4 }\n".to_owned(), "sets \
            the price of \"openai:*\" in budgets to 1 (cached 1, output 2) US dollars per million tokens, and for \
            requests above 9 tokens, 3 (cached 3, output 4)"),
        ("[context]\nwindow-tokens = 128001\n".to_owned(), "raises window-tokens to 128001 (the default is 128000)"),
        ("[context]\ncompact-at = 81\n".to_owned(), "raises compact-at to 81 (the default is 80)"),
        ("[context]\ncompact-to = 51\n".to_owned(), "raises compact-to to 51 (the default is 50)"),
        ("[context]\nkeep-results = 4\n".to_owned(), "raises keep-results to 4 (the default is 3)"),
        ("[store]\nurl = \"env:DATABASE_URL\"\n".to_owned(), "keeps sessions in the database \"env:DATABASE_URL\""),
        ("[store]\nca = \"ca.pem\"\n".to_owned(), "trusts a database certified by the authorities in \"ca.pem\""),
        ("[store]\nkey = \"env:STORE_KEY\"\n".to_owned(), "seals secrets with the key from \"env:STORE_KEY\""),
        ("[store]\nconnections = 9\n".to_owned(), "opens up to 9 connections to the database"),
        ("[telemetry]\nendpoint = \"http://a.example\"\n".to_owned(), "sends traces of sessions to \"http://a.example\""),
        ("[telemetry]\ncontent = true\n".to_owned(), "puts messages, arguments and results into traces (content = true in [telemetry])"),
        ("[ollama]\nbase-url = \"http://127.0.0.1:1\"\n".to_owned(), "sends the conversations of [ollama], and the key where one is set, to \"http://127.0.0.1:1\""),
        ("[openai-compat]\napi-key = \"cmd:touch ran\"\n".to_owned(), "reads the key of [openai-compat] from \
            \"cmd:touch ran\" (a command, which runs outside of the sandbox)"),
        ("[[provider]]\nname = \"openrouter\"\nkind = \"openrouter\"\nbase-url = \"https://a.example\"\n".to_owned(), "sends the conversations of the [[provider]] \"openrouter\", and the key where one is set, to \"https://a.example\""),
        ("[[provider]]\nname = \"a\"\nkind = \"vllm\"\napi-key = \"env:GROQ_API_KEY\"\n".to_owned(), "reads the key \
            of the [[provider]] \"a\" from \"env:GROQ_API_KEY\""),
        ("[openai-compat]\nheaders = { x-a = \"env:HOME\" }\n".to_owned(), "sends the header \"x-a\" of [openai-compat]: \"env:HOME\""),
        ("[openai-compat]\nquery = { a = \"1\" }\n".to_owned(), "adds \"a\" to the query of [openai-compat]: \"1\""),
        ("[anthropic]\nkey-header = \"x-other\"\n".to_owned(), "sends the key of [anthropic] in the header \"x-other\""),
        ("[anthropic]\nmax-output-tokens = 1\n".to_owned(), "lets replies of [anthropic] have up to 1 tokens"),
        ("[openai]\nconnect-timeout-seconds = 11\n".to_owned(), "raises connect-timeout-seconds of [openai] to 11 (the default is 10)"),
        ("[openai]\nfirst-chunk-timeout-seconds = 301\n".to_owned(), "raises first-chunk-timeout-seconds of [openai] to 301 (the default is 300)"),
        ("[openai]\nidle-chunk-timeout-seconds = 121\n".to_owned(), "raises idle-chunk-timeout-seconds of [openai] to 121 (the default is 120)"),
        ("[gemini]\ntotal-timeout-seconds = 1801\n".to_owned(), "raises total-timeout-seconds of [gemini] to 1801 (the default is 1800)"),
        ("[gemini]\nretries = 4\n".to_owned(), "raises retries of [gemini] to 4 (the default is 3)"),
        ("[[tool]]\nname = \"t\"\ncomponent = \"t.wasm\"\n".to_owned(), "runs the component \"t.wasm\" as \"t\""),
        (HOOK.to_owned(), "runs the component \"h.wasm\" as the hook \"h\" (before-tool, after-model)"),
        (tool("approval = \"never\""), "runs calls of \"files\" without asking (approval = \"never\")"),
        (tool("approvals = { write_file = \"never\" }"), "runs calls of \"write_file\" of \"files\" without asking (approval = \"never\")"),
        (
            tool("approval = [\"approve\"]"),
            "does not let you reject \"files\"",
        ),
        (
            "instructions = [\"link/a.md\"]\n".to_owned(),
            "shows the model the contents of \"link/a.md\", outside of its directory",
        ),
        (tool("accept-idempotent = true"), "repeats interrupted calls of \"files\" where the component says that \
            this is harmless (accept-idempotent)"),
        (tool("concurrent-calls = 33"), "raises concurrent-calls of \"files\" to 33 (the default is 32)"),
        (tool("[tool.limits]\nmemory-bytes = 9007199254740992"), "raises memory-bytes for \"files\" to 9007199254740992 (the default is 268435456)"),
        (tool("[[tool.dir]]\nhost = \"~/.ssh\""), "lets \"files\" read \"~/.ssh\" outside of its directory (it is \"ROOT/home/ann/.ssh\")"),
        (tool("[[tool.http]]\nhost = \"*\""), "lets \"files\" send HTTP requests to \"*\""),
        (tool("[[tool.env]]\nname = \"KEY\"\nfrom-host = true"), "passes the environment variable \"KEY\" to \
            \"files\""),
        (tool("secrets = [\"s\"]"), "lets \"files\" use the secret \"s\""),
        (tool("artifacts = \"read-only\""), "lets \"files\" read the artifacts of the session, which include the \
            results of every tool"),
        (
            "[grants]\nartifacts = \"read-write\"\n".to_owned(),
            "lets every tool read, store and delete the artifacts of the session, which include the results of every \
             tool",
        ),
        (
            "[session]\nundo-bytes = \"1MiB\"\n".to_owned(),
            "sets how much of the files that tools change is kept for undo: undo-bytes = 1048576",
        ),
        (
            "[session]\nartifact-bytes = 268435457\n".to_owned(),
            "raises artifact-bytes to 268435457 (the default is 268435456)",
        ),
        ("[[external-tool]]\nname = \"pay\"\ndescription = \"Pays.\"\ninput-schema = {}\n".to_owned(), "passes calls \
            of \"pay\" to the program that runs agent-host (external-tool)"),
        (server("command = \"touch\"\nargs = [\"ran\"]"), "starts the program \"touch\" \"ran\" outside of the sandbox, as the MCP server \"m\""),
        (server("command = [\"touch\", \"ran\"]"), "starts the program \"touch\" \"ran\" outside of the sandbox, as the MCP server \"m\""),
        (server("component = \"m.wasm\""), "runs the component \"m.wasm\" as the MCP server \"m\""),
        (server("[[mcp.grants.dir]]\nhost = \"/srv\""), "lets \"m\" read \"/srv\" outside of its directory (it is \"/srv\")"),
        (server("[mcp.limits]\ntables = 17"), "raises tables for \"m\" to 17 (the default is 16)"),
        (server("idle-seconds = 601"), "raises idle-seconds of \"m\" to 601 (the default is 600)"),
        (server("url = \"https://a.example\""), "sends calls to \"https://a.example\" as the MCP server \"m\""),
        (server("token = \"file:t\""), "sends the token from \"file:t\" to the MCP server \"m\""),
        (server("headers = { X-A = \"cmd:x\" }"), "sends the header \"X-A\" with \"cmd:x\" (a command, which runs outside of the sandbox) to the MCP server \"m\""),
        (server("roots = [\"..\"]"), "tells the MCP server \"m\" to work in \"..\""),
        (server("oauth = { assume-pkce = true }"), "logs in to the MCP server \"m\" although its authorization \
            server lists no PKCE method"),
        (server("oauth = { client-secret = \"file:s\" }"), "sends the client secret from \"file:s\" to the authorization server of \"m\""),
        (server("read-only = [\"pay\"]"), "runs these tools of \"m\" without asking, as read-only: \"pay\""),
        (server("approval = \"never\""), "runs calls of \"m\" without asking (approval = \"never\")"),
        (server("concurrent-calls = 33"), "raises concurrent-calls of \"m\" to 33 (the default is 32)"),
        (server("[[mcp.env]]\nname = \"KEY\"\nfrom-host = true"), "passes the environment variable \"KEY\" to \"m\""),
        ("[[rule]]\ndecision = \"allow\"\ntool = [\"write_*\", \"pay\"]\nagent = \"main\"\n".to_owned(), "runs calls of \"write_*\", \"pay\" by the agent \"main\" without asking (decision = \"allow\")"),
        (
            "[[workflow]]\nname = \"w\"\n[[workflow.node]]\nid = \"n\"\nforeach = { over = \"a.output\", mode = \"parallel\", at-once = 5 }\n".to_owned(),
            "raises at-once of the node \"n\" of the workflow \"w\" to 5 (the default is 4)",
        ),
        (
            "[[rule]]\ndecision = \"allow\"\ntool = \"*\"\narguments = { \"/n\" = { equals = 1 }, \"/path\" = \"src/**\" }\n".to_owned(),
            "runs calls of \"*\" with \"/n\" as \"{\\\"equals\\\":1}\" with \"/path\" as \"src/**\" without asking (decision = \"allow\")",
        ),
        (dir("host = \"..\""), "lets every tool read \"..\" outside of its directory (it is \"ROOT/home/ann\")"),
        (dir("host = \"link\""), "lets every tool read \"link\" outside of its directory (it is \"ROOT/home/ann/.ssh\")"),
        (dir("host = \".\"\nmode = \"read-write\""), "lets every tool read and change \".\""),
        (dir("host = \".\"\nmask = []"), "lets every tool read \".\", with nothing hidden (mask = [])"),
        (dir("host = \".\"\nmask = [\"a\"]"), "lets every tool read \".\", with nothing hidden but \"a\""),
        (dir("host = \".aws\""), "lets every tool read \".aws\", which is hidden from tools by default"),
        (dir("host = \".git\""), "lets every tool read \".git\", which is hidden from tools by default"),
        (
            dir("host = \"sub/.git/modules\""),
            "lets every tool read \"sub/.git/modules\", which is hidden from tools by default",
        ),
        (
            dir("host = \".\"\nallow-run-later = [\".envrc\"]"),
            "lets every tool read \".\", including files that your programs run later (\".envrc\")",
        ),
        (
            "[session]\nkeep = { days = 1 }\n".to_owned(),
            "sets which of your sessions are removed: days = 1, bytes = the default",
        ),
        (
            "[session]\nlock-timeout-ms = 30001\n".to_owned(),
            "raises lock-timeout-ms to 30001 (the default is 30000)",
        ),
        (dir("host = \"sub/.config\""), "lets every tool read \"sub/.config\", which is hidden from tools by default"),
        (dir("host = \"id_rsa_old\""), "lets every tool read \"id_rsa_old\", which is hidden from tools by default"),
        (http("host = \"127.0.0.1\"\nscheme = \"http\"\nport = 8080\nmethods = [\"GET\", \"HEAD\"]\npath = \"/a\""), "lets every tool send HTTP requests to \"GET,HEAD=http://127.0.0.1:8080/a\""),
        (http("host = \"169.254.169.254\""), "lets every tool send HTTP requests to \"169.254.169.254\""),
        ("[[grants.env]]\nname = \"KEY\"\nfrom-host = true\n".to_owned(), "passes the environment variable \"KEY\" \
            to every tool"),
        ("[grants]\nsecrets = [\"s\"]\n".to_owned(), "lets every tool use the secret \"s\""),
        ("[[secret]]\nname = \"s\"\nfrom = \"cmd:touch ran\"\naudience = \"https://a.example\"\nin-query = true\n".to_owned(), "reads the secret \"s\" from \"cmd:touch ran\" (a command, which runs outside of the sandbox) and sends it to \"https://a.example\", in queries too"),
        ("[limits]\ndeadline-ms = 30001\n".to_owned(), "raises deadline-ms to 30001 (the default is 30000)"),
    ];
    for (key, default) in [
        ("concurrent-calls", 64),
        ("queued-calls", 256),
        ("concurrent-calls-per-tool", 32),
        ("queued-calls-per-tool", 128),
        ("result-memory-bytes", 268_435_456),
    ] {
        let toml = format!("[sandbox]\n{key} = {}\n", default + 1);
        let told = format!("raises {key} to {} (the default is {default})", default + 1);
        all.push((toml, told.leak()));
    }
    all
}

#[test]
fn untrusted_hook_asks_for_each_of_its_parts() {
    let more = "on-error = \"pass\"\nsecrets = [\"s\"]\n[[hook.http]]\nhost = \"*\"\n";
    assert_eq!(
        tree().demands(&format!("{HOOK}{more}")),
        [
            "runs the component \"h.wasm\" as the hook \"h\" (before-tool, after-model)",
            "lets \"h\" send HTTP requests to \"*\"",
            "lets \"h\" use the secret \"s\"",
            "continues where the hook \"h\" gives no verdict (on-error = \"pass\")",
        ]
    );
}

#[test]
fn untrusted_file_that_asks_for_more_is_refused_in_words() {
    let tree = tree();
    for (toml, demand) in demanding() {
        assert_eq!(tree.demands(&toml), [demand], "{toml}");
        let error = tree.load_found(&Overrides::default()).unwrap_err();
        assert_eq!(
            tree.portable(&error),
            format!(
                "ROOT/home/ann/project/agent.toml is not trusted, and it {}; review it, then run `agent-host trust`, \
                 or pass `--trust` for this run, or name the file: --config agent.toml",
                demand
            ),
            "{toml}"
        );
        assert!(!tree.cwd().join("ran").exists());
    }
    // The number of threads is the machine's.
    for key in [
        "guest-threads",
        "compile-memory-bytes",
        "compile-cpu-seconds",
        "compile-deadline-ms",
    ] {
        let demands = tree.demands(&format!("[sandbox]\n{key} = 99999999999\n"));
        let beginning = format!("raises {key} to 99999999999 (the default is ");
        assert!(
            matches!(&*demands, [demand] if demand.starts_with(&beginning)),
            "{demands:?}"
        );
    }
}

#[test]
fn untrusted_file_with_every_limit_raised_demands_each() {
    let tree = tree();
    let limits = agent_host_types::limits::Limits::default();
    let limits = serde_json::to_value(limits).unwrap();
    let limits = limits.as_object().unwrap();
    for (key, default) in limits {
        let default = default.as_u64().unwrap();
        let lines = |value| format!("[limits]\n{key} = {value}\n");
        let demand = format!("raises {key} to {} (the default is {default})", default + 1);
        assert_eq!(tree.demands(&lines(default + 1)), [demand]);
        assert_eq!(tree.found(&lines(default)), None, "{key}");
    }
}

#[test]
fn untrusted_file_within_the_defaults_is_used_at_once() {
    let tree = tree();
    let toml = "model = \"openai-compat:m\"\nfallback = [\"ollama:m\", \"script:tour\"]\nsystem = \"Be brief.\"\n\
        instructions = [\"AGENTS.md\"]\nmax-turns = 3\npermission-prompts = \"none\"\napproval-timing = \"batch\"\n\
        approval-expires-seconds = 60\n\
        [budgets]\ntokens = 1000\nwall-clock-seconds = 10\ntool-calls = 5\nidentical-repeats = 2\n\
        [context]\nwindow-tokens = 32000\ncompact-at = 70\n\
        [settings]\neffort = \"high\"\nthinking = 2048\ntemperature = 0.5\nreasoning-summary = false\nreasoning-tags = \"off\"\n\
        [settings.models.\"openai-compat:*\"]\nstop = [\"END\"]\ntool-choice = { tool = \"read_file\" }\n\
        [openai-compat]\nvision = false\nretries = 1\ntotal-timeout-seconds = 10\n\
        [[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = \"always\"\nconcurrent-calls = 2\n\
        [tool.limits]\ndeadline-ms = 4\n[[tool.env]]\nname = \"A\"\nvalue = \"1\"\n\
        [[tool]]\nname = \"image\"\ncomponent = \"builtin:image\"\napproval = [\"reject\"]\nhttp = []\n\
        [[workflow]]\nname = \"w\"\ndescription = \"Writes.\"\nreduce = { a = \"sum\" }\n\
        [[workflow.node]]\nid = \"n\"\ntool = \"write_file\"\ninput = { path = \"'a'\" }\ntimeout-ms = 9\nnext = \"m\"\n\
        retry = { times = 9 }\nforeach = { over = \"run.message\", mode = \"parallel\", at-once = 4 }\n\
        [[rule]]\ndecision = \"deny\"\ntool = \"*\"\narguments = { \"/path\" = \"a\" }\n\
        [[rule]]\ndecision = \"ask\"\ntool = \"read_file\"\n\
        [[grants.dir]]\nhost = \"sub\"\nmode = \"read-only\"\ndeny = [\"*.key\"]\n\
        [[grants.dir]]\nhost = \"sub/.git/hooks\"\nguest = \"/mnt/m\"\n\
        [limits]\ndeadline-ms = 5\n[sandbox]\npooling = \"off\"\nconcurrent-calls = 1\n";
    assert_eq!(tree.found(toml), None);
    let config = tree.load_found(&Overrides::default()).unwrap();
    assert_eq!((config.budgets.turns, config.limits.deadline_ms), (3, 5));
    assert_eq!(config.grants.dirs[0].host, tree.cwd().join("sub"));
}

/// In a home directory the default grants nothing, so neither does a file that lies there.
#[test]
fn untrusted_file_in_the_home_directory_grants_no_part_of_it() {
    let mut tree = tree();
    tree.environment.cwd = tree.home();
    assert_eq!(
        tree.demands("[[grants.dir]]\nhost = \"project\"\n"),
        ["lets every tool read \"project\", which is hidden from tools by default"]
    );
}

#[test]
fn demands_quote_what_the_file_says() {
    let tree = tree();
    let nasty = "a\\u001b[2J\\n\\u202e\\u200b\\u00a0\\\"";
    let toml = format!("[[grants.http]]\nhost = \"{nasty}{}\"\n", "x".repeat(300));
    let shown = format!(
        "lets every tool send HTTP requests to \"a\\u{{1b}}[2J\\n\\u{{202e}}\\u{{200b}}\\u{{a0}}\\\"{}\"... (315 bytes)",
        "x".repeat(90)
    );
    assert_eq!(tree.demands(&toml), [shown]);
}

#[test]
fn config_link_out_of_directory_is_refused() {
    let tree = tree();
    let outside = tree.root.join("srv/agent.toml");
    fs::write(&outside, "max-turns = 3\n").unwrap();
    symlink(&outside, tree.cwd().join("agent.toml")).unwrap();
    let trusting = Overrides {
        on_untrusted: OnUntrusted::Use,
        ..Overrides::default()
    };
    let error = tree.load_found(&trusting).unwrap_err();
    assert_eq!(
        tree.portable(&error),
        "ROOT/home/ann/project/agent.toml is a link to ROOT/srv/agent.toml, outside of the directory, and is only \
         used if named explicitly; pass `--config agent.toml`"
    );
    let named = tree.cwd().join("agent.toml");
    let config = Config::load(Some(&named), &Overrides::default(), &tree.environment).unwrap();
    assert_eq!(config.budgets.turns, 3);
    // A link that stays in it is the file that it leads to.
    fs::remove_file(&named).unwrap();
    fs::write(tree.cwd().join("data/a.toml"), "max-turns = 4\n").unwrap();
    symlink("data/a.toml", &named).unwrap();
    let config = tree.load_found(&Overrides::default()).unwrap();
    assert_eq!(config.file, Some(tree.cwd().join("data/a.toml")));
}

#[test]
fn trust_lasts_until_an_authority_bearing_field_changes() {
    let tree = tree();
    let toml = "model = \"ollama:m\"\nsystem = \"Be brief.\"\n[ollama]\nbase-url = \"http://127.0.0.1:1\"\nvision = true\n\
                [[grants.http]]\nhost = \"a.example\"\nport = 443\n\
                [[rule]]\ndecision = \"deny\"\ntool = \"fetch\"\n";
    let trusted = tree.found(toml).unwrap();
    let file = TrustFile::for_environment(&tree.environment).unwrap();
    assert!(tree.load_found(&Overrides::default()).is_err());
    file.add(&trusted).unwrap();
    // The order of keys, the layout, comments, and what is harmless.
    let same = "# Ours.\n[grants]\nhttp = [{ port = 443, host = \"a.example\" }]\n[ollama]\nvision = false\n\
                base-url = 'http://127.0.0.1:1'\n[[rule]]\ntool = \"fetch\"\ndecision = \"deny\"\n[budgets]\ntokens = 1\n";
    for toml in [
        toml.to_owned(),
        format!(
            "system = \"Other.\"\ninstructions = [\"AGENTS.md\"]\npermission-prompts = \"none\"\n{same}"
        ),
        format!(
            "model = \"gemini:m\"\nfallback = [\"ollama:n\"]\napproval-expires-seconds = 1\n{same}"
        ),
    ] {
        assert_eq!(tree.found(&toml).unwrap().digest, trusted.digest, "{toml}");
        tree.load_found(&Overrides::default()).unwrap();
    }
    for (from, to) in [
        ("a.example", "b.example"),
        ("port = 443", "port = 444"),
        ("127.0.0.1:1", "127.0.0.1:2"),
        // A denial that the trusted file came with.
        ("tool = \"fetch\"", "tool = \"other\""),
        // A clamped field, also where it is lowered.
        ("system = \"Be brief.\"", "max-turns = 3"),
    ] {
        tree.found(&toml.replace(from, to)).unwrap();
        assert!(tree.load_found(&Overrides::default()).is_err(), "{to}");
    }
    tree.found(toml).unwrap();
    tree.load_found(&Overrides::default()).unwrap();
    assert_eq!(file.remove(tree.cwd()).unwrap().len(), 1);
    assert!(tree.load_found(&Overrides::default()).is_err());
}

/// Each demanding field has a digest of its own beside any other one, so that no change of one goes
/// unseen.
#[test]
fn digest_differs_for_every_authority_bearing_field() {
    let tree = tree();
    let mut digests = Vec::<(Digest, String)>::new();
    let lowered = [
        "[context]\ncompact-at = 70\n",
        "[sandbox]\nqueued-calls = 2\n",
        "[limits]\ndeadline-ms = 2\n",
        "[[grants.dir]]\nhost = \".\"\n",
        "[[grants.env]]\nname = \"A\"\nvalue = \"1\"\n",
        "[[workflow]]\nname = \"w\"\n[[workflow.node]]\nid = \"n\"\ntool = \"t\"\ninput = { a = \"'1'\" }\n",
        "[[workflow]]\nname = \"w\"\n[[workflow.node]]\nid = \"n\"\ntool = \"t\"\ninput = { a = \"'2'\" }\n",
        "[[rule]]\ndecision = \"deny\"\ntool = \"a\"\n",
        "[[rule]]\ndecision = \"ask\"\ntool = \"a\"\n",
        "[[rule]]\ndecision = \"deny\"\ntool = \"a\"\narguments = { \"/p\" = \"x\" }\n",
    ]
    .map(str::to_owned);
    let all = demanding().into_iter().map(|(toml, _)| toml);
    for toml in all.chain(lowered) {
        // What every row has in common, and what makes it ask.
        let asking = format!("{toml}[prices.\"other:*\"]\ninput = 1\noutput = 1\n");
        let digest = tree.found(&asking).unwrap().digest;
        let same = digests.iter().find(|(other, _)| *other == digest);
        assert_eq!(same, None, "{toml}");
        digests.push((digest, toml));
    }
}

/// Trust in a path is trust in where it leads.
#[test]
fn digest_covers_where_links_lead() {
    let tree = tree();
    let toml = "[[grants.dir]]\nhost = \"link\"\n";
    let before = tree.found(toml).unwrap().digest;
    fs::remove_file(tree.cwd().join("link")).unwrap();
    symlink(tree.root.join("srv"), tree.cwd().join("link")).unwrap();
    assert!(tree.found(toml).unwrap().digest != before);
}
