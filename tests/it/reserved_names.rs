//! The names of the program's own tools: no component, MCP server or external tool takes one.

use agent_host_app::OWN_TOOLS;
use agent_host_test_guests::{Definition, Guest};
use agent_host_test_support::{Ran, TestEnv, has_python};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Reserves the names of memory.
const MEMORY: &str = "memory = { enabled = true }\n";

/// A server of the transport stdio with one tool.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    tools = [{"name": sys.argv[1], "description": "Answers.", "inputSchema": {"type": "object"}}]
    result = {"tools/list": {"tools": tools}, "initialize": {
        "protocolVersion": message.get("params", {}).get("protocolVersion"),
        "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
    }}.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

fn refused(ran: &Ran, owner: &str, tool: &str, fix: &str) {
    assert_eq!(ran.code, Some(2), "{tool}: {ran:?}");
    let why = format!(
        "{owner} has a tool named `{tool}`, which is the name of a built-in tool of agent-host and would replace it. \
         {fix}"
    );
    assert!(ran.stderr.contains(&why), "{tool}: {}", ran.stderr);
}

#[test]
fn component_with_the_name_of_an_own_tool_is_refused() {
    for tool in OWN_TOOLS {
        let env = TestEnv::new();
        let guest = Guest {
            definitions: vec![Definition {
                name: tool.into(),
                ..Definition::default()
            }],
            ..Guest::default()
        };
        env.write("c.wasm", guest.bytes());
        env.configure(format!(
            "{MEMORY}[[tool]]\nname = \"c\"\ncomponent = \"c.wasm\"\n"
        ));
        let ran = env.run(&["run", "go"]);
        refused(
            &ran,
            "the component `c`",
            tool,
            "Rename the tool in the component",
        );
    }
}

#[test]
fn external_tool_with_the_name_of_an_own_tool_is_refused() {
    for tool in OWN_TOOLS {
        let env = TestEnv::new();
        env.configure(format!(
            "{MEMORY}[[external-tool]]\nname = \"{tool}\"\ndescription = \"x\"\ninput-schema = {{ type = \"object\" }}\n"
        ));
        let ran = env.run(&["run", "go"]);
        refused(&ran, "[[external-tool]]", tool, "Change its `name`");
    }
}

#[test]
fn server_with_the_name_of_an_own_tool_is_refused() {
    if !has_python() {
        return;
    }
    // The name of a server's tool begins with that of the server.
    for (server, own) in OWN_TOOLS.iter().filter_map(|tool| tool.split_once('_')) {
        let (env, tool) = (TestEnv::new(), &format!("{server}_{own}"));
        env.write("server.py", SERVER);
        let command = json!(["python3", env.work().join("server.py"), own]);
        env.configure(format!(
            "[[mcp]]\nname = \"{server}\"\ncommand = {command}\n"
        ));
        let ran = env.run(&["run", "go"]);
        let owner = format!("the MCP server `{server}`");
        refused(&ran, &owner, tool, "Change the server's `name`");
    }
}

/// The words of memory are free where nothing is remembered.
#[test]
fn names_of_memory_are_free_without_it() {
    let env = TestEnv::new();
    let tool = |name: &str| {
        format!(
            "[[external-tool]]\nname = \"{name}\"\ndescription = \"x\"\ninput-schema = {{ type = \"object\" }}\n"
        )
    };
    env.configure(["remember", "recall", "forget"].map(tool).concat());
    assert_eq!(env.run(&["config", "show"]).code, Some(0));
    let ran = env.run(&["run", "--show-prompt", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// The tools that a model is offered, with everything that adds one of the program.
fn offered(settings: &str) -> BTreeSet<String> {
    let env = TestEnv::new();
    env.write(
        "skills/greet/SKILL.md",
        "---\nname: greet\ndescription: Says how to greet.\n---\nSay hello.",
    );
    let mut config = format!("skills = [\"skills\"]\n{MEMORY}todo-list = true\n{settings}\n");
    // Too many to declare all of them beside the tool that runs programs.
    for n in 0..200 {
        config += &format!(
            "[[external-tool]]\nname = \"far_{n}\"\ndescription = \"{}\"\ninput-schema = {{ type = \"object\" }}\n",
            format!("Does number {n}. ").repeat(12)
        );
    }
    env.configure(config);
    let args = [
        "run",
        "--show-prompt",
        "--output-format",
        "json",
        "--permission-prompts",
        "later",
        "go",
    ];
    let ran = env.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tools = shown["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.filter(|name| !name.starts_with("far_")).collect()
}

/// A tool that the program adds and that is not reserved fails here, and so does a reserved name
/// that no tool has.
#[test]
fn own_tools_that_are_offered_are_the_reserved_ones() {
    let mut all = offered("tool = []\nsearch-tools-from = 1");
    all.extend(offered("tool = []\ncode = true"));
    all.extend(offered("tool = []\nflow = { mode = \"quarantine\" }"));
    let reserved: BTreeSet<String> = OWN_TOOLS.map(str::to_owned).into();
    assert_eq!(all, reserved);
}
