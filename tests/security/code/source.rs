//! Scripts as text: bytes that end texts, halves of characters, and too much of it.

use super::{READ, check, env, is, run};

use super::End::{Coded, Error};

#[test]
fn hostile_source_is_bounded() {
    let most = format!("{}7", " ".repeat(262_143));
    let nested = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let functions = "()=>".repeat(60_000) + "1";
    check(
        &env(),
        READ,
        &[],
        &[
            (&most, is(7)),
            (&nested, Coded("stack-overflow")),
            (&functions, Coded("stack-overflow")),
            (
                "1\0",
                Error("the code has a zero byte, at byte 1; write it as \\0 in a text"),
            ),
            ("'a\\0b'", is("a\0b")),
            ("'\\ud800'", is("\u{fffd}")),
            ("'\u{1f600}'.charAt(0)", is("\u{fffd}")),
            ("'\\\\ud800'", is("\\ud800")),
            ("\u{feff}1", is(1)),
            ("#!shebang\n1", is(1)),
            ("1 <!-- 2", is(1)),
            ("'\u{2028}'", is("\u{2028}")),
            (
                "}",
                Error("SyntaxError: unexpected token in expression: '}'\n    at code.js:1:1"),
            ),
            // The end of the function that a script with `return` is put into.
            (
                "return 1 }; { 2",
                Error("SyntaxError: Unexpected token ';'\n    at code.js:1:31"),
            ),
        ],
    );
}

/// The schema bounds a script, and the refusal does not repeat it.
#[test]
fn long_source_is_no_input() {
    for code in [format!("{}7", " ".repeat(262_144)), "1;".repeat(512 * 1024)] {
        let refused = run(&env(), READ, &code, &[]);
        let beginning =
            "error: The arguments do not fit the tool's schema; the tool did not run. `/code`: ";
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
        assert!(refused.stderr.starts_with(beginning), "{refused:?}");
        assert!(refused.stderr.len() < 2_100, "{refused:?}");
    }
}
