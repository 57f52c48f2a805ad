//! Tests `workflow list`, `workflow check` and `workflow graph`: all faults at once, drawings in
//! each notation, and hostile names on a terminal.

use agent_host_test_support::{TestEnv, program, repository, running::Running};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::process::Command;

/// An agent that only reads, and a workflow without faults.
const REPORT: &str = r#"
[[agent]]
name = "reader"
description = "Reads."
tools = ["read_file"]

[[workflow]]
name = "report"
description = "Reads the notes, and writes a report."

[[workflow.node]]
id = "find"
tool = "search_files"
input = { glob = "'*.md'" }
next = [{ to = "read", when = "find.output.files != []" }, "none"]

[[workflow.node]]
id = "read"
agent = "reader"
foreach = "find.output.files"
retry = { times = 1 }
next = "write"

[[workflow.node]]
id = "none"
agent = "general-purpose"
mode = "async"
message = "'There are <none> \"yet\".'"
next = { to = "write", when = "none.text == 'a \"b\" <c>'" }

[[workflow.node]]
id = "write"
tool = "write_file"
input = { path = "'report.md'", content = "read.text" }
"#;

/// A workflow with a fault in every node.
const BROKEN: &str = r#"
[[workflow]]
name = "broken"

[[workflow.node]]
id = "a"
agent = "raeder"
next = ["b", "nowhere"]

[[workflow.node]]
id = "b"
tool = "read_file"
input = { pth = "'x'" }
next = "c"

[[workflow.node]]
id = "c"
agent = "reader"
message = "hello"

[[workflow.node]]
id = "d"
handler = "h"

[[workflow.node]]
id = "e"
agent = "general-purpose"
retry = { times = 1 }

[[workflow.node]]
id = "f"
tool = "read_flie"
"#;

/// The faults of [`BROKEN`], a line each.
const FAULTS: &str = "  node `a`: unknown agent `raeder`; name an `[[agent]]`
  node `a`: `next` names `nowhere`, which is not a node; add the node, or remove it from `next`
  node `b`: invalid input for the tool `read_file`: the arguments: Additional properties are not allowed ('pth' was unexpected); the arguments: \"path\" is a required property; change `input`
  node `c`: `message` is malformed: expected a reference such as `plan.text`, or a quoted literal such as `'text'` at column 6 of `hello`; put a literal text in quotes
  node `d`: unknown handler `h`; register it in the program that embeds agent-host, or use a tool
  node `e`: `retry` would repeat a node that is effectful, but only read-only and idempotent nodes can be repeated; remove `retry`
  node `f`: unknown tool `read_flie`; name a tool that `agent-host doctor` lists
";

/// Characters that terminals obey, reorder or hide.
const STEERING: [char; 6] = [
    '\u{1b}', '\u{9b}', '\u{7f}', '\u{202e}', '\u{200b}', '\u{feff}',
];

/// A text of TOML with all of them and a line break.
const HOSTILE: &str = r"\u001b[2J\u009b\u007f\u202e\u200b\ufeffx\ny";

fn env(workflows: &str) -> TestEnv {
    let env = TestEnv::new();
    env.configure(workflows);
    env
}

/// The exit code, stdout and stderr of a command.
fn told(env: &TestEnv, args: &[&str]) -> (Option<i32>, String, String) {
    let ran = env.run(&[&["workflow"], args].concat());
    (ran.code, ran.stdout, ran.stderr)
}

fn answer(stdout: &str) -> (Option<i32>, String, String) {
    (Some(0), stdout.to_owned(), String::new())
}

fn refusal(code: i32, stdout: &str, stderr: &str) -> (Option<i32>, String, String) {
    (Some(code), stdout.to_owned(), stderr.to_owned())
}

/// The output of a command on a pseudo-terminal, where styles are kept.
fn on_a_terminal(env: &TestEnv, args: &str) -> String {
    let command = format!("{} workflow {args}", program());
    let mut script = Command::new("script");
    env.prepare(script.args(["-qec", &command, "/dev/null"]));
    Running::start(&mut script).end().stdout
}

#[test]
fn workflow_list_shows_names_nodes_and_descriptions() {
    let env = env(&format!("{REPORT}{BROKEN}"));
    let lines = "report                    4 nodes  Reads the notes, and writes a report.\n\
                 broken                    6 nodes\n";
    assert_eq!(told(&env, &["list"]), answer(lines));
    let ran = env.run(&["workflow", "list", "--json"]);
    let report = "Reads the notes, and writes a report.";
    assert_eq!(
        ran.json_lines(),
        [
            json!({ "name": "report", "nodes": 4, "description": report }),
            json!({ "name": "broken", "nodes": 6, "description": "" }),
        ]
    );
}

#[test]
fn workflow_check_shows_all_faults_of_all() {
    let env = env(&format!("{REPORT}{BROKEN}"));
    let all = format!("report: ok\nbroken: 7 faults\n{FAULTS}");
    let one_of = |all: &str| format!("error: 1 of {all} cannot run; correct agent.toml\n");
    assert_eq!(
        told(&env, &["check"]),
        refusal(2, &all, &one_of("2 workflows"))
    );
    assert_eq!(told(&env, &["check", "report"]), answer("report: ok\n"));
    let broken = format!("broken: 7 faults\n{FAULTS}");
    assert_eq!(
        told(&env, &["check", "broken"]),
        refusal(2, &broken, &one_of("1 workflow"))
    );
}

#[test]
fn workflow_check_prints_json() {
    let env = env(&format!("{REPORT}{BROKEN}"));
    let faults: Vec<&str> = FAULTS.lines().map(str::trim_start).collect();
    let report = json!({ "name": "report", "faults": [] });
    let broken = json!({ "name": "broken", "faults": faults });
    let ran = env.run(&["workflow", "check", "--json", "--config", "agent.toml"]);
    assert_eq!(
        (ran.code, ran.json_lines()),
        (Some(2), vec![report, broken])
    );
}

#[test]
fn workflow_graph_of_a_faulty_one_names_all_faults() {
    let env = env(&format!("{REPORT}{BROKEN}"));
    let error = "error: cannot use the workflow `broken`; correct it in agent.toml:\n";
    let error = format!("{error}{FAULTS}");
    assert_eq!(told(&env, &["graph", "broken"]), refusal(2, "", &error));
}

#[test]
fn workflow_of_no_configuration_is_refused_by_name() {
    let with_two = env(&format!("{REPORT}{BROKEN}"));
    let known = "error: unknown workflow `reprot`; the workflows are report, broken\n";
    let without = env("");
    let none = "error: unknown workflow `reprot`; define one as `[[workflow]]` in agent.toml\n";
    let absent = "The configuration has no [[workflow]].\n";
    for command in ["check", "graph"] {
        let args = [command, "reprot"];
        assert_eq!(told(&with_two, &args), refusal(2, "", known));
        assert_eq!(told(&without, &args), refusal(2, "", none));
    }
    for args in [&["list"][..], &["check"]] {
        assert_eq!(told(&without, args), refusal(0, "", absent));
    }
    let json = told(&without, &["list", "--json"]);
    assert_eq!(json, answer(""));
}

/// A run does not open workflows, so a faulty one does not stop it.
#[test]
fn faulty_workflow_does_not_stop_a_run() {
    let env = env(&format!("model = \"script:tour\"\n{REPORT}{BROKEN}"));
    let ran = env.run(&["run", "What is in this directory?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn workflow_graph_has_a_drawing_alone_in_each_format() {
    let env = env(REPORT);
    let text = r#"find (tool search_files)
  read (agent reader, foreach), when find.output.files != []
    write (tool write_file)
  none (agent general-purpose, async)
    write, when none.text == 'a "b" <c>' (above)
"#;
    let mermaid = r##"flowchart TD
    n0["find<br/>tool search_files"]
    n1["none<br/>agent general-purpose, async"]
    n2["read<br/>agent reader, foreach"]
    n3["write<br/>tool write_file"]
    n0 -->|"find.output.files #33;#61; #91;#93;"| n2
    n0 --> n1
    n1 -->|"none.text #61;#61; #39;a #34;b#34; #60;c#62;#39;"| n3
    n2 --> n3
"##;
    let dot = r#"digraph {
    node [shape=box];
    n0 [label="find\ntool search_files"];
    n1 [label="none\nagent general-purpose, async"];
    n2 [label="read\nagent reader, foreach"];
    n3 [label="write\ntool write_file"];
    n0 -> n2 [label="find.output.files != []"];
    n0 -> n1;
    n1 -> n3 [label="none.text == 'a \"b\" <c>'"];
    n2 -> n3;
}
"#;
    assert_eq!(told(&env, &["graph", "report"]), answer(text));
    for (format, drawing) in [("text", text), ("mermaid", mermaid), ("dot", dot)] {
        let args = ["graph", "report", "--format", format];
        assert_eq!(told(&env, &args), answer(drawing), "{format}");
        let shown = on_a_terminal(&env, &args.join(" "));
        assert_eq!(shown, drawing.replace('\n', "\r\n"), "{format}");
    }
}

/// The texts of a directory that someone else made. On a terminal the program's own styles are ESC
/// and `[`, digits, `m`.
#[test]
fn hostile_names_of_workflows_do_not_steer_a_terminal() {
    let faulty = r#"
[[workflow]]
name = "faulty"
description = "HOSTILE"
[[workflow.node]]
id = "HOSTILE"
agent = "HOSTILE"
next = "HOSTILE2"
[[workflow.node]]
id = "b"
tool = "HOSTILE"
input = { "HOSTILE" = "HOSTILE" }
[[workflow.node]]
id = "c"
agent = "general-purpose"
inputs = [{ "HOSTILE" = "b.output['HOSTILE']" }, { "d" = "x.output['HOSTILE']" }]
[[workflow.node]]
id = "d"
tool = "read_file"
input = { path = "'a'", "HOSTILE" = "'HOSTILE'" }
"#;
    let drawn = r#"
[[workflow]]
name = "drawn"
description = "HOSTILE"
[[workflow.node]]
id = "a"
tool = "list_directory"
next = { to = "b", when = "a.output['HOSTILE'] == 'HOSTILE'" }
[[workflow.node]]
id = "b"
agent = "general-purpose"
message = "'HOSTILE'"
"#;
    let env = env(&format!("{faulty}{drawn}").replace("HOSTILE", HOSTILE));
    let plain = |shown: &str| {
        let mut parts = shown.split("\u{1b}[");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            text + rest.strip_prefix('m').unwrap_or("\u{1b}")
        })
    };
    for (args, lines) in [
        ("list", 2),
        ("list --json", 2),
        ("check", 12),
        ("graph faulty", 10),
        ("graph drawn", 2),
        ("graph drawn --format mermaid", 4),
        ("graph drawn --format dot", 6),
    ] {
        let words: Vec<&str> = args.split(' ').collect();
        let (_, stdout, stderr) = told(&env, &words);
        let piped = format!("{stdout}{stderr}");
        let shown = plain(&on_a_terminal(&env, args));
        for text in [&piped, &shown.replace("\r\n", "\n")] {
            assert!(!text.contains(STEERING), "{args}: {text:?}");
            assert_eq!(text.lines().count(), lines, "{args}: {text}");
        }
    }
}

/// A fault takes some lines, not the screen.
#[test]
fn long_names_in_faults_are_cut() {
    let long = "x".repeat(100_000);
    let node = format!("[[workflow.node]]\nid = \"{long}\"\nagent = \"{long}\"\n");
    let env = env(&format!("[[workflow]]\nname = \"long\"\n{node}"));
    for command in ["check", "graph"] {
        let ran = env.run(&["workflow", command, "long"]);
        assert_eq!(ran.code, Some(2));
        let lines = ran.stdout.lines().chain(ran.stderr.lines());
        let longest = lines.map(|line| line.chars().count()).max().unwrap();
        assert!(longest < 1_100, "{command}: {longest}");
    }
}

#[test]
fn workflow_commands_obey_trust_and_config() {
    let env = TestEnv::new();
    let asking = format!("max-turns = 51\n{REPORT}");
    env.write("agent.toml", &asking);
    let refused = told(&env, &["list"]);
    assert_eq!((refused.0, refused.1.as_str()), (Some(0), ""));
    assert!(
        refused.2.contains("is not trusted and is ignored"),
        "{}",
        refused.2
    );
    let line = "report                    4 nodes  Reads the notes, and writes a report.\n";
    for args in [
        ["list", "--config", "agent.toml"],
        ["--config", "agent.toml", "list"],
    ] {
        assert_eq!(told(&env, &args), answer(line));
    }
    let trusted = told(&env, &["list", "--trust"]);
    assert_eq!((trusted.0, trusted.1.as_str()), (Some(0), line));
}

#[test]
fn documented_workflow_has_no_faults() {
    let page = repository().join("docs/how-to/workflows.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("# Workflows\n").unwrap();
    let (_, example) = section.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let env = env(example);
    assert_eq!(told(&env, &["check"]), answer("report: ok\n"));
    let text = "find (tool search_files)\n  \
                  read (agent reader, foreach), when find.output.files != []\n    \
                    write (agent writer)\n  \
                  none (agent writer), when find.output.files == []\n";
    assert_eq!(told(&env, &["graph", "report"]), answer(text));
}
