//! Tests `[[hook]]`: components around model calls and tool calls, what they decide, the records of
//! that, and hooks that fail, change or came with a directory.

use HookVerdict::{Case, Code, Output, Text};
use agent_host_test_guests::{
    Guest,
    hook::{HookGuest, HookVerdict},
};
use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    mcp_client::{Client, call},
    of_kind,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const FILES: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
                     [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n\
                     [[rule]]\nname = \"notes\"\ndecision = \"allow\"\ntool = \"write_file\"\n\
                     arguments = { \"/path\" = \"notes/*\" }\n";

/// The arguments that a hook of these tests puts in place of others.
const SAFE: &str = r#"{"path": "notes/safe", "content": "y"}"#;

fn hook(points: &str, more: &str) -> String {
    format!("[[hook]]\nname = \"guard\"\ncomponent = \"guard.wasm\"\npoints = [{points}]\n{more}")
}

/// A test directory with a hook.
fn env(guest: &HookGuest<'_>, points: &str, more: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("guard.wasm", guest.bytes());
    env.write("notes/old", "old");
    env.configure(format!("{FILES}{}", hook(points, more)));
    env
}

fn before_tool(verdict: HookVerdict<'_>) -> HookGuest<'_> {
    HookGuest {
        before_tool: verdict,
        ..HookGuest::default()
    }
}

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "x" }))
}

/// A run with a model that makes these calls in one reply.
fn run(env: &TestEnv, calls: &[(&str, Value)], args: &[&str]) -> (ChatServer, Ran) {
    let server = ChatServer::start(vec![Answer::calls(calls), Answer::text("That is all.")]);
    let ran = ask(env, &server, args);
    (server, ran)
}

fn shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

fn exists(env: &TestEnv, path: &str) -> bool {
    env.work().join(path).exists()
}

const LATER: [&str; 5] = [
    "--permission-prompts",
    "later",
    "--output-format",
    "json",
    "go",
];

/// The arguments that a hook left are those that the rules see, and that run; the model's are
/// beside them in the journal.
#[test]
fn hook_changes_what_is_ruled_and_run() {
    let env = env(
        &before_tool(Text(1, SAFE)),
        "\"before-tool\"",
        "tools = [\"write_*\"]\n",
    );
    let (_, ran) = run(&env, &[write("elsewhere")], &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        (exists(&env, "elsewhere"), exists(&env, "notes/safe")),
        (false, true)
    );
    let events = env.events();
    let reviewed = of_kind(&events, "call-reviewed")[0];
    let safe: Value = serde_json::from_str(SAFE).unwrap();
    let expected = json!({
        "verdicts": [{"hook": "guard", "point": "before-tool", "verdict": "modify"}],
        "input": safe,
        "end": {"kind": "continue"},
    });
    assert_eq!(reviewed["review"], expected);
    let intended = of_kind(&events, "call-intended")[0];
    assert_eq!(
        (&intended["input"], &intended["rule"]),
        (&safe, &json!("rule.notes"))
    );
    let shown = env.run(&["sessions", "show", "--events", "latest"]).stdout;
    shows(
        &shown,
        &[
            "reviewed",
            "guard before-tool modify",
            "the arguments are now",
        ],
    );
}

/// A hook asks where a rule allows; the user is shown its arguments, and the model's beside them.
#[test]
fn hook_asks_whatever_the_rules_allow() {
    let env = env(&before_tool(Case(2)), "\"before-tool\"", "");
    let (server, ran) = run(&env, &[write("notes/new")], &LATER);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let waiting = &ran.json()["outcome"]["continuation"]["awaiting"]["calls"][0];
    assert_eq!(waiting["rule"], "hook.guard");
    assert!(!exists(&env, "notes/new"));
    let ran = ask(
        &env,
        &server,
        &["--resume", "latest", "--decide", "call_0=approve"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(exists(&env, "notes/new"));
}

/// A hook that does not end, crashes, or returns too much or nothing usable blocks the call; with
/// `on-error = "pass"` the call runs.
#[test]
fn hook_without_a_verdict_blocks_the_call() {
    let huge = "x".repeat(3_000);
    let limits = "[hook.limits]\ndeadline-ms = 300\noutput-bytes = 2000\n";
    let table = [
        (Code("(loop $l (br $l)) unreachable"), "timeout"),
        (Code("unreachable"), "trap"),
        (Text(3, &huge), "output-too-large"),
        (Text(1, "[1]"), "invalid-output"),
    ];
    for (verdict, code) in table {
        let guest = before_tool(verdict);
        let env_blocking = env(&guest, "\"before-tool\"", limits);
        let (server, ran) = run(&env_blocking, &[write("notes/new")], &["go"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let result = &server.tool_results()[0];
        shows(
            result,
            &[
                &format!("the hook `guard` gave no verdict ({code}): "),
                "(hook.guard)",
            ],
        );
        assert!(!exists(&env_blocking, "notes/new"));

        let pass = format!("on-error = \"pass\"\n{limits}");
        let env_passing = env(&guest, "\"before-tool\"", &pass);
        let (_, ran) = run(&env_passing, &[write("notes/new")], &["go"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(exists(&env_passing, "notes/new"));
    }
}

/// Arguments of a hook reach nothing that the grants do not, need the approval of the rules, and
/// have to fit the tool.
#[test]
fn hook_widens_nothing() {
    let (escapes, mismatch) = (
        "it leaves the granted directory",
        "no longer match the tool",
    );
    // What the model is told; absent where the user is asked, and approves.
    let table = [
        (r#"{"path": "../outside", "content": "y"}"#, Some(escapes)),
        (r#"{"path": "other", "content": "y"}"#, None),
        (r#"{"path": "notes/../../outside", "content": "y"}"#, None),
        (
            r#"{"name": "read_file", "path": "notes/x", "content": "y"}"#,
            Some(mismatch),
        ),
        (r#"{"path": 7}"#, Some(mismatch)),
    ];
    for (arguments, told) in table {
        let env = env(&before_tool(Text(1, arguments)), "\"before-tool\"", "");
        let (server, ran) = run(&env, &[write("notes/new")], &LATER);
        let code = if told.is_some() { 0 } else { 3 };
        assert_eq!(ran.code, Some(code), "{arguments}: {ran:?}");
        assert!(
            !exists(&env, "notes/new") && !exists(&env, "other"),
            "{arguments}"
        );
        match told {
            Some(why) => shows(&server.tool_results()[0], &[why]),
            None => {
                let decided = ["--resume", "latest", "--decide", "call_0=approve"];
                assert_eq!(ask(&env, &server, &decided).code, Some(0));
            }
        }
        assert!(!env.outside().join("outside").exists(), "{arguments}");
    }
}

/// Neither the user nor the model is shown a result or a reply before the hook has judged it.
#[test]
fn hook_replaces_results_and_replies() {
    let guest = HookGuest {
        after_tool: Output(1, 0, "[redacted]"),
        after_model: Code(
            // Leaves a reply without text, which has calls, as it is.
            "(i32.store (i32.const 16) (i32.const 1)) (i32.store (i32.const 20) (i32.const 8))
             (i64.store (i32.const 8) (i64.const 0x21656e6f6e)) (i32.store (i32.const 24) (i32.const 5))
             (if (i32.eqz (local.get 1)) (then (i32.store (i32.const 16) (i32.const 0))))
             (i32.const 16)",
        ),
        ..HookGuest::default()
    };
    let env = env(&guest, "\"after-tool\", \"after-model\"", "");
    let read = [("read_file", json!({ "path": "notes/old" }))];
    let (server, ran) = run(&env, &read, &["go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "none!\n"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("That is all"), "{ran:?}");
    assert_eq!(server.tool_results(), ["[redacted]"]);
    let events = env.events();
    let decided = of_kind(&events, "hook-decided").into_iter();
    let decided: Vec<&Value> = decided.map(|event| &event["verdict"]["point"]).collect();
    assert_eq!(decided, ["after-tool", "after-model"]);
}

/// Without a verdict about a reply the turn ends with an error; a request is refused, a result
/// withheld.
#[test]
fn hook_without_a_verdict_stops_the_turn_elsewhere() {
    let trap = Code("unreachable");
    let guest = HookGuest {
        before_model: trap,
        after_model: trap,
        before_tool: trap,
        after_tool: trap,
    };
    let env_request = env(&guest, "\"before-model\"", "");
    let (server, ran) = run(&env_request, &[], &["go"]);
    shows(
        &format!("{}{}", ran.stdout, ran.stderr),
        &["the hook `guard` gave no verdict (trap)"],
    );
    assert_eq!(server.requests(), Vec::<Value>::new());

    let env_reply = env(&guest, "\"after-model\"", "");
    let (_, ran) = run(&env_reply, &[write("notes/new")], &["go"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    shows(
        &ran.stderr,
        &["hook-failed: the hook `guard` gave no verdict about the model's reply"],
    );
    assert!(!exists(&env_reply, "notes/new"));

    let env_result = env(&guest, "\"after-tool\"", "");
    let (server, _) = run(
        &env_result,
        &[("read_file", json!({"path": "notes/old"}))],
        &["go"],
    );
    let result = &server.tool_results()[0];
    shows(
        result,
        &["The tool ran, and its result is withheld: the hook `guard` gave no verdict"],
    );
}

/// A client with a loop of its own calls through the hooks as well.
#[test]
fn calls_of_an_mcp_client_are_reviewed() {
    let env = env(&before_tool(Text(3, "not now")), "\"before-tool\"", "");
    let mut client = Client::start(&env, &[], json!({}));
    let (tool, input) = write("notes/new");
    let answer = client.ask(call(1, tool, input)).to_string();
    shows(&answer, &["not now (hook.guard)"]);
    assert_eq!(client.close().code, Some(0));
    assert!(!exists(&env, "notes/new"));
}

/// A hook is pinned and shown as a tool is, and one that came with a directory needs trust.
#[test]
fn hook_is_pinned_shown_and_trusted() {
    let guest = before_tool(Text(3, "no"));
    let env = env(&guest, "\"before-tool\"", "tools = [\"write_*\"]\n");
    let (_, ran) = run(&env, &[write("notes/new")], &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    shows(
        &env.run(&["doctor"]).stdout,
        &["guard: before-tool of write_*"],
    );
    shows(
        &env.run(&["inspect", "guard"]).stdout,
        &["around model calls and tool calls"],
    );
    shows(
        &env.run(&["explain", "latest"]).stdout,
        &["denied by hook.guard; a hook denied it"],
    );
    shows(&env.run(&["lock"]).stdout, &["guard"]);

    env.write("guard.wasm", HookGuest::default().bytes());
    let (_, ran) = run(&env, &[write("notes/new")], &["go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    shows(&ran.stderr, &["`guard` has changed since it was accepted"]);
    assert_eq!(env.run(&["lock", "--accept", "guard"]).code, Some(0));
    let (_, ran) = run(&env, &[write("notes/new")], &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(exists(&env, "notes/new"));

    // Another hook is another file.
    let more = "on-error = \"pass\"\n";
    env.write(
        "agent.toml",
        format!("{FILES}{}", hook("\"before-tool\"", more)),
    );
    let refused = env.run(&["run", "look"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let demands = env.run(&["trust", "--yes"]).stderr;
    shows(
        &demands,
        &[
            "runs the component \"guard.wasm\" as the hook \"guard\" (before-tool)",
            "continues where the hook \"guard\" gives no verdict",
        ],
    );
}

/// A tool is no hook, a hook is no tool, and a hook without points would never run.
#[test]
fn misplaced_hook_is_refused() {
    let env = TestEnv::new();
    env.write("guard.wasm", HookGuest::default().bytes());
    env.write("tool.wasm", Guest::default().bytes());
    let tool = |file: &str| format!("[[tool]]\nname = \"t\"\ncomponent = \"{file}\"\n");
    let table = [
        (
            tool("guard.wasm"),
            "the component `t` has hooks but no tools",
        ),
        (
            hook("\"before-tool\"", "").replace("guard.wasm", "tool.wasm"),
            "does not export `agent:tool/hook`",
        ),
        (hook("", ""), "the hook `guard` has no points"),
        (hook("\"before-tools\"", ""), "invalid value `before-tools`"),
        (
            format!(
                "{}{}",
                tool("tool.wasm").replace("\"t\"", "\"guard\""),
                hook("\"before-tool\"", "")
            ),
            "are named `guard`",
        ),
    ];
    for (config, why) in table {
        env.write("agent.toml", &config);
        let ran = env.run(&["run", "--trust", "--model", "script:tour", "go"]);
        assert_ne!(ran.code, Some(0), "{config}: {ran:?}");
        shows(&ran.stderr, &[why]);
    }
}
