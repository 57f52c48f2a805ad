//! Invalid case files: the defect, its position and the remedy.

use super::{CONFORMANCE, TestDir, of};
use crate::test::TestPlan;
use pretty_assertions::assert_eq;

/// A valid case with additions.
fn case(of_case: &str, of_expect: &str) -> String {
    format!("[[case]]\nname = 'a'\ntool = 'give_text'\n{of_case}\n[case.expect]\n{of_expect}\n")
}

#[tokio::test]
async fn invalid_case_file_names_the_position() {
    let text = "text = ''";
    let codes = "invalid-input, unknown-tool, timeout, out-of-memory, stack-overflow, trap, resource-limit, output-too-large, \
                 invalid-output, cancelled, interrupted-unknown, busy, tool-unavailable, changed-since-approval, agent-budget, agent-failed";
    let table = [
        ("[[case]", "line 1, column 8: unclosed array table, expected `]`; correct it".to_owned()),
        ("tool = 'x'", "line 1, column 1: unknown key `tool`; the keys are `limits`, `grants`, `secret`, `case`".to_owned()),
        (&case("inputs = {}", text), "line 4, column 1: unknown key `inputs`; did you mean `input`?".to_owned()),
        (&case("", "texts = ''"), "line 6, column 1: unknown key `texts`; did you mean `text`?".to_owned()),
        (&case("input = {}\ninput-json = '{}'", text), "line 1, column 1: a case has either `input` or `input-json`, \
            not both; remove one".to_owned()),
        (&case("input-json = '[]'", text), "line 1, column 1: invalid `input-json`: invalid type: sequence, expected \
            a map at line 1 column 0; correct it".to_owned()),
        (&case("input = { at = 2026-01-01 }", text), "line 1, column 1: JSON has no dates such as 2026-01-01; write it in quotes".to_owned()),
        (&case("input = { n = nan }", text), "line 1, column 1: JSON cannot represent the number NaN; correct it".to_owned()),
        (&case("calls = 0", text), "line 1, column 1: `calls` is 0; a case has 1 to 100 calls".to_owned()),
        (&case("calls = 101", text), "line 1, column 1: `calls` is 101; a case has 1 to 100 calls".to_owned()),
        (&case("answers = [-1]", text), "line 1, column 1: `-1` is not an answer; write the words in quotes, the \
            number of a choice (from 0), `{ fields = { NAME = VALUE } }` for a form, or `{ cancelled = true }`".to_owned()),
        (&case("answers = [{ cancelled = false }]", text), "line 1, column 1: `{ cancelled = false }` is not an \
            answer; write the words in quotes, the number of a choice (from 0), `{ fields = { NAME = VALUE } }` for \
            a form, or `{ cancelled = true }`".to_owned()),
        (&case("limits = { deadline-ms = 0 }", text), "line 4, column 26: `deadline-ms` in [limits] is 0, so no call \
            could run; set it to what a call needs, or leave it out".to_owned()),
        (&case("grants.secrets = ['key']", text), "line 4, column 19: the secret `key` is granted in [grants], but \
            there is no [[secret]] with this name; add it, with its source and the server that may receive it".to_owned()),
        (&case("", ""), "line 1, column 1: the case has no expected result; write one of `text`, `json`, `content`, \
            `error-text`, `error-json`, `denied`, `code`, `variant` or `golden` in [case.expect]".to_owned()),
        (&case("", "text = ''\njson = 1"), "line 1, column 1: a call has one result, but the case expects both \
            `text` and `json`; remove one of them".to_owned()),
        (&case("", "denied = false"), "line 1, column 1: `denied` is the reason in quotes, or `true` for any reason or none; correct it".to_owned()),
        (&case("", "denied-without-reason = false"), "line 1, column 1: `denied-without-reason` can only be `true`; remove it, and expect another result".to_owned()),
        (&case("", "code = 'late'"), format!("line 1, column 1: \"late\" is not a code of an abnormal end; the codes \
            are {codes}")),
        (&case("", "code = []"), format!("line 1, column 1: [] is not a code of an abnormal end; the codes are \
            {codes}")),
        (&case("", "content = [{ size = 1 }]"), "line 1, column 1: each part of `content` is either `{ text = \"...\" }`, or a file with its `media-type`; correct it".to_owned()),
        (&case("", "content = [{ text = 'a', size = 1 }]"), "line 1, column 1: each part of `content` is either `{ text = \"...\" }`, or a file with its `media-type`; correct it".to_owned()),
        (&case("", "text = ''\nat = { 'a' = 1 }"), "line 1, column 1: `a` in `at` is not a JSON pointer: it must \
            start with `/`; write it like `/words/0`".to_owned()),
        (&case("recording = '../a.jsonl'", text), "line 1, column 1: `recording` is `../a.jsonl`, but must be a file \
            below the directory of its cases; write a relative path without `..`".to_owned()),
        (&case("", "golden = '/tmp/a'"), "line 1, column 1: `golden` is `/tmp/a`, but must be a file below the \
            directory of its cases; write a relative path without `..`".to_owned()),
        (&case("", "golden = ''"), "line 1, column 1: `golden` is ``, but must be a file below the directory of its \
            cases; write a relative path without `..`".to_owned()),
        (&case("", "text = ''\nfiles = { '/a' = true }"), "line 1, column 1: `/a` in `files` is true; write the \
            file's text, or `false` for a file that does not exist".to_owned()),
    ];
    let dir = TestDir::new();
    for (cases, expected) in table {
        let error = dir.run(cases, of(CONFORMANCE)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot use tests/cases.toml: {expected}"),
            "{cases}"
        );
    }
    let bad_pattern = case("", "text = ''\nmatches = '('");
    let error = dir.run(&bad_pattern, of(CONFORMANCE)).await.unwrap_err();
    assert!(
        error.to_string().starts_with(
            "cannot use tests/cases.toml: line 1, column 1: `matches` is not a regular expression: "
        ),
        "{error}"
    );
}

#[tokio::test]
async fn unrunnable_plan_names_the_cause() {
    let dir = TestDir::new();
    let good = case("", "code = 'invalid-input'");
    let filtered = TestPlan {
        filter: Some("zebra".to_owned()),
        ..of(CONFORMANCE)
    };
    let table = [
        (
            "",
            of(CONFORMANCE),
            "there are no cases; write one in tests/NAME.toml, or pass a file with `--cases`",
        ),
        (
            good.as_str(),
            filtered,
            "no case has `zebra` in its name or its tool's name; change `--filter`",
        ),
        (
            good.as_str(),
            of("nothing.wasm"),
            "there is no component file `nothing.wasm` and no configured tool with this name (the tools are: none); \
             name a file, a configured tool, or a built-in one like `builtin:files`",
        ),
    ];
    for (cases, plan, expected) in table {
        let error = dir.run(cases, plan).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
