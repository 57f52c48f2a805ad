//! The reports of `agent-host eval`, as the parsers of others read them.

use agent_host_test_support::{
    TestEnv,
    installed::{here, report_parsers},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::process::Command;

/// A case that passes, and one that fails; the answer is hostile.
const EVALUATION: &str = r#"
models = ["script:./model.toml"]

[[case]]
name = "passes"
prompt = "go"
expect.answer = "alert"

[[case]]
name = "fails"
prompt = "go"
expect.answer = "harmless"
"#;

const MODEL: &str = r#"
[[turn]]
text = "</pre></failure><script>alert(1)</script> & ]]> \u001B[2J\u0000\u202E"
"#;

#[test]
fn reports_of_eval_are_read_by_parsers_of_others() {
    let Some(python) = report_parsers() else {
        return;
    };
    let env = TestEnv::new();
    env.write("eval.toml", EVALUATION);
    env.write("model.toml", MODEL);
    let ran = env.run(&[
        "eval",
        "eval.toml",
        "--junit",
        "junit.xml",
        "--html",
        "report.html",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let output = Command::new(python)
        .arg(here("interop/eval/check.py"))
        .args(["junit.xml", "report.html"].map(|file| env.work().join(file)))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let suites: Value = serde_json::from_slice(&output.stdout).unwrap();
    let failure = "the answer does not match `harmless`: \
         \"</pre></failure><script>alert(1)</script> & ]]> \\u{1b}[2J\\u{0}\\u{202e}\"";
    let cases = json!([
        ["passes run 1", []],
        ["fails run 1", [["Failure", failure]]],
    ]);
    assert_eq!(suites, json!([["script:./model.toml", [2, 1, 0], cases]]));
}
