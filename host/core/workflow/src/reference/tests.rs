use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

#[test]
fn reference_of_every_form_is_parsed_and_printed() {
    let cases = [
        "a.text",
        "a-1_B.output",
        "a.output.items.0.name",
        "a.artifacts.k",
        "a.artifacts['report.md'].x",
        r"a.artifacts['it\'s \\ two\nlines']",
        "1.error",
        "a.error.code",
        "loop.item",
        "loop.item.name",
        "loop.index",
        "loop.total",
        "loop.prior_results.0",
        "run.message",
        "state.notes.0",
        "not.text",
    ];
    for text in cases {
        let reference: Reference = text.parse().unwrap();
        assert_eq!(reference.to_string(), text);
    }
}

#[test]
fn reference_that_is_malformed_names_what_was_expected() {
    let cases = [
        ("plan", "a reference", 5),
        ("", "a reference", 1),
        ("plan.", "`text`, `output`", 6),
        ("plan.txt", "`text`, `output`", 6),
        ("plan.text.length", "the end", 10),
        ("plan.artifacts", "a key, as in", 15),
        ("plan.artifacts.", "a key or an index", 16),
        ("plan.artifacts['k", "a closing quote", 18),
        (r"plan.artifacts['\x']", "one of the escapes", 18),
        ("plan.artifacts['k'", "a quoted key and `]`", 19),
        ("loop.idx", "`item`, `index`", 6),
        ("run.text", "`message`", 5),
        ("state.", "a key of the shared state", 7),
        ("pl an.text", "a reference", 3),
        ("é.text", "a reference", 1),
    ];
    for (text, expected, column) in cases {
        let error = text.parse::<Reference>().unwrap_err();
        assert!(error.expected.contains(expected), "{text}: {error}");
        assert_eq!(error.column, column, "{text}: {error}");
    }
}

#[test]
fn expression_without_quotes_is_never_a_literal() {
    let literal = |text: &str| {
        text.parse::<Expression>()
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        literal(r"'it\'s'"),
        Ok(Expression::Literal("it's".to_owned()))
    );
    assert_eq!(
        literal("\"a.text\""),
        Ok(Expression::Literal("a.text".to_owned()))
    );
    for text in ["formal", "plan", "5", "'a' 'b'", "'open"] {
        assert!(literal(text).is_err(), "{text}");
    }
}

#[test]
fn path_beyond_its_bound_is_refused() {
    let reference = |steps: usize| format!("a.output{}", ".x".repeat(steps)).parse::<Reference>();
    assert!(reference(MAX_PATH).is_ok());
    assert!(reference(MAX_PATH + 1).is_err());
    assert!(reference(100_000).is_err());
}

proptest! {
    #[test]
    fn reference_round_trips_fuzz(keys in prop::collection::vec(".{0,8}", 1..5)) {
        let reference = Reference::Node {
            node: "n".to_owned(),
            field: Field::Artifacts,
            path: keys,
        };
        prop_assert_eq!(reference.to_string().parse::<Reference>(), Ok(reference));
    }

    #[test]
    fn expression_of_any_text_does_not_panic_fuzz(text in ".{0,40}") {
        let _ = text.parse::<Expression>();
    }
}
