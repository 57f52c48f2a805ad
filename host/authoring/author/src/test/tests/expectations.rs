//! Each expectation, met and failed.

use super::{CONFORMANCE, TestDir, mismatches, of};
use crate::test::{Coverage, GrantUse, TestPlan};
use pretty_assertions::assert_eq;

/// A call, an expectation, and the mismatches if it fails.
type Row = (&'static str, &'static str, &'static [[&'static str; 3]]);

const TEXT: &str = "tool = 'give_text'\ninput = { text = 'one two' }";
const JSON: &str =
    "tool = 'give_json'\ninput-json = '{\"value\": {\"n\": 18446744073709551615, \"f\": 1.0}}'";
const CONTENT: &str = "tool = 'give_content'";
const IMAGE: &str = "tool = 'give_image'";
const ERROR: &str = "tool = 'give_error'\ninput = { message = 'no' }";
const ERROR_JSON: &str = "tool = 'give_error_json'\ninput = { value = { a = [1] } }";
const DENIED: &str = "tool = 'deny'\ninput = { reason = 'not now' }";
const DENIED_SILENTLY: &str = "tool = 'deny'";
const ENDLESS: &str = "tool = 'spin'\nlimits = { deadline-ms = 100 }";
const REPORTS: &str = "tool = 'report'\ninput = { steps = 2 }";
const MERGES: &str = "tool = 'remember'\ninput = { key = 'a', value = 2 }\nstate = { a = 1 }";
const PRINTS: &str = "tool = 'print'\ninput = { text = 'for the author' }";
const ASKS: &str = "tool = 'ask_question'\ninput = { prompt = 'Which?', choices = ['this', 'that'], free_text = true }";

const TIMED_OUT: &str = "error-json: {\n  \"code\": \"timeout\",\n  \"message\": \"The tool did not end within 100 ms (limit `deadline-ms`) and was stopped; what it did until then may have taken effect. Try it with a smaller input.\"\n}";

const RESULTS: &[Row] = &[
    (TEXT, "text = 'one two'", &[]),
    (
        TEXT,
        "text = 'one'",
        &[["result", "text: one", "text: one two"]],
    ),
    (
        TEXT,
        "json = 'one two'",
        &[["result", "json: \"one two\"", "text: one two"]],
    ),
    (
        TEXT,
        "error-text = 'one two'",
        &[["result", "error-text: one two", "text: one two"]],
    ),
    (
        TEXT,
        "content = [{ text = 'one two' }]",
        &[[
            "result",
            "content: [\n  {\n    \"text\": \"one two\"\n  }\n]",
            "text: one two",
        ]],
    ),
    (
        TEXT,
        "denied = true",
        &[["result", "execution-denied", "text: one two"]],
    ),
    (
        TEXT,
        "code = 'trap'",
        &[["result", "an abnormal end: trap", "text: one two"]],
    ),
    (TEXT, "variant = 'text'", &[]),
    (
        TEXT,
        "variant = 'json'",
        &[["result", "json", "text: one two"]],
    ),
    (
        JSON,
        "json-text = '{\"f\": 1, \"n\": 18446744073709551615}'",
        &[],
    ),
    (
        JSON,
        "json-text = '{\"f\": 1.5, \"n\": 18446744073709551614}'",
        &[[
            "result",
            "json: {\n  \"f\": 1.5,\n  \"n\": 18446744073709551614\n}",
            "json: {\n  \"f\": 1.0,\n  \"n\": 18446744073709551615\n}",
        ]],
    ),
    (ERROR, "error-text = 'no'", &[]),
    (
        ERROR,
        "error-text = 'yes'",
        &[["result", "error-text: yes", "error-text: no"]],
    ),
    (
        ERROR,
        "text = 'no'",
        &[["result", "text: no", "error-text: no"]],
    ),
    (ERROR_JSON, "error-json = { a = [1] }", &[]),
    (ERROR_JSON, "error-json-text = '{\"a\": [1.0]}'", &[]),
    (
        ERROR_JSON,
        "error-json = { a = [] }",
        &[[
            "result",
            "error-json: {\n  \"a\": []\n}",
            "error-json: {\n  \"a\": [\n    1\n  ]\n}",
        ]],
    ),
    (DENIED, "denied = 'not now'", &[]),
    (DENIED, "denied = true", &[]),
    (
        DENIED,
        "denied = 'never'",
        &[[
            "result",
            "execution-denied: never",
            "execution-denied: not now",
        ]],
    ),
    (
        DENIED,
        "denied-without-reason = true",
        &[[
            "result",
            "execution-denied without a reason",
            "execution-denied: not now",
        ]],
    ),
    (DENIED_SILENTLY, "denied-without-reason = true", &[]),
    (DENIED_SILENTLY, "denied = true", &[]),
    (
        DENIED_SILENTLY,
        "denied = 'never'",
        &[[
            "result",
            "execution-denied: never",
            "execution-denied without a reason",
        ]],
    ),
    (ENDLESS, "code = 'timeout'\nmatches = '100 ms'", &[]),
    (ENDLESS, "code = ['trap', 'timeout']", &[]),
    (
        ENDLESS,
        "code = ['trap', 'out-of-memory']",
        &[[
            "result",
            "an abnormal end: trap or out-of-memory",
            TIMED_OUT,
        ]],
    ),
    ("tool = 'nothing'", "code = 'unknown-tool'", &[]),
    ("tool = 'give_text'", "code = 'invalid-input'", &[]),
];

const PARTS: &[Row] = &[
    (
        CONTENT,
        "content = [{ text = 'before' }, { media-type = 'image/png', filename = 'dot.png', width = 1, height = 1, \
         size = 70 }, { text = 'between ☃' }, { media-type = 'text/plain', text-data = 'inline' }, { text = \
         '[text/html, at https://example.com/page; not fetched because this tool may not reach that address]' }]",
        &[],
    ),
    (IMAGE, "content = [{ media-type = 'image/png' }]", &[]),
    (
        IMAGE,
        "content = [{ media-type = 'image/png', sha256 = '6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0' }]",
        &[],
    ),
    (
        IMAGE,
        "content = [{ media-type = 'image/gif', filename = 'dot.png', width = 2, height = 1 }]",
        &[[
            "result",
            "[\n  {\n    \"media-type\": \"image/gif\",\n    \"filename\": \"dot.png\",\n    \"width\": 2,\n    \"height\": 1\n  }\n]",
            "[\n  {\n    \"media-type\": \"image/png\",\n    \"width\": 1,\n    \"height\": 1\n  }\n]",
        ]],
    ),
    (
        IMAGE,
        "content = [{ media-type = 'image/png', url = 'https://example.com' }]",
        &[[
            "result",
            "[\n  {\n    \"media-type\": \"image/png\",\n    \"url\": \"https://example.com\"\n  }\n]",
            "[\n  {\n    \"media-type\": \"image/png\"\n  }\n]",
        ]],
    ),
    (
        IMAGE,
        "content = []",
        &[[
            "result",
            "[]",
            "[\n  {\n    \"media-type\": \"image/png\",\n    \"size\": 70,\n    \"sha256\": \"6b7fa434f92a8b80aab02d9bf1a12e49ffcae424e4013a1c4f68b67e3d2bbcd0\"\n  }\n]",
        ]],
    ),
    (
        "tool = 'give_file'\ninput = { size = 3 }",
        "content = [{ media-type = 'application/octet-stream', filename = 'data.bin', base64 = 'AAEC' }]",
        &[],
    ),
    (
        "tool = 'give_file'\ninput = { size = 3 }",
        "content = [{ media-type = 'application/octet-stream', filename = 'data.bin', base64 = 'AAAA', width = 1 }]",
        &[[
            "result",
            "[\n  {\n    \"media-type\": \"application/octet-stream\",\n    \"filename\": \"data.bin\",\n    \"base64\": \"AAAA\",\n    \"width\": 1\n  }\n]",
            "[\n  {\n    \"media-type\": \"application/octet-stream\",\n    \"filename\": \"data.bin\",\n    \"base64\": \"AAEC\"\n  }\n]",
        ]],
    ),
];

const ASSERTIONS: &[Row] = &[
    (TEXT, "variant = 'text'\nmatches = '^one'", &[]),
    (
        TEXT,
        "variant = 'text'\nmatches = '^two'",
        &[["matches", "/^two/", "one two"]],
    ),
    (
        CONTENT,
        "variant = 'content'\nmatches = '^before\\nbetween'",
        &[],
    ),
    (
        JSON,
        "variant = 'json'\nmatches = '\"f\":1.0'\nat = { '/n' = 1, '/f' = 1, '/none' = 0 }",
        &[
            ["at /n", "1", "18446744073709551615"],
            [
                "at /none",
                "0",
                "nothing there; json: {\n  \"f\": 1.0,\n  \"n\": 18446744073709551615\n}",
            ],
        ],
    ),
    (
        TEXT,
        "text = 'one two'\nat = { '' = 'one two' }",
        &[["at ", "\"one two\"", "nothing there; text: one two"]],
    ),
    (
        ERROR_JSON,
        "variant = 'error-json'\nat = { '/a/0' = 1, '' = { a = [1] } }",
        &[],
    ),
    (
        REPORTS,
        "text = 'done'\nprogress = [{ message = 'step 1 of 2', fraction = 0.5 }, { message = 'step 2 of 2', fraction = 1.0 }]",
        &[],
    ),
    (
        REPORTS,
        "text = 'done'\nprogress = []",
        &[[
            "progress",
            "[]",
            "[\n  {\n    \"fraction\": 0.5,\n    \"message\": \"step 1 of 2\"\n  },\n  {\n    \"fraction\": 1.0,\n    \"message\": \"step 2 of 2\"\n  }\n]",
        ]],
    ),
    (MERGES, "json = { a = 1 }\nmerges = [{ a = 2 }]", &[]),
    (
        MERGES,
        "json = { a = 1 }\nmerges = []",
        &[["merges", "[]", "[\n  {\n    \"a\": 2\n  }\n]"]],
    ),
    (PRINTS, "text = 'printed'\nstderr = 'for the author'", &[]),
    (
        TEXT,
        "text = 'one two'\nstderr = 'x'",
        &[["stderr", "/x/", ""]],
    ),
    (
        TEXT,
        "text = 'one two'\nmax-ms = 60000\nmax-memory-bytes = 100000000",
        &[],
    ),
];

const ANSWERS: &[Row] = &[
    (ASKS, "text = 'unavailable'\nasked = []", &[]),
    (
        "answers = ['mine']",
        "text = 'text: mine'\nasked = ['Which?']",
        &[],
    ),
    (
        "answers = [1]",
        "text = 'choice: 1'\nasked = ['What?']",
        &[["asked", "[\n  \"What?\"\n]", "[\n  \"Which?\"\n]"]],
    ),
    (
        "answers = [{ cancelled = true }]",
        "text = 'cancelled'",
        &[],
    ),
    (
        "answers = []",
        "text = 'cancelled'",
        &[[
            "answers",
            "one for each question",
            "it asked `Which?`: the case has no answer to it; add one to `answers`",
        ]],
    ),
    (
        "answers = [2]",
        "text = 'choice: 2'",
        &[[
            "answers",
            "one for each question",
            "it asked `Which?`: invalid choice 2; the question has 2 choices, counted from 0",
        ]],
    ),
    (
        "answers = ['mine', 'another']",
        "text = 'text: mine'",
        &[[
            "answers",
            "one for each question",
            "it asked 1 times, but the case has 1 more answers",
        ]],
    ),
];

#[tokio::test]
async fn each_expectation_holds_or_reports_the_actual() {
    let rows: Vec<Row> = [RESULTS, PARTS, ASSERTIONS, ANSWERS].concat();
    let cases = rows.iter().map(|(call, expect, _)| {
        let question = if call.starts_with("answers") {
            ASKS
        } else {
            ""
        };
        format!("[[case]]\nname = 'a row'\n{question}\n{call}\n[case.expect]\n{expect}\n")
    });
    let cases: String = cases.collect();
    let report = TestDir::new().run(&cases, of(CONFORMANCE)).await.unwrap();
    let told: Vec<_> = mismatches(&report)
        .into_iter()
        .map(|(_, told)| told)
        .collect();
    for ((call, expect, expected), told) in rows.iter().zip(&told) {
        assert_eq!(told, expected, "{call}\n{expect}");
    }
    assert_eq!(told.len(), rows.len());
    let failing = rows.iter().filter(|(_, _, told)| !told.is_empty());
    assert_eq!(report.failed(), failing.count());
}

/// Usage differs between runs, so only the expected side is compared exactly.
#[tokio::test]
async fn call_usage_is_bounded() {
    let cases = format!(
        "[[case]]\nname = 'short'\n{ENDLESS}\nexpect = {{ code = 'timeout', max-ms = 99 }}\n\
         [[case]]\nname = 'small'\n{TEXT}\nexpect = {{ text = 'one two', max-memory-bytes = 65535 }}\n"
    );
    let report = TestDir::new().run(&cases, of(CONFORMANCE)).await.unwrap();
    let told: Vec<(&str, &str)> = report
        .cases
        .iter()
        .flat_map(|case| &case.mismatches)
        .map(|told| (told.what.as_str(), told.expected.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("max-ms", "at most 99 ms"),
            ("max-memory-bytes", "at most 65535 bytes"),
        ]
    );
}

#[tokio::test]
async fn each_concurrent_call_must_meet_expectations() {
    let cases = "
        [[case]]
        name = 'nothing is shared'
        tool = 'count'
        calls = 5
        expect.json = { count = 1 }
        [[case]]
        name = 'each has an id of its own'
        tool = 'who'
        calls = 2
        expect.json = { id = 'call-1', name = 'who', idempotency_key = 'key-1' }
    ";
    let report = TestDir::new().run(cases, of(CONFORMANCE)).await.unwrap();
    let shown = |number: u32| {
        format!(
            "json: {{\n  \"id\": \"call-{number}\",\n  \"idempotency_key\": \"key-{number}\",\n  \"name\": \"who\"\n}}"
        )
    };
    let (one, two) = (shown(1), shown(2));
    assert_eq!(
        mismatches(&report),
        [
            ("nothing is shared", vec![]),
            (
                "each has an id of its own",
                vec![["result of call 2 of 2", one.as_str(), two.as_str()]]
            ),
        ]
    );
}

#[tokio::test]
async fn coverage_is_reported_for_a_complete_run() {
    let dir = TestDir::new();
    dir.write("tests/fixtures/a.txt", "a");
    dir.write("tests/unused/b.txt", "b");
    let cases = "
        [[grants.dir]]
        host = 'fixtures'
        [[grants.dir]]
        host = 'unused'
        guest = '/mnt/unused'
        [[grants.http]]
        host = 'api.example'
        port = 8443
        [[case]]
        name = 'reads'
        tool = 'read_file'
        input = { path = 'a.txt' }
        expect.text = 'a'
    ";
    let report = dir.run(cases, of("builtin:files")).await.unwrap();
    let root = dir.root.path().canonicalize().unwrap();
    let grant = |grant: String, used| GrantUse {
        file: "tests/cases.toml".to_owned(),
        grant,
        used,
    };
    let directory = |name: &str, guest: &str| {
        format!("the directory {}/tests/{name} as {guest}", root.display())
    };
    assert_eq!(mismatches(&report), [("reads", vec![])]);
    assert_eq!(
        report.coverage,
        Some(Coverage {
            grants: vec![
                grant("requests to api.example:8443".to_owned(), false),
                grant(directory("fixtures", "/workspace"), true),
                grant(directory("unused", "/mnt/unused"), false),
            ],
            uncalled: ["list_directory", "search_files", "write_file", "edit_file"]
                .map(str::to_owned)
                .to_vec(),
        })
    );

    let filtered = TestPlan {
        filter: Some("read_f".to_owned()),
        ..of("builtin:files")
    };
    let report = dir.run(cases, filtered).await.unwrap();
    assert_eq!((report.cases.len(), report.coverage), (1, None));
}
