//! Tests `agent-host test` on the conformance component in Rust.

use agent_host_test_support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Returns, fails, asks, reports progress or crashes, according to its arguments.
const COMPONENT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/conformance.wasm"
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
            "warnings": [],
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
            "error: no case has `nothing` in its name or its tool's name; change `--filter`\n",
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

/// A script of a model with one call for each turn.
fn script(calls: &[(&str, Value)]) -> String {
    let turn = |(tool, input): &(&str, Value)| {
        let input = toml::Value::from(input.to_string());
        format!("[[turn]]\n[[turn.call]]\ntool = \"{tool}\"\ninput = {input}\n")
    };
    let turns: String = calls.iter().map(turn).collect();
    format!("{turns}[[turn]]\ntext = \"done\"\n")
}

/// Writes cases of the newest session, and returns the document or the error.
fn from_session(env: &TestEnv, more: &[&str]) -> Result<Value, (Option<i32>, String)> {
    let named = ["test", "project", "--component", COMPONENT, "--json"];
    let ran = env.run(&[&named[..], &["--from-session", "latest"], more].concat());
    match ran.code {
        Some(0) => Ok(ran.json()),
        code => Err((code, ran.stderr)),
    }
}

/// Calls of a scripted model become cases that pass; the others are named with the reason.
#[test]
fn calls_of_a_session_become_cases_that_pass() {
    let env = TestEnv::new();
    let here = env.work().join("a.txt").display().to_string();
    let calls = [
        ("give_text", json!({ "text": "one\n'''\"two\"" })),
        (
            "give_json",
            json!({ "value": { "a": null, "n": u64::MAX } }),
        ),
        ("give_image", json!({})),
        ("give_content", json!({})),
        ("give_error_json", json!({ "value": { "code": 7 } })),
        ("crash", json!({ "message": "out of (paper)" })),
        ("deny", json!({ "reason": "not now" })),
        ("remember", json!({ "key": "a", "value": 1 })),
        ("remember", json!({ "key": "b", "value": 2 })),
        ("give_text", json!({ "text": here })),
        ("artifact", json!({ "action": "list" })),
        ("read_file", json!({ "path": "calls.toml" })),
    ];
    env.write("calls.toml", script(&calls));
    let ran = env.run(&[
        "run",
        "--tool",
        COMPONENT,
        "--allow-tool",
        "remember",
        "--allow-tool",
        "artifact",
        "--model",
        "script:calls.toml",
        "go",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);

    let written = from_session(&env, &[]).unwrap();
    let file = written["file"].as_str().unwrap();
    let skipped = written["skipped"].as_array().unwrap();
    let reasons: Vec<_> = skipped
        .iter()
        .map(|call| [&call["tool"], &call["reason"]].map(|text| text.as_str().unwrap()))
        .collect();
    assert_eq!(
        (&written["cases"], reasons),
        (
            &json!(8),
            vec![
                [
                    "give_content",
                    "it used more than its input: `GET https://example.com/page`; write a case with grants, files or a recording"
                ],
                ["give_text", "it contains a directory of this machine"],
                [
                    "artifact",
                    "it used more than its input: `list-artifacts`; write a case with grants, files or a recording"
                ],
            ]
        )
    );
    let text = std::fs::read_to_string(env.work().join(file)).unwrap();
    for part in [
        "state = { a = 1 }\n[case.expect]\njson = { a = 1 }\nmerges = [{ b = 2 }]\n",
        "code = \"trap\"\nmatches = '^The tool crashed: out of \\(paper\\)$'\n",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let tested = env.run(&["test", "project", "--component", COMPONENT, "--json"]);
    assert_eq!(tested.code, Some(0), "{tested:?}");
    assert_eq!(tested.json()["cases"].as_array().unwrap().len(), 8);

    let why = "already exists, and is not overwritten; remove it, or move it";
    assert_eq!(
        from_session(&env, &[]),
        Err((Some(2), format!("error: {file} {why}\n")))
    );
    let one = from_session(&env, &["--tool", "deny"]).unwrap();
    assert_eq!(
        (&one["cases"], one["file"].as_str().unwrap()),
        (&json!(1), file.replace(".toml", "-deny.toml").as_str())
    );
}

#[test]
fn session_without_a_possible_case_is_a_usage_error() {
    let env = TestEnv::new();
    let calls = [("read_file", json!({ "path": "calls.toml" }))];
    env.write("calls.toml", script(&calls));
    let run = ["run", "--model", "script:calls.toml", "go"];
    assert_eq!(env.run(&run).code, Some(0));
    for (more, reason) in [
        (
            &[][..],
            "can be a case of this component, and nothing was written",
        ),
        (
            &["--tool", "read_file"],
            "error: the component has no tool `read_file`; it has ",
        ),
        (&["--filter", "a"], "cannot be used with"),
    ] {
        let (code, why) = from_session(&env, more).unwrap_err();
        assert!(code == Some(2) && why.contains(reason), "{why}");
    }
    assert!(!env.work().join("project").exists());
}
