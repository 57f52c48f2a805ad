//! The stack of a failed guest: for its author, not for the model.

use super::{call, sandbox};
use crate::guests::{Body, Guest};
use agent_host_types::{limits::Limits, output::ToolResultOutput};
use pretty_assertions::assert_eq;

/// Nested functions with names.
const NAMED: &str = "(func $wheel (call $axle)) (func $axle unreachable)";

/// Returns the code of a failure, and the captured output.
async fn ends(guest: Guest<'_>, limits: &Limits) -> (String, String) {
    let tool = sandbox().load(&guest.bytes()).await.unwrap();
    let report = call(&tool, limits).await;
    let ToolResultOutput::ErrorJson(failure) = report.output else {
        panic!("it did not fail: {:?}", report.output);
    };
    for name in ["wheel", "axle", "stack]"] {
        assert!(!failure.to_string().contains(name), "{failure}");
    }
    let code = failure.to_value()["code"].as_str().unwrap().to_owned();
    (code, report.accounting.stdio)
}

#[tokio::test]
async fn stack_is_in_stdio_and_not_in_the_failure() {
    let limits = Limits::default();
    let trapped = Guest {
        core: NAMED,
        ..Guest::running("(call $wheel) unreachable")
    };
    // The last frame is `call`, which has no name.
    let stack = "
[guest stack]
    0: main-module!axle
    1: main-module!wheel
    2: main-module!<wasm function 3>
";
    assert_eq!(
        ends(trapped, &limits).await,
        ("trap".to_owned(), stack.to_owned())
    );
}

#[tokio::test]
async fn stack_without_names_is_omitted() {
    assert_eq!(
        ends(Guest::running("unreachable"), &Limits::default()).await,
        ("trap".to_owned(), String::new())
    );
}

#[tokio::test]
async fn successful_call_has_no_stack() {
    let tool = sandbox()
        .load(&Guest::returning(Body::Text(3, b"no")).bytes())
        .await
        .unwrap();
    let report = call(&tool, &Limits::default()).await;
    assert_eq!(report.output, ToolResultOutput::ErrorText("no".to_owned()));
    assert_eq!(report.accounting.stdio, "");
}
