use super::*;
use crate::{Evaluation, EvaluationForm, transcript::Figures};
use pretty_assertions::assert_eq;
use serde_json::json;

fn expect(text: &str) -> Expect {
    let text = format!("[[case]]\nname = \"a\"\nprompt = \"p\"\n[case.expect]\n{text}");
    let form: EvaluationForm = toml::from_str(&text).unwrap();
    let Evaluation { mut cases, .. } = form.check().unwrap();
    cases.remove(0).expect
}

fn call(path: &str, result: &str) -> Call {
    Call {
        tool: "read_file".to_owned(),
        input: Map::from_iter([
            ("path".to_owned(), json!(path)),
            ("lines".to_owned(), json!(3)),
        ])
        .into(),
        outcome: "text",
        result: result.to_owned(),
    }
}

/// A run that read a.txt twice and b.txt once.
fn run() -> Observed {
    Observed {
        end: RunEnd::Exited(0),
        transcript: Transcript {
            calls: vec![
                call("a.txt", "one"),
                call("a.txt", "two"),
                call("b.txt", "three"),
            ],
            answer: Some("{\"sum\": 3}".to_owned()),
            denials: vec!["the call of write_file was denied: no".to_owned()],
            figures: Figures {
                turns: 4,
                tool_calls: 3,
                input_tokens: 60,
                output_tokens: 40,
                cost_micros: Some(1_500_000),
                duration_ms: 0,
            },
            ..Transcript::default()
        },
        stderr: String::new(),
    }
}

#[test]
fn met_expectations_pass() {
    let expect = expect(
        r#"
        answer = "sum"
        answer-schema = { type = "object", required = ["sum"] }
        max-turns = 4
        max-tool-calls = 3
        max-tokens = 100
        max-usd = 1.5
        call = [
            { tool = "read_file", times = 3 },
            { tool = "read_file", input = { path = "a.txt", lines = 3.0 }, times = 2 },
            { tool = "read_file", input = { path = "b.txt" }, result = "^three$" },
            { tool = "write_file", times = 0 },
        ]
        "#,
    );
    let passed = Verdict {
        status: Status::Passed,
        failures: Vec::new(),
    };
    assert_eq!(judge(&expect, &run()), passed);
}

#[test]
fn unmet_expectations_are_sentences() {
    for (text, failure) in [
        (
            "answer = \"^4\"",
            "the answer does not match `^4`: \"{\"sum\": 3}\"",
        ),
        (
            "answer-schema = { type = \"array\" }",
            "the answer does not match the schema (the answer: {\"sum\":3} is not of type \"array\"): \"{\"sum\": 3}\"",
        ),
        (
            "no-denial = true",
            "no denial was expected, but the call of write_file was denied: no",
        ),
        ("max-turns = 3", "it took 4 turns, expected at most 3"),
        (
            "max-tool-calls = 2",
            "it took 3 tool calls, expected at most 2",
        ),
        ("max-tokens = 99", "it took 100 tokens, expected at most 99"),
        (
            "max-usd = 1.499999",
            "it cost 1.500000 USD, expected at most 1.499999",
        ),
        ("exit = 6", "the exit code is 0, expected 6"),
        (
            "call = [{ tool = \"list_directory\" }]",
            "`list_directory` was called 0 times, expected at least once",
        ),
        (
            "call = [{ tool = \"read_file\", input = { path = \"b.txt\" }, result = \"x\", times = 2 }]",
            "`read_file` with {\"path\":\"b.txt\"} and a result that matches `x` was called 0 times, expected 2 times; its calls: \
             {\"lines\":3,\"path\":\"a.txt\"} -> \"one\", {\"lines\":3,\"path\":\"a.txt\"} -> \"two\", \
             {\"lines\":3,\"path\":\"b.txt\"} -> \"three\"",
        ),
    ] {
        let failed = Verdict {
            status: Status::Failed,
            failures: vec![failure.to_owned()],
        };
        assert_eq!(judge(&expect(text), &run()), failed, "{text}");
    }
}

#[test]
fn large_integers_are_compared_exactly() {
    let expect = expect("call = [{ tool = \"read_file\", input = { id = 9007199254740993 } }]");
    for (id, status) in [
        (9_007_199_254_740_993_u64, Status::Passed),
        // The same as a floating-point number.
        (9_007_199_254_740_992, Status::Failed),
    ] {
        let mut run = run();
        let input = Map::from_iter([("id".to_owned(), json!(id))]);
        run.transcript.calls[0].input = input.into();
        assert_eq!(judge(&expect, &run).status, status, "{id}");
    }
}

#[test]
fn run_without_answer_says_why() {
    let mut run = run();
    run.end = RunEnd::Exited(1);
    run.transcript.answer = None;
    run.stderr = "error: no key\n".to_owned();
    assert_eq!(
        judge(&expect("answer = \"x\""), &run).failures,
        [
            "the exit code is 1, expected 0: error: no key",
            "there is no answer"
        ]
    );
    run.transcript.problem = Some("the server is gone".to_owned());
    assert_eq!(
        judge(&expect("exit = 0"), &run).failures,
        ["the exit code is 1, expected 0: the server is gone"]
    );
}

#[test]
fn unknown_cost_fails_a_bound_on_it() {
    let mut run = run();
    run.transcript.figures.cost_micros = None;
    assert_eq!(
        judge(&expect("max-usd = 5.0"), &run).failures,
        ["its cost is unknown; set the model's price in [prices] of agent.toml"]
    );
}

#[test]
fn stopped_and_broken_runs_have_one_failure() {
    let expect = expect("answer = \"x\"");
    for (end, status, failure) in [
        (
            RunEnd::TimedOut(5),
            Status::Failed,
            "it did not finish within 5 seconds and was stopped",
        ),
        (
            RunEnd::Broken("it was ended by a signal".to_owned()),
            Status::Error,
            "it was ended by a signal",
        ),
    ] {
        let verdict = Verdict {
            status,
            failures: vec![failure.to_owned()],
        };
        assert_eq!(judge(&expect, &Observed { end, ..run() }), verdict);
    }
}
