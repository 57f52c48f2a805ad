//! The SDKs of C and Go call wasi:http by the canonical ABI; these tests compare their declarations
//! with `guest-tools/sdk-wit`.

use super::super::full_world;
use crate::embedded;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use wit_parser::{
    Function, Resolve, SizeAlign, WorldItem,
    abi::{AbiVariant, WasmType},
};

/// The parameters and the results of a core function.
type Signature = (Vec<WasmType>, Vec<WasmType>);

fn text(path: &str) -> &'static str {
    std::str::from_utf8(embedded::file(path).unwrap()).unwrap()
}

/// Returns the functions of WASI that a tool can import, by interface and name.
fn functions() -> (Resolve, BTreeMap<String, Function>) {
    let (resolve, world) = full_world().unwrap();
    let mut found = BTreeMap::new();
    for item in resolve.worlds[world].imports.values() {
        let WorldItem::Interface { id, .. } = item else {
            continue;
        };
        let interface = resolve.id_of(*id).unwrap();
        if interface.starts_with("wasi:") {
            for (name, function) in &resolve.interfaces[*id].functions {
                found.insert(format!("{interface} {name}"), function.clone());
            }
        }
    }
    (resolve, found)
}

fn signature(resolve: &Resolve, function: &Function) -> Signature {
    let signature = resolve.wasm_signature(AbiVariant::GuestImport, function);
    let plain = |kinds: Vec<WasmType>| {
        let kinds = kinds.into_iter().map(|kind| match kind {
            WasmType::Pointer | WasmType::Length => WasmType::I32,
            other => other,
        });
        kinds.collect()
    };
    (plain(signature.params), plain(signature.results))
}

/// Returns the type of a parameter or result in Go or C.
fn kind(declared: &str) -> WasmType {
    match declared.trim() {
        "uint32" | "uint32_t" | "int32_t" | "size_t" => WasmType::I32,
        "uint64" | "uint64_t" => WasmType::I64,
        other => panic!("{other}"),
    }
}

/// Returns the imports that Go declares.
fn go() -> BTreeMap<String, Signature> {
    let mut found = BTreeMap::new();
    let mut lines = text("guest-tools/sdk-go/agenthttp/wasi_wasip1.go").lines();
    while let Some(line) = lines.next() {
        let Some(import) = line.strip_prefix("//go:wasmimport ") else {
            continue;
        };
        let declared = lines.next().unwrap();
        let (_, rest) = declared.split_once('(').unwrap();
        let (parameters, result) = rest.split_once(')').unwrap();
        let mut last = WasmType::I32;
        let kinds = parameters.split(',').map(str::trim);
        let kinds = kinds.filter(|parameter| !parameter.is_empty());
        let mut kinds: Vec<WasmType> = kinds
            .rev()
            .map(|parameter| {
                // A type holds for the parameters before it, too.
                last = parameter
                    .split_once(' ')
                    .map_or(last, |(_, declared)| kind(declared));
                last
            })
            .collect();
        kinds.reverse();
        let results = (!result.is_empty()).then(|| kind(result));
        found.insert(import.to_owned(), (kinds, results.into_iter().collect()));
    }
    found
}

/// Returns the imports that C declares.
fn c() -> BTreeMap<String, Signature> {
    let mut found = BTreeMap::new();
    let mut pieces = text("guest-tools/sdk-c/http_wasi.h").split("\nIMPORT(\"");
    pieces.next();
    for piece in pieces {
        let (import, declared) = piece.split_once("\")\n").unwrap();
        let (interface, name) = import.split_once("\", \"").unwrap();
        let (declared, _) = declared.split_once(");").unwrap();
        let (head, parameters) = declared.split_once('(').unwrap();
        let (result, _) = head.rsplit_once(' ').unwrap();
        let kinds = parameters.split(',').map(str::trim);
        let kinds = kinds
            .filter(|parameter| *parameter != "void")
            .map(|parameter| {
                if parameter.contains(['*', '[']) {
                    WasmType::I32
                } else {
                    kind(parameter.rsplit_once(' ').unwrap().0)
                }
            });
        let results = (result != "void").then(|| kind(result));
        found.insert(
            format!("wasi:{interface}@0.2.1 {name}"),
            (kinds.collect(), results.into_iter().collect()),
        );
    }
    found
}

#[test]
fn declared_wasi_imports_have_the_signatures_of_the_wit() {
    let (resolve, functions) = functions();
    for declared in [go(), c()] {
        let called: Vec<_> = declared
            .iter()
            .filter(|(name, _)| !name.contains("[resource-drop]"))
            .collect();
        assert!(called.len() > 20, "{called:?}");
        for (name, found) in called {
            let function = functions.get(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!(*found, signature(&resolve, function), "{name}");
        }
    }
}

#[test]
fn c_and_go_declare_the_same_wasi_imports() {
    assert_eq!(c(), go());
}

#[test]
fn c_structs_have_the_sizes_of_wasi_results() {
    let (resolve, functions) = functions();
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let header = text("guest-tools/sdk-c/http_wasi.h");
    for (interface, name, file) in [
        ("http/types", "[method]outgoing-request.body", "http"),
        ("http/types", "[static]outgoing-body.finish", "http"),
        ("http/types", "[method]future-incoming-response.get", "http"),
        ("http/types", "http-error-code", "http"),
        ("io/streams", "[method]input-stream.blocking-read", "io"),
    ] {
        let function = &functions[&format!("wasi:{interface}@0.2.1 {name}")];
        let size = sizes.size(&function.result.unwrap()).size_wasm32();
        let (_, plain) = name.split_once(']').unwrap_or(("", name));
        let asserted =
            format!(" == {size}, \"the size of the result of {plain} in sdk-wit/{file}.wit\");");
        assert!(header.contains(&asserted), "{asserted}");
    }
}
