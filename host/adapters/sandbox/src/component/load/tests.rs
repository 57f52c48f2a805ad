mod fuzz;

use super::*;
use crate::{
    Allocator, Call, CallContext, LoadFault, Sandbox, SandboxConfig,
    guests::{Definition, Guest},
};
use agent_host_engine::tool::CallReport;
use agent_host_types::{
    id::CallId,
    limits::Limits,
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};

fn sandbox() -> Sandbox {
    Sandbox::new(SandboxConfig {
        concurrent_calls: 2,
        ..SandboxConfig::default()
    })
    .unwrap()
}

fn with(component: &str) -> Vec<u8> {
    Guest {
        component,
        ..Guest::default()
    }
    .bytes()
}

fn text(wat: &str) -> Vec<u8> {
    wat::parse_str(wat).unwrap()
}

/// A component, its fault, and a part of the error.
type Case = (Vec<u8>, LoadFault, &'static str);

fn malformed_bytes() -> Vec<Case> {
    let whole = Guest::default().bytes();
    let mut cases: Vec<Case> = vec![
        (
            Vec::new(),
            LoadFault::NotAComponent,
            "not a WebAssembly component",
        ),
        (b"#!/bin/sh\n".to_vec(), LoadFault::NotAComponent, "magic"),
        (b"(component)".to_vec(), LoadFault::NotAComponent, "magic"),
        (
            b"\x7fELF\x02\x01\x01\0".to_vec(),
            LoadFault::NotAComponent,
            "magic",
        ),
        (
            text(r#"(module (func (export "run")))"#),
            LoadFault::NotAComponent,
            "core WebAssembly module",
        ),
        (
            vec![0; usize::try_from(code::MAX_COMPONENT_BYTES + 1).unwrap()],
            LoadFault::TooLarge,
            "67108865 bytes",
        ),
    ];
    for length in [9, whole.len() / 2, whole.len() - 1] {
        cases.push((
            whole[..length].to_vec(),
            LoadFault::NotAComponent,
            "not a WebAssembly component",
        ));
    }
    cases
}

fn contracts() -> Vec<Case> {
    vec![
        (
            text("(component)"),
            LoadFault::ContractMismatch,
            "exports nothing",
        ),
        (
            text(
                r#"(component (import "wasi:io/error@0.2.0" (instance $i)) (export "acme:app/main" (instance $i)))"#,
            ),
            LoadFault::ContractMismatch,
            "`acme:app/main`",
        ),
        (
            Guest {
                export: "agent:tool/tool@0.2.0",
                ..Guest::default()
            }
            .bytes(),
            LoadFault::ContractMismatch,
            "`agent:tool/tool@0.2.0`",
        ),
        (
            text(r#"(component (instance $i) (export "agent:tool/tool@0.1.0" (instance $i)))"#),
            LoadFault::ContractMismatch,
            "does not have the types",
        ),
        (
            with(r#"(import "agent:tool/progress@0.2.0" (instance))"#),
            LoadFault::ContractMismatch,
            "`agent:tool/progress@0.2.0`",
        ),
        (
            with(
                r#"(import "wasi:random/random@0.2.0" (instance (export "get-random-u64" (func (result u32)))))"#,
            ),
            LoadFault::ContractMismatch,
            "wasi:random/random@0.2.0",
        ),
    ]
}

fn imports() -> Vec<Case> {
    [
        (
            r#"(import "acme:db/query@1.0.0" (instance (export "run" (func))))"#,
            "`acme:db/query@1.0.0`",
        ),
        (
            r#"(import "acme:db/types@1.0.0" (instance (export "table" (type (sub resource)))))"#,
            "`acme:db/types@1.0.0`",
        ),
        (r#"(import "log" (func))"#, "`log`"),
        (
            r#"(import "agent:tool/secrets@0.1.0" (instance))"#,
            "`agent:tool/secrets@0.1.0`",
        ),
        (
            r#"(import "wasi:nn/tensor@0.2.0" (instance (export "run" (func))))"#,
            "`wasi:nn/tensor@0.2.0`",
        ),
        (
            r#"(import "wasi:http/incoming-handler@0.3.0" (instance (export "handle" (func))))"#,
            "`wasi:http/incoming-handler@0.3.0`. WASI 0.3 is off: set `wasi = \"0.3\"` in `[sandbox]`",
        ),
        (
            r#"(import "log" (func))
            (import "wasi:random/random@0.2.0" (instance))
            (import "wasi:nn/tensor@0.2.0" (instance (export "t" (type (sub resource))) (export "run" (func))))
            (import "agent:tool/secrets@0.1.0" (instance))
            (import "wasi:cli/environment@0.2.6" (instance (export "get-all" (func))))
            (import "acme:db/query@1.0.0" (instance (export "run" (func))))"#,
            "imports `log`, `wasi:nn/tensor@0.2.0`, `agent:tool/secrets@0.1.0`, `wasi:cli/environment@0.2.6` and `acme:db/query@1.0.0`, which this host",
        ),
        (
            r#"(import "wasi:nn/tensor@0.2.0" (instance (export "run" (func))))
            (import "wasi:nn/graph@0.2.0" (instance (export "run" (func))))"#,
            "imports `wasi:nn/tensor@0.2.0` and `wasi:nn/graph@0.2.0`, which this host",
        ),
    ]
    .into_iter()
    .map(|(import, says)| (with(import), LoadFault::MissingCapability, says))
    .collect()
}

fn features_and_structure() -> Vec<Case> {
    let many = |item: &str, count| with(&format!("(core module {})", item.repeat(count)));
    let long = format!(
        "(core module (func {}))",
        "(drop (i32.const 0))".repeat(400_000)
    );
    vec![
        (
            with("(core module (memory i64 1))"),
            LoadFault::UnsupportedFeature,
            "memory64",
        ),
        (
            with("(core module (memory 1 1 shared))"),
            LoadFault::UnsupportedFeature,
            "threads",
        ),
        (
            with("(core module (type (struct)))"),
            LoadFault::UnsupportedFeature,
            "gc",
        ),
        (
            with("(core module (tag))"),
            LoadFault::UnsupportedFeature,
            "exceptions",
        ),
        (
            with(
                "(core module (type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0))))",
            ),
            LoadFault::UnsupportedFeature,
            "function references",
        ),
        (
            many("(func)", 200_001),
            LoadFault::CompileLimit,
            "200000 functions",
        ),
        (
            many("(global i32 (i32.const 0))", 1_000_001),
            LoadFault::CompileLimit,
            "1000000 entries",
        ),
        (
            with(&"(core module)".repeat(257)),
            LoadFault::CompileLimit,
            "256 modules",
        ),
        (
            with(&long),
            LoadFault::CompileLimit,
            "bytes in one function",
        ),
    ]
}

fn defining(code: &'static str, core: &'static str) -> Vec<u8> {
    Guest {
        definitions_code: Some(code),
        core,
        ..Guest::default()
    }
    .bytes()
}

fn definitions() -> Vec<Case> {
    vec![
        (
            defining("unreachable", ""),
            LoadFault::ContractMismatch,
            "trap",
        ),
        (
            defining("(loop $l (br $l)) unreachable", ""),
            LoadFault::ContractMismatch,
            "timeout",
        ),
        (
            defining("(call $f)", "(func $f (result i32) (call $f))"),
            LoadFault::ContractMismatch,
            "stack-overflow",
        ),
        (
            defining(
                "(loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 16))))) unreachable",
                "",
            ),
            LoadFault::ContractMismatch,
            "out-of-memory",
        ),
    ]
}

#[tokio::test]
async fn unusable_component_error_has_its_fault_and_reason() {
    let sandbox = sandbox();
    let cases = [
        malformed_bytes(),
        contracts(),
        imports(),
        features_and_structure(),
        definitions(),
    ];
    for (index, (bytes, fault, says)) in cases.into_iter().flatten().enumerate() {
        let error = sandbox.load(&bytes).await.unwrap_err();
        assert_eq!(error.fault(), fault, "{index} {says}: {error}");
        let text = error.to_string();
        assert!(text.contains(says), "{index} {says}: {text}");
        assert!(text.ends_with(&format!(" ({fault})")), "{index}: {text}");
        assert!(text.len() < 1_200, "{index} {says}: {text}");
    }
}

#[tokio::test]
async fn second_tool_of_a_name_is_left_out() {
    let two = Guest {
        definitions: vec![Definition::default(), Definition::default()],
        ..Guest::default()
    };
    let tool = sandbox().load(&two.bytes()).await.unwrap();
    assert_eq!(tool.definitions().len(), 1);
    assert_eq!(
        tool.notes(),
        [
            "tool `echo`: another tool has this name, or one that differs only in case; the tool is left out"
        ]
    );
}

#[test]
fn faults_have_stable_names() {
    let names: Vec<&str> = LoadFault::ALL.iter().map(|fault| fault.as_str()).collect();
    assert_eq!(
        names,
        [
            "unreadable",
            "not-a-component",
            "contract-mismatch",
            "missing-capability",
            "too-large",
            "compile-limit",
            "unsupported-feature",
            "host-failed"
        ]
    );
}

#[tokio::test]
async fn loaded_component_reports_its_properties() {
    let sandbox = sandbox();
    let guest = Guest {
        imports: &[crate::guests::PROGRESS, crate::guests::RANDOM],
        definitions: vec![
            Definition {
                name: "a".to_owned(),
                title: Some("A".to_owned()),
                output_schema: Some("true".to_owned()),
                effect: 2,
                ..Definition::default()
            },
            Definition {
                name: "b".to_owned(),
                effect: 1,
                ..Definition::default()
            },
        ],
        ..Guest::default()
    };
    let bytes = guest.bytes();
    let tool = sandbox.load(&bytes).await.unwrap();
    let definition = |name: &str, title: Option<&str>, output, effect| ToolDefinition {
        name: name.to_owned(),
        title: title.map(str::to_owned),
        description: "Returns its arguments.".to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: output,
        effect,
    };
    assert_eq!(
        tool.definitions(),
        [
            definition("a", Some("A"), Some(json!(true)), Effect::Effectful),
            definition("b", None, None, Effect::Idempotent),
        ]
    );
    assert_eq!(
        tool.imports(),
        [
            "agent:tool/types@0.1.0",
            "agent:tool/progress@0.1.0",
            "wasi:random/random@0.2.6"
        ]
    );
    assert_eq!(
        (
            tool.digest(),
            tool.size_bytes(),
            tool.compiled(),
            tool.allocator()
        ),
        (
            Digest::of(&bytes),
            bytes.len() as u64,
            Compiled::Now,
            Allocator::Pooling
        )
    );
}

async fn echo(tool: &ToolComponent) -> CallReport {
    tool.call(Call {
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
    .unwrap()
}

#[tokio::test]
async fn component_beyond_the_pool_runs_on_demand() {
    let sandbox = sandbox();
    let tool = sandbox
        .load(&with("(core module $m (memory 1)) (core instance (instantiate $m)) (core instance (instantiate $m))"))
        .await
        .unwrap();
    let Allocator::OnDemand { why } = tool.allocator() else {
        panic!("pooled");
    };
    assert!(why.contains("does not fit into the pool"), "{why}");
    assert_eq!(echo(&tool).await.output, ToolResultOutput::json(json!({})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_loads_share_one_component() {
    let sandbox = Arc::new(sandbox());
    let bytes = Guest::default().bytes();
    let loads: Vec<_> = (0..8)
        .map(|_| {
            let (sandbox, bytes) = (Arc::clone(&sandbox), bytes.clone());
            tokio::spawn(async move { sandbox.load(&bytes).await.unwrap() })
        })
        .collect();
    let mut tools = Vec::new();
    for load in loads {
        tools.push(load.await.unwrap());
    }
    assert!(
        tools
            .iter()
            .all(|tool| Arc::ptr_eq(&tool.loaded, &tools[0].loaded))
    );
    // Without a handle the component is dropped, and its slot with the next load.
    drop(tools);
    let other = sandbox.load(&with("(core module)")).await.unwrap();
    assert_eq!(lock(&sandbox.shared.components.0).len(), 1);
    drop(other);
}
