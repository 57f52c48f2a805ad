//! Builds the example tools in `guest-tools/examples` with their languages' compilers and runs
//! their own cases.

use agent_host_test_support::{
    TestEnv,
    installed::{compiler_from_pypi, here},
    project::{self, Built},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn python() {
    let values = json!({"values": [1, 2, 3, 4, 100]});
    let figures = json!({
        "count": 5, "sum": 110.0, "mean": 22.0, "median": 3.0, "minimum": 1.0, "maximum": 100.0,
        "quantiles": [2.0, 3.0, 4.0], "stdev": 43.617_656_975_128_774,
    });
    let result = json!({"type": "json", "value": figures});
    let built = passes("chart", "python", ("describe", values), &result);
    // It declares none.
    if let Some(built) = built {
        assert_eq!(built.optional_imports(), ["agent:tool/types@0.1.0"]);
    }
}

#[test]
fn c() {
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let result = json!({"type": "text", "value": digest});
    passes("hash", "c", ("hash_text", json!({"text": "abc"})), &result);
}

#[test]
fn go() {
    let texts = json!({"before": "one\ntwo", "after": "one\n2"});
    let end = "\\ No newline at end of file\n";
    let diff = format!("--- before\n+++ after\n@@ -1,2 +1,2 @@\n one\n-two\n{end}+2\n{end}");
    let result = json!({"type": "text", "value": diff});
    passes("diff", "go", ("diff_texts", texts), &result);
}

/// Builds an example, and expects a case for every tool and every case to pass, and a call in a
/// session to have this result. Returns what was built; `None` where the test is skipped.
fn passes(
    example: &str,
    language: &str,
    (tool, input): (&str, Value),
    result: &Value,
) -> Option<Built> {
    let installed = compiler_from_pypi(language)?;
    let env = TestEnv::new();
    let sources = here("../guest-tools/examples").join(example);
    let built = project::built(&env, &sources, example, (&installed, ".venv"));
    let report = project::passes(&env, &[Path::new(example)]);
    assert_eq!(report["coverage"]["uncalled"], json!([]));
    let call = json!({"turn": [{"call": [{"tool": tool, "input": input}]}, {"text": "Done."}]});
    env.write("script.toml", toml::to_string(&call).unwrap());
    let component = built.component.to_str().unwrap();
    let ran = env.run(&[
        "run",
        "--tool",
        component,
        "--model",
        "script:script.toml",
        "go",
    ]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{}",
        ran.stderr
    );
    let events = env
        .events()
        .into_iter()
        .map(|record| record["event"].clone());
    let mut settled = events.filter(|event| event["kind"] == "call-settled");
    assert_eq!(settled.next().unwrap()["output"], *result);
    Some(built)
}
