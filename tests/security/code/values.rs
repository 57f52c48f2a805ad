//! Values that are no JSON, are without an end, or run code while they are written.

use super::{READ, check, env, is};
use serde_json::json;

use super::End::{Coded, Error};

#[test]
fn values_that_run_code_end_with_it() {
    check(
        &env(),
        READ,
        &[],
        &[
            ("({ toJSON() { return { a: 1 } } })", is(json!({ "a": 1 }))),
            (
                "({ toJSON() { throw new Error('no') } })",
                Error("the value is no JSON: Error: no\n    at toJSON (code.js:1:25)"),
            ),
            (
                "({ get a() { throw new Error('no') } })",
                Error("the value is no JSON: Error: no\n    at get a (code.js:1:24)"),
            ),
            (
                "new Proxy({}, { ownKeys() { throw new RangeError('no') } })",
                Error("the value is no JSON: RangeError: no\n    at ownKeys (code.js:1:39)"),
            ),
            ("({ [Symbol.toPrimitive]() { for (;;); } })", is(json!({}))),
            (
                "class E extends Error { get message() { throw 1 } } throw new E()",
                Error("the code failed, and its exception cannot be shown"),
            ),
            (
                "throw new Proxy(new Error(), { get() { throw 1 } })",
                Error("the code failed, and its exception cannot be shown"),
            ),
            (
                "throw { toString() { throw 1 } }",
                Error("thrown: { toString: [Function toString] }"),
            ),
            ("throw null", Error("thrown: null")),
            ("throw Symbol('s')", Error("thrown: Symbol(s)")),
        ],
    );
}

#[test]
fn values_without_an_end_are_refused() {
    let env = env();
    env.configure("[limits]\ndeadline-ms = 120000\nmemory-bytes = 67108864\n");
    let sparse = "the value is no JSON: RangeError: an array of 4294967295 items is too long; return less of it";
    check(
        &env,
        READ,
        &[],
        &[
            ("const a = []; a[2 ** 32 - 2] = 1; a", Error(sparse)),
            (
                "const a = []; a.length = 2 ** 32 - 1; ({ a })",
                Error(sparse),
            ),
            (
                "new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 32 - 1 : 1) })",
                Error(sparse),
            ),
            (
                "const a = []; a.push(a); a",
                Error("the value is no JSON: TypeError: circular reference"),
            ),
            (
                "const m = new Map(); m.set('m', m); m",
                Coded("stack-overflow"),
            ),
            ("const s = new Set(); s.add(s); s", Coded("stack-overflow")),
            (
                "let n = 0; const f = () => ({ toJSON: () => ({ n: n++, next: f() }) }); f()",
                Coded("stack-overflow"),
            ),
            (
                "let a = 1; for (let i = 0; i < 1e5; i++) a = [a]; a",
                Coded("stack-overflow"),
            ),
            (
                "let a = 1; for (let i = 0; i < 200; i++) a = [a]; a",
                Error("the value is nested too deeply; return less of it"),
            ),
            (
                "let a = 1; for (let i = 0; i < 120; i++) a = [a]; a",
                Coded("invalid-output"),
            ),
            (
                "'x'.repeat(2 ** 30)",
                Error("RangeError: invalid string length\n    at <eval> (code.js:1:4)"),
            ),
        ],
    );
    // Each of these uses all of its time.
    env.configure("[limits]\ndeadline-ms = 250\nmemory-bytes = 67108864\n");
    check(
        &env,
        READ,
        &[],
        &[
            ("({ get a() { for (;;); } })", Coded("timeout")),
            ("({ toJSON() { for (;;); } })", Coded("timeout")),
            (
                "new Proxy({}, { ownKeys() { for (;;); } })",
                Coded("timeout"),
            ),
            ("throw { get name() { for (;;); } }", Coded("timeout")),
            (
                "throw Object.defineProperty(new Error(), 'message', { get() { for (;;); } })",
                Coded("timeout"),
            ),
            ("console.log({ get a() { for (;;); } })", Coded("timeout")),
            (
                "function* g() { for (;;) yield 1 } for (const x of g());",
                Coded("timeout"),
            ),
            ("/(a+)+$/.test('a'.repeat(64) + 'b')", Coded("timeout")),
            ("/(?=(a+))\\1*b/.test('a'.repeat(1e6))", Coded("timeout")),
        ],
    );
}

#[test]
fn memory_is_that_of_the_limit() {
    let env = env();
    env.configure("[limits]\nmemory-bytes = 33554432\n");
    check(
        &env,
        READ,
        &[],
        &[
            (
                "function* g() { for (;;) yield 1 } [...g()]",
                Error("InternalError: out of memory\n    at <eval> (code.js:1:39)"),
            ),
            (
                "new SharedArrayBuffer(2 ** 40)",
                Error("RangeError: invalid array buffer length\n    at <eval> (code.js:1:5)"),
            ),
            (
                "new ArrayBuffer(8, { maxByteLength: 2 ** 40 })",
                Error("RangeError: invalid max array buffer length\n    at <eval> (code.js:1:5)"),
            ),
            ("typeof Atomics", is("undefined")),
            (
                "const b = new ArrayBuffer(8); structuredClone(b).byteLength",
                is(8),
            ),
            (
                "const b = new Uint8Array(8); b.buffer.transfer(); fs.writeFileSync('x', b)",
                Error("TypeError: ArrayBuffer is detached\n    at <eval> (code.js:1:73)"),
            ),
        ],
    );
}

/// A script reads the clock and random numbers of its call, and both differ between calls.
#[test]
fn clock_and_random_numbers_are_of_the_call() {
    let env = env();
    let code = "[Date.now(), Math.random(), Math.random(), new Date().getTimezoneOffset()]";
    let [first, second] =
        [(); 2].map(|()| super::call(&env, READ, code, &[])["value"]["value"].clone());
    assert!(first[0].as_u64().unwrap() <= second[0].as_u64().unwrap());
    assert!(
        first[1] != first[2] && first[1] != second[1],
        "{first} {second}"
    );
    assert_eq!((&first[3], &second[3]), (&json!(0), &json!(0)));
}
