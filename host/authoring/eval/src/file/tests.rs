use super::*;
use pretty_assertions::assert_eq;

fn check(text: &str) -> Result<Evaluation, Vec<String>> {
    let form: EvaluationForm = toml::from_str(text).unwrap();
    let errors = |errors: Vec<KeyError>| errors.iter().map(ToString::to_string).collect();
    form.check().map_err(errors)
}

#[test]
fn evaluation_with_every_key_is_read() {
    let evaluation = check(
        r#"
        runs = 3
        models = ["script:tour", "openai:m"]
        pass = 0.5
        [[case]]
        name = "sum"
        prompt = "Add them."
        files = "data"
        runs = 5
        pass = 1
        [case.expect]
        answer = "^4"
        answer-schema = { type = "integer" }
        no-denial = true
        max-turns = 4
        max-tool-calls = 2
        max-tokens = 1000
        max-usd = 0.05
        max-seconds = 30
        exit = 6
        [[case.expect.call]]
        tool = "read_file"
        input = { path = "a.txt" }
        result = "two"
        times = 1
        [[case]]
        name = "none"
        prompt = "Hi."
        expect = { exit = 0 }
        "#,
    )
    .unwrap();
    assert_eq!(evaluation.models, ["script:tour", "openai:m"]);
    let [sum, none] = evaluation.cases.as_slice() else {
        panic!("two cases");
    };
    assert_eq!(
        (sum.name.as_str(), sum.prompt.as_str(), sum.runs, sum.pass),
        ("sum", "Add them.", 5, 1.0)
    );
    assert_eq!(sum.files, Some(PathBuf::from("data")));
    let expect = &sum.expect;
    assert_eq!(expect.answer.as_ref().map(Regex::as_str), Some("^4"));
    let schema = expect.answer_schema.as_ref().map(AnswerSchema::schema);
    assert_eq!(schema, Some(&serde_json::json!({ "type": "integer" })));
    assert_eq!(
        (
            expect.no_denial,
            expect.max_turns,
            expect.max_tool_calls,
            expect.max_tokens
        ),
        (true, Some(4), Some(2), Some(1000))
    );
    assert_eq!(
        (expect.max_cost_micros, expect.max_seconds, expect.exit),
        (Some(50_000), Some(30), 6)
    );
    let [call] = expect.calls.as_slice() else {
        panic!("one call");
    };
    assert_eq!(
        (
            call.tool.as_str(),
            call.times,
            call.result.as_ref().map(Regex::as_str)
        ),
        ("read_file", Some(1), Some("two"))
    );
    assert_eq!(call.input.get("path"), Some(&Value::from("a.txt")));
    assert_eq!((none.runs, none.pass, none.expect.exit), (3, 0.5, 0));
}

#[test]
fn unusable_values_are_named_with_their_keys() {
    let case =
        |expect: &str| format!("[[case]]\nname = \"a\"\nprompt = \"p\"\nexpect = {{ {expect} }}");
    let named =
        |name: &str| format!("[[case]]\nname = \"{name}\"\nprompt = \"p\"\nexpect.exit = 0\n");
    let long = "x".repeat(MAX_PROMPT_BYTES + 1);
    let prompt = format!("[[case]]\nname = \"a\"\nprompt = \"{long}\"\nexpect.exit = 0");
    let twice = named("a").repeat(2);
    for (text, expected) in [
        (String::new(), "case: there are no cases"),
        (case(""), "case[0]: it expects nothing"),
        (case("no-denial = false"), "case[0]: it expects nothing"),
        (
            case("answer = \"(\""),
            "case[0].expect.answer: invalid pattern (unclosed group)",
        ),
        (
            case("answer = \"a{1000}{1000}{1000}\""),
            "case[0].expect.answer: the pattern is too large",
        ),
        (
            case("answer-schema = { type = \"x\" }"),
            "case[0].expect.answer-schema: ",
        ),
        (
            case("max-usd = -1.0"),
            "case[0].expect.max-usd: it is not an amount",
        ),
        (
            case("max-usd = nan"),
            "case[0].expect.max-usd: it is not an amount",
        ),
        (
            case("max-seconds = 0"),
            "case[0].expect.max-seconds: it is not between",
        ),
        (
            case("call = [{ tool = \"\" }]"),
            "case[0].expect.call[0].tool: it is empty",
        ),
        (
            case("call = [{ tool = \"t\", result = \"[\" }]"),
            "case[0].expect.call[0].result: ",
        ),
        (named("a b"), "case[0].name: it is not a valid file name"),
        (named("../a"), "case[0].name: it is not a valid file name"),
        (named(""), "case[0].name: it is not a valid file name"),
        (twice, "case[1].name: another case has this name"),
        (prompt, "case[0].prompt: it is empty, `-`, too long"),
        (
            format!("runs = 0\n{}", named("a")),
            "runs: it is not between 1 and 100",
        ),
        (
            format!("runs = 101\n{}", named("a")),
            "runs: it is not between 1 and 100",
        ),
        (
            format!("pass = 1.5\n{}", named("a")),
            "pass: it is not a fraction",
        ),
        (
            format!("pass = nan\n{}", named("a")),
            "pass: it is not a fraction",
        ),
        (
            format!("models = [\"m\", \"m\"]\n{}", named("a")),
            "models: the model `m` occurs twice",
        ),
        (
            named("a").repeat(1_001),
            "case: there are more than 1000 cases",
        ),
    ] {
        let errors = check(&text).unwrap_err();
        assert!(errors[0].starts_with(expected), "{expected}: {errors:?}");
    }
}

#[test]
fn unknown_keys_are_refused() {
    for text in [
        "model = \"m\"",
        "[[case]]\nname = \"a\"\nprompt = \"p\"\nexpects = {}",
        "[[case]]\nname = \"a\"\nprompt = \"p\"\nexpect = { answers = \"a\" }",
        "[[case]]\nname = \"a\"\nprompt = \"p\"\nexpect.call = [{ tool = \"t\", args = {} }]",
    ] {
        let error = toml::from_str::<EvaluationForm>(text)
            .unwrap_err()
            .to_string();
        assert!(error.contains("unknown field"), "{error}");
    }
}
