use pretty_assertions::assert_eq;

use super::describe;

#[test]
fn nearest_place_is_named_with_the_first_difference() {
    let code = "fn one() {\n\tlet x = 1;\n}\n\nfn two() {\n\tlet y = call(a, b);\n\treturn y;\n}\n";
    let cases = [
        // Spaces for a tab.
        (
            code,
            "fn two() {\n    let y = call(a, b);\n    return y;\n}\n",
            "lines 5 to 8:\nfn two() {\n\tlet y = call(a, b);\n\treturn y;\n}\n\
             The first difference is in line 6, column 1: the file has a tab, `old` has a space",
        ),
        // A part of a line, wrong at its end, in the middle and at its start.
        (
            code,
            "y = call(a, c)",
            "line 6:\n\tlet y = call(a, b);\n\
             The first difference is in line 6, column 18: the file has `b`, `old` has `c`",
        ),
        (
            code,
            "et y = cell(a, b);",
            "line 6:\n\tlet y = call(a, b);\n\
             The first difference is in line 6, column 11: the file has `a`, `old` has `e`",
        ),
        (
            code,
            "set y = call(a, b);",
            "line 6:\n\tlet y = call(a, b);\n\
             The first difference is in line 6, column 2: the file has `l`, `old` has `s`",
        ),
        // White space and quotation marks that look alike.
        (
            "a\u{a0}wide gap\n",
            "a wide gap",
            "line 1:\na\u{a0}wide gap\n\
             The first difference is in line 1, column 2: the file has U+00A0, `old` has a space",
        ),
        (
            "say \u{201c}hello\u{201d}\n",
            "say \"hello\"",
            "line 1:\nsay \u{201c}hello\u{201d}\n\
             The first difference is in line 1, column 5: the file has `\u{201c}` (U+201C), `old` has `\"`",
        ),
        // White space at the end of a line, and the end of the file.
        (
            "one two\nthree\n",
            "one two \nthree\n",
            "lines 1 to 2:\none two\nthree\n\
             The first difference is in line 1, column 8: the file has a line end, `old` has a space",
        ),
        (
            "one\ntwo",
            "two\nthree",
            "line 2:\ntwo\n\
             The first difference is in line 2, column 4: the file has its end, `old` has a line end",
        ),
    ];
    for (text, old, expected) in cases {
        let expected = format!("the nearest place is {expected}");
        assert_eq!(describe(text, old), Some(expected), "{old:?}");
    }
}

#[test]
fn text_without_a_near_place_has_none() {
    for (text, old) in [
        ("a", "b"),
        ("", "x"),
        ("abc", "xyz"),
        ("ab\n", "ab!"),
        ("é", "ü"),
    ] {
        assert_eq!(describe(text, old), None, "{text:?} {old:?}");
    }
}

#[test]
fn shown_place_is_bounded() {
    let long = format!("{}needle one{}\n", "é".repeat(500), "x".repeat(500));
    assert_eq!(
        describe(&long, "needle two"),
        Some(format!(
            "the nearest place is line 1:\n...{}needle one{}...\n\
             The first difference is in line 1, column 508: the file has `o`, `old` has `t`",
            "é".repeat(53),
            "x".repeat(97)
        ))
    );
    let text: String = (0..100).map(|number| format!("line {number}\n")).collect();
    let old = text.replace("line 40\n", "line forty\n");
    let described = describe(&text, &old).expect("a place");
    assert!(
        described.starts_with("the nearest place is lines 30 to 41:\nline 29\n")
            && described.ends_with(
                "line 40\nThe first difference is in line 41, column 6: the file has `4`, `old` has `f`"
            ),
        "{described}"
    );
}

#[test]
fn any_text_is_described_without_a_panic() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    for _ in 0..5_000 {
        let mut text = |length: usize| -> String {
            let all = ['a', 'b', 'é', '\n', ' ', '\t', '😀', '\r'];
            (0..random(length))
                .map(|_| all[random(all.len())])
                .collect()
        };
        let (text, old) = (text(40), text(12));
        if !old.is_empty() && !text.contains(&old) {
            describe(&text, &old);
        }
    }
}
