//! An MCP server in Python that runs in the sandbox. The one in Rust is tested in `it`.

use agent_host_test_support::{TestEnv, installed::component_of_python};
use pretty_assertions::assert_eq;

#[test]
fn server_in_python_runs_in_the_sandbox() {
    let env = TestEnv::new();
    let server = env.work().join("server.wasm");
    if component_of_python("mcp_component", "server", &server).is_none() {
        return;
    }
    env.write("data/a.txt", "granted");
    env.write("b.txt", "not granted");
    env.configure(
        "tool = []\n[[mcp]]\nname = \"p\"\ncomponent = \"server.wasm\"\n[[mcp.grants.dir]]\nhost = \"data\"\n",
    );
    for (tool, arguments, code, expected) in [
        ("add", r#"{"a":1,"b":2}"#, 0, "3\n"),
        ("read", r#"{"path":"a.txt"}"#, 0, "granted\n"),
        ("read", r#"{"path":"../b.txt"}"#, 1, ""),
        ("exit", "{}", 1, ""),
    ] {
        let ran = env.run(&["call", "p", tool, arguments]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(code), expected),
            "{tool}: {}",
            ran.stderr
        );
        let ended = ran.stderr.contains("it ended itself with exit code");
        assert_eq!(ended, tool == "exit", "{}", ran.stderr);
    }
}
