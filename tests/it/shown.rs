//! Text that leaves to something which displays it: a hostile text of a model, a tool, a file and a
//! session comes out of no front of the program with a character that hides, reorders or steers.
//! A command without a row fails.

use agent_host_test_guests::{BEHIND, Body, Definition, Guest, PASS};
use agent_host_test_support::{
    TestEnv,
    acp::AcpClient,
    api::ApiServer,
    chat::{Answer, ChatServer, ask},
    terminal::on_a_terminal,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Characters that no front shows in prose: controls, those that set the direction of writing, and
/// those that are invisible.
const HIDDEN: &str = "\u{9b}\u{7f}\u{7}\u{8}\u{61c}\u{200b}\u{200e}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{feff}\u{ad}\u{2028}\u{e0041}";

/// Joiners and fillers, which prose keeps and a line does not, where they shape nothing.
const JOINERS: &str =
    "\u{200d}\u{200c}\u{3164}\u{115f}\u{34f}\u{fe0f}\u{e0100}\u{17b4}\u{180b}\u{ffa0}";

/// Sequences that begin with a character which the program writes, too.
const SEQUENCES: [&str; 4] = ["\u{1b}[2J", "\u{1b}]0;", "\u{1b}[8m", "\u{1b}[1;1H"];

fn hostile() -> String {
    format!("q{HIDDEN}w{}r{JOINERS}t", SEQUENCES.concat())
}

/// Prose of the model: without joiners, which it may have.
fn prose() -> String {
    format!("q{HIDDEN}w{}r", SEQUENCES.concat())
}

/// Returns the hidden characters and sequences that a front let through.
fn leaked(shown: &str) -> BTreeSet<String> {
    let hidden = HIDDEN.chars().chain(JOINERS.chars());
    let characters = hidden.filter(|c| shown.contains(*c)).map(|c| {
        let at = shown.find(c).unwrap();
        let around: Vec<char> = shown[at..].chars().take(8).collect();
        format!("{} in {around:?}", c.escape_unicode())
    });
    let sequences = SEQUENCES.iter().filter(|text| shown.contains(**text));
    characters
        .chain(sequences.map(|text| text.escape_debug().to_string()))
        .collect()
}

/// The way in which a command shows text of others.
enum Front {
    /// By these lines, run at a terminal one after another.
    Shows(&'static [&'static str]),
    /// It shows none, for this reason.
    Nothing(&'static str),
}

/// Every command of the program.
const FRONTS: [(&str, Front); 41] = {
    use Front::{Nothing, Shows};
    const OWN: &str = "prints texts of the program";
    const REGISTRY: &str = "speaks with a registry; its texts pass the guard of the terminal";
    const PROJECT: &str = "builds a project of the user; its texts pass the guard of the terminal";
    [
        ("init", Nothing(OWN)),
        (
            "run",
            Shows(&[
                "run --model openai-compat:m go",
                "run --model openai-compat:m --verbose go",
                "run --model openai-compat:m --permission-prompts later go",
                "run --model openai-compat:m --show-prompt go",
                "run --model openai-compat:m --resume latest",
            ]),
        ),
        ("call", Shows(&["call say say '{}'"])),
        (
            "mcp",
            Nothing("its texts are data for a client; tests/it/mcp"),
        ),
        (
            "serve",
            Nothing("the page has a hook for all text; web/src/shown.ts, tests/interop/page"),
        ),
        ("acp", Nothing("has a test of its own below")),
        ("new", Nothing(OWN)),
        ("build", Nothing(PROJECT)),
        (
            "compose",
            Shows(&["compose say.wasm --with pass.wasm --output composed.wasm"]),
        ),
        ("test", Nothing(PROJECT)),
        ("dev", Nothing(PROJECT)),
        ("wit", Nothing(OWN)),
        (
            "inspect",
            Shows(&["inspect say", "inspect say.wasm", "inspect parts.wasm"]),
        ),
        (
            "sessions",
            Shows(&[
                "sessions list",
                "sessions show latest",
                "sessions show --events latest",
                "sessions artifacts latest",
                "sessions replay latest",
            ]),
        ),
        (
            "receipts",
            Nothing("its lines are data for programs; `verify` prints no text of a file"),
        ),
        ("store", Shows(&["store check"])),
        ("stats", Shows(&["stats --by model", "stats --by tool"])),
        ("explain", Shows(&["explain latest"])),
        (
            "eval",
            Nothing("its reports escape in host/authoring/eval/src/markup.rs; tests/it/eval"),
        ),
        ("undo", Shows(&["undo latest"])),
        ("workflow", Shows(&["workflow list"])),
        ("config", Shows(&["config show"])),
        ("models", Shows(&["models"])),
        ("approvals", Shows(&["approvals list"])),
        ("memory", Shows(&["memory list", "memory export"])),
        ("trust", Shows(&["trust --list"])),
        ("lock", Shows(&["lock"])),
        ("search", Nothing(REGISTRY)),
        ("add", Nothing(REGISTRY)),
        ("remove", Nothing(OWN)),
        ("outdated", Nothing(REGISTRY)),
        ("update", Nothing(REGISTRY)),
        ("pull", Nothing(REGISTRY)),
        ("push", Nothing(REGISTRY)),
        ("login", Nothing(REGISTRY)),
        ("cache", Shows(&["cache list"])),
        ("doctor", Shows(&["doctor"])),
        ("schema", Nothing(OWN)),
        ("completions", Nothing(OWN)),
        ("man", Nothing(OWN)),
        ("help", Nothing(OWN)),
    ]
};

/// Lines whose output is a whole text, as it is sent or written: prose.
const PROSE: [&str; 5] = [
    "run --model openai-compat:m --show-prompt go",
    "call say say '{}'",
    "sessions show latest",
    "sessions show --events latest",
    "config show",
];

fn without_joiners(text: &str) -> String {
    text.chars().filter(|c| !JOINERS.contains(*c)).collect()
}

/// A directory with a tool, an agent and a session that are hostile in all that they say.
fn env() -> (TestEnv, ChatServer) {
    let env = TestEnv::new();
    let said = hostile();
    let guest = Guest {
        body: Body::Text(0, said.as_bytes()),
        definitions: vec![Definition {
            name: "say".to_owned(),
            description: format!("Says{JOINERS}."),
            effect: 2,
            ..Definition::default()
        }],
        ..Guest::default()
    };
    env.write("say.wasm", guest.bytes());
    write_parts(&env);
    let text = json!(JOINERS);
    env.configure(format!(
        "system = {text}\nmemory.enabled = true\n[[tool]]\nname = \"say\"\ncomponent = \"say.wasm\"\napproval = \"never\"\n\
         [[agent]]\nname = \"clerk\"\ndescription = {text}\n"
    ));
    let server = ChatServer::start(
        [0; 8]
            .into_iter()
            .flat_map(|_| {
                [
                    Answer::calls(&[
                        ("say", json!({hostile(): hostile()})),
                        (&hostile(), json!({})),
                        ("remember", json!({ "text": hostile() })),
                    ]),
                    Answer::reasoned(&prose(), &prose()),
                ]
            })
            .collect(),
    );
    let prompt = hostile();
    let ran = ask(&env, &server, &[&prompt]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    (env, server)
}

/// Writes the filter `pass.wasm`, and the composed `parts.wasm`, in which the name of the filter
/// is hostile.
fn write_parts(env: &TestEnv) {
    let filter = Guest {
        imports: &[BEHIND],
        ..Guest::running(PASS)
    };
    env.write("pass.wasm", filter.bytes());
    let args = [
        "compose",
        "say.wasm",
        "--with",
        "pass.wasm",
        "-o",
        "parts.wasm",
    ];
    let ran = env.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut bytes = std::fs::read(env.work().join("parts.wasm")).unwrap();
    let hostile = "\u{9b}\u{7}s".as_bytes();
    let named: Vec<usize> = bytes
        .windows(hostile.len())
        .enumerate()
        .filter(|(_, name)| *name == b"pass")
        .map(|(at, _)| at)
        .collect();
    assert!(!named.is_empty());
    for at in named {
        bytes[at..at + hostile.len()].copy_from_slice(hostile);
    }
    env.write("parts.wasm", bytes);
}

/// The commands that the program lists.
fn commands(env: &TestEnv) -> BTreeSet<String> {
    let help = env.run(&["--help"]).stdout;
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

#[test]
fn every_command_has_a_row_of_what_it_shows() {
    let rows = FRONTS.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(commands(&TestEnv::new()), rows.collect());
    for (name, front) in FRONTS {
        if let Front::Nothing(why) = front {
            assert!(!why.is_empty(), "{name}");
        }
    }
}

/// At a terminal.
#[test]
fn hostile_text_is_visible_on_the_terminal() {
    let (env, server) = env();
    let lines = FRONTS.iter().filter_map(|(_, front)| match front {
        Front::Shows(lines) => Some(*lines),
        Front::Nothing(_) => None,
    });
    let mut all = Vec::new();
    for line in lines.flatten() {
        // The end of the input ends a conversation.
        let ran = on_a_terminal(&env, &server, line, "\u{4}");
        assert!(!ran.stdout.is_empty(), "{line}");
        assert!(!ran.stdout.contains("Usage:"), "{line}: {}", ran.stdout);
        let shown = match PROSE.contains(line) {
            true => without_joiners(&ran.stdout),
            false => ran.stdout,
        };
        all.extend(leaked(&shown).into_iter().map(|what| (*line, what)));
    }
    assert_eq!(all, []);
}

/// The strings of a message that an editor displays.
fn strings(value: &Value, found: &mut String) {
    match value {
        Value::String(text) => found.push_str(&format!("{text}\n")),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            found.push_str(&format!("{key}\n"));
            strings(value, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// In an editor: what a session does, its approval with the change of a file, its replay and its
/// row, and errors. Joiners stay in prose, and an approval has none but in its `rawInput`.
#[test]
fn hostile_text_is_visible_in_an_editor() {
    let env = TestEnv::new();
    env.configure(
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
    );
    let server = ChatServer::start(vec![
        Answer::calls(&[(
            "write_file",
            json!({"path": format!("a{HIDDEN}{JOINERS}\u{1b}[2J.txt"), "content": prose()}),
        )]),
        Answer::reasoned(&prose(), &prose()),
    ]);
    let mut client = AcpClient::connect(&env, &server, &[]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, &prose());
    let request = client.asked("session/request_permission");
    let call = &request["params"]["toolCall"];
    let diff = call["content"]
        .as_array()
        .unwrap()
        .iter()
        .find(|content| content["type"] == "diff");
    let path = diff.expect("a change is shown")["path"].as_str().unwrap();
    assert_eq!(leaked(path), BTreeSet::new());
    assert!(path.contains("\\u{202e}"), "{path}");
    let answer = json!({"outcome": {"outcome": "selected", "optionId": "allow-once"}});
    client.answer(&request, &answer);
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let mut shown = String::new();
    strings(&request, &mut shown);
    let updates = client.updates();
    let kinds: BTreeSet<&str> = updates
        .iter()
        .filter_map(|update| update["sessionUpdate"].as_str())
        .collect();
    assert!(kinds.contains("agent_message_chunk"), "{kinds:?}");
    strings(&Value::from(updates), &mut shown);
    let params = json!({"sessionId": session, "cwd": env.work(), "mcpServers": []});
    strings(&client.call("session/load", &params), &mut shown);
    strings(&Value::from(client.updates()), &mut shown);
    strings(&client.call("session/list", &json!({})), &mut shown);
    let id = client.request(&hostile(), &json!({}));
    strings(&client.response(id), &mut shown);
    let shown = without_joiners(&shown);
    assert_eq!(leaked(&shown), BTreeSet::new());
    assert!(shown.contains("\\u{202e}"), "{shown}");
}

/// In the problems of the API, which clients display.
#[test]
fn hostile_text_is_visible_in_problems() {
    let env = TestEnv::new();
    let server = ChatServer::start(Vec::new());
    let api = ApiServer::start(&env, &server, &[]);
    let paths = ["/sessions", "/v1/responses", "/v1/chat/completions"];
    for path in paths {
        let body = json!({"message": 1, hostile(): hostile(), "agent": hostile(), "model": hostile(), "input": "x",
            "messages": [{"role": hostile(), "content": "x"}]});
        let response = api.post(path, &body);
        assert!(response.status >= 400, "{path}: {response:?}");
        let mut shown = String::new();
        strings(&response.json(), &mut shown);
        assert_eq!(leaked(&without_joiners(&shown)), BTreeSet::new(), "{path}");
    }
}
