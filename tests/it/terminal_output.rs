//! Tests output to a terminal: JSON without control characters, text instead of bytes, and a line
//! end after each line.

use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    pictures::png,
    program,
    running::Running,
    terminal::{at_a_terminal, plain},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::process::Command;

/// Characters that terminals obey, reorder or hide: C1 and DEL, bidirectional controls, zero width,
/// line breaks.
const STEERING: &str =
    "\u{9b}\u{7f}\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{2028}\u{ad}\u{e0041}";

/// A text with all of them and with characters that stay as they are.
fn steering() -> String {
    format!("naïve 日本{STEERING}31m\u{1b}[2J")
}

/// A test directory in which every name, argument and result contains them.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let said = steering();
    let guest = Guest {
        body: Body::Text(0, said.as_bytes()),
        definitions: vec![Definition {
            name: "say".to_owned(),
            description: "Soft\u{ad}hyphen.".to_owned(),
            effect: 2,
            ..Definition::default()
        }],
        ..Guest::default()
    };
    env.write(&format!("{STEERING}/mine.wasm"), guest.bytes());
    env.write(
        &format!("{STEERING}/agent.toml"),
        "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n[[grants.dir]]\nhost = \".\"\n",
    );
    env
}

/// The JSON documents on stdout, none of which has a control character.
fn documents(ran: &Ran, what: &str) -> Vec<Value> {
    let found: Vec<char> = ran
        .stdout
        .chars()
        .filter(|c| STEERING.contains(*c))
        .collect();
    assert_eq!(found, Vec::<char>::new(), "{what}: {ran:?}");
    let documents: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&ran.stdout)
        .into_iter()
        .collect();
    documents.unwrap_or_else(|error| panic!("{what}: {error}: {ran:?}"))
}

/// Each command that writes JSON. The parsed values have the characters that the output escapes.
#[test]
fn json_of_every_command_cannot_steer_a_terminal() {
    let env = env();
    let config = format!("{STEERING}/agent.toml");
    let component = format!("{STEERING}/mine.wasm");
    let input = json!({ "text": steering() });
    let model = |call: bool| {
        let calls = call.then(|| Answer::calls(&[("say", input.clone())]));
        ChatServer::start(
            calls
                .into_iter()
                .chain([Answer::text(&steering())])
                .collect(),
        )
    };
    let prompt = steering();
    let runs = [
        ("json", Some(3), "later", model(true)),
        ("stream-json", Some(6), "none", model(true)),
        ("json", Some(0), "none", model(false)),
    ];
    for (format, code, prompts, server) in runs {
        let args = [
            "--config",
            &config,
            "--output-format",
            format,
            "--permission-prompts",
            prompts,
            &prompt,
        ];
        let ran = ask(&env, &server, &args);
        assert_eq!(ran.code, code, "{ran:?}");
        let all = Value::from(documents(&ran, format)).to_string();
        assert!(all.contains(STEERING), "{format}: {all}");
    }
    let input = input.to_string();
    let table: [(&[&str], bool); 10] = [
        (&["call", "mine", "say", &input, "--json"], true),
        (&["inspect", &component, "--json"], true),
        (&["sessions", "show", "latest", "--json"], true),
        (&["sessions", "list", "--json"], true),
        (&["sessions", "export", "latest"], true),
        (&["sessions", "artifacts", "latest", "--json"], false),
        (&["explain", "latest", "--json"], false),
        (&["mcp", "config"], true),
        (&["lock", "--json"], true),
        (&["cache", "list", "--json"], false),
    ];
    for (args, has_them) in table {
        let ran = env.run(&[args, &["--config", &config]].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        let all = Value::from(documents(&ran, &args.join(" "))).to_string();
        let found = all.contains(|c: char| STEERING.contains(c));
        assert_eq!(found, has_them, "{args:?}: {all}");
    }
}

/// A later export of the session is the same.
#[test]
fn escaped_export_is_imported_unchanged() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text(&steering())]);
    assert_eq!(ask(&env, &server, &[&steering()]).code, Some(0));
    let said = |env: &TestEnv| of_kind(&env.events(), "model-replied")[0]["reply"]["text"].clone();
    assert_eq!(said(&env), json!(steering()));
    let file = env.work().join("session.jsonl");
    let exported = env.run(&["sessions", "export", "latest"]);
    std::fs::write(&file, &exported.stdout).unwrap();
    let imported = env.run(&["sessions", "import", "session.jsonl", "--as-new"]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    assert_eq!(said(&env), json!(steering()));
}

/// An image is refused, with the option that writes it to a file; text is shown.
#[test]
fn bytes_are_not_written_to_a_terminal() {
    let env = TestEnv::new();
    env.write("lamp.png", png(640, 400));
    assert_eq!(
        env.run(&["run", "What is in this directory?"]).code,
        Some(0)
    );
    let listed = env.run(&["sessions", "artifacts", "latest", "--json"]);
    let digest = listed.json()["digest"].as_str().unwrap().to_owned();
    let commands = [
        format!("sessions artifacts latest {}", "lamp-thumbnail.png"),
        format!("sessions blob {digest}"),
    ];
    let exe = program();
    for command in commands {
        let args: Vec<&str> = command.split(' ').collect();
        let expected = env.command(&args).output().unwrap().stdout;
        assert!(expected.starts_with(b"\x89PNG"), "{command}");
        let mut script = Command::new("script");
        env.prepare(script.args(["-qec", &format!("{exe} {command}"), "/dev/null"]));
        let shown = Running::start(&mut script).end();
        assert_eq!(shown.code, Some(2), "{shown:?}");
        let said = format!(
            "error: these {}.{} KiB are not text, and a terminal may interpret them; write them to a file with `-o \
             FILE`\r\n",
            expected.len() / 1024,
            expected.len() * 10 / 1024 % 10
        );
        assert_eq!(plain(&shown.stdout), said);
        let written = env.run(&[&args[..], &["-o", "out.png"]].concat());
        assert_eq!(
            (written.code, written.stdout.as_str()),
            (Some(0), ""),
            "{written:?}"
        );
        let file = env.work().join("out.png");
        assert_eq!(std::fs::read(&file).unwrap(), expected);
        let again = env.run(&[&args[..], &["-o", "out.png"]].concat());
        assert_eq!(
            again.code,
            Some(2),
            "what is there is not replaced: {again:?}"
        );
        std::fs::remove_file(file).unwrap();
    }
}

/// A model can call any name. The name takes one line, not the screen.
#[test]
fn long_tool_name_is_truncated() {
    let env = TestEnv::new();
    let name = "x".repeat(100_000);
    let call = || Answer::calls(&[(name.as_str(), json!({}))]);
    let server = ChatServer::start(vec![call(), Answer::text("That is all.")]);
    let ran = ask(&env, &server, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown = env.run(&["sessions", "show", "latest"]);
    let server = ChatServer::start(vec![call(), Answer::text("That is all.")]);
    let on_a_terminal = at_a_terminal(&env, &server, "run --model openai-compat:m go").end();
    for text in [&ran.stderr, &shown.stdout, &on_a_terminal.stdout] {
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(
            text.contains(&"x".repeat(60)) && longest < 5_000,
            "{longest}"
        );
    }
}
