use super::*;
use crate::{Evaluation, EvaluationForm, transcript::Transcript};
use pretty_assertions::assert_eq;
use serde_json::json;

/// The case of a file with these keys before it.
pub(crate) fn case(keys: &str) -> Case {
    let text = format!("{keys}\n[[case]]\nname = \"a\"\nprompt = \"p\"\nexpect.answer = \"yes\"");
    let form: EvaluationForm = toml::from_str(&text).unwrap();
    let Evaluation { mut cases, .. } = form.check().unwrap();
    cases.remove(0)
}

/// A report of one case, whose runs with each model have these answers; none for a broken run.
pub(crate) fn report(case: &Case, models: &[(&str, &[Option<&str>])]) -> Report {
    let models = models.iter().map(|(model, answers)| {
        let runs = (1..).zip(*answers).map(|(number, answer)| {
            let observed = Observed {
                end: match answer {
                    Some(_) => RunEnd::Exited(0),
                    None => RunEnd::Broken("it is <broken>".to_owned()),
                },
                transcript: Transcript {
                    answer: answer.map(str::to_owned),
                    calls: vec![Call {
                        tool: "t".to_owned(),
                        input: serde_json::Map::new().into(),
                        outcome: "text",
                        result: "</pre><script>\u{1b}".to_owned(),
                    }],
                    ..Transcript::default()
                },
                stderr: String::new(),
            };
            RunReport::new(case, number, &observed, 1_500)
        });
        ((*model).to_owned(), runs.collect())
    });
    Report::new(vec![CaseReport::new(case, models.collect())])
}

#[test]
fn case_passes_with_its_share_of_runs_per_model() {
    let half = case("pass = 0.5");
    let whole = case("");
    let (yes, no) = (Some("yes"), Some("no"));
    for (case, models, expected) in [
        (
            &half,
            [("m", &[yes, no][..]), ("n", &[no, yes])],
            [true, true],
        ),
        (
            &half,
            [("m", &[yes, no, no]), ("n", &[yes, yes, no])],
            [false, true],
        ),
        (
            &whole,
            [("m", &[yes, no]), ("n", &[yes, yes])],
            [false, true],
        ),
    ] {
        let report = report(case, &models);
        let case = &report.cases[0];
        let passed: Vec<bool> = case.models.iter().map(|model| model.passed).collect();
        let all = expected.iter().all(|passed| *passed);
        assert_eq!(
            (passed.as_slice(), case.passed, report.passed),
            (&expected[..], all, all)
        );
    }
    // 99 of 100 are not all, and 29 of 100 are 0.29 of them although the product is above 29.
    let many = [vec![yes; 99], vec![no]].concat();
    assert!(!report(&whole, &[("m", &many)]).passed);
    let few = [vec![yes; 29], vec![no; 71]].concat();
    assert!(report(&case("pass = 0.29"), &[("m", &few)]).passed);
}

#[test]
fn report_as_json_has_its_documented_form() {
    let report = report(&case(""), &[("m", &[Some("yes"), None])]);
    let figures = |runs: u64| {
        json!({
            "turns": 0, "tool_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_micros": 0,
            "duration_ms": 1_500 * runs,
        })
    };
    let calls = json!([{
        "tool": "t", "input": "{}", "outcome": "text", "result": "</pre><script>\u{1b}",
    }]);
    let expected = json!({
        "version": 1,
        "passed": false,
        "cases": [{
            "name": "a", "pass": 1.0, "passed": false,
            "models": [{
                "model": "m", "passed": false, "passed_runs": 1,
                "runs": [
                    {
                        "run": 1, "status": "passed", "failures": [], "exit": 0, "answer": "yes",
                        "calls": calls, "figures": figures(1),
                    },
                    {
                        "run": 2, "status": "error", "failures": ["it is <broken>"], "exit": null,
                        "answer": null, "calls": calls, "figures": figures(1),
                    },
                ],
            }],
        }],
        "totals": {
            "cases": 1, "passed_cases": 0, "runs": 2, "passed_runs": 1, "errors": 1,
            "figures": figures(2),
        },
    });
    assert_eq!(json!(report), expected);
}

#[test]
fn long_texts_are_cut_in_the_report() {
    let long = "é".repeat(MAX_TEXT_BYTES);
    let report = report(&case(""), &[("m", &[Some(&long)])]);
    let answer = report.cases[0].models[0].runs[0].answer.as_deref().unwrap();
    assert_eq!(answer.len(), MAX_TEXT_BYTES + "...".len());
}
