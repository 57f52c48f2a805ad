//! Programs that call tools: values, order, exceptions.

use agent_tool::testing::prepare_tools;
use agent_tool::tools::NestedOutput;
use pretty_assertions::assert_eq;
use std::cell::RefCell;
use std::rc::Rc;

use super::*;

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
