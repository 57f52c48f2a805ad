//! Async functions and streams of plain components that other toolchains than Rust's made. What
//! Rust makes is tested in the sandbox.

use agent_host_test_support::{TestEnv, installed::component_of_python};
use pretty_assertions::assert_eq;

#[test]
fn async_functions_of_python_run() {
    let env = TestEnv::new();
    let component = env.work().join("concurrent.wasm");
    if component_of_python("concurrent", "concurrent", &component).is_none() {
        return;
    }
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
