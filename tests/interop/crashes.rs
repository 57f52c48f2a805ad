//! Tests what the model reads of a tool that fails unexpectedly, in each language: the type and the
//! text of the exception, at most 2 KiB, without a directory of the machine that built it.

use crate::conformance::built;
use agent_host_test_support::{
    TestEnv,
    project::{Built, NewProject},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;

/// The most of a message that a model reads, in bytes.
const MAX_MESSAGE_BYTES: usize = 2 * 1024;

/// A language, and the messages that the model reads of its failures: of a mistake, of another
/// exception, and before the text of a long message.
struct Row {
    language: &'static str,
    lookup: &'static str,
    other: &'static str,
    prefix: &'static str,
}

/// The code that `by` replaces in a file of a new project, so that its tool `greet` fails in these
/// ways for the names `lookup`, `other` and `long`.
struct Failing {
    file: &'static str,
    replaces: &'static str,
    by: &'static str,
}

#[test]
fn rust_panic_reaches_the_model() {
    let row = Row {
        language: "rust",
        lookup: "index out of bounds: the len is 0 but the index is 6",
        other: "called `Result::unwrap()` on an `Err` value: \"no wheel\"",
        prefix: "",
    };
    tells_of_new_project(
        &row,
        &Failing {
            file: "src/lib.rs",
            replaces: "    match input.tone {\n        Tone::Friendly => format!(\"Hello, {}!\", input.name),\n        Tone::Formal => format!(\"Good day, {}.\", input.name),\n    }",
            by: "    let _ = input.tone;\n    match input.name.as_str() {\n        \"lookup\" => Vec::<String>::new()[input.name.len()].clone(),\n        \"long\" => panic!(\"{}\", \"x\".repeat(5000)),\n        _ => Err(\"no wheel\").unwrap(),\n    }",
        },
    );
}

#[test]
fn python_exception_reaches_the_model() {
    tells(&Row {
        language: "python",
        lookup: "KeyError: 'wheel'",
        other: "ValueError: no wheel in tool.py",
        prefix: "ValueError: ",
    });
}

#[test]
fn typescript_error_reaches_the_model() {
    tells(&Row {
        language: "ts",
        lookup: "TypeError: can't access property \"wheel\", (void 0) is undefined",
        other: "RangeError: no wheel here",
        prefix: "Error: ",
    });
}

#[test]
fn javascript_error_reaches_the_model() {
    tells(&Row {
        language: "js",
        lookup: "TypeError: can't access property \"turns\", name.wheel is undefined",
        other: "no wheel",
        prefix: "Error: ",
    });
}

#[test]
fn c_assertion_reaches_the_model() {
    let row = Row {
        language: "c",
        lookup: "no wheel in ./tool.c",
        other: "assertion failed: name.len == 0 (tool.c:100, greet)",
        prefix: "",
    };
    tells_of_new_project(
        &row,
        &Failing {
            file: "tool.c",
            replaces: "    return at_equal(tone, AT_STR(\"formal\")) ?",
            by: "    if (at_equal(name, AT_STR(\"long\"))) {\n        char text[5001] = {0};\n        memset(text, 'x', 5000);\n        at_panic(\"%s\", text);\n    }\n    if (at_equal(name, AT_STR(\"lookup\"))) {\n        at_panic(\"no wheel in %s\", __FILE__);\n    }\n#line 100\n    assert(name.len == 0);\n    return at_equal(tone, AT_STR(\"formal\")) ?",
        },
    );
}

#[test]
fn go_panic_reaches_the_model() {
    tells(&Row {
        language: "go",
        lookup: "runtime error: index out of range [6] with length 0",
        other: "no wheel",
        prefix: "",
    });
}

/// Compares what the failing tools of the conformance project return. Their mistakes are in
/// `guest-tools/conformance`.
fn tells(row: &Row) {
    let Some(Built { component, .. }) = built(row.language) else {
        return;
    };
    let env = TestEnv::new();
    let name = |name: &str| json!({ "name": name });
    let long = json!({ "message": "x".repeat(5000) });
    let results = [
        call(&env, component, "raise", &name("lookup")),
        call(&env, component, "raise", &name("other")),
        call(&env, component, "crash", &long),
    ];
    are_told(row, &results);
}

/// Builds a new project with the failing code, and compares what its calls return.
fn tells_of_new_project(row: &Row, failing: &Failing) {
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, row.language) else {
        return;
    };
    project.replace(failing.file, failing.replaces, failing.by);
    if row.language == "c" {
        let include = "#include \"agent_tool.h\"";
        let includes = format!("#include <assert.h>\n#include <string.h>\n{include}");
        project.replace(failing.file, include, &includes);
    }
    let built = Built::of(&project.build(&env));
    let results = ["lookup", "other", "long"]
        .map(|name| call(&env, &built.component, "greet", &json!({ "name": name })));
    are_told(row, &results);
}

fn call(env: &TestEnv, component: &Path, tool: &str, input: &Value) -> Value {
    let input = input.to_string();
    let component = component.to_str().unwrap();
    env.run(&["call", component, tool, &input, "--json"]).json()
}

/// Expects the results of a mistake, of another exception, and of one with a message of 5,000 times
/// `x` to have the row's messages, the last one cut.
fn are_told(row: &Row, [lookup, other, long]: &[Value; 3]) {
    let crashed = |message: &str| {
        let message = format!("The tool crashed: {message}");
        json!({ "type": "error-json", "value": { "code": "trap", "message": message } })
    };
    assert_eq!(*lookup, crashed(row.lookup));
    assert_eq!(*other, crashed(row.other));
    let told = long["value"]["message"].as_str().unwrap();
    let begins = format!("The tool crashed: {}xxx", row.prefix);
    assert!(told.starts_with(&begins), "{told}");
    assert!(
        told.len() <= MAX_MESSAGE_BYTES && told.len() > MAX_MESSAGE_BYTES - 64,
        "{}",
        told.len()
    );
}
