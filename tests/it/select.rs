//! Tests the choice of a model and its key, and failover.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;

const KEY: &str = "sk-very-secret-0123456789";

/// Providers, with the variables of their key and address.
const PROVIDERS: [(&str, &str, &str); 5] = [
    ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    (
        "openai-compat",
        "OPENAI_COMPAT_API_KEY",
        "OPENAI_COMPAT_BASE_URL",
    ),
    ("gemini", "GEMINI_API_KEY", "GEMINI_BASE_URL"),
    ("ollama", "OLLAMA_API_KEY", "OLLAMA_HOST"),
];

fn run(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = env.command(args);
    command.envs(variables.iter().copied());
    command.output().unwrap().into()
}

/// The files below a directory that contain the key.
fn files_with_key(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_key(&path));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let mut windows = bytes.windows(KEY.len());
            found.extend(
                windows
                    .any(|window| window == KEY.as_bytes())
                    .then_some(path),
            );
        }
    }
    found
}

fn assert_no_key(env: &TestEnv, ran: &Ran) {
    assert!(
        !ran.stdout.contains(KEY) && !ran.stderr.contains(KEY),
        "{ran:?}"
    );
    assert_eq!(
        files_with_key(env.outside()),
        Vec::<std::path::PathBuf>::new()
    );
}

fn refusing(status: &'static str) -> ChatServer {
    let body = json!({ "error": { "message": format!("no, {KEY}, not now") } });
    ChatServer::start(vec![Answer::status(status, &body)])
}

/// The server repeats the key in its error message, and gets one request: there is no second
/// answer.
#[test]
fn wrong_key_fails_at_once_and_names_its_variable() {
    for (provider, key, url) in PROVIDERS {
        let env = TestEnv::new();
        let server = refusing("401 Unauthorized");
        let model = format!("{provider}:m");
        let args = [
            "run",
            "--model",
            &model,
            "--output-format",
            "stream-json",
            "hi",
        ];
        let ran = run(&env, &args, &[(key, KEY), (url, &server.base_url)]);
        assert_eq!(ran.code, Some(1), "{provider}: {}", ran.stderr);
        for text in ["(401)", key, "not now", "--resume"] {
            assert!(ran.stderr.contains(text), "no {text:?} in {}", ran.stderr);
        }
        assert_eq!(server.requests().len(), 1, "{provider}");
        assert_no_key(&env, &ran);
    }
}

#[test]
fn only_key_chooses_the_model_with_a_note() {
    for (variable, url, model) in [
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "anthropic:claude-sonnet-5-5",
        ),
        ("OPENAI_API_KEY", "OPENAI_BASE_URL", "openai:gpt-5.5"),
        (
            "GOOGLE_API_KEY",
            "GEMINI_BASE_URL",
            "gemini:gemini-flash-latest",
        ),
    ] {
        let env = TestEnv::new();
        let server = refusing("401 Unauthorized");
        let ran = run(
            &env,
            &["run", "hi"],
            &[(variable, KEY), (url, &server.base_url)],
        );
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let why = format!("chosen because of the key in {variable}");
        for text in [model, &why] {
            assert!(ran.stderr.contains(text), "no {text:?} in {}", ran.stderr);
        }
        assert_eq!(server.requests().len(), 1);
        assert_no_key(&env, &ran);
    }
}

/// With two keys no model is selected: the run lists them. Commands without a model still work.
#[test]
fn several_keys_choose_no_model() {
    let env = TestEnv::new();
    let keys = [("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)];
    let ran = run(&env, &["run", "hi"], &keys);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for text in [
        "`anthropic` (ANTHROPIC_API_KEY)",
        "`openai` (OPENAI_API_KEY)",
        "--model",
    ] {
        assert!(ran.stderr.contains(text), "no {text:?} in {}", ran.stderr);
    }
    assert_no_key(&env, &ran);
    assert_eq!(run(&env, &["sessions", "list"], &keys).code, Some(0));
    // No request leaves this machine: the addresses are those of servers that refuse.
    let (anthropic, openai) = (refusing("401 Unauthorized"), refusing("401 Unauthorized"));
    let addresses = [
        ("ANTHROPIC_BASE_URL", anthropic.base_url.as_str()),
        ("OPENAI_BASE_URL", openai.base_url.as_str()),
    ];
    let doctor = run(&env, &["doctor"], &[keys, addresses].concat());
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let told = "✗ model          no model is set, and there are keys for several providers: ";
    assert!(doctor.stdout.contains(told), "{}", doctor.stdout);
    let named = run(&env, &["run", "--model", "script:tour", "hi"], &keys);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
}

#[test]
fn missing_key_is_named_before_any_request() {
    let env = TestEnv::new();
    let ran = env.run(&["run", "--model", "anthropic:m", "hi"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    for text in ["ANTHROPIC_API_KEY", "[anthropic]"] {
        assert!(ran.stderr.contains(text), "no {text:?} in {}", ran.stderr);
    }
}

/// If the service fails, the next model answers, and stderr and the journal say so. If the user has
/// to fix something, the next one is not asked.
#[test]
fn fallback_model_answers_after_failure() {
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    for (status, answers) in [
        (Some("500 Internal Server Error"), true),
        (Some("429 Too Many Requests"), true),
        (None, true),
        (Some("401 Unauthorized"), false),
        (Some("400 Bad Request"), false),
        (Some("404 Not Found"), false),
    ] {
        let env = TestEnv::new();
        env.write(
            "agent.toml",
            "model = \"anthropic:a\"\nfallback = [\"openai-compat:b\"]\n[anthropic]\nretries = 0\n",
        );
        let first = status.map(refusing);
        let first = first.as_ref().map_or(&gone, |server| &server.base_url);
        let second = ChatServer::start(vec![Answer::text("Hello from b.")]);
        let variables = [
            ("ANTHROPIC_API_KEY", KEY),
            ("ANTHROPIC_BASE_URL", first.as_str()),
            ("OPENAI_COMPAT_BASE_URL", second.base_url.as_str()),
        ];
        let ran = run(&env, &["run", "hi"], &variables);
        assert_no_key(&env, &ran);
        let shown = env
            .run(&["sessions", "show", "latest", "--json"])
            .json_lines();
        let asked = &of_kind(&shown, "model-requested")[0]["provenance"];
        assert_eq!(asked, &json!({ "provider": "anthropic", "model": "a" }));
        let note = "note anthropic:a does not answer; using openai-compat:b instead.";
        assert_eq!(ran.stderr.contains(note), answers, "{}", ran.stderr);
        if !answers {
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            assert_eq!(second.requests().len(), 0);
            continue;
        }
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "Hello from b.\n"),
            "{}",
            ran.stderr
        );
        let b = json!({ "provider": "openai-compat", "model": "b" });
        assert_eq!(
            of_kind(&shown, "model-replied")[0]["reply"]["provenance"],
            b
        );
        let summary = &of_kind(&shown, "turn-ended")[0]["outcome"]["summary"];
        assert_eq!(summary["provenance"], b);
    }
}

/// Two servers of one kind: each has its own address, key, price and name in the journal.
#[test]
fn named_servers_answer_with_their_own_keys_and_prices() {
    let env = TestEnv::new();
    let first = refusing("503 Service Unavailable");
    let second = ChatServer::start(vec![Answer::text("Hello from two.")]);
    let list = json!({ "data": [{ "id": "vendor/m" }] });
    let listing = ChatServer::start(vec![Answer::status("200 OK", &list)]);
    let provider = |name: &str, server: &ChatServer| {
        let url = &server.base_url;
        format!(
            "[[provider]]\nname = \"{name}\"\nkind = \"openrouter\"\nbase-url = \"{url}\"\nretries = 0\n\
             api-key = \"env:KEY_{name}\"\nheaders = {{ x-title = \"env:KEY_{name}\" }}\n\
             query = {{ v = \"{KEY}\" }}\n"
        )
    };
    let models = "model = \"one:vendor/m\"\nfallback = [\"two:vendor/m\"]\n[budgets]\nusd = 1\n\
        [prices.\"one:*\"]\ninput = 1\noutput = 1\n[prices.\"two:vendor/m\"]\ninput = 1\noutput = 1\n";
    let both = provider("one", &first) + &provider("two", &second);
    env.write("agent.toml", format!("{models}{both}"));
    let variables = [("KEY_one", KEY), ("KEY_two", KEY)];
    // The file came with its directory, and says where keys go.
    let refused = run(&env, &["run", "hi"], &variables);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("not trusted"), "{refused:?}");
    let args = ["run", "--config", "agent.toml", "hi"];
    let ran = run(&env, &args, &variables);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Hello from two.\n"),
        "{}",
        ran.stderr
    );
    let note = "note one:vendor/m does not answer; using two:vendor/m instead.";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    let args = [
        "sessions",
        "show",
        "latest",
        "--json",
        "--config",
        "agent.toml",
    ];
    let shown = env.run(&args).json_lines();
    assert_eq!(
        of_kind(&shown, "model-replied")[0]["reply"]["provenance"],
        json!({ "provider": "two", "model": "vendor/m" })
    );
    // `doctor` asks for the list of the named server.
    let one = provider("one", &listing);
    env.write("agent.toml", format!("model = \"one:vendor/m\"\n{one}"));
    let doctor = run(&env, &["doctor", "--config", "agent.toml"], &variables);
    let url = &listing.base_url;
    let told = format!("✓ model          one:vendor/m answers at {url}, with the key in KEY_one\n");
    assert!(doctor.stdout.contains(&told), "{}", doctor.stdout);
    assert!(!doctor.stdout.contains(KEY), "{}", doctor.stdout);
    std::fs::remove_file(env.work().join("agent.toml")).unwrap();
    assert_no_key(&env, &ran);
}

#[test]
fn doctor_reports_which_models_answer() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "model = \"openai-compat:m\"\nfallback = [\"ollama:x\", \"openai:y\", \"script:tour\"]\n",
    );
    let lists = |names: &Value| ChatServer::start(vec![Answer::status("200 OK", names)]);
    let compat = lists(&json!({ "data": [{ "id": "other" }, { "id": "m" }] }));
    let ollama = lists(&json!({ "models": [{ "name": "z:latest" }] }));
    let anthropic = refusing("401 Unauthorized");
    let variables = [
        ("OPENAI_COMPAT_API_KEY", KEY),
        ("OPENAI_COMPAT_BASE_URL", compat.base_url.as_str()),
        ("OLLAMA_HOST", ollama.base_url.as_str()),
        ("ANTHROPIC_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", anthropic.base_url.as_str()),
    ];
    let ran = run(&env, &["doctor"], &variables);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| {
            ["model", "fallback", "provider"].contains(&line.split_whitespace().nth(1).unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            format!(
                "✓ model          openai-compat:m answers at {}, with the key in OPENAI_COMPAT_API_KEY",
                compat.base_url
            ),
            format!(
                "! fallback       ollama:x answers at {}, without a key; this model is not in its list, but may be \
                 an alias of one that is",
                ollama.base_url
            ),
            "✗ fallback       openai:y: there is no key for `openai`; set the variable OPENAI_API_KEY, or `api-key` under [openai] \
             in agent.toml"
                .to_owned(),
            "✓ fallback       script:tour".to_owned(),
            format!(
                "! provider       anthropic: The model server at {}/v1/models did not accept the key (401). Check the key \
                 in ANTHROPIC_API_KEY. It says: \"no, [the key], not now\"",
                anthropic.base_url
            ),
        ]
    );
    assert_no_key(&env, &ran);
}
