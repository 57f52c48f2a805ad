//! Tests bad input: each case is refused in one paragraph on stderr (what, why, next step) with the
//! right exit code and an empty stdout.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    of_kind,
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::{
    fs::{self, DirBuilder},
    os::unix::fs::DirBuilderExt as _,
};

/// Runs the program and checks the refusal: exit code, empty stdout, and parts of the text.
pub(crate) fn refuses(env: &TestEnv, args: &[&str], code: i32, says: &[&str]) {
    let ran = env.run(args);
    check(&ran, code, says);
}

pub(crate) fn check(ran: &Ran, code: i32, says: &[&str]) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(code), ""),
        "{}",
        ran.stderr
    );
    let error = ran.stderr.lines().rev().collect::<Vec<_>>();
    let from = error
        .iter()
        .position(|line| line.starts_with("error:"))
        .unwrap_or_else(|| panic!("no error: {}", ran.stderr));
    let text: String = error[..=from]
        .iter()
        .rev()
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    for expected in says {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    assert!(
        !text.contains("panicked") && !text.contains("RUST_BACKTRACE"),
        "{text}"
    );
}

/// A pipe in place of a file that is read at start is refused instead of blocking the program.
#[test]
fn pipe_instead_of_file_is_refused() {
    let other = "it is not a regular file";
    for (path, code, says) in [
        ("work/agent.toml", 2, other),
        ("work/agent.lock", 2, other),
        ("work/AGENTS.md", 2, "it is not a regular file"),
        ("state/agent-host.db", 1, other),
        ("state/continuation.key", 1, other),
    ] {
        let env = TestEnv::new();
        env.write(
            "agent.toml",
            "instructions = [\"AGENTS.md\"]\nmodel = \"script:tour\"\nstate-dir = \"../state\"\n",
        );
        env.write("AGENTS.md", "Be brief.");
        let state = env.outside().join("state");
        DirBuilder::new().mode(0o700).create(&state).unwrap();
        let pipe = env.outside().join(path);
        let _ = fs::remove_file(&pipe);
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let command = &mut env.command(&["run", "--config", "agent.toml", "go"]);
        let ran = Running::start_without_input(command).end();
        let name = path.rsplit('/').next().unwrap();
        assert_eq!((path, ran.code), (path, Some(code)), "{ran:?}");
        check(&ran, code, &[name, says]);
    }
}

#[test]
fn configuration() {
    let cases: [(&str, &[&str]); 6] = [
        (
            "modle = \"script:tour\"\n",
            &["agent.toml", "modle", "model"],
        ),
        ("model = \n", &["agent.toml:1:"]),
        (
            "[[grants.dir]]\nhost = \"./gone\"\nguest = \"/workspace\"\nmode = \"read-only\"\n",
            &["gone"],
        ),
        (
            "[[grants.dir]]\nhost = \"/\"\nguest = \"/workspace\"\nmode = \"read-only\"\n",
            &["/", "--grant"],
        ),
        (
            "[[tool]]\nname = \"x\"\ncomponent = \"gone.wasm\"\n",
            &["gone.wasm", "Check the path"],
        ),
        (
            "model = \"openai-compat:m\"\n[openai-compat]\napi-key = \"sk-literal\"\n",
            &["api-key", "env:"],
        ),
    ];
    for (toml, says) in cases {
        let env = TestEnv::new();
        env.write("agent.toml", toml);
        refuses(&env, &["run", "--config", "agent.toml", "x"], 2, says);
    }
}

#[test]
fn untrusted_configuration_is_refused() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "[openai-compat]\napi-key = \"cmd:touch ran\"\n",
    );
    refuses(
        &env,
        &["run", "x"],
        2,
        &[
            "agent.toml is not trusted, and it",
            "reads the key of [openai-compat] from \"cmd:touch ran\"",
            "`agent-host trust`",
            "--config agent.toml",
        ],
    );
    assert!(!env.work().join("ran").exists());
}

#[test]
fn grant_of_root_or_home_must_be_explicit() {
    let env = TestEnv::new();
    let at_home = |env: &TestEnv| {
        let mut command = env.command(&["run", "x"]);
        command.current_dir(env.outside().join("home"));
        Ran::from(command.output().unwrap())
    };
    check(&at_home(&env), 2, &["home directory", "--grant"]);
    let at_root: Ran = env
        .command(&["run", "x"])
        .current_dir("/")
        .output()
        .unwrap()
        .into();
    check(&at_root, 2, &["--grant"]);
    let granted = env.run(&[
        "run",
        "x",
        "--grant",
        &format!("dir:{}", env.outside().join("home").display()),
    ]);
    assert_eq!(granted.code, Some(0), "{}", granted.stderr);
}

#[test]
fn components() {
    let env = TestEnv::new();
    let module = wat::parse_str("(module)").unwrap();
    let built_in = fs::read(agent_host_test_support::dist().join("files.wasm")).unwrap();
    let other_version = wat::parse_str(
        r#"(component
            (core module $m)
            (instance $i)
            (export "agent:tool/tool@0.9.0" (instance $i)))"#,
    )
    .unwrap();
    let cases: [(&str, Vec<u8>, &[&str]); 6] = [
        ("empty.wasm", Vec::new(), &["empty.wasm"]),
        (
            "text.wasm",
            b"#!/bin/sh\necho hello\n".to_vec(),
            &["text.wasm", "component"],
        ),
        ("module.wasm", module, &["core WebAssembly module"]),
        (
            "truncated.wasm",
            built_in[..built_in.len() / 2].to_vec(),
            &["truncated.wasm"],
        ),
        ("version.wasm", other_version, &["0.9.0", "0.1.0"]),
        (
            "plain.wasm",
            wat::parse_str("(component)").unwrap(),
            &["agent:tool/tool"],
        ),
    ];
    for (name, bytes, says) in cases {
        let path = env.write(name, bytes);
        refuses(&env, &["inspect", path.to_str().unwrap()], 2, says);
    }
    refuses(&env, &["inspect", "gone.wasm"], 2, &["gone.wasm"]);
    refuses(
        &env,
        &["inspect", "builtin:gone"],
        2,
        &["builtin:gone", "builtin:files"],
    );
}

#[test]
fn calls() {
    let env = TestEnv::new();
    refuses(
        &env,
        &["call", "builtin:files", "no_such_tool", "{}"],
        2,
        &["no_such_tool", "list_directory"],
    );
    refuses(
        &env,
        &["call", "builtin:files", "read_file", "{}"],
        2,
        &["path", "required"],
    );
    refuses(
        &env,
        &["call", "builtin:files", "read_file", "{\"path\": 7}"],
        2,
        &["/path", "string"],
    );
    refuses(
        &env,
        &["call", "builtin:files", "read_file", "not json"],
        2,
        &["JSON object"],
    );
    refuses(
        &env,
        &["call", "builtin:files", "read_file", "[1]"],
        2,
        &["JSON object"],
    );
}

#[test]
fn missing_input_is_a_usage_error() {
    let env = TestEnv::new();
    refuses(&env, &["run"], 2, &["no prompt"]);
    refuses(&env, &["run", "--resume", "latest", "x"], 2, &["session"]);
    refuses(
        &env,
        &["run", "--model", "unknown:model", "x"],
        2,
        &["unknown", "openai-compat"],
    );
    refuses(
        &env,
        &["run", "--model", "script:gone.toml", "x"],
        2,
        &["gone.toml"],
    );
}

/// With `--output-format json`, stdout has a document for each failure, also before a session.
#[test]
fn failure_is_a_json_document() {
    let env = TestEnv::new();
    let failed = |args: &[&str]| {
        let ran = env.run(&[&["run", "--output-format", "json"], args].concat());
        let document = ran.json();
        assert_eq!(document["session"], Value::Null, "{args:?}");
        assert_eq!(document["outcome"]["type"], "error", "{args:?}");
        let error = &document["outcome"]["error"];
        let message = error["message"].as_str().unwrap().to_owned();
        assert!(!message.contains('\u{1b}'), "{message}");
        (
            ran.code,
            error["cause"].as_str().unwrap().to_owned(),
            message,
        )
    };
    for (args, code, cause, message) in [
        (&[][..], 2, "usage", "there is no prompt"),
        (
            &["--model", "gpt-5", "x"],
            2,
            "usage",
            "did you mean `openai:gpt-5`?",
        ),
        (&["--image", "gone.png", "x"], 2, "usage", "gone.png"),
        (&["--resume", "latest", "x"], 2, "usage", "session"),
        (
            &["--model", "script:gone.toml", "x"],
            2,
            "usage",
            "gone.toml",
        ),
    ] {
        let (found, kind, text) = failed(args);
        assert_eq!(
            (found, kind.as_str()),
            (Some(code), cause),
            "{args:?}: {text}"
        );
        assert!(text.contains(message), "{args:?}: {text}");
    }
    env.write("agent.toml", "max-turms = 1\n");
    let (code, cause, message) = failed(&["x"]);
    assert_eq!((code, cause.as_str()), (Some(2), "usage"));
    assert!(message.contains("did you mean `max-turns`?"), "{message}");
    assert!(!message.starts_with("error"), "{message}");
    env.write("agent.toml", "");
    // A command line that cannot be parsed has a document, too.
    for (args, says) in [
        (&["--no-such"][..], "unexpected argument '--no-such' found"),
        (&["what", "is", "here"], "unexpected argument 'is' found"),
        (
            &["--max-turns", "x", "y"],
            "invalid value 'x' for '--max-turns <N>'",
        ),
        (
            &["--show-prompt", "--model", "gpt-5"],
            "did you mean `openai:gpt-5`?",
        ),
    ] {
        let (code, cause, message) = failed(args);
        assert_eq!((code, cause.as_str()), (Some(2), "usage"), "{args:?}");
        assert!(message.contains(says), "{args:?}: {message}");
        assert!(!message.starts_with("error"), "{args:?}: {message}");
    }
    let text = env.run(&["run", "--no-such", "--", "--output-format", "json"]);
    assert_eq!((text.code, text.stdout.as_str()), (Some(2), ""));
}

#[test]
fn unquoted_prompt_is_suggested_in_quotes() {
    let env = TestEnv::new();
    for args in [&["run", "what", "is", "here"][..], &["what", "is", "here"]] {
        let ran = env.run(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let last = ran.stderr.lines().last();
        assert_eq!(
            last,
            Some("Did you mean: agent-host run 'what is here'"),
            "{ran:?}"
        );
    }
}

#[test]
fn unwritable_state_directory_is_refused() {
    let env = TestEnv::new();
    let file = env.write("file", "");
    let state = file.join("state");
    refuses(
        &env,
        &["run", "x", "--state-dir", state.to_str().unwrap()],
        1,
        &["state", "file"],
    );
}

#[test]
fn script_template_failure_keeps_the_session() {
    let env = TestEnv::new();
    env.write(
        "bad.toml",
        "[[turn]]\ntext = \"looking\"\n[[turn.call]]\ntool = \"list_directory\"\ninput = '{\"path\": \".\"}'\n[[turn]]\ntext = \"{{ nothing.here }}\"\n",
    );
    let ran = env.run(&["run", "--model", "script:bad.toml", "x"]);
    check(&ran, 1, &["bad.toml", "turn 2", "undefined", "--resume"]);
    let events = env.events();
    assert_eq!(of_kind(&events, "call-settled").len(), 1);
    let outcome = &of_kind(&events, "turn-ended")[1]["outcome"];
    assert_eq!(
        (&outcome["type"], &outcome["error"]["error"]["kind"]),
        (&json!("error"), &json!("script"))
    );
}

#[test]
fn model_server_errors_are_reported() {
    let refused = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    };
    let unauthorized = ChatServer::start(vec![Answer::status(
        "401 Unauthorized",
        &json!({ "error": { "message": "bad key" } }),
    )]);
    let missing = ChatServer::start(vec![Answer::status(
        "404 Not Found",
        &json!({ "error": { "message": "no such model" } }),
    )]);
    let cases: [(&str, &[&str]); 3] = [
        (
            &unauthorized.base_url,
            &["401", "bad key", "OPENAI_COMPAT_API_KEY", "--resume"],
        ),
        (
            &missing.base_url,
            &["404", "no such model", "gpt-x", "--resume"],
        ),
        (&refused, &[&refused, "--resume"]),
    ];
    for (base_url, says) in cases {
        let env = TestEnv::new();
        env.write("agent.toml", "[openai-compat]\nretries = 0\n");
        let ran: Ran = env
            .command(&["run", "--model", "openai-compat:gpt-x", "hello"])
            .env("OPENAI_COMPAT_BASE_URL", base_url)
            .env("OPENAI_COMPAT_API_KEY", "sk-very-secret")
            .output()
            .unwrap()
            .into();
        check(&ran, 1, says);
        let events = env.events();
        assert_eq!(of_kind(&events, "input-received").len(), 1);
        assert!(
            !ran.stderr.contains("sk-very-secret")
                && !json!(events).to_string().contains("sk-very-secret")
        );
    }
}

/// Such a reply is not part of the conversation, so a later run asks the model again.
#[test]
fn malformed_model_reply_is_an_error() {
    let cases: [(Answer, &[&str], Value); 2] = [
        (
            Answer::status("200 OK", &json!({})),
            &["it ended before the model's stop reason", "--resume"],
            Value::Null,
        ),
        (
            Answer::status(
                "429 Too Many Requests\r\nretry-after: 3600",
                &json!({ "error": { "message": "slow down" } }),
            ),
            &[
                "asks to wait 3600 s",
                "the limit for one reply is 120 s",
                "slow down",
                "--resume",
            ],
            json!(3600),
        ),
    ];
    for (answer, says, retry_after) in cases {
        let server = ChatServer::start(vec![answer, Answer::text("That is all.")]);
        let env = TestEnv::new();
        env.write("agent.toml", "[openai-compat]\nretries = 0\n");
        let run = |args: &[&str]| -> Ran {
            let model = [
                "run",
                "--config",
                "agent.toml",
                "--model",
                "openai-compat:m",
            ];
            env.command(&[&model, args].concat())
                .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
                .output()
                .unwrap()
                .into()
        };
        check(&run(&["hello"]), 1, says);
        let events = env.events();
        assert_eq!(of_kind(&events, "model-replied").len(), 0);
        let outcome = &of_kind(&events, "turn-ended")[0]["outcome"];
        assert_eq!(
            outcome["error"]["error"]["retry_after_seconds"],
            retry_after
        );
        let again = run(&["--resume", "latest"]);
        assert_eq!(
            (again.code, again.stdout.as_str()),
            (Some(0), "That is all.\n")
        );
    }
}

/// The second request has a message in place of the empty reply; a second one is the answer.
#[test]
fn empty_model_reply_is_sent_back_once() {
    for (answers, expected) in [(["", "Done."], "Done.\n"), (["", ""], "\n")] {
        let server = ChatServer::start(Vec::from(answers.map(Answer::text)));
        let env = TestEnv::new();
        let ran: Ran = env
            .command(&["run", "--model", "openai-compat:m", "hello"])
            .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
            .output()
            .unwrap()
            .into();
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected));
        assert_eq!(of_kind(&env.events(), "repair-requested").len(), 1);
    }
}
