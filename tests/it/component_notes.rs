//! A tool of a component that cannot be used is named by `doctor`, `inspect`, `lock` and every run,
//! and the other tools are used.

use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::json;

const NOTE: &str =
    "tool `bad`: the input schema: \"(?=a)\" is not a \"regex\"; the tool is left out";

#[test]
fn unusable_component_tool_is_named_and_disables_no_other() {
    let env = TestEnv::new();
    let define = |name: &str, schema: &str| Definition {
        name: name.to_owned(),
        input_schema: schema.to_owned(),
        ..Definition::default()
    };
    let guest = Guest {
        definitions: vec![
            define("good", r#"{"type":"object"}"#),
            define(
                "bad",
                r#"{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}"#,
            ),
        ],
        ..Guest::returning(Body::Text(0, b"fine"))
    };
    env.write("two.wasm", guest.bytes());
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"two\"\ncomponent = \"two.wasm\"\n",
    );
    let config = ["--config", "agent.toml"];
    let warning = format!("the component `two`: {NOTE}");
    // The second command finds the compiled component in the cache.
    for command in [
        &["call", "two", "good", "{}"][..],
        &["doctor"],
        &["inspect", "two"],
        &["lock"],
    ] {
        let ran = env.run(&[command, &config].concat());
        assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&warning), "{command:?}: {}", ran.stderr);
    }
    let called = env.run(&[&["call", "two", "bad", "{}"][..], &config].concat());
    assert_eq!(called.code, Some(2), "{called:?}");
    let doctor = env.run(&[&["doctor"][..], &config].concat());
    let line = format!("component      two: {NOTE}");
    assert!(doctor.stdout.contains(&line), "{}", doctor.stdout);
    let inspected = env.run(&[&["inspect", "two", "--json"][..], &config].concat());
    assert_eq!(inspected.json()["notes"], json!([NOTE]));
}
