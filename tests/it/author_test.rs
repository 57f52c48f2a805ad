//! Tests `agent-host test` on the conformance component in Rust.

use agent_host_test_support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Returns, fails, asks, reports progress or crashes, according to its arguments.
const COMPONENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/guests/dist/conformance.wasm"
);

const CASES: &str = r#"
    [[case]]
    name = "says it"
    tool = "give_text"
    input = { text = "one" }
    expect.text = "one"

    [[case]]
    name = "says something else"
    tool = "crash"
    input = { message = "out of paper" }
    expect.text = "two"
"#;

/// Runs the cases in this text.
fn test(env: &TestEnv, cases: &str, more: &[&str]) -> Ran {
    env.write("cases.toml", cases);
    let named = ["test", "--component", COMPONENT, "--cases", "cases.toml"];
    env.run(&[&named[..], more].concat())
}

/// Removes the values that differ between runs.
fn without_figures(mut report: Value) -> Value {
    for case in report["cases"].as_array_mut().unwrap() {
        let case = case.as_object_mut().unwrap();
        assert!(case.remove("wall_us").unwrap().is_u64());
        assert!(case.remove("peak_memory_bytes").unwrap().as_u64() > Some(0));
        if let Some(stdio) = case.remove("stdio") {
            assert!(stdio.as_str().unwrap().contains("out of paper"), "{stdio}");
        }
    }
    report
}

#[test]
fn json_report_is_one_document() {
    let ran = test(&TestEnv::new(), CASES, &["--json", "--filter", "says"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    let bytes = std::fs::read(COMPONENT).unwrap();
    let mut report = without_figures(ran.json());
    let findings = report.as_object_mut().unwrap().remove("findings").unwrap();
    assert!(
        findings
            .as_array()
            .unwrap()
            .contains(&json!({"tool": "spin", "text": "its description has 11 characters; say in a sentence what it does and when to use it"})),
        "{findings}"
    );
    let crashed = "error-json: {\n  \"code\": \"trap\",\n  \"message\": \"The tool crashed: out of paper\"\n}";
    assert_eq!(
        report,
        json!({
            "component": COMPONENT,
            "digest": format!("sha256:{}", hex::encode(Sha256::digest(&bytes))),
            "cases": [
                {"file": "cases.toml", "name": "says it", "tool": "give_text", "mismatches": []},
                {
                    "file": "cases.toml", "name": "says something else", "tool": "crash",
                    "mismatches": [{"what": "result", "expected": "text: two", "got": crashed}],
                },
            ],
        })
    );
}

#[test]
fn text_report_lists_mismatches_and_coverage() {
    let env = TestEnv::new();
    let ran = test(&env, CASES, &[]);
    assert_eq!(ran.code, Some(1));
    let lines: Vec<&str> = ran.stdout.lines().map(str::trim).collect();
    for (line, of) in [
        (
            "passed says it give_text in cases.toml, ",
            "the case that passed",
        ),
        (
            "FAILED says something else crash in cases.toml, ",
            "the other",
        ),
        ("- text: two", "what was expected"),
        ("+ error-json: {", "what came"),
        ("out of paper", "the words of the crash"),
        ("give_json has no case", "what no case calls"),
        ("1 passed, 1 failed", "the sum"),
    ] {
        let found = lines.iter().any(|found| found.starts_with(line));
        assert!(found, "{of} is missing: {ran:?}");
    }
}

#[test]
fn exit_code_follows_case_results() {
    let env = TestEnv::new();
    let passing = ["--filter", "says it"];
    let table = [
        (CASES, &passing[..], Some(0), ""),
        (CASES, &["--filter", "says it", "--strict"], Some(1), ""),
        (
            CASES,
            &["--filter", "nothing"],
            Some(2),
            "error: no case has `nothing` in its name or its tool's; change `--filter`\n",
        ),
        (
            "[[case]]\nname = 1",
            &[],
            Some(2),
            "error: invalid type: integer `1`, expected a string\n --> cases.toml:2:8\n  |\n2 | name = 1\n  |        ^\n  |\n  = help: correct it\n",
        ),
    ];
    for (cases, more, code, stderr) in table {
        let ran = test(&env, cases, more);
        assert_eq!((ran.code, ran.stderr.as_str()), (code, stderr), "{more:?}");
    }
}

#[test]
fn project_is_tested_as_built() {
    let env = TestEnv::new();
    env.write("shout/tool.c", "int nothing;\n");
    env.write("shout/tests/cases.toml", CASES);
    let build = format!(
        "run `agent-host build {}`",
        env.work().join("shout").canonicalize().unwrap().display()
    );
    let ran = env.run(&["test", "shout"]);
    assert_eq!(
        (ran.code, ran.stderr),
        (Some(2), format!("error: shout is not built yet; {build}\n"))
    );
    std::fs::create_dir(env.work().join("shout/dist")).unwrap();
    std::fs::copy(COMPONENT, env.work().join("shout/dist/shout.wasm")).unwrap();
    let ran = env.run(&["test", "shout", "--filter", "says it"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
