//! The names of functions as tools, and those that are left out by their names.

use super::{call, load, names};
use agent_host_types::output::ToolResultOutput;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[tokio::test]
async fn functions_of_one_name_are_prefixed_by_interface() {
    let wit = "package test:made@1.2.0;
        interface text { reverse: func(); parse: func(); }
        interface numbers { parse: func(); SUM: func(); }
        world w {
            export text;
            export numbers;
            export sum: func();
            export inline: interface { parse: func(); }
        }";
    let exports = [
        "test:made/text@1.2.0#reverse",
        "test:made/text@1.2.0#parse",
        "test:made/numbers@1.2.0#parse",
        "test:made/numbers@1.2.0#SUM",
        "sum",
        "inline#parse",
    ];
    let core: String = exports
        .iter()
        .map(|name| format!(r#"(func (export "{name}"))"#))
        .collect();
    let tool = load(wit, &core).await.unwrap();
    let mut names = names(&tool);
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "inline_parse",
            "numbers_SUM",
            "numbers_parse",
            "reverse",
            "sum",
            "text_parse"
        ]
    );
    for name in names {
        assert_eq!(
            call(&tool, name, &json!({})).await,
            ToolResultOutput::json(Value::Null),
            "{name}"
        );
    }
}

#[tokio::test]
async fn functions_of_toolchains_are_left_out() {
    let wit = "package test:made;
        interface api { init: func(); }
        world w {
            export api;
            export exports: interface { init: func(); other: func(); }
            export wizer-initialize: func();
            export wizer-like: func();
        }";
    let core = r#"(func (export "test:made/api#init")) (func (export "exports#init"))
        (func (export "exports#other")) (func (export "wizer-initialize"))
        (func (export "wizer-like"))"#;
    let tool = load(wit, core).await.unwrap();
    let mut names = names(&tool);
    names.sort_unstable();
    assert_eq!(names, ["init", "other", "wizer-like"]);
    // An operator's list may bring them back, by names that change no other.
    let mut named: Vec<&str> = tool
        .toolchain_definitions()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["exports_init", "wizer-initialize"]);
    let mut notes = tool.notes().to_vec();
    notes.sort_unstable();
    assert_eq!(
        notes,
        [
            "`exports#init`: componentize-py (0.25.1) exports it for itself; it does not come from the world's author",
            "`wizer-initialize`: wizer exports it for itself; it does not come from the world's author",
        ]
    );
}

#[tokio::test]
async fn duplicate_tool_name_is_refused() {
    // A `.` and a `-` in a version are the same in the name of a tool.
    let packages = ["1.0.0-a.b", "1.0.0-a-b"];
    let wit: String = packages
        .iter()
        .map(|version| format!("package other:one@{version} {{ interface api {{ f: func(); }} }} "))
        .collect();
    let exports = packages.map(|version| format!("other:one/api@{version}"));
    let wit = format!(
        "package test:made; {wit} world w {{ export {}; export {}; }}",
        exports[0], exports[1]
    );
    let core = format!(
        r#"(func (export "{}#f")) (func (export "{}#f") unreachable)"#,
        exports[0], exports[1]
    );
    let tool = load(&wit, &core).await.unwrap();
    assert_eq!(names(&tool), ["other_one_api_1-0-0-a-b_f"]);
    assert_eq!(
        tool.notes(),
        [
            "`other:one/api@1.0.0-a-b#f`: another function already has the tool name `other_one_api_1-0-0-a-b_f`"
        ]
    );
    assert_eq!(
        call(&tool, "other_one_api_1-0-0-a-b_f", &json!({})).await,
        ToolResultOutput::json(Value::Null)
    );
}

#[tokio::test]
async fn functions_of_one_interface_name_get_longer_names() {
    // The interfaces, and the names of their functions `f` as tools.
    let cases: [(&[&str], &[&str]); 5] = [
        (&["one:a/ops", "one:b/ops"], &["a_ops_f", "b_ops_f"]),
        (
            &["one:a/ops", "two:a/ops", "two:b/ops"],
            &["one_a_ops_f", "two_a_ops_f", "b_ops_f"],
        ),
        (
            &["one:a/ops@1.0.0", "one:a/ops@2.0.0"],
            &["one_a_ops_1-0-0_f", "one_a_ops_2-0-0_f"],
        ),
        (&["one:a/OPS", "two:a/text"], &["OPS_f", "text_f"]),
        (&["one:a/OPS", "one:b/ops"], &["a_OPS_f", "b_ops_f"]),
    ];
    for (interfaces, expected) in cases {
        let (mut packages, mut exports, mut core) = (String::new(), String::new(), String::new());
        for interface in interfaces {
            let (package, rest) = interface.split_once('/').unwrap();
            let (name, version) = rest.split_once('@').unwrap_or((rest, ""));
            let at = if version.is_empty() { "" } else { "@" };
            packages.push_str(&format!(
                "package {package}{at}{version} {{ interface {name} {{ f: func(); }} }} "
            ));
            exports.push_str(&format!("export {interface}; "));
            core.push_str(&format!(r#"(func (export "{interface}#f"))"#));
        }
        let wit = format!("package test:made; {packages} world w {{ {exports} }}");
        let tool = load(&wit, &core).await.unwrap();
        assert_eq!(names(&tool), expected, "{interfaces:?}");
        assert_eq!(tool.notes(), [""; 0]);
    }
}
