use crate::{
    Allocator, Call, CallContext, Compiled, Pooling, Sandbox, SandboxConfig, guests::Guest,
};
use agent_host_types::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use pretty_assertions::assert_eq;
use rustix::process::{Resource, getrlimit};
use serde_json::{Map, json};
use std::{env, process::Command, sync::Arc};

/// The address space that a deployment needs at most, in KiB, with one allocation arena.
const ADDRESS_SPACE_KIB: u64 = 512 * 1024;

/// Runs with all address space, and again with little from the test below.
#[tokio::test]
async fn calls_run_with_any_address_space() {
    let limited = getrlimit(Resource::As).current.is_some();
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    match sandbox.allocator() {
        Allocator::Pooling => assert!(!limited),
        Allocator::OnDemand { why } => {
            assert!(limited && why.contains("address space"), "{why}");
        }
    }
    let tool = sandbox.load(&Guest::default().bytes()).await.unwrap();
    assert_eq!(tool.compiled(), Compiled::Now);
    let report = tool
        .call(Call {
            tool: "echo",
            call_id: &CallId("c".to_owned()),
            input: &Map::new().into(),
            idempotency_key: "k",
            effect: Effect::ReadOnly,
            grants: Arc::default(),
            secrets: Arc::default(),
            limits: &Limits::default(),
            context: CallContext::default(),
            progress: &|_| {},
        })
        .await
        .settled()
        .unwrap();
    assert_eq!(report.output, ToolResultOutput::json(json!({})));
}

#[test]
fn calls_run_in_little_address_space() {
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!(
            r#"ulimit -v {ADDRESS_SPACE_KIB} && MALLOC_ARENA_MAX=1 exec "$0" --exact engine::tests::calls_run_with_any_address_space"#
        ))
        .arg(env::current_exe().unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let base = || SandboxConfig {
        pooling: Pooling::Off,
        ..SandboxConfig::default()
    };
    let cases = [
        (
            SandboxConfig {
                guest_threads: 0,
                ..base()
            },
            "`guest_threads` is 0; set it to a number from 1 to 256",
        ),
        (
            SandboxConfig {
                concurrent_calls: 0,
                ..base()
            },
            "`concurrent_calls` is 0; set it to a number from 1 to 1024",
        ),
        (
            SandboxConfig {
                queued_calls: 70_000,
                ..base()
            },
            "`queued_calls` is 70000; set it to a number from 0 to 65536",
        ),
        (
            SandboxConfig {
                stack_bytes: 1,
                ..base()
            },
            "`stack_bytes` is 1; set it to a number from 65536 to 8388608",
        ),
    ];
    for (config, expected) in cases {
        let error = Sandbox::new(config).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
