use super::{component_of_module, componentize};
use crate::error::AuthorError;
use pretty_assertions::assert_eq;
use wasm_metadata::Producers;
use wit_component::{DecodedWasm, StringEncoding, decode, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

/// A core module with the contract's exports, and additional imports and functions.
fn module(imports: &str, more: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(module
            {imports}
            (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "agent:tool/tool@0.1.0#definitions") (result i32) (i32.const 16))
            (func (export "agent:tool/tool@0.1.0#call")
                (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 16))
            {more})"#
    ))
    .unwrap()
}

const PROGRESS: &str =
    r#"(import "agent:tool/progress@0.1.0" "report" (func $report (param i32 i32 i32 f64)))"#;
const RANDOM: &str =
    r#"(import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))"#;

/// Returns the names of a component's imports, without the contract's types.
fn imports(component: &[u8]) -> Vec<String> {
    let DecodedWasm::Component(resolve, world) = decode(component).unwrap() else {
        panic!("it is a WIT package");
    };
    let imports = resolve.worlds[world].imports.keys();
    imports
        .map(|key| resolve.name_world_key(key))
        .filter(|name| name != "agent:tool/types@0.1.0")
        .collect()
}

#[test]
fn component_imports_only_what_its_module_calls() {
    let cases: [(&str, &[&str]); 3] = [
        ("", &[]),
        (PROGRESS, &["agent:tool/progress@0.1.0"]),
        // The adapter reports its own errors on stderr.
        (
            RANDOM,
            &[
                "wasi:io/error@0.2.12",
                "wasi:io/streams@0.2.12",
                "wasi:cli/stderr@0.2.12",
                "wasi:random/random@0.2.12",
            ],
        ),
    ];
    for (wanted, expected) in cases {
        let component = componentize(module(wanted, "")).unwrap();
        assert_eq!(imports(&component), expected, "{wanted}");
    }
}

#[test]
fn adapter_producers_are_omitted() {
    let component = componentize(module(RANDOM, "")).unwrap();
    let producers = Producers::from_wasm(&component).unwrap().unwrap();
    let said: Vec<(&str, Vec<&str>)> = producers
        .iter()
        .map(|(field, values)| {
            let names = values.iter().map(|(name, _)| name.as_str());
            (field.as_str(), names.collect())
        })
        .collect();
    assert_eq!(said, [("processed-by", vec!["wit-component"])]);
}

#[test]
fn invalid_module_is_refused_with_the_reason() {
    let cases = [
        (
            wat::parse_str("(module (memory (export \"memory\") 1))").unwrap(),
            "failed to decode world from module: module was not valid: failed to find export of interface `agent:tool/tool@0.1.0` function `definitions`",
        ),
        (
            module(r#"(import "env" "log" (func (param i32)))"#, ""),
            "failed to decode world from module: module was not valid: failed to resolve import `env::log`: module requires an import interface named `env`",
        ),
        (
            module(
                r#"(import "agent:tool/progress@0.1.0" "report" (func (param i32)))"#,
                "",
            ),
            "failed to decode world from module: module was not valid: failed to resolve import `agent:tool/progress@0.1.0::report`: failed to validate import interface `agent:tool/progress@0.1.0`: type mismatch for function `report`: expected `[I32, I32, I32, F64] -> []` but found `[I32] -> []`",
        ),
        (
            module(
                r#"(import "agent:tool/progress@0.2.0" "report" (func (param i32 i32 i32 f64)))"#,
                "",
            ),
            "failed to decode world from module: module was not valid: failed to resolve import `agent:tool/progress@0.2.0::report`: module requires an import interface named `agent:tool/progress@0.2.0`",
        ),
        (
            b"\x7fELF".to_vec(),
            "decoding item in module: magic header not detected: bad magic number - expected=[\n    0x0,\n    0x61,\n    0x73,\n    0x6d,\n] actual=[\n    0x7f,\n    0x45,\n    0x4c,\n    0x46,\n] (at offset 0x0)",
        ),
    ];
    for (module, why) in cases {
        assert_eq!(
            componentize(module),
            Err(AuthorError::Usage(format!(
                "the compiled module is not a tool: {why}. The SDK defines what a tool exports and imports: check \
                 that it is compiled in, and that nothing else is exported or declared by hand"
            )))
        );
    }
}

/// Bindings bring the types of their world along; without them, those of the contract hold.
#[test]
fn module_of_any_compiler_keeps_the_world_of_its_bindings() {
    let mut sources = SourceMap::default();
    sources.push_str("a.wit", "package a:b; world w { export f: func() -> u32; }");
    let mut resolve = Resolve::default();
    let package = resolve.push_group(sources.parse().unwrap()).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let mut own =
        wat::parse_str(r#"(module (func (export "f") (result i32) (i32.const 7)))"#).unwrap();
    let without = own.clone();
    embed_component_metadata(&mut own, &resolve, world, StringEncoding::UTF8).unwrap();
    let exports = |component: &[u8]| -> Vec<String> {
        let DecodedWasm::Component(resolve, world) = decode(component).unwrap() else {
            panic!("it is a WIT package");
        };
        let exports = resolve.worlds[world].exports.keys();
        exports.map(|key| resolve.name_world_key(key)).collect()
    };
    assert_eq!(exports(&component_of_module(own.clone()).unwrap()), ["f"]);
    let contract = component_of_module(module("", "")).unwrap();
    assert_eq!(exports(&contract), ["agent:tool/tool@0.1.0"]);
    let refused = |module| component_of_module(module).unwrap_err().to_string();
    assert!(refused(without).starts_with("the compiled module is not a tool: "));
    own.truncate(own.len() - 1);
    assert!(!refused(own).is_empty());
}
