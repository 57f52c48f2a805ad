use pretty_assertions::assert_eq;
use regex_lite::Regex;

use super::{Literal, required};

#[test]
fn longest_text_of_an_expression_is_found() {
    let cases = [
        ("needle", Some(("needle", true))),
        ("é", Some(("é", true))),
        (r"a\.b", Some(("a.b", false))),
        ("^fn main$", Some(("fn main", false))),
        (r"fn \w+_test\(", Some(("_test(", false))),
        ("ab*cd", Some(("cd", false))),
        ("ab?cd+e", Some(("cd", false))),
        ("abc{0,2}d", Some(("ab", false))),
        ("(foo|bar)baz", Some(("baz", false))),
        (r"[\]ab]cd", Some(("cd", false))),
        ("[]a]b", Some(("b", false))),
        ("[^]a]b", Some(("b", false))),
        ("a|b", None),
        ("(?i)needle", None),
        (r"\x41b", None),
        (r"\bword\b", None),
        ("[a-z]+", None),
        ("a*", None),
        ("", None),
    ];
    for (pattern, expected) in cases {
        let expected = expected.map(|(text, is_whole): (&str, bool)| Literal {
            text: text.to_owned(),
            is_whole,
        });
        assert_eq!(required(pattern), expected, "{pattern}");
    }
}

/// Random expressions and lines: what matches has the text in it.
#[test]
fn every_match_has_the_text() {
    let mut state = 5_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    const PARTS: [&str; 22] = [
        "a", "b", "c", "é", "a", "b", ".", "*", "+", "?", "(", ")", "[", "]", "|", "^", "$",
        "{0,1}", "{2}", r"\w", r"\.", "[^a]",
    ];
    let mut matched = 0;
    for _ in 0..30_000 {
        let pattern: String = (0..random(8)).map(|_| PARTS[random(PARTS.len())]).collect();
        let (Ok(regex), Some(literal)) = (Regex::new(&pattern), required(&pattern)) else {
            continue;
        };
        for _ in 0..10 {
            let line: String = (0..random(8))
                .map(|_| ['a', 'b', 'c', 'é', '.'][random(5)])
                .collect();
            if regex.is_match(&line) {
                matched += 1;
                assert!(line.contains(&literal.text), "{pattern} {line}");
            }
            if literal.is_whole {
                assert_eq!(regex.is_match(&line), line.contains(&literal.text));
            }
        }
    }
    assert!(matched > 1_000, "{matched}");
}
