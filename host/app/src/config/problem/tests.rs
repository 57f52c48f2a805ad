use super::super::{Config, ConfigError, Environment, Overrides, parse};
use pretty_assertions::assert_eq;
use std::path::Path;

/// Key, value, line, column, excerpt and marked part of each problem.
type Row<'a> = (
    Option<&'a str>,
    Option<&'a str>,
    usize,
    usize,
    &'a str,
    &'a str,
);

fn error_of(toml: &str) -> ConfigError {
    let environment = Environment {
        cwd: "/nowhere".into(),
        variables: [("HOME".to_owned(), "/home/ann".to_owned())].into(),
    };
    let file = Path::new("agent.toml");
    let resolved = parse(file, toml)
        .and_then(|raw| Config::resolve(raw, None, &Overrides::default(), &environment));
    resolved.unwrap_err().in_file(file, toml)
}

fn rows(error: &ConfigError) -> Vec<Row<'_>> {
    let problems = error.problems().iter();
    problems
        .map(|problem| {
            let span = problem.span.as_ref().unwrap();
            let excerpt = span.excerpt.as_ref().unwrap();
            (
                problem.key.as_deref(),
                problem.value.as_deref(),
                excerpt.line,
                excerpt.column,
                excerpt.text.as_str(),
                excerpt.text.get(excerpt.mark.clone()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn problem_key_leads_to_its_value_in_the_text() {
    for (toml, expected) in [
        (
            "max-turns = 0",
            (Some("max-turns"), Some("0"), 1, 13, "max-turns = 0", "0"),
        ),
        (
            "\n[session]\nkeep = { days = 1, bytes = 7 }",
            (
                Some("session.keep.bytes"),
                Some("7"),
                3,
                28,
                "keep = . .... . .. ..... . 7...",
                "7",
            ),
        ),
        (
            "[context]\ncompact-at = 5 # low",
            (Some("context"), None, 1, 1, "[context]", "[context]"),
        ),
        (
            "[prices.\"a:*\"]\ninput = 1\noutput = -1",
            (
                Some("prices.\"a:*\".output"),
                Some("-1"),
                3,
                10,
                "output = -1",
                "-1",
            ),
        ),
        (
            "[limits]\ndeadline-ms = 0",
            (
                Some("limits.deadline-ms"),
                Some("0"),
                2,
                15,
                "deadline-ms = 0",
                "0",
            ),
        ),
        (
            "[[tool]]\nname = \"a\"\ncomponent = \"builtin:files\"\n\n[[tool]]\nname = \"a b\"\ncomponent = \"x\"",
            (
                Some("tool[1].name"),
                Some("a b"),
                6,
                8,
                "name = \"a b\"",
                "\"a b\"",
            ),
        ),
        (
            "[[tool]]\nname = \"a\"\ncomponent = \"builtin:files\"\n[tool.limits]\noutput-bytes = 0",
            (
                Some("tool[0].limits.output-bytes"),
                Some("0"),
                5,
                16,
                "output-bytes = 0",
                "0",
            ),
        ),
        (
            "[[tool]]\nname = \"a\"\ncomponent = \"builtin:files\"\napprovals = { x = [] }",
            (
                Some("tool[0].approvals.x"),
                Some("[]"),
                4,
                19,
                "approvals = . . . []...",
                "[]",
            ),
        ),
        (
            "[[grants.dir]]\nhost = \"gone\"",
            (
                Some("grants.dir[0].host"),
                Some("gone"),
                2,
                8,
                "host = \"gone\"",
                "\"gone\"",
            ),
        ),
        (
            "[grants]\nsecrets = [\"x\"]",
            (
                Some("grants.secrets[0]"),
                Some("x"),
                2,
                12,
                "secrets = .\"x\"...",
                "\"x\"",
            ),
        ),
        (
            "fallback = [\"ollama:m\", \"nowhere:x\"]",
            (
                Some("fallback[1]"),
                Some("nowhere:x"),
                1,
                25,
                "fallback = ............ \"nowhere:x\"...",
                "\"nowhere:x\"",
            ),
        ),
        // Problems of the form.
        (
            "\n[limits]\ndeadline_ms = 5",
            (None, None, 3, 1, "deadline_ms...", "deadline_ms"),
        ),
        (
            "max-turns = \"five\"",
            (
                None,
                Some("\"five\""),
                1,
                13,
                "max-turns = \"five\"",
                "\"five\"",
            ),
        ),
    ] {
        assert_eq!(rows(&error_of(toml)), [expected], "{toml}");
    }
}

#[test]
fn problems_of_independent_keys_are_all_reported() {
    let error = error_of(
        "max-turns = 0\napproval-expires-seconds = 0\n[[secret]]\nname = \"a b\"\nfrom = \"env:A\"\n\
         audience = \"https://a.example\"\n[session]\nlock-timeout-ms = 0\n",
    );
    let keys: Vec<_> = rows(&error).into_iter().map(|row| row.0.unwrap()).collect();
    assert_eq!(
        keys,
        [
            "secret[0].name",
            "approval-expires-seconds",
            "session.lock-timeout-ms",
            "max-turns"
        ]
    );
    assert!(error.to_string().ends_with(" (and 3 more problems)"));
}

#[test]
fn problem_of_a_step_hides_only_what_follows_from_it() {
    let secret = "[[secret]]\nname = \"a b\"\nfrom = \"env:A\"\naudience = \"https://a.example\"\n";
    for (toml, expected) in [
        // Without the secret, the grant of it is not a problem of its own.
        (
            format!("{secret}[grants]\nsecrets = [\"a b\"]\n[context]\ncompact-at = 101\n"),
            ["secret[0].name", "context"].as_slice(),
        ),
        (
            "model = \"a\"\n[[mcp]]\nname = \"m\"\n[limits]\nmemory-bytes = 0\n[budgets]\nusd = 0\n"
                .to_owned(),
            &["model", "limits.memory-bytes", "budgets.usd"],
        ),
        (
            "max-turns = 0\n[[tool]]\nname = \"a b\"\ncomponent = \"x\"\n".to_owned(),
            &["max-turns", "tool[0].name"],
        ),
    ] {
        let error = error_of(&toml);
        let keys: Vec<_> = rows(&error).into_iter().map(|row| row.0.unwrap()).collect();
        assert_eq!(keys, expected, "{toml}");
    }
}

/// Values that may be secrets are in no field of the problem, and so in no output.
#[test]
fn secret_in_the_file_is_not_in_its_problem() {
    for toml in [
        "[openai]\napi-key = \"sk-1234\"",
        "[openai]\napi_key = \"sk-1234\"",
        "[openai]\napi-key = sk-1234",
        "[openai]\napi-key = [\"sk-1234\"]",
        "openai = { api-key = \"sk-1234\", retry = 1 }",
        "openai = { api-key = \"sk-1234\", retries = -1 }",
        "[[secret]]\nname = \"a\"\nfrom = \"sk-1234\"\naudience = \"https://a.example\"",
        "[[mcp]]\nname = \"a\"\nurl = \"https://a.example\"\ntoken = \"sk-1234\"",
        "[[mcp]]\nname = \"a\"\nurl = \"https://me:sk-1234@a.example\"",
        "[[mcp]]\nname = \"a\"\ncommand = [\"x\\u0000\", \"sk-1234\"]",
        "[[grants.env]]\nname = \"\"\nvalue = \"sk-1234\"",
    ] {
        let error = error_of(toml);
        assert!(
            !format!("{error} {error:?}").contains("sk-1234"),
            "{error:?}"
        );
    }
}

#[test]
fn excerpt_is_bounded_and_harmless() {
    let long = format!("model = \"\u{1b}[31m\u{202e}{}", "x".repeat(1_000));
    for toml in [format!("{long}\""), long, "\u{feff}é = 1\n".to_owned()] {
        let error = error_of(&toml);
        let row = rows(&error)[0];
        assert!(row.4.chars().count() < 400, "{row:?}");
        assert!(!row.4.contains(['\u{1b}', '\u{202e}']), "{row:?}");
        assert!(row.2 == 1 && row.3 >= 1, "{row:?}");
    }
}
