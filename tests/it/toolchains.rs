//! Tests what the program knows of toolchains: the functions that one exports for itself, and those
//! that a fault of one breaks.

use super::author::install;
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A component as componentize-py 0.25.1 makes it: `exports#init` is the toolchain's, and its
/// metadata names the language of the runtime.
#[test]
fn exports_of_a_toolchain_are_left_out_and_others_chosen() {
    let env = TestEnv::new();
    let component = wat::parse_str(
        r#"(component
            (core module (import "env" "libcomponentize_py_runtime.so:memory_base" (global i32))
                (@producers (language "Rust" "")))
            (core module $m (func (export "f") (result i32) (i32.const 7)) (func (export "init")))
            (core instance $i (instantiate $m))
            (func $init (canon lift (core func $i "init")))
            (instance (export "exports") (export "init" (func $init)))
            (func (export "f") (result u32) (canon lift (core func $i "f")))
            (func (export "g") (result u32) (canon lift (core func $i "f"))))"#,
    );
    env.write("plain.wasm", component.unwrap());
    let note = "`exports#init`: componentize-py (0.25.1) exports it for itself; it does not come from the world's \
        author";
    let inspect = |exports: &str| {
        let tool = "[[tool]]\nname = \"p\"\ncomponent = \"plain.wasm\"\n";
        env.write("agent.toml", format!("{tool}{exports}"));
        env.run(&["inspect", "p", "--json", "--config", "agent.toml"])
    };
    for (exports, names) in [
        ("", json!(["f", "g"])),
        ("exports = [\"g\"]\n", json!(["g"])),
        ("exports = []\n", json!([])),
        // An author's own function of this name, which its exact name brings back.
        ("exports = [\"init\", \"f\"]\n", json!(["f", "init"])),
    ] {
        let shown = inspect(exports).json();
        let tools = shown["tools"].as_array().unwrap().iter();
        let tools: Value = tools.map(|tool| tool["name"].clone()).collect();
        assert_eq!(tools, names, "{exports}");
        assert_eq!(shown["notes"], json!([note]));
        assert_eq!(
            shown["written_in"],
            json!({ "language": "Python", "source": "toolchain" })
        );
    }
    let named = "[[tool]]\nname = \"p\"\ncomponent = \"plain.wasm\"\nexports = [\"init\"]\n";
    env.write("agent.toml", named);
    let called = env.run(&[
        "call",
        "p",
        "init",
        "{}",
        "--json",
        "--config",
        "agent.toml",
    ]);
    assert_eq!(
        (called.code, called.stdout.as_str()),
        (Some(0), "{\"type\":\"json\",\"value\":null}\n"),
        "{}",
        called.stderr
    );
    let refused = inspect("exports = [\"f\", \"Init\"]\n");
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(2),
            "error: `exports` of [[tool]] `p` names the tool `Init`, which the component does not have; its tools \
             are: f, g\n"
        )
    );
    let shown = env.run(&["inspect", "plain.wasm"]).stdout;
    for line in [
        "  language    Python (its modules are those of this language's toolchain)\n",
        &format!("  {note}\n"),
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

/// A component with a function `f` that returns 7, by its metadata from this version.
fn made_by_componentize_js(version: &str) -> Vec<u8> {
    let component = format!(
        r#"(component
            (core module $m (func (export "f") (result i32) (i32.const 7)))
            (core instance $i (instantiate $m))
            (func (export "f") (result u32) (canon lift (core func $i "f")))
            (@producers (processed-by "ComponentizeJS" "{version}")))"#,
    );
    wat::parse_str(component).unwrap()
}

#[test]
fn inspect_warns_of_functions_that_a_toolchain_breaks() {
    let env = TestEnv::new();
    for (version, warnings) in [
        (
            "0.23.0",
            json!([
                "`f`: a u32 of 2147483648 or more is returned as another number, because of a bug in ComponentizeJS \
                 0.23.0"
            ]),
        ),
        ("0.0.0", json!([])),
    ] {
        env.write("plain.wasm", made_by_componentize_js(version));
        let shown = env.run(&["inspect", "plain.wasm", "--json"]).json();
        assert_eq!(shown["warnings"], warnings);
        let shown = env.run(&["inspect", "plain.wasm"]).stdout;
        let listed = shown.contains("Faulty\n  `f`: a u32 of 2147483648 or more");
        assert_eq!(listed, version == "0.23.0", "{shown}");
        assert_eq!(shown.contains("Faulty"), listed, "{shown}");
    }
}

/// The compiler is a script that puts a component in place, as one of a world without the contract.
#[test]
fn build_warns_of_functions_that_a_toolchain_breaks() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    let built = |version: &str| {
        let component = wat::parse_str(format!(
            r#"(component
                (core module $m
                    (func (export "f") (result i32) (i32.const 7))
                    (func (export "g") (param i64)))
                (core instance $i (instantiate $m))
                (func (export "f") (result u32) (canon lift (core func $i "f")))
                (func (export "g") (param "n" s64) (canon lift (core func $i "g")))
                (@producers (processed-by "ComponentizeJS" "{version}")))"#,
        ));
        let guest = env.write("guest.wasm", component.unwrap());
        let copies = format!(
            "if [ \"$1\" = -c ]; then echo 0.25.0; exit; fi\n\
             while [ \"$1\" != --out ]; do shift; done\n/bin/cp '{}' \"$2\"",
            guest.display()
        );
        install(&bin, "python3", &copies);
        let mut command = env.command(&["build", "weather"]);
        let ran = command.env("PATH", &bin).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
        let said = String::from_utf8(ran.stderr).unwrap();
        let warnings = said.lines().filter(|line| line.starts_with("warning: "));
        warnings.map(str::to_owned).collect::<Vec<_>>()
    };
    let made = env.run(&["new", "weather", "--lang", "python"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    assert_eq!(
        built("0.23.0"),
        [
            "warning: `f`: a u32 of 2147483648 or more is returned as another number, because of a bug in \
             ComponentizeJS 0.23.0",
            "warning: `g`: a negative s64 arrives as a large positive number, because of a bug in ComponentizeJS \
             0.23.0",
        ]
    );
    assert_eq!(built("0.0.0"), [""; 0]);
}

#[test]
fn test_warns_of_functions_that_a_toolchain_breaks() {
    let env = TestEnv::new();
    // The case passes, since the fault begins at a larger number.
    let case = "[[case]]\nname = \"seven\"\ntool = \"f\"\n[case.expect]\njson = 7\n";
    env.write("cases.toml", case);
    let arguments = ["test", "--component", "plain.wasm", "--cases", "cases.toml"];
    let warning = "`f`: a u32 of 2147483648 or more is returned as another number, because of a bug in \
        ComponentizeJS 0.23.0";
    for (version, warnings) in [("0.23.0", json!([warning])), ("0.0.0", json!([]))] {
        env.write("plain.wasm", made_by_componentize_js(version));
        let ran = env.run(&[&arguments[..], &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.json()["warnings"], warnings);
        let shown = env.run(&arguments).stdout;
        let listed = shown.contains(&format!("Faulty\n  {warning}\n"));
        assert_eq!(listed, version == "0.23.0", "{shown}");
        assert_eq!(shown.contains("Faulty"), listed, "{shown}");
    }
}
