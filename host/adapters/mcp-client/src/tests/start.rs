//! Connecting: failures to start, and the list of tools.

use super::{config, python};
use crate::{ConnectError, McpServer, Reach, ServerConfig, offered_name};
use agent_host_types::{
    failure::ToolErrorCode,
    tool::{Effect, is_tool_name},
};
use pretty_assertions::assert_eq;
use std::time::Duration;

#[tokio::test]
async fn invalid_tool_lists_name_the_defect() {
    if !python() {
        return;
    }
    let cases = [
        ("endless-pages", "its list of tools has more than 64 pages"),
        (
            "huge-description",
            "its list of tools has more than 4194304 bytes",
        ),
        (
            "hidden-words",
            "tool `s_act`: the description has control characters",
        ),
        ("no-schema", "tool `act`: missing field `inputSchema`"),
        (
            "text-schema",
            "the root of an input schema must have `\"type\": \"object\"`",
        ),
        ("deep-schema", "nests deeper than 32 levels"),
        ("no-list", "cannot read its list of tools"),
        ("no-tools", "it defines no tools"),
        ("too-many", "it defines 200 tools, and the maximum is 128"),
    ];
    for (behaviour, says) in cases {
        let config = ServerConfig {
            read_only: [].into(),
            ..config(behaviour)
        };
        match McpServer::connect(config).await {
            Err(ConnectError::Tools { why, .. }) => {
                assert!(why.contains(says), "{behaviour}: {why}");
                assert!(why.len() < 1_000, "{behaviour}: {why}");
            }
            other => panic!("{behaviour}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn failed_starts_name_the_cause() {
    if !python() {
        return;
    }
    let ended = McpServer::connect(config("exits")).await;
    let Err(ConnectError::Unusable { detail, .. }) = ended else {
        panic!("{ended:?}");
    };
    let expected =
        ", it exited (exit status: 3), and its last line on stderr was: no module named ideas";
    assert_eq!(detail, expected);

    let hasty = ServerConfig {
        connect_timeout: Duration::from_secs(1),
        ..config("silent")
    };
    assert_eq!(
        McpServer::connect(hasty).await.map(drop),
        Err(ConnectError::Silent {
            server: "s".to_owned(),
            seconds: 1,
            detail: String::new(),
        })
    );

    let mut absent = config("behaves");
    if let Reach::Command(command) = &mut absent.reach {
        command.program = "no-such-program".to_owned();
    }
    let started = McpServer::connect(absent).await;
    assert!(
        matches!(started, Err(ConnectError::Start { .. })),
        "{started:?}"
    );
}

/// One unusable tool, or a part of its definition, is left out with a note.
#[tokio::test]
async fn unusable_tools_are_left_out_with_notes() {
    if !python() {
        return;
    }
    let server = McpServer::connect(config("mixed")).await.unwrap();
    let tools = server.definitions().iter().map(|tool| tool.name.as_str());
    let tools: Vec<&str> = tools.collect();
    let expected = [
        "s_picky",
        "s_long",
        "s_either",
        "s_verbose",
        "s_tree",
        "s_act",
    ];
    assert_eq!(tools, expected);
    let notes: Vec<String> = server.notes().iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "tool `bare`: missing field `inputSchema`; the tool is left out",
            "tool `task`: it runs only as a task, and agent-host does not run tasks yet; the tool is left out",
            "tool `s_loops`: the input schema: its references are circular, or expand to more than 50000 keywords \
             for one value; use fewer nested references; the tool is left out",
            "tool `s_picky`: the input schema is checked without patterns that this host does not support \
             (look-around, back-references, too large or too many): `^(?!x)`",
            "tool `s_long`: the output schema has 71034 bytes, and the maximum is 65536; the tool is offered without \
             it, so its results are not checked",
            "tool `s_verbose`: the description has 9000 bytes and was cut to 8192",
            "tool `s_act`: another tool has this name, or one that differs only in case; the tool is left out",
        ]
    );
    assert_eq!(server.definitions()[5].description, "Acts.");
    let cut = &server.definitions()[3].description;
    assert_eq!(cut.len(), 8_192);
    assert!(cut.ends_with("xxx...\n[The rest of this description is truncated.]"));
    let nested = serde_json::json!({"next": {"next": {"last": 1}}});
    let failure = server
        .input_schema("s_tree")
        .unwrap()
        .validate(nested.as_object().unwrap());
    assert_eq!(
        failure.unwrap_err().message(),
        "The arguments do not fit the tool's schema; the tool did not run. `/next/next`: Additional properties are not allowed ('last' was unexpected)"
    );
    // A call by a name that is not offered never reaches the server.
    let unknown = super::call_tool(&server, "s_loops").await;
    super::holds(
        "mixed",
        unknown,
        Err((ToolErrorCode::UnknownTool, "no tool `s_loops`")),
    );
}

/// Chosen tools get names that every provider accepts and are read-only only by configuration.
#[tokio::test]
async fn chosen_tools_get_valid_names_and_effects() {
    if !python() {
        return;
    }
    let choose = |tools: &[&str], read_only: &[&str]| {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        ServerConfig {
            tools: Some(set(tools)),
            read_only: set(read_only),
            ..config("odd-names")
        }
    };
    let server = McpServer::connect(choose(&["ü", "a/b c"], &["ü"])).await;
    let server = server.unwrap();
    let tools = server.definitions().iter();
    let tools: Vec<_> = tools
        .map(|tool| (tool.name.as_str(), server.own_name(&tool.name), tool.effect))
        .collect();
    assert_eq!(
        tools,
        [
            ("s_a_b_c_0af99a60", Some("a/b c"), Effect::Effectful),
            ("s___607474ca", Some("ü"), Effect::ReadOnly),
        ]
    );
    let missing = McpServer::connect(choose(&["ü", "no"], &[])).await;
    let Err(ConnectError::Tools { why, .. }) = missing else {
        panic!("{missing:?}");
    };
    assert_eq!(
        why,
        "`tools` names `no`, which is not a tool of the server; its tools are ü"
    );
}

#[test]
fn invalid_tool_names_stay_valid_and_distinct() {
    let long = "n".repeat(70);
    assert_eq!(offered_name("git", "create_issue"), "git_create_issue");
    let odd = ["", "a b", "a.b", "a/b", "ä", "\u{202e}", &long];
    let names: std::collections::BTreeSet<String> =
        odd.iter().map(|tool| offered_name("git", tool)).collect();
    assert_eq!(names.len(), odd.len(), "{names:?}");
    assert!(names.iter().all(|name| is_tool_name(name)), "{names:?}");
}
