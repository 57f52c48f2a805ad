//! Promises, thenables and timers: a call ends with its script, whatever it left behind.

use super::{READ, check, env, is};
use serde_json::json;

use super::End::{Coded, Error, Noted};

#[test]
fn promises_that_nothing_settles_end() {
    let nothing = Error("Error: the code awaits a promise that nothing settles");
    let env = env();
    env.configure("[limits]\ndeadline-ms = 120000\n");
    check(
        &env,
        READ,
        &[],
        &[
            ("await new Promise(() => {})", nothing),
            (
                "new Promise(() => {})",
                Error("Error: the code awaits a promise that nothing settles"),
            ),
            (
                "await { then() {} }",
                Error("Error: the code awaits a promise that nothing settles"),
            ),
            ("({ then() {} })", is(json!({}))),
            ("await { then(done) { done('thenable') } }", is("thenable")),
            (
                "await { get then() { throw 'getter' } }",
                Error("thrown: \"getter\""),
            ),
            (
                "Promise.reject(new Error('late')); 1",
                Noted(
                    json!(1),
                    "a promise was rejected, and nothing awaited it: Error: late\n    at <eval> (code.js:1:20)",
                ),
            ),
            (
                "Promise.reject(new Error('late'))",
                Error("Error: late\n    at <eval> (code.js:1:20)"),
            ),
            (
                "setTimeout(() => { throw new Error('late') }, 5); 1",
                Error("Error: late\n    at <anonymous> (code.js:1:30)"),
            ),
            ("Promise.prototype.then = () => { throw 1 }; await 1", is(1)),
            ("Promise = null; await 1", is(1)),
            (
                "setInterval(() => {})",
                Error("Error: more than 100000 timers ran; clear an interval that never ends"),
            ),
            (
                "const again = () => setTimeout(again); again()",
                Error("Error: more than 100000 timers ran; clear an interval that never ends"),
            ),
            (
                "setTimeout(() => {}, Infinity); setTimeout(() => {}, NaN); setTimeout(() => {}, -1); 1",
                is(1),
            ),
            ("clearTimeout({}); clearInterval(1e9); 1", is(1)),
            ("setTimeout('1')", Error("TypeError: not a function")),
        ],
    );
    // Each of these uses all of its time.
    env.configure("[limits]\ndeadline-ms = 250\n");
    check(
        &env,
        READ,
        &[],
        &[
            ("await { then() { for (;;); } }", Coded("timeout")),
            (
                "const later = () => void Promise.resolve().then(later); later(); 1",
                Coded("timeout"),
            ),
            (
                "async function* g() { for (;;) yield 1 } for await (const x of g());",
                Coded("timeout"),
            ),
        ],
    );
}
