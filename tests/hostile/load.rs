//! Section A: components that are malformed, misleading, or too costly to compile.

use super::{
    bombs,
    case::{Case, Ends},
    table,
};
use crate::support::TestEnv;
use agent_host_sandbox::LoadFault::{
    self, CompileLimit, ContractMismatch, MissingCapability, NotAComponent, TooLarge,
    UnsupportedFeature,
};
use agent_host_test_guests::{Definition, Guest};
use agent_host_types::failure::ToolErrorCode;
use pretty_assertions::assert_eq;
use serde_json::json;

pub(crate) fn cases() -> Vec<Case> {
    [
        no_components(),
        cut_and_changed(),
        bombs(),
        files(),
        definitions(),
        schemas(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn refused(name: &str, bytes: Vec<u8>, fault: LoadFault, says: &'static str) -> Case {
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

/// A guest with this definition of its tools.
fn defining(definitions: Vec<Definition>) -> Vec<u8> {
    Guest {
        definitions,
        ..Guest::default()
    }
    .bytes()
}

fn hostile() -> Definition {
    Definition {
        name: "hostile".to_owned(),
        ..Definition::default()
    }
}

/// Tool definitions of a component.
fn definitions() -> Vec<Case> {
    let named = |name: &str| Definition {
        name: name.to_owned(),
        ..Definition::default()
    };
    let described = |text: &str| Definition {
        description: text.to_owned(),
        ..hostile()
    };
    let titled = |text: &str| Definition {
        title: Some(text.to_owned()),
        ..hostile()
    };
    let many = |count| {
        (0..count)
            .map(|index| named(&format!("tool-{index}")))
            .collect()
    };
    let all: [(&str, Vec<Definition>, &str); 15] = [
        ("no tool", Vec::new(), "defines no tool"),
        ("129 tools", many(129), "defines 129 tools"),
        (
            "two tools of one name",
            vec![hostile(), hostile()],
            "two tools `hostile`",
        ),
        (
            "a name that looks like another",
            vec![named("h\u{43e}stile")],
            "a name has 1 to 64",
        ),
        (
            "a name in full-width letters",
            vec![named("\u{ff48}ostile")],
            "a name has 1 to 64",
        ),
        (
            "a name with a mark of direction",
            vec![named("hostile\u{200e}")],
            "a name has 1 to 64",
        ),
        ("an empty name", vec![named("")], "a name has 1 to 64"),
        (
            "a name of 65 letters",
            vec![named(&"n".repeat(65))],
            "a name has 1 to 64",
        ),
        (
            "a name with a line break",
            vec![named("a\nb")],
            "a name has 1 to 64",
        ),
        (
            "a description that clears the terminal",
            vec![described("\u{1b}[2J")],
            "control characters",
        ),
        (
            "a description that turns the writing",
            vec![described("a\u{202e}b")],
            "turn the direction",
        ),
        (
            "a description with a zero byte",
            vec![described("a\0b")],
            "control characters",
        ),
        (
            "a description of 9,000 bytes",
            vec![described(&"d".repeat(9_000))],
            "9000 bytes",
        ),
        (
            "a title with a C1 control",
            vec![titled("a\u{9b}31m")],
            "control characters",
        ),
        (
            "a title of 129 bytes",
            vec![titled(&"t".repeat(129))],
            "129 bytes",
        ),
    ];
    let mut cases: Vec<Case> = all
        .into_iter()
        .map(|(name, definitions, says)| {
            refused(name, defining(definitions), ContractMismatch, says)
        })
        .collect();
    cases.push(refused(
        "an effect that there is not",
        defining(vec![Definition {
            effect: 7,
            ..hostile()
        }]),
        ContractMismatch,
        "discriminant",
    ));
    cases.push(
        Case::made(
            'A',
            "two components with tools of one name",
            bombs::good(),
            Ends::Unusable("both have a tool called `hostile`"),
        )
        .config("[[tool]]\nname = \"other\"\ncomponent = \"hostile.wasm\""),
    );
    cases
}

/// Schemas that are invalid or costly to evaluate.
fn schemas() -> Vec<Case> {
    let with = |schema: String| {
        defining(vec![Definition {
            input_schema: schema,
            ..hostile()
        }])
    };
    let deep = |levels| format!("{}true{}", r#"{"not":"#.repeat(levels), "}".repeat(levels));
    let all: [(&str, String, &str); 12] = [
        ("a schema that is no JSON", "{".to_owned(), "not JSON"),
        ("an empty schema", String::new(), "not JSON"),
        ("a schema that is a number", "7".to_owned(), "schema"),
        (
            "a schema of 10 MB",
            format!(r#"{{"title":"{}"}}"#, "t".repeat(10_000_000)),
            "definitions",
        ),
        (
            "a schema of 70,000 bytes",
            format!(r#"{{"title":"{}"}}"#, "t".repeat(70_000)),
            "more than 65536",
        ),
        ("a schema 33 levels deep", deep(33), "nests deeper"),
        ("a schema 6,000 levels deep", deep(6_000), "not JSON"),
        (
            "a reference to another server",
            r#"{"type":"object","$ref":"http://127.0.0.1:9/schema.json"}"#.to_owned(),
            "schema",
        ),
        (
            "a reference to a file",
            r#"{"type":"object","$ref":"file:///etc/passwd"}"#.to_owned(),
            "schema",
        ),
        (
            "a reference to itself",
            r##"{"$ref":"#"}"##.to_owned(),
            "schema",
        ),
        (
            "a pattern that is too large",
            r#"{"type":"object","properties":{"a":{"pattern":"((a{1000}){1000}){1000}"}}}"#
                .to_owned(),
            "schema",
        ),
        (
            "a schema that clears the terminal",
            r#"{"type":"object","description":"\u001b[2J"}"#.to_owned(),
            "control characters",
        ),
    ];
    let mut cases: Vec<Case> = all
        .into_iter()
        .map(|(name, schema, says)| refused(name, with(schema), ContractMismatch, says))
        .collect();
    // A backtracking engine would need 2^40 steps for this text.
    cases.push(
        Case::made(
            'A',
            "a pattern that explodes elsewhere",
            with(
                r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}"#
                    .to_owned(),
            ),
            Ends::Failed(ToolErrorCode::InvalidInput, "does not match"),
        )
        .calling("hostile", &format!(r#"{{"a":"{}!"}}"#, "a".repeat(40))),
    );
    cases
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
