//! Arbitrary bytes as a component: mutated guests, and noise.

use super::*;
use crate::{
    CallContext,
    component::structure,
    guests::{ECHO, PROGRESS, RANDOM, STATE_GET, STDOUT, WRITE},
    mutations::mutated,
};
use proptest::prelude::*;
use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// The time bound for one small component: the deadline of its definitions, and as much again for a
/// busy machine.
const BOUND: Duration = Duration::from_secs(10);

struct Fuzzed {
    runtime: Runtime,
    sandbox: Sandbox,
}

/// One sandbox for all inputs, as in a host, so that an input meets the state that others left.
static FUZZED: LazyLock<Fuzzed> = LazyLock::new(|| Fuzzed {
    runtime: Runtime::new().unwrap(),
    sandbox: sandbox(),
});

/// Different guests, small enough to compile thousands of times.
fn guests() -> Vec<Vec<u8>> {
    let text =
        text("(component (core module $m (func (export \"f\"))) (core instance (instantiate $m)))");
    let plugin = wat::parse_str(
        r#"(module (import "extism:host/env" "input_length" (func $length (result i64)))
        (memory (export "memory") 1)
        (func (export "f") (result i32) (drop (call $length)) (i32.const 0)))"#,
    );
    let plugin = plugin.unwrap();
    vec![
        Guest::default().bytes(),
        Guest {
            body: crate::guests::Body::Code(ECHO),
            imports: &[PROGRESS, RANDOM, STATE_GET],
            ..Guest::default()
        }
        .bytes(),
        Guest {
            imports: &[WRITE, STDOUT],
            ..Guest::default()
        }
        .bytes(),
        text,
        plugin,
    ]
}

fn component() -> impl Strategy<Value = Vec<u8>> {
    let guest = prop::sample::select(guests());
    prop_oneof![
        8 => guest.prop_flat_map(mutated),
        1 => prop::collection::vec(any::<u8>(), 0..256),
        1 => prop::collection::vec(any::<u8>(), 0..256)
            .prop_map(|tail| [&b"\0asm\x0d\0\x01\0"[..], &tail].concat()),
    ]
}

/// Loads a component and calls its tools.
async fn load_and_call(sandbox: &Sandbox, bytes: &[u8]) -> Result<(), TestCaseError> {
    let tool = match sandbox.load(bytes).await {
        Ok(tool) => tool,
        Err(error) => {
            prop_assert!(error.to_string().len() < 1_200, "{error}");
            prop_assert!(!error.to_string().contains(['\u{1b}', '\0']), "{error}");
            return Ok(());
        }
    };
    let definition = &tool.definitions()[0];
    let limits = Limits {
        deadline_ms: 500,
        ..Limits::default()
    };
    let report = tool
        .call(Call {
            tool: &definition.name,
            call_id: &CallId("1".to_owned()),
            input: &Map::new().into(),
            idempotency_key: "k",
            effect: definition.effect,
            grants: Arc::default(),
            secrets: Arc::default(),
            limits: &limits,
            context: CallContext::default(),
            progress: &|_| {},
        })
        .await
        .settled()
        .unwrap();
    prop_assert_eq!(report.accounting.limits, Some(limits));
    Ok(())
}

proptest! {
    /// The host stays alive, replies in bounded time, and still serves an honest guest.
    #[test]
    fn component_bytes(bytes in component()) {
        let Fuzzed { runtime, sandbox } = &*FUZZED;
        let begin = Instant::now();
        runtime.block_on(load_and_call(sandbox, &bytes))?;
        prop_assert!(begin.elapsed() < BOUND, "{:?}", begin.elapsed());
        runtime.block_on(load_and_call(sandbox, &Guest::default().bytes()))?;
    }

    /// A mutated real component that passes the structure check is small enough to compile.
    #[test]
    fn structure(bytes in Just(real()).prop_flat_map(mutated)) {
        let begin = Instant::now();
        let _ = structure::check(&bytes);
        prop_assert!(begin.elapsed() < BOUND, "{:?}", begin.elapsed());
    }
}

/// A built-in tool.
fn real() -> Vec<u8> {
    std::fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../guest-tools/dist/fetch.wasm"
    ))
    .unwrap()
}
