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
        // componentize-py 0.25.1 without our SDK.
        (
            "note\nTraceback (most recent call last):\n  File \"/0/app.py\", line 5, in boom\n    raise x\n    ^^^^^^^\nValueError: the wheel\ncame off\n\nthread '<unnamed>' (1) panicked at runtime/src/lib.rs:1280:25:\nPython function threw an unexpected exception\nnote: run with `RUST_BACKTRACE=1`",
            Some("ValueError: the wheel"),
        ),
        (
            "Traceback (most recent call last):\n  File \"/0/app.py\", line 1\nValueError: a\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"/0/app.py\", line 2\n  [Previous line repeated 997 more times]\nRuntimeError: b\n\nthread '<unnamed>' (1) panicked at runtime/src/lib.rs:1280:25:\nPython function threw an unexpected exception\n",
            Some("RuntimeError: b"),
        ),
        // A traceback that was handled is not why it crashed.
        (
            "Traceback (most recent call last):\n  File \"/0/app.py\", line 1\nValueError: a\n\nthread '<unnamed>' (1) panicked at runtime/src/lib.rs:1494:89:\nno string\n",
            Some("no string"),
        ),
        (
            "thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1280:25:\nPython function threw an unexpected exception\n",
            Some("Python function threw an unexpected exception"),
        ),
        // componentize-js 0.23.0 without our SDK.
        (
            "words\nthe wheel came off\nStack:\n  boom@source.js:9:25\n  export_boom@/tmp/a/initializer.js:191:15\n\nRedirecting call to abort() to mozalloc_abort\n\n",
            Some("the wheel came off"),
        ),
        (
            "outer\nStack:\n  boom@source.js:17:25\n\nCaused by: inner\nStack:\n  boom@source.js:17:53\n\nRedirecting call to abort() to mozalloc_abort\n",
            Some("outer"),
        ),
        (
            "words\n\"text\"\nRedirecting call to abort() to mozalloc_abort\n",
            Some("\"text\""),
        ),
        (
            "handled\nStack:\n  f@source.js:1:1\n\n({a:1})\nRedirecting call to abort() to mozalloc_abort\n",
            Some("({a:1})"),
        ),
        ("Redirecting call to abort() to mozalloc_abort\n", None),
        // Our SDK tells the error, and then ends the engine with another.
        (
            "Uncaught TypeError: no\n    at run (tool.ts:5)\n\"the call ends here\"\nRedirecting call to abort() to mozalloc_abort\n",
            Some("TypeError: no"),
        ),
        (
            "Assertion failed: (x > 0) (tool.c: run: 3)\n",
            Some("(x > 0)"),
        ),
        ("Assertion failed: cut", Some("cut")),
        (
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: no\n",
            Some("terminating due to uncaught exception of type std::runtime_error: no"),
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
