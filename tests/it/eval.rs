//! Tests `agent-host eval`: expectations, shares, reports of hostile text, and files that cannot be
//! used; below it, what each run is.

mod runs;
mod session;

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    has_python,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, process::Command};

/// Reads a.txt and repeats it.
const READER: &str = r#"
[[turn]]
[[turn.call]]
tool = "read_file"
input = { path = "a.txt" }

[[turn]]
text = "It says {{ by_tool.read_file.value | oneline }}."
"#;

/// Writes a file and says whether it could.
const WRITER: &str = r#"
[[turn]]
[[turn.call]]
tool = "write_file"
input = { path = "out.txt", content = "new" }

[[turn]]
text = "{{ 'written' if results[-1].ok else 'not written' }}"
"#;

/// A test directory with the evaluation, two scripts and the files of a case.
fn environment(evaluation: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("suite/eval.toml", evaluation);
    env.write("suite/reader.toml", READER);
    env.write("suite/writer.toml", WRITER);
    env.write("suite/data/a.txt", "alpha");
    env.write("suite/data/below/b.txt", "beta");
    env
}

fn eval(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(&[&["eval", "suite/eval.toml"], args].concat())
}

/// Evaluates with the model of a server.
fn eval_with(env: &TestEnv, server: &ChatServer, args: &[&str]) -> Ran {
    let args = [&["eval", "suite/eval.toml"], args].concat();
    let mut command = env.command(&args);
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    command.output().unwrap().into()
}

/// The report without times, which differ from run to run.
fn report(ran: &Ran) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove("duration_ms");
                members.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut report = ran.json();
    strip(&mut report);
    report
}

/// The status and the failures of each run, by case, model and number.
fn outcomes(ran: &Ran) -> Vec<Value> {
    let report = ran.json();
    let cases = report["cases"].as_array().unwrap().iter();
    let models = cases.flat_map(|case| case["models"].as_array().unwrap().clone());
    let runs = models.flat_map(|model| model["runs"].as_array().unwrap().clone());
    runs.map(|run| json!([run["status"], run["failures"]]))
        .collect()
}

#[test]
fn eval_with_met_expectations_reports_each_run() {
    let env = environment(
        r#"
        models = ["script:./reader.toml"]
        [[case]]
        name = "read"
        prompt = "What does a.txt say?"
        files = "data"
        runs = 2
        [case.expect]
        answer = "^It says alpha"
        no-denial = true
        max-turns = 2
        max-tool-calls = 1
        max-tokens = 1000
        max-usd = 0
        max-seconds = 60
        [[case.expect.call]]
        tool = "read_file"
        input = { path = "a.txt" }
        result = "alpha"
        times = 1
        "#,
    );
    let ran = eval(&env, &["--json", "--jobs", "2"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = &ran.json()["cases"][0]["models"][0]["runs"][0]["calls"][0]["result"];
    let result = result.as_str().unwrap();
    assert!(result.contains("alpha"), "{result}");
    let figures = |runs: u64| {
        json!({
            "turns": 2 * runs, "tool_calls": runs, "input_tokens": 0, "output_tokens": 0,
            "cost_micros": 0,
        })
    };
    let run = |number: u64| {
        json!({
            "run": number, "status": "passed", "failures": [], "exit": 0,
            "answer": "It says alpha.",
            "calls": [{
                "tool": "read_file", "input": "{\"path\":\"a.txt\"}", "outcome": "text",
                "result": result,
            }],
            "figures": figures(1),
        })
    };
    let expected = json!({
        "version": 1,
        "passed": true,
        "cases": [{
            "name": "read", "pass": 1.0, "passed": true,
            "models": [{
                "model": "script:./reader.toml", "passed": true, "passed_runs": 2,
                "runs": [run(1), run(2)],
            }],
        }],
        "totals": {
            "cases": 1, "passed_cases": 1, "runs": 2, "passed_runs": 2, "errors": 0,
            "figures": figures(2),
        },
    });
    assert_eq!(report(&ran), expected);
    let listed = env.run(&["sessions", "list", "--json"]);
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""));
}

/// One case for each kind of expectation, all of which the same run does not meet.
#[test]
fn eval_with_unmet_expectations_names_each() {
    let expectations = [
        (
            "answer = \"^alpha\"",
            "the answer does not match `^alpha`: \"It says alpha.\"",
        ),
        (
            "answer-schema = { type = \"object\" }",
            "the answer does not match the schema (it is not one JSON value",
        ),
        ("max-turns = 1", "it took 2 turns, expected at most 1"),
        (
            "max-tool-calls = 0",
            "it took 1 tool calls, expected at most 0",
        ),
        ("exit = 6", "the exit code is 0, expected 6"),
        (
            "call = [{ tool = \"write_file\" }]",
            "`write_file` was called 0 times, expected at least once",
        ),
        (
            "call = [{ tool = \"read_file\", input = { path = \"b.txt\" } }]",
            "`read_file` with {\"path\":\"b.txt\"} was called 0 times, expected at least once; its calls: {\"path\":\"a.txt\"} -> ",
        ),
        (
            "call = [{ tool = \"read_file\", result = \"beta\" }]",
            "`read_file` and a result that matches `beta` was called 0 times",
        ),
        (
            "call = [{ tool = \"read_file\", times = 2 }]",
            "`read_file` was called 1 times, expected 2 times",
        ),
    ];
    let cases = expectations.iter().enumerate().map(|(number, (expect, _))| {
        format!("[[case]]\nname = \"c{number}\"\nprompt = \"go\"\nfiles = \"data\"\nexpect = {{ {expect} }}\n")
    });
    let cases: String = cases.collect();
    let env = environment(&format!("models = [\"script:./reader.toml\"]\n{cases}"));
    let ran = eval(&env, &["--json", "--jobs", "2"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let outcomes = outcomes(&ran);
    assert_eq!(outcomes.len(), expectations.len());
    for (outcome, (_, failure)) in outcomes.iter().zip(expectations) {
        assert_eq!(outcome[0], "failed");
        let failures = outcome[1].as_array().unwrap();
        assert_eq!(failures.len(), 1, "{failures:?}");
        let found = failures[0].as_str().unwrap();
        assert!(found.starts_with(failure), "{failure}: {found}");
    }
}

#[test]
fn eval_of_denied_calls_names_the_denial() {
    let env = environment(
        r#"
        models = ["script:./writer.toml"]
        [[case]]
        name = "strict"
        prompt = "go"
        expect = { no-denial = true, exit = 6 }
        [[case]]
        name = "denied"
        prompt = "go"
        expect = { answer = "not written", exit = 6, call = [{ tool = "write_file", times = 1 }] }
        "#,
    );
    let ran = eval(&env, &["--json", "--write"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let outcomes = outcomes(&ran);
    let failure = outcomes[0][1][0].as_str().unwrap();
    assert!(
        failure.starts_with("no denial was expected, but the call of write_file was denied: "),
        "{failure}"
    );
    assert_eq!(outcomes[1], json!(["passed", []]));
}

/// Of two runs with one model, the second passes; a script passes always.
#[test]
fn eval_counts_shares_per_model() {
    let file = |pass: &str| {
        format!(
            "runs = 2\npass = {pass}\nmodels = [\"openai-compat:m\", \"script:./reader.toml\"]\n[[case]]\nname = \"a\"\n\
             prompt = \"go\"\nfiles = \"data\"\nexpect.answer = \"alpha\""
        )
    };
    for (pass, code, passed) in [("0.5", 0, true), ("0.51", 1, false)] {
        let env = environment(&file(pass));
        let server = ChatServer::start(vec![Answer::text("beta"), Answer::text("alpha")]);
        let ran = eval_with(&env, &server, &["--json"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let report = ran.json();
        let models = &report["cases"][0]["models"];
        assert_eq!(
            json!([
                models[0]["passed"],
                models[0]["passed_runs"],
                models[1]["passed_runs"]
            ]),
            json!([passed, 1, 2])
        );
        assert_eq!(report["passed"], json!(passed));
        assert_eq!(report["totals"]["figures"]["input_tokens"], json!(22));
    }
    // Arguments replace what the file says.
    let env = environment(&file("1"));
    let ran = eval(
        &env,
        &["--model", "script:suite/reader.toml", "--runs", "1"],
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.ends_with(" s\n") || ran.stdout.ends_with(" ms\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        ran.stdout.lines().take(2).collect::<Vec<_>>(),
        [
            "CASE  MODEL                     PASSED  TURNS  CALLS  TOKENS      COST",
            "a     script:suite/reader.toml  1 of 1      2      1       0  0.00 USD",
        ]
    );
}

/// Text of a model and a result that every report has to show and must not obey.
#[test]
fn eval_reports_hostile_text_as_text() {
    let env = environment(
        "models = [\"script:./hostile.toml\"]\n[[case]]\nname = \"a\"\nprompt = \"go\"\nfiles = \"data\"\n\
         expect = { answer = \"harmless\", call = [{ tool = \"read_file\", result = \"harmless\" }] }",
    );
    let hostile = "</pre></failure><script>alert(1)</script> & ]]> \\u001B[2J\\u0000\\u202E";
    env.write(
        "suite/hostile.toml",
        format!(
            "[[turn]]\n[[turn.call]]\ntool = \"read_file\"\ninput = {{ path = \"<script>\\u001B\" }}\n\n\
             [[turn]]\ntext = \"{hostile}\"\n"
        ),
    );
    let ran = eval(&env, &["--junit", "junit.xml", "--html", "report.html"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{0}', '\u{202e}']), "{text:?}");
    }
    assert!(
        ran.stdout.contains("<script>alert(1)</script>"),
        "{}",
        ran.stdout
    );
    let html = fs::read_to_string(env.work().join("report.html")).unwrap();
    assert!(
        !html.contains("<script") && !html.contains(['\u{1b}', '\u{0}', '\u{202e}']),
        "{html}"
    );
    assert!(
        html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"),
        "{html}"
    );
    if !has_python() {
        return;
    }
    let read = "import json, sys, xml.etree.ElementTree as tree\n\
                cases = tree.parse(sys.argv[1]).getroot().iter('testcase')\n\
                print(json.dumps([[case.get('name'), [[e.tag, e.text] for e in case]] for case in cases]))";
    let output = Command::new("python3")
        .args(["-c", read])
        .arg(env.work().join("junit.xml"))
        .output()
        .unwrap();
    let cases: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = cases[0][1][0][1].as_str().unwrap();
    assert_eq!(
        (&cases[0][0], &cases[0][1][0][0]),
        (&json!("a run 1"), &json!("failure"))
    );
    let shown = "</pre></failure><script>alert(1)</script> & ]]> \\u{1b}[2J\\u{0}\\u{202e}";
    assert!(text.contains(shown), "{text}");
}

#[test]
fn eval_refuses_unusable_files() {
    let case = |rest: &str| format!("[[case]]\nname = \"a\"\nprompt = \"go\"\n{rest}");
    let fine = case("expect.exit = 0");
    for (file, args, expected) in [
        ("runs = ".to_owned(), &[][..], "eval.toml:1:8"),
        (format!("runz = 1\n{fine}"), &[], "unknown key `runz`"),
        (
            case("expect = { answr = \"a\" }"),
            &[],
            "did you mean `answer`?",
        ),
        (
            case("expect.answer = \"(\""),
            &[],
            "invalid pattern (unclosed group)",
        ),
        (case(""), &[], "it expects nothing, so every run would pass"),
        (String::new(), &[], "there are no cases"),
        (
            format!("models = [\"nope:m\"]\n{fine}"),
            &[],
            "unknown model provider `nope`",
        ),
        (
            case("files = \"gone\"\nexpect.exit = 0"),
            &[],
            "suite/gone: No such file",
        ),
        (
            case("files = \"linked\"\nexpect.exit = 0"),
            &[],
            "neither a file nor a directory",
        ),
        (
            fine.clone(),
            &["--replay", "gone"],
            "gone/a-script-tour-1.jsonl",
        ),
        (
            fine.clone(),
            &["--record", "new"],
            "there is nothing to record for script:tour",
        ),
        (
            fine.clone(),
            &["--config", "suite/shared.toml"],
            "which all runs of an evaluation would share",
        ),
        (
            fine.clone(),
            &["--config", "suite/database.toml"],
            "the configuration keeps sessions in a database",
        ),
        (fine.clone(), &["--runs", "0"], "0 is not in 1..=100"),
        (fine.clone(), &["--config", "suite/gone.toml"], "gone.toml"),
    ] {
        let env = environment(&file);
        env.write(
            "suite/shared.toml",
            "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
        );
        env.write("suite/database.toml", "[store]\nurl = \"postgres://h/d\"\n");
        env.write("suite/linked/file", "x");
        std::os::unix::fs::symlink("/etc/passwd", env.work().join("suite/linked/link")).unwrap();
        let ran = eval(&env, args);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{expected}: {ran:?}"
        );
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}

#[test]
fn eval_needs_trust_in_a_found_configuration() {
    let env = environment("[[case]]\nname = \"a\"\nprompt = \"go\"\nexpect.exit = 0");
    env.write("agent.toml", "[[grants.http]]\nhost = \"example.com\"\n");
    let ran = eval(&env, &[]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("is not trusted"), "{}", ran.stderr);
}
