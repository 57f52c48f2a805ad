mod notes;

use agent_tool::testing::prepare_tools;
use agent_tool::tools::NestedOutput;
use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use crate::run::run;

fn ran(code: &str) -> Output {
    run(code, &Value::Null)
}

fn value(expected: &Value) -> Output {
    Output::Json(json!({ "value": expected }))
}

#[test]
fn value_of_the_last_expression_is_the_result() {
    let cases = [
        ("1 + 2", json!(3)),
        ("'é' + 'x'.repeat(2)", json!("éxx")),
        (
            "const a = [1, 2.5, null, undefined]; a",
            json!([1, 2.5, null, null]),
        ),
        ("x = 1; ({ x, f() {}, u: undefined })", json!({ "x": 1 })),
        ("await Promise.resolve(4)", json!(4)),
        ("return 5", json!(5)),
        ("if (true) { return await 6 }", json!(6)),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        (
            "new Map([['a', 1], ['__proto__', 2]])",
            json!({ "a": 1, "__proto__": 2 }),
        ),
        ("new Map([[1, 2]])", json!([[1, 2]])),
        ("new Set([1, 2])", json!([1, 2])),
        ("new Uint8Array([1, 255])", json!([1, 255])),
        ("new Error('e')", json!({ "name": "Error", "message": "e" })),
        (
            "structuredClone({ a: [new Map([[1, { b: 2n }]])] }).a[0].get(1).b",
            json!(2),
        ),
        (
            "await new Promise((done) => setTimeout(done, 100000, 'now'))",
            json!("now"),
        ),
        (
            "const order = []; setTimeout(() => order.push('late'), 9); setTimeout(() => order.push('soon'), 1); \
             await new Promise((done) => setTimeout(done, 10)); order",
            json!(["soon", "late"]),
        ),
        (
            "let n = 0; await new Promise((done) => { const id = setInterval(() => { if (++n === 3) { clearInterval(id); done() } }) }); n",
            json!(3),
        ),
        (
            "new TextDecoder().decode(new TextEncoder().encode('ü'))",
            json!("ü"),
        ),
        ("new Headers({ A: 1 }).get('a')", json!("1")),
        ("[1, 2, 3].at(-1) + [3, 1].toSorted()[0]", json!(4)),
        ("async function main() { return await 8 } main()", json!(8)),
        ("'a\u{1f600}'.slice(0, 2)", json!("a\u{fffd}")),
        (
            r"['\\ud800', '\u{1f600}', 'x\ud83d']",
            json!(["\\ud800", "\u{1f600}", "x\u{fffd}"]),
        ),
        (
            r"({ '\udfff': '\ud800\ud800' })",
            json!({ "\u{fffd}": "\u{fffd}\u{fffd}" }),
        ),
        (
            r"new TextDecoder().decode(new TextEncoder().encode('\ud800'))",
            json!("\u{fffd}"),
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(ran(code), value(&expected), "{code}");
    }
    assert_eq!(ran("undefined"), Output::Json(json!({})));
    assert_eq!(ran(""), Output::Json(json!({})));
}

#[test]
fn integers_are_never_rounded_silently() {
    let exact = json!({ "id": 9_007_199_254_740_993_u64, "most": u64::MAX, "least": i64::MIN });
    for code in [
        "input",
        "({ id: input.id, most: 18446744073709551615n, least: -9223372036854775808n })",
        "JSON.parse(JSON.stringify(input))",
        "JSON.parse(JSON.stringify(input), (key, value) => value)",
        "structuredClone(input)",
    ] {
        assert_eq!(run(code, &exact), value(&exact), "{code}");
    }
    let noted = [
        (
            "2 ** 53 + 2",
            json!(9_007_199_254_740_994_u64),
            "integers above 2^53 may be rounded; use BigInt, such as 1n, to compute with them",
        ),
        (
            "2n ** 64n",
            json!("18446744073709551616"),
            "integers of more than 64 bits are strings",
        ),
        ("[0 / 0]", json!([null]), "NaN and infinities are null"),
        (
            "String(9007199254740993)",
            json!("9007199254740992"),
            "the code has the number 9007199254740993, which JavaScript rounds; write 9007199254740993n",
        ),
    ];
    for (code, expected, note) in noted {
        let expected = json!({ "value": expected, "notes": [note] });
        assert_eq!(ran(code), Output::Json(expected), "{code}");
    }
    // A mix is an error of the language, and no wrong sum.
    let mixed = run("input.id + 1", &exact);
    let Output::ErrorText(text) = mixed else {
        panic!("{mixed:?}");
    };
    assert!(
        text.starts_with("TypeError: cannot convert BigInt to number"),
        "{text}"
    );
}

#[test]
fn keys_called_proto_are_data() {
    let input: Value = serde_json::from_str(r#"{"__proto__":{"admin":true},"a":1}"#).unwrap();
    let cases = [
        ("input", input.clone()),
        ("JSON.parse(JSON.stringify(input))", input.clone()),
        ("structuredClone(input)", input.clone()),
        (
            "[input.admin === undefined, Object.keys(input)]",
            json!([true, ["__proto__", "a"]]),
        ),
        ("({}).admin === undefined", json!(true)),
    ];
    for (code, expected) in cases {
        assert_eq!(run(code, &input), value(&expected), "{code}");
    }
}

#[test]
fn console_shows_values_and_is_bounded() {
    let cases = [
        (
            "console.log('a', 1, 2n, null, undefined, true)",
            "a 1 2n null undefined true",
        ),
        (
            "console.log({ a: ['x', { b: -0 }], 'c d': () => 1 })",
            "{ a: [ \"x\", { b: -0 } ], \"c d\": [Function c d] }",
        ),
        ("const a = {}; a.a = a; console.log(a)", "{ a: [Circular] }"),
        (r"console.log('\udfff')", "\u{fffd}"),
        (
            "console.log(new Map([[1, new Set([2])]]))",
            "Map(1) { 1 => Set(1) { 2 } }",
        ),
        (
            "console.log(new Uint8Array(3))",
            "Uint8Array(3) [ 0, 0, 0 ]",
        ),
        (
            "console.error('e'); console.warn('w')",
            "error: e\nwarning: w",
        ),
        (
            "console.log([], {}, [[[[[[[[1]]]]]]]])",
            "[] {} [ [ [ [ [ [ [ [Array] ] ] ] ] ] ] ]",
        ),
        (
            "console.log(new Error('x').message, /a/g, Symbol('s'))",
            "x /a/g Symbol(s)",
        ),
        (
            "console.log(Array.from({ length: 201 }, () => 1).length)",
            "201",
        ),
    ];
    for (code, console) in cases {
        let code = format!("{code}; undefined");
        assert_eq!(
            ran(&code),
            Output::Json(json!({ "console": console })),
            "{code}"
        );
    }
    let many = ran("for (let i = 0; i < 10; i++) console.log('x'.repeat(8000)); 1");
    let Output::Json(many) = many else {
        panic!("{many:?}");
    };
    let console = many["console"].as_str().unwrap();
    let end = "x\n[cut after 49152 bytes: 4 more lines]";
    assert!(console.ends_with(end), "{console}");
    assert_eq!(many["value"], 1);
}

#[test]
fn failures_have_the_line_and_what_was_printed() {
    let cases = [
        (
            "console.log('before');\nnull.x",
            "TypeError: cannot read property 'x' of null\n    at <eval> (code.js:2:1)\nprinted before:\nbefore",
        ),
        ("throw 'text'", "thrown: \"text\""),
        (
            "throw new Error('a', { cause: new RangeError('b') })",
            "Error: a\n    at <eval> (code.js:1:35)\ncaused by RangeError: b\n    at <eval> (code.js:1:35)",
        ),
        (
            "(",
            "SyntaxError: unexpected token in expression: ''\n    at code.js:1:2",
        ),
        (
            "await new Promise(() => {})",
            "Error: the code awaits a promise that nothing settles",
        ),
        (
            "setInterval(() => {})",
            "Error: more than 100000 timers ran; clear an interval that never ends",
        ),
        (
            "const a = []; a.push(a); a",
            "the value is no JSON: TypeError: circular reference",
        ),
        (
            "const a = []; a[2 ** 32 - 2] = 1; a",
            "the value is no JSON: RangeError: an array of 4294967295 items is too long; return less of it",
        ),
        (
            "1\0",
            "the code has a zero byte, at byte 1; write it as \\0 in a text",
        ),
        (
            "const e = 'x'.repeat(20000); throw e",
            &format!("thrown: \"{} [cut: 3626 more bytes]", "x".repeat(16_375)),
        ),
        (
            "async function main() { null.x } main()",
            "TypeError: cannot read property 'x' of null\n    at main (code.js:1:24)\n    at <eval> (code.js:1:33)",
        ),
        (
            "new Promise(() => {})",
            "Error: the code awaits a promise that nothing settles",
        ),
        (
            r"throw new Error('\ud800')",
            "Error: \u{fffd}\n    at <eval> (code.js:1:11)",
        ),
        (
            "require('net')",
            "Error: there is no module \"net\" here, only \"fs\" and \"fs/promises\"\n    at <eval> (code.js:1:1)",
        ),
        (
            "output.image(new Uint8Array(9))",
            "TypeError: the bytes are no image, such as PNG or JPEG; put them out with output.file(bytes, name)\n    at <eval> (code.js:1:18)",
        ),
        (
            "await fetch('https://a.example/')",
            "TypeError: fetch: this tool runs in agent-host only\n    at <eval> (code.js:1:6)",
        ),
        (
            "await fetch('https://a.example/', { method: 'brew' })",
            "TypeError: fetch: the method `BREW` cannot be sent\n    at <eval> (code.js:1:6)",
        ),
        (
            "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([65, 255]))",
            "TypeError: the bytes are no UTF-8 text from byte 1 on\n    at <eval> (code.js:1:54)",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(ran(code), Output::error(expected), "{code}");
    }
}

#[test]
fn images_and_files_are_parts() {
    let png = r"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let code = format!(
        "const bytes = Uint8Array.from('{png}', (c) => c.charCodeAt(0)); \
         output.image(bytes, 'a.png'); output.file('x,y', 'b.csv', 'text/csv'); 'two'"
    );
    let bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    assert_eq!(
        ran(&code),
        Output::content([
            Part::text(r#"{"value":"two"}"#),
            Part::bytes("image/png", bytes).named("a.png"),
            Part::bytes("text/csv", b"x,y".to_vec()).named("b.csv"),
        ])
    );
    let limits = [
        (
            "for (;;)\noutput.file('x')",
            "RangeError: at most 16 images and files are returned\n    at <eval> (code.js:2:8)",
        ),
        (
            "const big = 'x'.repeat(3e6); for (;;)\noutput.file(big)",
            "RangeError: images and files of more than 5242880 bytes in all cannot be returned; write them to a file instead\n    at <eval> (code.js:2:13)",
        ),
    ];
    for (code, error) in limits {
        assert_eq!(ran(code), Output::error(error), "{code}");
    }
}

#[test]
fn files_are_those_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    fs::write(directory.path().join("a.txt"), "é").unwrap();
    fs::write(directory.path().join("big.json"), "[9007199254740993]").unwrap();
    let cases = [
        ("fs.readFileSync(d + '/a.txt', 'utf8')", json!("é")),
        ("fs.readFileSync(d + '/a.txt')", json!([195, 169])),
        (
            "JSON.parse(fs.readFileSync(d + '/big.json', 'utf8'))",
            json!([9_007_199_254_740_993_u64]),
        ),
        (
            "await require('node:fs/promises').readFile(d + '/a.txt', { encoding: 'utf-8' })",
            json!("é"),
        ),
        ("fs.readdirSync(d)", json!(["a.txt", "big.json"])),
        (
            "fs.mkdirSync(d + '/x/y', { recursive: true }); fs.writeFileSync(d + '/x/y/z', 'one'); \
             fs.appendFileSync(d + '/x/y/z', new Uint8Array([50])); fs.renameSync(d + '/x/y/z', d + '/x/w'); \
             fs.copyFileSync(d + '/x/w', d + '/x/v'); fs.readFileSync(d + '/x/v', 'utf8')",
            json!("one2"),
        ),
        (
            "fs.readdirSync(d + '/x', { withFileTypes: true }).map((e) => [e.name, e.isDirectory(), e.size > 0])",
            json!([["v", false, true], ["w", false, true], ["y", true, true]]),
        ),
        (
            "fs.rmSync(d + '/x', { recursive: true }); fs.rmSync(d + '/x', { force: true }); fs.existsSync(d + '/x')",
            json!(false),
        ),
        (
            "const s = fs.statSync(d + '/a.txt'); [s.size, s.isFile(), s.mtime instanceof Date]",
            json!([2, true, true]),
        ),
        (
            "try { fs.readFileSync(d + '/none') } catch (e) { e.code }",
            json!("ENOENT"),
        ),
        (
            "try { fs.readFileSync(d) } catch (e) { e.code }",
            json!("EISDIR"),
        ),
        (
            "try { fs.readdirSync(d + '/a.txt') } catch (e) { e.code }",
            json!("ENOTDIR"),
        ),
        (
            "try { fs.rmdirSync(d) } catch (e) { e.code }",
            json!("ENOTEMPTY"),
        ),
        (
            "try { fs.readFileSync('') } catch (e) { e.message }",
            json!("EINVAL: the path is empty; use `.` for the directory itself"),
        ),
    ];
    for (code, expected) in cases {
        let code = format!("const d = input; {code}");
        assert_eq!(run(&code, &json!(path)), value(&expected), "{code}");
    }
}

#[test]
fn files_below_session_are_artifacts() {
    use agent_tool::testing;
    testing::prepare_artifacts([]);
    let cases = [
        ("fs.existsSync('/session/a/b.txt')", json!(false)),
        (
            "fs.writeFileSync('/session/a/b.txt', 'one'); fs.appendFileSync('/session/a/b.txt', 'two'); fs.readFileSync('/session/a/b.txt', 'utf8')",
            json!("onetwo"),
        ),
        ("fs.readdirSync('/session')", json!(["a"])),
        ("fs.readdirSync('/session/a/')", json!(["b.txt"])),
        (
            "const s = fs.statSync('/session/a'); [s.isDirectory(), fs.statSync('/session/a/b.txt').size]",
            json!([true, 6]),
        ),
        (
            "fs.renameSync('/session/a/b.txt', '/session/c'); fs.readdirSync('/session')",
            json!(["c"]),
        ),
        (
            "fs.unlinkSync('/session/c'); fs.readdirSync('/session')",
            json!([]),
        ),
        (
            "try { fs.unlinkSync('/session/c') } catch (e) { e.code }",
            json!("ENOENT"),
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(ran(code), value(&expected), "{code}");
    }
}

proptest! {
    // Each starts an engine.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_json_comes_back_as_it_was(value in json_value()) {
        prop_assert_eq!(run("input", &value), Output::Json(json!({ "value": value })));
    }

    #[test]
    fn any_code_ends(code in "[a-z(){}\\[\\];=+'`/*.,0-9 \n]{0,60}") {
        // Loops are for the host to end.
        prop_assume!(!code.contains("for") && !code.contains("while") && !code.contains("do"));
        let _ = ran(&code);
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,4}|__proto__|toJSON", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A program over the tools `add`, `read`, `draw`, `fail` and `deny`, with a log of its batches.
fn program(code: &str) -> (Output, Vec<String>) {
    let log = Rc::new(RefCell::new(Vec::new()));
    let calls = Rc::clone(&log);
    prepare_tools(
        &["add", "read", "draw", "fail", "deny", "a-b"],
        move |call| {
            calls
                .borrow_mut()
                .push(format!("{} {}", call.name, call.input));
            match call.name.as_str() {
                "add" => NestedOutput::Json("{\"sum\":12345678901234567890}".to_owned()),
                "draw" => NestedOutput::Content(vec![
                    Part::text("a dot"),
                    Part::url("image/png", "session-file:1").named("dot.png"),
                ]),
                "fail" => NestedOutput::ErrorJson(
                    "{\"code\":\"timeout\",\"message\":\"too slow\"}".to_owned(),
                ),
                "deny" => NestedOutput::Denied(Some("not now".to_owned())),
                _ => NestedOutput::Text(format!("{}!", call.name)),
            }
        },
    );
    let output = ran(code);
    let log = log.borrow().clone();
    (output, log)
}

#[test]
fn program_gets_results_as_values() {
    let dot = Part::url("image/png", "session-file:1").named("dot.png");
    let cases = [
        ("return await tools.read({ path: 'a' })", value(&json!("read!"))),
        ("(await tools.add({ a: 1n })).sum", value(&json!(12_345_678_901_234_567_890_u64))),
        ("typeof (await tools.add()).sum", value(&json!("bigint"))),
        ("await tools['a-b']()", value(&json!("a-b!"))),
        (
            "try { await tools.fail() } catch (e) { return [e.name, e.message, e.value.code, e.tool] }",
            value(&json!(["ToolError", "too slow", "timeout", "fail"])),
        ),
        (
            "try { await tools.deny() } catch (e) { return [e.message, e.denied] }",
            value(&json!(["not now", true])),
        ),
        (
            "const all = await Promise.allSettled([tools.read(), tools.fail()]); all.map((one) => one.status)",
            value(&json!(["fulfilled", "rejected"])),
        ),
        ("[typeof fs, typeof fetch, typeof require]", value(&json!(["undefined", "undefined", "undefined"]))),
        (
            "const [text, file] = await tools.draw(); output(file); output(file); [text, file.filename]",
            Output::Content(vec![
                Part::text(json!({ "value": ["a dot", "dot.png"] }).to_string()),
                dot.clone(),
            ]),
        ),
        (
            "(await tools.draw())[1]",
            Output::Content(vec![
                Part::text(json!({ "value": { "mediaType": "image/png", "filename": "dot.png" } }).to_string()),
                dot,
            ]),
        ),
        (
            "await tools.missing({})",
            Output::ErrorText(
                "ReferenceError: there is no tool \"missing\"; the tools are add, read, draw, fail, deny, a-b\n    at <eval> (code.js:1:7)"
                    .to_owned(),
            ),
        ),
        (
            "await tools.fail()",
            Output::ErrorText("ToolError: too slow\n    at <eval> (code.js:1:12)".to_owned()),
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(program(code).0, expected, "{code}");
    }
}

/// Calls that are made before any of them is awaited are one batch, in their order.
#[test]
fn calls_run_in_the_order_of_the_code() {
    let cases: [(&str, &[&str]); 5] = [
        (
            "await Promise.all([tools.read({ n: 1 }), tools.add({ n: 2 })]); await tools.read()",
            &["read {\"n\":1}", "add {\"n\":2}", "read {}"],
        ),
        (
            "tools.read({ never: 'awaited' }); 1",
            &["read {\"never\":\"awaited\"}"],
        ),
        (
            "JSON.stringify = () => 'x'; Object.prototype.toJSON = undefined; await tools.read({ a: 1 })",
            &["read {\"a\":1}"],
        ),
        (
            "setTimeout(() => tools.read({ late: true })); await tools.add(); ",
            &["add {}", "read {\"late\":true}"],
        ),
        (
            "await tools.read({ half: '\\ud800', whole: '😀' })",
            &["read {\"half\":\"\u{fffd}\",\"whole\":\"😀\"}"],
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(program(code).1, expected, "{code}");
    }
}

/// Notes are the words of the host about a value: a script cannot make one.
#[test]
fn causes_of_an_exception_end() {
    let Output::ErrorText(text) = ran("const e = new Error('x'); e.cause = e; throw e") else {
        panic!("it is no failure");
    };
    assert_eq!(text.matches("caused by Error: x").count(), 8, "{text}");
}
