//! Async functions and streams of plain components that other toolchains than Rust's made. What
//! Rust makes is tested in the sandbox.

use agent_host_test_support::{
    TestEnv,
    installed::{compiler_from_pypi, here},
};
use pretty_assertions::assert_eq;
use std::process::Command;

#[test]
fn async_functions_of_python_run() {
    let Some(compiler) = compiler_from_pypi("python") else {
        return;
    };
    let env = TestEnv::new();
    let component = env.work().join("concurrent.wasm");
    let built = Command::new(compiler.join("bin/componentize-py"))
        .current_dir(here("interop/concurrent"))
        .args([
            "-d",
            "world.wit",
            "-w",
            "concurrent",
            "componentize",
            "app",
            "-o",
        ])
        .arg(&component)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    env.configure("[sandbox]\nwasi = \"0.3\"\n");
    for (tool, arguments, expected) in [
        ("greet", r#"{"name":"Ann"}"#, "Hello, Ann!\n"),
        ("count", r#"{"to":3}"#, "0\n1\n2\n\n"),
        ("upper", r#"{"bytes":"YWJj"}"#, "ABC\n"),
    ] {
        let ran = env.run(&["call", component.to_str().unwrap(), tool, arguments]);
        assert_eq!(ran.stdout, expected, "{tool}: {}", ran.stderr);
    }
}
