//! Tests the resources and prompts of MCP servers as tools, and calls before which a server wants
//! an address opened.

use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::ChatServer,
    has_python,
    installed::{here, mcp_sdk},
    mcp_client::{Client, call as mcp_call},
    terminal::{on_a_terminal, plain},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A test directory with this script and behaviour as the server `s`; `None` without Python, as
/// stderr reports.
fn scripted(script: &str, behaviour: &str, more: &str) -> Option<TestEnv> {
    if !has_python() {
        return None;
    }
    let env = TestEnv::new();
    let script = here(&format!("it/mcp_client/{script}"));
    let command = json!(["python3", script, behaviour]);
    let toml = format!("tool = []\n[[mcp]]\nname = \"s\"\ncommand = {command}\n{more}\n");
    env.write("agent.toml", toml);
    Some(env)
}

fn call(env: &TestEnv, tool: &str, input: &Value) -> Ran {
    let input = input.to_string();
    let config = ["--config", "agent.toml", "--json"];
    env.run(&[&["call", "s", tool, &input], &config[..]].concat())
}

fn inspect(env: &TestEnv) -> Value {
    let ran = env.run(&["inspect", "s", "--config", "agent.toml", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.json()
}

fn names(inspected: &Value) -> Vec<&str> {
    let tools = inspected["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

const ALL: [&str; 5] = [
    "s_act",
    "s_list_resources",
    "s_read_resource",
    "s_list_prompts",
    "s_get_prompt",
];

#[test]
fn mcp_feature_tools_are_offered_where_there_is_something() {
    let chosen = "tools = [\"act\", \"read_resource\"]";
    for (behaviour, more, offered, counts) in [
        ("behaves", "", &ALL[..], json!(["1", "1", "1"])),
        ("no-capability", "", &ALL[..1], json!([null, null, null])),
        ("empty", "", &ALL[..1], json!(["0", "0", "0"])),
        // The operator decides, also before there is a resource.
        (
            "empty",
            chosen,
            &["s_act", "s_read_resource"],
            json!(["0", "0", "0"]),
        ),
        (
            "behaves",
            "tools = [\"act\"]",
            &ALL[..1],
            json!(["1", "1", "1"]),
        ),
        ("pages", "", &ALL[..], json!(["60 or more", "0", "1"])),
        (
            "fails",
            "",
            &ALL[..],
            json!(["an unknown number", "0", "an unknown number",]),
        ),
        ("only-resources", "", &ALL[1..3], json!(["1", "0", null])),
    ] {
        let Some(env) = scripted("resources_server.py", behaviour, more) else {
            return;
        };
        let inspected = inspect(&env);
        assert_eq!(names(&inspected), offered, "{behaviour} {more}");
        let counted = ["resources", "resource-templates", "prompts"].map(|key| &inspected[key]);
        assert_eq!(json!(counted), counts, "{behaviour} {more}");
        for tool in inspected["tools"].as_array().unwrap() {
            let effect = if tool["name"] == "s_act" {
                "effectful"
            } else {
                "read-only"
            };
            assert_eq!(tool["effect"], effect, "{tool}");
        }
    }
}

/// The definitions are this host's, so that servers of today keep their pins.
#[test]
fn mcp_feature_tools_have_no_pins() {
    let Some(env) = scripted("resources_server.py", "behaves", "") else {
        return;
    };
    let ran = call(&env, "read_resource", &json!({"uri": "note://one"}));
    assert_eq!(
        ran.json(),
        json!({"type": "text", "value": "content of note://one"})
    );
    let lock = std::fs::read_to_string(env.work().join("agent.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let lock = serde_json::to_value(&lock).unwrap();
    let pinned = lock["mcp"]["s"]["tools"].as_object().unwrap();
    assert_eq!(pinned.keys().collect::<Vec<_>>(), ["s_act"]);
}

/// A tool of the server keeps its name, its pin and its effect.
#[test]
fn mcp_server_tool_comes_before_a_feature_tool() {
    let Some(env) = scripted("resources_server.py", "same-name", "") else {
        return;
    };
    let inspected = inspect(&env);
    let expected = [
        "s_act",
        "s_read_resource",
        "s_list_resources",
        "s_list_prompts",
        "s_get_prompt",
    ];
    assert_eq!(names(&inspected), expected);
    assert_eq!(inspected["tools"][1]["effect"], "effectful");
    let ran = call(&env, "read_resource", &json!({}));
    assert_eq!(ran.json(), json!({"type": "text", "value": "called"}));
}

#[test]
fn mcp_resources_are_listed_within_bounds() {
    let notes = |range: std::ops::Range<u32>| -> Vec<Value> {
        let note = |n| json!({"uri": format!("note://{n}"), "name": format!("note {n}")});
        range.map(note).collect()
    };
    let one = json!({"uri": "note://one", "name": "one", "mimeType": "text/plain", "size": 7});
    let template =
        json!({"uriTemplate": "note://{name}", "name": "notes", "description": "All notes."});
    for (behaviour, input, expected) in [
        (
            "behaves",
            json!({}),
            json!({"resources": [one], "templates": [template]}),
        ),
        (
            "behaves",
            json!({"query": "ALL"}),
            json!({"resources": [], "templates": [template]}),
        ),
        (
            "pages",
            json!({}),
            json!({"resources": notes(0..120), "templates": [], "next-cursor": "2"}),
        ),
        (
            "pages",
            json!({"cursor": "2"}),
            json!({"resources": notes(120..240)}),
        ),
        (
            "pages",
            json!({"query": "note 199"}),
            json!({"resources": notes(199..200), "templates": []}),
        ),
        (
            "endless-pages",
            json!({}),
            json!({"resources": [], "templates": [], "next-cursor": "more"}),
        ),
        (
            "hostile",
            json!({}),
            json!({
                "resources": [{
                    "uri": "note://\u{fffd}[2J/../etc%2Fpasswd?a=b#c d", "name": "a\u{fffd}b\u{fffd}[2J",
                }],
                "templates": [],
                "left-out": "2 entries are too long or too many; pass a `query`",
            }),
        ),
    ] {
        let Some(env) = scripted("resources_server.py", behaviour, "") else {
            return;
        };
        let ran = call(&env, "list_resources", &input);
        assert_eq!(
            ran.json(),
            json!({"type": "json", "value": expected}),
            "{behaviour} {input}"
        );
    }
}

#[test]
fn mcp_resource_is_read_as_what_its_bytes_are() {
    let Some(env) = scripted("resources_server.py", "behaves", "") else {
        return;
    };
    let code = |output: &Value| output["value"]["code"].as_str().map(str::to_owned);
    for (uri, expected) in [
        (
            "file:///etc/../%2e",
            json!({"type": "text", "value": "content of file:///etc/../%2e"}),
        ),
        (
            "note://empty",
            json!({"type": "text", "value": "[the resource has no content]"}),
        ),
        (
            "note://absent",
            json!({
                "type": "error-text",
                "value": "The MCP server `s` refused the call: Resource not found (code -32002)",
            }),
        ),
    ] {
        let ran = call(&env, "read_resource", &json!({ "uri": uri }));
        assert_eq!(ran.json(), expected, "{uri}");
    }
    for (uri, expected) in [
        ("note://broken", "invalid-output"),
        ("note://huge", "output-too-large"),
    ] {
        let output = call(&env, "read_resource", &json!({ "uri": uri })).json();
        assert_eq!(code(&output).as_deref(), Some(expected), "{output}");
    }
    for (uri, types) in [
        ("note://picture", vec!["image/gif"]),
        ("note://two", vec!["text/plain", "application/octet-stream"]),
    ] {
        let output = call(&env, "read_resource", &json!({ "uri": uri })).json();
        let parts = output["value"].as_array().unwrap().iter();
        let found: Vec<&str> = parts
            .map(|part| part["media_type"].as_str().unwrap())
            .collect();
        assert_eq!(found, types, "{output}");
    }
    let ran = call(&env, "read_resource", &json!({"uri": 7}));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn mcp_prompt_is_listed_and_its_messages_are_returned() {
    let Some(env) = scripted("resources_server.py", "behaves", "") else {
        return;
    };
    let listed = call(&env, "list_prompts", &json!({})).json();
    let arguments = json!([{"name": "what", "required": true}]);
    let prompt = json!({"name": "review", "description": "Reviews.", "arguments": arguments});
    assert_eq!(
        listed,
        json!({"type": "json", "value": {"prompts": [prompt]}})
    );
    let input = json!({"name": "review", "arguments": {"what": "it"}});
    let output = call(&env, "get_prompt", &input).json();
    let parts = output["value"].as_array().unwrap();
    assert_eq!(parts[0]["text"], "user: Review {\"what\": \"it\"}.");
    assert_eq!(parts[1]["text"], "assistant:");
    assert_eq!(parts[2]["media_type"], "image/gif");
    assert_eq!(parts.len(), 3);
}

#[test]
fn mcp_server_error_is_an_error_text() {
    let Some(env) = scripted("resources_server.py", "fails", "") else {
        return;
    };
    for (tool, input) in [
        ("list_resources", json!({})),
        ("read_resource", json!({"uri": "a:b"})),
        ("list_prompts", json!({})),
        ("get_prompt", json!({"name": "a"})),
    ] {
        let ran = call(&env, tool, &input);
        let why = "The MCP server `s` refused the call: no database\u{fffd}[2J (code -32603)";
        assert_eq!(
            ran.json(),
            json!({"type": "error-text", "value": why}),
            "{tool}"
        );
    }
}

/// The approvals of a server are by its names of tools, and these are among them.
#[test]
fn mcp_feature_tool_needs_the_configured_approval() {
    let more = "[mcp.approvals]\nread_resource = \"always\"";
    let Some(env) = scripted("resources_server.py", "behaves", more) else {
        return;
    };
    let mut client = Client::start(&env, &["--config", "agent.toml"], json!({}));
    let read = client.ask(mcp_call(1, "s_read_resource", json!({"uri": "note://one"})));
    let why = read["result"]["content"][0]["text"].as_str().unwrap();
    assert!(why.contains("needs the user's approval"), "{read}");
    let listed = client.ask(mcp_call(2, "s_list_resources", json!({})));
    assert_eq!(listed["result"]["isError"], false, "{listed}");
    assert_eq!(client.close().code, Some(0));
}

/// A call that needs an address opened first is sent once more when the user agreed.
#[test]
fn mcp_call_is_repeated_once_after_an_address_was_opened() {
    let agreed = "the user declined";
    let cases = [
        ("requires-to-open", "a\n", "ran at attempt 2"),
        ("requires-to-open", "d\n", agreed),
        ("requires-to-open", "c\n", agreed),
        (
            "always-requires-to-open",
            "a\n",
            "refused the call: Log in, attempt 2. (code -32042)",
        ),
        (
            "requires-nothing",
            "a\n",
            "refused the call: Log in, attempt 1. (code -32042)",
        ),
    ];
    at_once(cases, |(behaviour, keys, expected)| {
        let Some(env) = scripted("server.py", behaviour, "") else {
            return;
        };
        let server = ChatServer::start(vec![]);
        let args = "call s act '{}' --config agent.toml";
        let shown = plain(&on_a_terminal(&env, &server, args, keys).stdout);
        assert!(shown.contains(expected), "{behaviour} {keys:?}: {shown}");
        let asked = shown.matches("https://login.example/start").count();
        let expected = usize::from(behaviour != "requires-nothing");
        assert_eq!(asked, expected, "{behaviour} {keys:?}: {shown}");
    });
    let Some(env) = scripted("server.py", "requires-to-open", "") else {
        return;
    };
    let output = call(&env, "act", &json!({})).json();
    assert_eq!(output["value"]["code"], "tool-unavailable", "{output}");
    let message = output["value"]["message"].as_str().unwrap();
    assert!(
        message.contains("use `agent-host run` at a terminal"),
        "{message}"
    );
}

/// The official SDK speaks the newest revision of the protocol.
#[test]
fn mcp_resources_of_the_official_sdk_are_read() {
    let Some(python) = mcp_sdk() else {
        return;
    };
    let env = TestEnv::new();
    let command = json!([python, here("it/mcp_client/sdk_resources.py")]);
    let toml = format!("tool = []\n[[mcp]]\nname = \"s\"\ncommand = {command}\n");
    env.write("agent.toml", toml);
    let inspected = inspect(&env);
    assert_eq!(names(&inspected), &ALL[1..]);
    let counted = ["protocol", "resources", "resource-templates", "prompts"];
    let counted = counted.map(|key| inspected[key].as_str().unwrap());
    assert_eq!(counted, ["2026-07-28", "1", "1", "1"]);
    let text = |text: &str| json!({"type": "text", "value": text});
    for (tool, input, expected) in [
        (
            "read_resource",
            json!({"uri": "note://one"}),
            "the first note",
        ),
        (
            "read_resource",
            json!({"uri": "note://by/Ann"}),
            "a note by Ann",
        ),
        (
            "get_prompt",
            json!({"name": "review", "arguments": {"what": "it"}}),
            "user: Review it.",
        ),
    ] {
        assert_eq!(
            call(&env, tool, &input).json(),
            text(expected),
            "{tool} {input}"
        );
    }
    let output = call(&env, "read_resource", &json!({"uri": "note://absent"})).json();
    assert_eq!(output["type"], "error-text", "{output}");
}
