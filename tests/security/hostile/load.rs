//! Section A: components that are malformed, misleading, or too costly to compile.

use super::{
    bombs,
    case::{Case, Ends},
    definitions, table,
};
use agent_host_sandbox::LoadFault::{
    self, CompileLimit, ContractMismatch, MissingCapability, NotAComponent, TooLarge,
    UnsupportedFeature,
};
use agent_host_test_guests::Guest;
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::json;

pub(crate) fn cases() -> Vec<Case> {
    [
        no_components(),
        cut_and_changed(),
        bombs(),
        files(),
        definitions::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn refused(name: &str, bytes: Vec<u8>, fault: LoadFault, says: &'static str) -> Case {
    Case::made('A', name, bytes, Ends::Refused(fault, says))
}

fn no_components() -> Vec<Case> {
    let whole = bombs::good();
    vec![
        refused(
            "an empty file",
            Vec::new(),
            NotAComponent,
            "not a WebAssembly component",
        ),
        refused(
            "a script",
            b"#!/bin/sh\nrm -rf ~\n".to_vec(),
            NotAComponent,
            "magic",
        ),
        refused(
            "a program",
            b"\x7fELF\x02\x01\x01\0".to_vec(),
            NotAComponent,
            "magic",
        ),
        refused(
            "WebAssembly text",
            b"(component)".to_vec(),
            NotAComponent,
            "magic",
        ),
        refused(
            "the magic number alone",
            whole[..4].to_vec(),
            NotAComponent,
            "not a WebAssembly component",
        ),
        refused(
            "a version that there is not",
            b"\0asm\x0d\0\x02\0".to_vec(),
            NotAComponent,
            "version",
        ),
        refused("zeros", vec![0; 4096], NotAComponent, "magic"),
        refused(
            "a core module",
            wat::parse_str(r#"(module (func (export "call")))"#).unwrap(),
            NotAComponent,
            "core WebAssembly module",
        ),
        refused(
            "a file beyond the cap",
            vec![0; 64 * 1024 * 1024 + 1],
            TooLarge,
            "67108865 bytes",
        ),
        refused(
            "two components in a row",
            [whole.clone(), whole].concat(),
            NotAComponent,
            "not a WebAssembly component",
        ),
    ]
}

/// A valid guest that is truncated, and one with single bytes changed.
fn cut_and_changed() -> Vec<Case> {
    let whole = bombs::good();
    let mut cases = Vec::new();
    for at in bombs::borders(&whole) {
        // The rest is a component; it lacks its last section, the export.
        cases.push(refused(
            &format!("cut at the border {at}"),
            whole[..at].to_vec(),
            ContractMismatch,
            "exports nothing",
        ));
        let inside = whole[..=at].to_vec();
        cases.push(refused(
            &format!("cut at {}", at + 1),
            inside,
            NotAComponent,
            "not a WebAssembly component",
        ));
    }
    cases.extend(bombs::mutations(&whole, 48).into_iter().enumerate().map(
        |(index, (at, bytes))| {
            Case::made(
                'A',
                format!("mutation {index}, of byte {at}"),
                bytes,
                Ends::Anyhow,
            )
        },
    ));
    cases
}

/// Components that are small to send and costly to compile.
fn bombs() -> Vec<Case> {
    let limit = |name: &str, bytes| refused(name, bytes, CompileLimit, "too long to compile");
    // The compiler's own deadline exceeds the harness's on a busy machine.
    let anyhow = |name: &str, bytes| {
        Case::made('A', name, bytes, Ends::Anyhow).config("[sandbox]\ncompile-deadline-ms = 20000")
    };
    vec![
        limit(
            "a million empty functions",
            bombs::empty_functions(1_000_000),
        ),
        limit("half a million flat loops", bombs::flat_loops(1, 500_000)),
        limit("300,000 flat loops", bombs::flat_loops(1, 300_000)),
        limit("10,000 flat loops", bombs::flat_loops(1, 10_000)),
        limit("11,000 loops in each other", bombs::nested_loops(11_000)),
        limit(
            "20,000 blocks in each other",
            bombs::nested_blocks(1, 20_000),
        ),
        limit("50,000 locals", bombs::locals(1, 50_000)),
        limit("a function of 7.6 MB", bombs::long_function(7_600_000)),
        limit("a million exports", bombs::exports(1_000_000)),
        limit(
            "a thousand nested components",
            bombs::nested_components(1_000),
        ),
        limit(
            "a million entries of every kind",
            Guest {
                component: &format!(
                    "(core module {})",
                    "(global i32 (i32.const 0))".repeat(1_000_001)
                ),
                ..Guest::default()
            }
            .bytes(),
        ),
        // Within every cap: compiled in time or not, the host continues.
        anyhow(
            "999 flat loops in each of 300 functions",
            bombs::flat_loops(300, 999),
        ),
        anyhow(
            "9,000 blocks in each other in each of 50 functions",
            bombs::nested_blocks(50, 9_000),
        ),
        anyhow(
            "9,000 locals in each of 20,000 functions",
            bombs::locals(20_000, 9_000),
        ),
        anyhow("199,999 empty functions", bombs::empty_functions(199_999)),
        limit("a million locals", bombs::locals(1, 1_000_000)),
        Case::made(
            'A',
            "a name section of 30 MB that holds no names",
            bombs::with_custom_section("component-name", 30_000_000),
            Ends::Returned(json!({"type": "json", "value": {}})),
        ),
        Case::made(
            'A',
            "20,000 functions with names of a thousand letters",
            bombs::named_functions(20_000, 1_000),
            Ends::Returned(json!({"type": "json", "value": {}})),
        ),
        Case::made(
            'A',
            "a custom section of 60 MB",
            bombs::with_custom_section("padding", 60_000_000),
            Ends::Returned(json!({"type": "json", "value": {}})),
        ),
    ]
}

/// Guests with a file of their own.
fn files() -> Vec<Case> {
    [
        (
            "ungranted-import.wat",
            MissingCapability,
            "`acme:database/query@1.0.0`",
        ),
        (
            "ungranted-interface-of-ours.wat",
            MissingCapability,
            "`agent:tool/secrets@0.1.0`",
        ),
        ("import-of-a-function.wat", MissingCapability, "`log`"),
        ("wrong-type.wat", ContractMismatch, "exports nothing"),
        (
            "wrong-version.wat",
            ContractMismatch,
            "`agent:tool/tool@0.9.0`",
        ),
        (
            "empty-tool.wat",
            ContractMismatch,
            "does not have the types",
        ),
        ("nothing-exported.wat", ContractMismatch, "exports nothing"),
        ("memory64.wat", UnsupportedFeature, "memory64"),
        ("threads.wat", UnsupportedFeature, "threads"),
        ("gc.wat", UnsupportedFeature, "gc"),
        ("exceptions.wat", UnsupportedFeature, "exceptions"),
        (
            "function-references.wat",
            UnsupportedFeature,
            "function references",
        ),
        ("loop-in-start.wat", ContractMismatch, "timeout"),
        ("definitions-loop.wat", ContractMismatch, "timeout"),
        ("definitions-trap.wat", ContractMismatch, "trap"),
        ("definitions-grow.wat", ContractMismatch, "out-of-memory"),
        (
            "definitions-outside.wat",
            ContractMismatch,
            "invalid-output",
        ),
        (
            "definitions-endless.wat",
            ContractMismatch,
            "invalid-output",
        ),
        (
            "definitions-wrapping.wat",
            ContractMismatch,
            "invalid-output",
        ),
    ]
    .into_iter()
    .map(|(file, fault, says)| Case::file('A', file, Ends::Refused(fault, says)))
    .collect()
}

#[test]
fn load_and_compile() {
    table::run(&cases());
}

#[test]
fn tampered_compile_cache_is_rebuilt() {
    let env = TestEnv::new();
    env.write("hostile.wasm", bombs::good());
    env.write("agent.toml", "cache-dir = \"../cache\"\n[grants]\n");
    let call = || {
        env.run(&[
            "call",
            "hostile.wasm",
            "hostile",
            "{}",
            "--config",
            "agent.toml",
        ])
    };
    let first = call();
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (Some(0), "{}\n"),
        "{}",
        first.stderr
    );
    let entries = || -> Vec<std::path::PathBuf> {
        let found = std::fs::read_dir(env.outside().join("cache")).unwrap();
        let files = found.map(|entry| entry.unwrap().path());
        files
            .filter(|path| std::fs::metadata(path).unwrap().len() > 1_000)
            .collect()
    };
    let entry = entries().pop().unwrap();
    let good = std::fs::read(&entry).unwrap();
    for at in (0..good.len()).step_by(good.len() / 16) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&entry, bytes).unwrap();
        let again = call();
        assert_eq!(
            (again.code, again.stdout.as_str()),
            (Some(0), "{}\n"),
            "byte {at}: {}",
            again.stderr
        );
        assert_eq!(
            std::fs::read(&entry).unwrap().len(),
            good.len(),
            "byte {at}: it was made anew"
        );
        assert_eq!(entries(), std::slice::from_ref(&entry), "byte {at}");
    }
    for length in [0, 1, good.len() / 2, good.len() - 1] {
        std::fs::write(&entry, &good[..length]).unwrap();
        let again = call();
        assert_eq!(
            (again.code, again.stdout.as_str()),
            (Some(0), "{}\n"),
            "{length} bytes: {}",
            again.stderr
        );
    }
}
