//! Tests that our SDK for JavaScript and TypeScript passes integers exactly, at the edges where a
//! function of the same toolchain without it gets or returns another number
//! (`findings/componentize_js_large_integers.sh`).

use crate::conformance::built;
use agent_host_test_support::{TestEnv, project::Built};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn javascript_integers_are_exact() {
    are_exact("js");
}

#[test]
fn typescript_integers_are_exact() {
    are_exact("ts");
}

/// Calls a tool that returns its integers as they came and as text, and compares both.
fn are_exact(language: &str) {
    let Some(Built { component, .. }) = built(language) else {
        return;
    };
    let env = TestEnv::new();
    let call = |input: Value| {
        let input = input.to_string();
        let component = component.to_str().unwrap();
        env.run(&["call", component, "integers", &input, "--json"])
    };
    for wide in [
        json!(0),
        json!(-1),
        json!(2_147_483_647),
        json!(2_147_483_648_u64),
        json!(4_294_967_295_u64),
        json!(9_007_199_254_740_991_u64),
        json!(9_007_199_254_740_993_u64),
        json!(-9_007_199_254_740_993_i64),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
    ] {
        let is_safe = wide.as_i64().is_some_and(|n| n.abs_diff(0) < 1 << 53);
        let safe = if is_safe { wide.clone() } else { json!(0) };
        let ran = call(json!({ "wide": wide, "safe": safe }));
        assert_eq!(ran.code, Some(0), "{wide}: {}", ran.stderr);
        let same = json!({
            "wide": wide, "safe": safe, "list": [wide], "text": format!("{wide} {safe}"),
        });
        assert_eq!(ran.json(), json!({ "type": "json", "value": same }));
    }
    // A `number` cannot hold it, so the schema refuses it before the tool could get another.
    let refused = call(json!({ "safe": 9_007_199_254_740_993_u64 }));
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(2),
            "error: The arguments do not fit the tool's schema; the tool did not run. `/safe`: 9007199254740993 is greater than the maximum of 9007199254740991\n"
        )
    );
}
