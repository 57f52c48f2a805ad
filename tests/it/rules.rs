//! Tests `[[rule]]`: denied, asked and allowed calls of runs, of `call` and of MCP clients, the
//! records of them, and rules that came with a directory.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    mcp_client::{Client, call, response, texts},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
                     [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";

/// Secrets are not written, notes are written without asking, and plans are not read without
/// asking.
const RULES: &str = r#"
[[rule]]
name = "secrets"
decision = "deny"
tool = ["write_file", "delete_*"]
arguments = { "/path" = "secrets/**" }
reason = "Secrets stay as they are."

[[rule]]
name = "notes"
decision = "allow"
tool = "write_file"
arguments = { "/path" = "notes/*.txt" }

[[rule]]
decision = "ask"
tool = "read_*"
arguments = { "/path" = "*.plan" }
"#;

const DENIED: &str = "Secrets stay as they are. (rule.secrets)";

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "x" }))
}

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

fn env(rules: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("secrets/old", "old");
    env.write("notes/old", "old");
    env.write("a.plan", "PLAN");
    env.configure(format!("{FILES}{rules}"));
    env
}

/// The files of a directory below the working directory.
fn names(env: &TestEnv, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(env.work().join(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A run with a model that makes these calls in one reply.
fn run(env: &TestEnv, calls: &[(&str, Value)], args: &[&str]) -> (ChatServer, Ran) {
    let server = ChatServer::start(vec![Answer::calls(calls), Answer::text("That is all.")]);
    let ran = ask(env, &server, args);
    (server, ran)
}

/// The rules in events of one kind.
fn rules(events: &[Value], kind: &str) -> Vec<Value> {
    let events = of_kind(events, kind).into_iter();
    events.map(|event| event["rule"].clone()).collect()
}

fn shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

/// Nothing runs before the user decided on the call that no rule is about. The arguments that
/// the user writes are ruled, too.
#[test]
fn calls_of_a_run_are_ruled_and_recorded() {
    let env = env(RULES);
    let calls = [
        write("./notes/../secrets//new"),
        write("notes/new.txt"),
        read("a.plan"),
        write("other.txt"),
    ];
    let later = [
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let (server, ran) = run(&env, &calls, &later);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let waiting = &ran.json()["outcome"]["continuation"]["awaiting"]["calls"];
    let waiting = waiting.as_array().unwrap().iter();
    let waiting: Vec<_> = waiting
        .map(|call| (&call["call_id"], &call["rule"]))
        .collect();
    assert_eq!(
        waiting,
        [
            (&json!("call_2"), &json!("rule.2")),
            (&json!("call_3"), &json!("effect.effectful")),
        ]
    );
    assert_eq!(names(&env, "notes"), ["old"]);
    let edit = r#"call_3=edit:{"path": "/workspace/SECRETS/new", "content": "x"}"#;
    let decided = [
        "--resume",
        "latest",
        "--decide",
        "call_2=approve",
        "--decide",
        edit,
    ];
    let ran = ask(&env, &server, &decided);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let results = server.tool_results();
    assert_eq!(
        [&results[0], &results[2], &results[3]],
        [DENIED, "PLAN", DENIED]
    );
    assert_eq!(names(&env, "notes"), ["new.txt", "old"]);
    assert_eq!(names(&env, "secrets"), ["old"]);

    let events = env.events();
    let intended = ["rule.notes", "rule.2"].map(Value::from);
    assert_eq!(rules(&events, "call-intended"), intended);
    let denied = json!("rule.secrets");
    let settled = [denied.clone(), Value::Null, Value::Null, denied];
    assert_eq!(rules(&events, "call-settled"), settled);
    let shown = env.run(&["sessions", "show", "--events", "latest"]);
    shows(
        &shown.stdout,
        &[
            "denied by rule.secrets",
            ", effectful, by rule.notes)",
            ", read-only, by rule.2)",
        ],
    );
}

#[test]
fn explain_names_the_rule_and_the_remedy() {
    let env = env(RULES);
    let none = ["--permission-prompts", "none", "go"];
    let calls = [write("secrets/new"), read("a.plan"), write("other.txt")];
    assert_eq!(run(&env, &calls, &none).1.code, Some(6));
    let shown = env.run(&["explain", "latest"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    shows(
        &shown.stdout,
        &[
            "denied by rule.secrets; no other rule overrides a denial; change or remove this [[rule]]",
            "denied by rule.2; it needed approval, but no one could be asked; change this [[rule]]",
            "denied by effect.effectful; it needed approval",
            "[[rule]]\n      decision = \"allow\"\n      tool = \"write_file\"",
        ],
    );
    let json = env.run(&["explain", "latest", "--json"]).json();
    let calls = json["calls"].as_array().unwrap().iter();
    let rules: Vec<&Value> = calls.map(|call| &call["rule"]).collect();
    assert_eq!(rules, ["rule.secrets", "rule.2", "effect.effectful"]);
    // With the rule that it suggests, the call runs.
    let allow = "[[rule]]\ndecision = \"allow\"\ntool = \"write_file\"\n";
    env.configure(format!("{FILES}{allow}{RULES}"));
    let (server, ran) = run(&env, &[write("other.txt"), write("secrets/new")], &none);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.tool_results()[1], DENIED);
    assert!(env.work().join("other.txt").exists());
    // The rule of the first session is gone.
    env.configure(FILES);
    shows(
        &env.run(&["explain", "latest"]).stdout,
        &["denied by rule.secrets; agent.toml no longer has this [[rule]]"],
    );
}

/// `call` asks nothing, and is denied what a rule denies.
#[test]
fn single_call_is_denied_by_a_rule() {
    let env = env(RULES);
    let call = |path: &str| {
        let (tool, input) = write(path);
        env.run(&["call", "files", tool, &input.to_string(), "--json"])
    };
    for path in ["secrets/new", "a/../secrets/new", "/workspace/secrets/new"] {
        let ran = call(path);
        let denied = (ran.code, ran.json()["reason"].clone());
        assert_eq!(denied, (Some(5), json!(DENIED)), "{ran:?}");
    }
    assert_eq!(call("other.txt").code, Some(0));
    let ran = env.run(&["call", "files", "read_file", "{\"path\": \"a.plan\"}"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "PLAN"), "{ran:?}");
    assert_eq!(names(&env, "secrets"), ["old"]);
}

#[test]
fn calls_of_an_mcp_client_are_ruled() {
    let env = env(RULES);
    let mut client = Client::start(&env, &[], json!({}));
    let mut send = |id, (tool, input): (&str, Value)| client.ask(call(id, tool, input));
    let denied = format!("Tool call execution denied. {DENIED}");
    let denied = response(1, texts("execution-denied", &[&denied]));
    assert_eq!(send(1, write("secrets/new")), denied);
    let allowed = send(2, write("notes/new.txt"));
    assert_eq!(allowed["result"]["isError"], false, "{allowed}");
    let asked = send(3, read("a.plan")).to_string();
    shows(
        &asked,
        &[
            "needs the user's approval (rule rule.2)",
            "can change this [[rule]]",
        ],
    );
    let free = send(4, read("notes/new.txt"));
    assert_eq!(free["result"]["isError"], false, "{free}");
    assert_eq!(client.close().code, Some(0));
    let events = env.events();
    assert_eq!(
        rules(&events, "call-settled"),
        [
            json!("rule.secrets"),
            Value::Null,
            json!("rule.2"),
            Value::Null
        ]
    );
    assert_eq!(
        rules(&events, "call-intended"),
        ["rule.notes", "effect.read-only"].map(Value::from)
    );
    assert_eq!(names(&env, "secrets"), ["old"]);
}

/// A file that came with a directory denies and asks at once; what it allows needs trust.
#[test]
fn untrusted_rule_denies_and_does_not_allow() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha");
    let rule = |decision: &str| {
        let rule = format!("[[rule]]\ndecision = \"{decision}\"\ntool = \"read_file\"\n");
        env.write("agent.toml", rule);
    };
    rule("deny");
    let (server, ran) = run(&env, &[read("a.txt")], &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let denied = "The configuration denies this call (rule.0)";
    assert_eq!(server.tool_results(), [denied]);
    rule("ask");
    let later = ["--permission-prompts", "later", "go"];
    assert_eq!(run(&env, &[read("a.txt")], &later).1.code, Some(3));
    rule("allow");
    let refused = env.run(&["run", "look"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let demand = "runs calls of \"read_file\" without asking (decision = \"allow\")";
    shows(&refused.stderr, &["is not trusted, and it ", demand]);
    let trusted = env.run(&["trust", "--yes"]);
    shows(&trusted.stderr, &[demand]);
    assert_eq!(run(&env, &[read("a.txt")], &["go"]).1.code, Some(0));
    // Another rule is another file.
    rule("allow\"\nname = \"other");
    assert_eq!(env.run(&["run", "look"]).code, Some(2));
}

/// A misspelled denial is an error, unless a server that may have the tool is absent.
#[test]
fn rule_for_a_missing_tool_is_refused() {
    let rule = |tool: &str| format!("[[rule]]\ndecision = \"deny\"\ntool = \"{tool}\"\n");
    let absent = "[[mcp]]\nname = \"gone\"\ncommand = [\"/bin/false\"]\nrequired = false\n";
    for (config, code) in [
        (rule("write_flie"), 2),
        (rule("write_flie*"), 0),
        (rule("read_artifact"), 0),
        (rule("gone_send"), 2),
        (format!("{}{absent}", rule("gone_send")), 0),
        (format!("{}{absent}", rule("other_send")), 2),
    ] {
        let env = env(&config);
        let ran = env.run(&["run", "--model", "script:tour", "go"]);
        assert_eq!(ran.code, Some(code), "{config}: {ran:?}");
        let doctor = env.run(&["doctor"]).stdout;
        if code == 2 {
            let why = "rule.0 is for the tool `";
            shows(&ran.stderr, &[why, "which does not exist"]);
            shows(&doctor, &[why]);
        } else {
            shows(&doctor, &["1 about calls: 0 allow, 0 ask, 1 deny"]);
        }
    }
    let wrong = env(&rule("write_flie")).run(&["run", "go"]);
    shows(&wrong.stderr, &["did you mean `write_file`?"]);
    let shown = env(RULES).run(&["inspect", "files", "--schemas"]).stdout;
    shows(
        &shown,
        &[
            "write_file effectful, 2 rules",
            "read_file read-only, 1 rule",
        ],
    );
}

/// Exit code 6 is also for calls that no approval could have allowed, those of agents included, and
/// for what the grants deny.
#[test]
fn fail_on_denial_counts_each_denied_call() {
    let agent = "agents = [\"helper\"]\n[[agent]]\nname = \"helper\"\ndescription = \"Helps.\"\n";
    let start = ("agent_helper", json!({ "instructions": "go" }));
    let outside = ("read_file", json!({ "path": "/etc/passwd" }));
    let noted = |count: &str| {
        format!("{count} denied, or made a request that was: agent-host explain latest\n")
    };
    let cases = [
        (vec![write("secrets/new")], Some(noted("1 call was"))),
        (vec![start, write("secrets/new")], Some(noted("1 call was"))),
        (
            vec![write("secrets/new"), outside],
            Some(noted("2 calls were")),
        ),
        (vec![read("notes/old")], None),
    ];
    for (calls, denied) in cases {
        for flag in [None, Some("--fail-on-denial")] {
            let env = env("");
            env.configure(format!("{agent}{FILES}{RULES}"));
            let mut answers: Vec<Answer> = calls
                .iter()
                .map(|one| Answer::calls(std::slice::from_ref(one)))
                .collect();
            answers.extend([Answer::text("Done."), Answer::text("Done.")]);
            let server = ChatServer::start(answers);
            let args: Vec<&str> = flag.into_iter().chain(["go"]).collect();
            let ran = ask(&env, &server, &args);
            let expected = denied.as_ref().filter(|_| flag.is_some());
            assert_eq!(
                ran.code,
                Some(if expected.is_some() { 6 } else { 0 }),
                "{ran:?}"
            );
            let ends = expected.is_none_or(|note| ran.stderr.ends_with(note));
            assert!(
                ends && (expected.is_some() || !ran.stderr.contains("that was: ")),
                "{ran:?}"
            );
        }
    }
}

/// A condition decides by the values of the arguments, and `explain` shows it.
#[test]
fn condition_of_a_rule_decides_by_the_arguments() {
    let allowing = "[[rule]]\ndecision = \"allow\"\ntool = \"write_file\"\nwhere = \"path == 'a.txt' and not ('x' in content)\"\n";
    let file =
        |path: &str, content: &str| ("write_file", json!({ "path": path, "content": content }));
    let env = env(allowing);
    let calls = [file("a.txt", "y"), file("a.txt", "x"), file("b.txt", "y")];
    let (_, ran) = run(&env, &calls, &["--permission-prompts", "none", "go"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let events = env.events();
    assert_eq!(rules(&events, "call-intended"), [json!("rule.0")]);
    let by_effect = json!("effect.effectful");
    let settled = [Value::Null, by_effect.clone(), by_effect];
    assert_eq!(rules(&events, "call-settled"), settled);
    assert!(!env.work().join("b.txt").exists());
    // A denial names the condition, which has no other name.
    env.configure(format!(
        "{FILES}[[rule]]\ndecision = \"deny\"\ntool = \"write_file\"\nwhere = \"path == 'c.txt'\"\n"
    ));
    run(&env, &[file("c.txt", "y")], &["go"]);
    let denied = "change or remove this [[rule]] (where \"path == 'c.txt'\") in agent.toml";
    shows(&env.run(&["explain", "latest"]).stdout, &[denied]);
    // The same rule, asked about other arguments and types, is refused with what there is.
    let cases = [
        (
            "pth == 'a'",
            "`where` of rule.0 is about `pth`, which `write_file` does not have; did you mean `path`?",
        ),
        (
            "path > 5",
            "`where` of rule.0 compares `path` with 5, but its type in `write_file` is string; compare it with a value of its type",
        ),
        (
            "path = 'a'",
            "`where` of rule.0 is malformed: expected `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `+`, `-`, `and`, `or` or the end at column 6",
        ),
    ];
    for (condition, why) in cases {
        env.configure(format!(
            "{FILES}[[rule]]\ndecision = \"deny\"\ntool = \"write_file\"\nwhere = {condition:?}\n"
        ));
        let ran = env.run(&["run", "--model", "script:tour", "go"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}
