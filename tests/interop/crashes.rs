//! Tests what the model reads of a tool that fails unexpectedly, in each language: the type and the
//! text of the exception, at most 2 KiB, without a directory of the machine that built it.

use agent_host_test_support::{TestEnv, project::NewProject};
use pretty_assertions::assert_eq;
use serde_json::json;

/// The most of a message that a model reads, in bytes.
const MAX_MESSAGE_BYTES: usize = 2 * 1024;

/// A language, its file, the code that `by` replaces in the tool `greet`, and the messages for the
/// names `lookup` and `other`. For `long` a message of 5,000 times `x` is raised, after `prefix`.
struct Row {
    language: &'static str,
    file: &'static str,
    replaces: &'static str,
    by: &'static str,
    lookup: &'static str,
    other: &'static str,
    prefix: &'static str,
}

#[test]
fn rust_panic_reaches_the_model() {
    tells(&Row {
        language: "rust",
        file: "src/lib.rs",
        replaces: "    match input.tone {\n        Tone::Friendly => format!(\"Hello, {}!\", input.name),\n        Tone::Formal => format!(\"Good day, {}.\", input.name),\n    }",
        by: "    let _ = input.tone;\n    match input.name.as_str() {\n        \"lookup\" => Vec::<String>::new()[input.name.len()].clone(),\n        \"long\" => panic!(\"{}\", \"x\".repeat(5000)),\n        _ => Err(\"no wheel\").unwrap(),\n    }",
        lookup: "index out of bounds: the len is 0 but the index is 6",
        other: "called `Result::unwrap()` on an `Err` value: \"no wheel\"",
        prefix: "",
    });
}

#[test]
fn python_exception_reaches_the_model() {
    tells(&Row {
        language: "python",
        file: "tool.py",
        replaces: "    return f\"Good day, {name}.\" if tone == \"formal\" else f\"Hello, {name}!\"",
        by: "    if name == \"lookup\":\n        return {}[\"wheel\"]\n    if name == \"long\":\n        raise ValueError(\"x\" * 5000)\n    raise ValueError(f\"no wheel\\nin {__file__}\")",
        lookup: "KeyError: 'wheel'",
        other: "ValueError: no wheel in tool.py",
        prefix: "ValueError: ",
    });
}

#[test]
fn typescript_error_reaches_the_model() {
    tells(&Row {
        language: "ts",
        file: "tool.ts",
        replaces: "run: ({ name, tone }) => (tone === \"formal\" ? `Good day, ${name}.` : `Hello, ${name}!`),",
        by: "run: ({ name }) => {\n    if (name === \"lookup\") return (undefined as any).wheel;\n    if (name === \"long\") throw new Error(\"x\".repeat(5000));\n    throw new RangeError(\"no wheel\\nhere\");\n  },",
        lookup: "TypeError: can't access property \"wheel\", (void 0) is undefined",
        other: "RangeError: no wheel here",
        prefix: "Error: ",
    });
}

#[test]
fn javascript_error_reaches_the_model() {
    tells(&Row {
        language: "js",
        file: "tool.js",
        replaces: "run: ({ name, tone }) => (tone === \"formal\" ? `Good day, ${name}.` : `Hello, ${name}!`),",
        by: "run: async ({ name }) => {\n    if (name === \"lookup\") return name.wheel.turns;\n    if (name === \"long\") throw new Error(\"x\".repeat(5000));\n    throw \"no wheel\";\n  },",
        lookup: "TypeError: can't access property \"turns\", name.wheel is undefined",
        other: "no wheel",
        prefix: "Error: ",
    });
}

#[test]
fn c_assertion_reaches_the_model() {
    tells(&Row {
        language: "c",
        file: "tool.c",
        replaces: "    return at_equal(tone, AT_STR(\"formal\")) ?",
        by: "    if (at_equal(name, AT_STR(\"long\"))) {\n        char text[5001] = {0};\n        memset(text, 'x', 5000);\n        at_panic(\"%s\", text);\n    }\n    if (at_equal(name, AT_STR(\"lookup\"))) {\n        at_panic(\"no wheel in %s\", __FILE__);\n    }\n#line 100\n    assert(name.len == 0);\n    return at_equal(tone, AT_STR(\"formal\")) ?",
        lookup: "no wheel in ./tool.c",
        other: "assertion failed: name.len == 0 (tool.c:100, greet)",
        prefix: "",
    });
}

#[test]
fn go_panic_reaches_the_model() {
    tells(&Row {
        language: "go",
        file: "tool.go",
        replaces: "\treturn fmt.Sprintf(\"Hello, %s!\", in.Name), nil",
        by: "\tswitch in.Name {\n\tcase \"lookup\":\n\t\treturn []string{}[len(in.Name)], nil\n\tcase \"long\":\n\t\tpanic(strings.Repeat(\"x\", 5000))\n\t}\n\tpanic(fmt.Errorf(\"no wheel\\nhere\"))",
        lookup: "runtime error: index out of range [6] with length 0",
        other: "no wheel",
        prefix: "",
    });
}

/// Builds the project with the failing code, and compares what its calls return.
fn tells(row: &Row) {
    let env = TestEnv::new();
    let Some(project) = NewProject::of(&env, row.language) else {
        return;
    };
    project.replace(row.file, row.replaces, row.by);
    if row.language == "c" {
        let include = "#include \"agent_tool.h\"";
        let includes = format!("#include <assert.h>\n#include <string.h>\n{include}");
        project.replace(row.file, include, &includes);
    }
    let built = project.build(&env);
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    let component = built.json()["component"].clone();
    let call = |name: &str| {
        let name = format!("name={name}");
        let ran = env.run(&[
            "call",
            component.as_str().unwrap(),
            "greet",
            &name,
            "--json",
        ]);
        ran.json()
    };
    let crashed = |message: &str| {
        let message = format!("The tool crashed: {message}");
        json!({ "type": "error-json", "value": { "code": "trap", "message": message } })
    };
    assert_eq!(call("lookup"), crashed(row.lookup));
    assert_eq!(call("other"), crashed(row.other));
    let long = call("long");
    let told = long["value"]["message"].as_str().unwrap();
    let begins = format!("The tool crashed: {}xxx", row.prefix);
    assert!(told.starts_with(&begins), "{told}");
    assert!(
        told.len() <= MAX_MESSAGE_BYTES && told.len() > MAX_MESSAGE_BYTES - 64,
        "{}",
        told.len()
    );
}
