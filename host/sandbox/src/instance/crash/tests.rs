use super::message;
use pretty_assertions::assert_eq;

#[test]
fn message_of_every_runtime_is_found() {
    let cases = [
        ("", None),
        ("for the author\nError: no", None),
        ("panic: \n", None),
        (
            "\nthread '<unnamed>' (1) panicked at src/lib.rs:3:5:\nthe wheel came off\nnote: run with `RUST_BACKTRACE=1`",
            Some("the wheel came off"),
        ),
        ("thread 'main' panicked at src/lib.rs:3:5:", None),
        (
            "panic: the wheel came off\n\ngoroutine 1 [running]:\nmain.crash(...)\n\t/tool.go:3",
            Some("the wheel came off"),
        ),
        (
            "fatal error: all goroutines are asleep - deadlock!\n",
            Some("all goroutines are asleep - deadlock!"),
        ),
        ("words\npanic: no memory is left", Some("no memory is left")),
        (
            "Traceback (most recent call last):\n  File \"tool.py\", line 3, in crash\nValueError: no\nUncaught ValueError: no\n",
            Some("ValueError: no"),
        ),
        (
            "Uncaught TypeError: no\n    at run (tool.ts:5)",
            Some("TypeError: no"),
        ),
        (
            "panic: caught and told\nwork\nUncaught Error: ended",
            Some("Error: ended"),
        ),
    ];
    for (stderr, expected) in cases {
        assert_eq!(message(stderr), expected, "{stderr:?}");
    }
}
