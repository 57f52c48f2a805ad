//! Tests `init`, `config` and `models`: from an empty home directory to the first answer.

mod init;

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    program,
    running::Running,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A key that no output may have.
const KEY: &str = "sk-0123456789abcdef";

/// The user's configuration.
fn user_config(env: &TestEnv) -> PathBuf {
    env.outside().join("home/.config/agent-host/config.toml")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A server with a list of two models, and one answer for each `init`.
fn server(answers: &[&str]) -> ChatServer {
    let list = json!({ "data": [{ "id": "small" }, { "id": "large" }] });
    let answers = answers.iter().map(|answer| match *answer {
        "list" => Answer::status("200 OK", &list),
        text => Answer::text(text),
    });
    ChatServer::start(answers.collect())
}

fn with_input(env: &TestEnv, args: &[&str], input: &str) -> Ran {
    let mut child = env
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn init_by_flags_writes_what_it_shows_and_nothing_over_it() {
    let env = TestEnv::new();
    let args = [
        "init",
        "--provider",
        "openai",
        "--key",
        "env:OPENAI_API_KEY",
        "--model",
        "gpt-5",
        "--no-test",
    ];
    let ran = env.run(&args);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), ""),
        "{}",
        ran.stderr
    );
    let text = "# Written by `agent-host init`.\nmodel = \"openai:gpt-5\"\n\n[openai]\napi-key = \"env:OPENAI_API_KEY\"\n";
    assert_eq!(fs::read_to_string(user_config(&env)).unwrap(), text);
    assert_eq!(mode(&user_config(&env)), 0o600);
    assert!(ran.stderr.contains(text.trim_end()), "{}", ran.stderr);
    let commands = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("  agent-host "));
    assert_eq!(commands.count(), 3, "{}", ran.stderr);

    let again = env.run(&args);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(
        again
            .stderr
            .contains("already exists, and is not overwritten"),
        "{again:?}"
    );
    assert_eq!(fs::read_to_string(user_config(&env)).unwrap(), text);
}

/// A key on standard input is kept in a file of its owner, and used; none of it is ever shown.
#[test]
fn init_keeps_a_key_from_standard_input_and_tries_it() {
    let env = TestEnv::new();
    let chat = server(&["OK", "Hello."]);
    let args = [
        "init",
        "--provider",
        "openai-compat",
        "--base-url",
        &chat.base_url,
        "--key",
        "-",
        "--model",
        "small",
    ];
    let ran = with_input(&env, &args, &format!("{KEY}\n"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let key_file = user_config(&env).with_file_name("openai-compat.key");
    assert_eq!(fs::read_to_string(&key_file).unwrap(), format!("{KEY}\n"));
    assert_eq!(mode(&key_file), 0o600);
    assert_eq!(mode(key_file.parent().unwrap()), 0o700);
    assert_eq!(chat.requests()[0]["model"], "small");

    let answered = env.run(&["run", "Hi"]);
    assert_eq!(
        (answered.code, answered.stdout.as_str()),
        (Some(0), "Hello.\n"),
        "{answered:?}"
    );
    let shown = env.run(&["config", "show"]);
    for ran in [&ran, &answered, &shown] {
        assert!(
            !ran.stdout.contains(KEY) && !ran.stderr.contains(KEY),
            "{ran:?}"
        );
    }
}

#[test]
fn init_refuses_a_key_on_the_command_line_and_a_dead_server() {
    let env = TestEnv::new();
    for (args, code, says) in [
        (
            &["--provider", "openai", "--key", KEY, "--model", "m"][..],
            2,
            "`--key` takes the source of the key, not the key itself",
        ),
        (&["--provider", "opena"], 2, "did you mean `openai`?"),
        (
            &["--provider", "openai", "--model", "m"],
            2,
            "pass `--key env:NAME`",
        ),
        (&[], 2, "pass `--provider NAME`"),
        (
            &[
                "--provider",
                "openai-compat",
                "--base-url",
                "http://127.0.0.1:9/v1",
                "--model",
                "m",
            ],
            1,
            "the model does not answer",
        ),
    ] {
        let ran = env.run(&[&["init"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains(KEY), "{}", ran.stderr);
        assert!(!user_config(&env).exists(), "{args:?}");
    }
}

/// Starts the program on a pseudo-terminal.
fn on_a_terminal(env: &TestEnv, args: &str) -> Running {
    let command = format!("{} {args}", program());
    let mut script = Command::new("script");
    env.prepare(script.args(["-qec", &command, "/dev/null"]));
    Running::start(&mut script)
}

/// Types an answer when the question with this text waits for it.
fn answer(running: &mut Running, question: &str, keys: &str) {
    running.stdout.until(question);
    running.types(keys);
}

#[test]
fn config_show_names_the_origin_of_each_value() {
    let env = TestEnv::new();
    fs::create_dir_all(user_config(&env).parent().unwrap()).unwrap();
    fs::write(user_config(&env), "model = \"ollama:m\"\n").unwrap();
    env.write("agent.toml", "\nmax-turns = 3\n");
    let shown = |args: &[&str]| {
        let args = [&["config", "show"], args].concat();
        let mut command = env.command(&args);
        let ran: Ran = command
            .env("AGENT_HOST_MAX_TOTAL_TOKENS", "1000")
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran
    };
    let lines = shown(&["--json", "--state-dir", "s"]).json_lines();
    let origin = |key: &str| {
        let line = lines.iter().find(|line| line["key"] == key);
        let line = line.unwrap_or_else(|| panic!("no {key}"));
        (
            line["value"].clone(),
            line["origin"].as_str().unwrap().to_owned(),
        )
    };
    let project = env.work().canonicalize().unwrap().join("agent.toml");
    for (key, value, from) in [
        (
            "model",
            json!("ollama:m"),
            format!("{}:1", user_config(&env).display()),
        ),
        ("max-turns", json!(3), format!("{}:2", project.display())),
        (
            "budgets.tokens",
            json!(1000),
            "AGENT_HOST_MAX_TOTAL_TOKENS".to_owned(),
        ),
        ("state-dir", json!("s"), "--state-dir".to_owned()),
        ("agent-depth", json!(2), "built-in".to_owned()),
    ] {
        assert_eq!(origin(key), (value, from), "{key}");
    }
    // The text is TOML with the same values.
    let text = shown(&[]).stdout;
    let table: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(table["max-turns"].as_integer(), Some(3), "{text}");
}

#[test]
fn config_init_schema_and_path_begin_a_configuration() {
    let env = TestEnv::new();
    let path = env.work().canonicalize().unwrap().join("agent.toml");
    let ran = env.run(&["config", "init"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, format!("{}\n", path.display()));
    // It changes nothing, and needs no trust.
    assert_eq!(env.run(&["run", "hello"]).code, Some(0));
    let again = env.run(&["config", "init"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("is not overwritten"), "{again:?}");

    let project = env.run(&["config", "path", "project"]).stdout;
    assert_eq!(project, format!("{}\n", path.display()));
    let user = env.run(&["config", "path", "user"]).stdout;
    assert_eq!(user, format!("{}\n", user_config(&env).display()));
    let all = env.run(&["config", "path"]).stdout;
    assert!(
        all.contains(&format!(
            "user     {}  (absent)",
            user_config(&env).display()
        )),
        "{all}"
    );
}

/// Every `agent.toml` of this repository fits the schema.
#[test]
fn schema_accepts_every_configuration_of_the_repository() {
    let env = TestEnv::new();
    let schema = env.run(&["config", "schema"]).json();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let files = super::docs::files().into_iter();
    let files = files.filter(|file| file.file_name().is_some_and(|name| name == "agent.toml"));
    let mut checked = 0;
    for file in files {
        let text = fs::read_to_string(super::docs::ROOT.join(&file)).unwrap();
        let value: toml::Value = toml::from_str(&text).unwrap();
        let value: Value = serde_json::to_value(value).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", file.display());
        checked += 1;
    }
    assert!(checked > 0, "there is none");
}

#[test]
fn models_are_listed_with_what_is_known() {
    let env = TestEnv::new();
    let list = json!({ "data": [{ "id": "b\u{1b}[31m" }, { "id": "a" }] });
    let chat = ChatServer::start(vec![
        Answer::status("200 OK", &list),
        Answer::status("200 OK", &list),
    ]);
    let toml = format!(
        "[openai-compat]\nbase-url = \"{}\"\n[prices.\"openai-compat:a\"]\ninput = 1.25\noutput = 10\n",
        chat.base_url
    );
    env.write("agent.toml", toml);
    let ran = env.run(&["models", "--config", "agent.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            format!(
                "{:<44} 1.25 USD in, 10.00 USD out per million",
                "openai-compat:a"
            ),
            "openai-compat:b\\u{1b}[31m".to_owned(),
        ]
    );
    let json = env
        .run(&[
            "models",
            "--json",
            "--config",
            "agent.toml",
            "openai-compat",
        ])
        .json_lines();
    assert_eq!(
        json[0],
        json!({
            "model": "openai-compat:a",
            "window_tokens": null,
            "price_per_million": {
                "input_micros": 1_250_000, "cached_input_micros": 1_250_000,
                "cache_write_micros": 1_562_500, "output_micros": 10_000_000,
            },
        })
    );
    let none = TestEnv::new().run(&["models"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("agent-host init"), "{none:?}");
}

/// The default system prompt: sent, shown, replaced and turned off.
#[test]
fn default_prompt_is_sent_shown_replaced_and_turned_off() {
    let env = TestEnv::new();
    let system = |args: &[&str]| {
        let chat = ChatServer::start(vec![Answer::text("Done.")]);
        let ran = agent_host_test_support::chat::ask(&env, &chat, &[args, &["x"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let first = chat.requests()[0]["messages"][0].clone();
        match first["role"].as_str() {
            Some("system") => Some(first["content"].as_str().unwrap().to_owned()),
            _ => None,
        }
    };
    let default = system(&[]).unwrap();
    let work = env.work().canonicalize().unwrap().display().to_string();
    let granted = format!("\n- {work} as /workspace, read-only; no network\n");
    assert!(default.contains(&granted), "{default}");
    assert_eq!(
        system(&[]).as_deref(),
        Some(default.as_str()),
        "the same each time"
    );
    let shown = |args: &[&str]| {
        let ran = env.run(&[&["run", "--show-prompt", "--output-format", "json"], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.json()
    };
    let prompt = shown(&["--model", "script:tour"]);
    assert_eq!(prompt["system"], json!(default));
    let tools = prompt["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == "read_file"),
        "{tools:?}"
    );
    assert_eq!(
        system(&["--system", "Be brief."]).as_deref(),
        Some("Be brief.")
    );
    assert_eq!(system(&["--system", ""]), None);
    env.write("agent.toml", "system = \"\"\n");
    assert_eq!(system(&[]), None);
    assert_eq!(shown(&["--model", "script:tour"])["system"], Value::Null);
    let text = env.run(&["run", "--show-prompt", "--system", "Be brief."]);
    assert!(text.stdout.starts_with("Be brief.\n\n"), "{}", text.stdout);
    // No session was begun by looking.
    let sessions = env.run(&["sessions", "list", "--json"]).json_lines();
    assert_eq!(sessions.len(), 5);
}
