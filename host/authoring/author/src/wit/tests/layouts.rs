//! The SDKs of C and Go write the canonical ABI by hand; these tests compare it with that of
//! wit-parser.

use super::super::full_world;
use crate::embedded;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use wit_parser::{
    Interface, Resolve, SizeAlign, Type, WorldItem,
    abi::{AbiVariant, WasmType},
};

/// Returns the imported interfaces of the contract by name.
fn imported(resolve: &Resolve, world: wit_parser::WorldId) -> BTreeMap<&str, &Interface> {
    let imports = resolve.worlds[world].imports.values();
    imports
        .filter_map(|item| match item {
            WorldItem::Interface { id, .. } => {
                let interface = &resolve.interfaces[*id];
                let of_contract = resolve.id_of(*id)?.starts_with("agent:tool/");
                of_contract.then_some((interface.name.as_deref()?, interface))
            }
            _ => None,
        })
        .collect()
}

fn text(path: &str) -> &'static str {
    std::str::from_utf8(embedded::file(path).unwrap()).unwrap()
}

#[test]
fn c_structs_have_the_sizes_of_the_contract() {
    let (resolve, world) = full_world().unwrap();
    let interfaces = imported(&resolve, world);
    let mut sizes = SizeAlign::default();
    sizes.fill(&resolve);
    let size = |of: &Type| sizes.size(of).size_wasm32();
    let named = |interface: &str, name: &str| Type::Id(interfaces[interface].types[name]);
    let result = |function: &str| interfaces["artifacts"].functions[function].result.unwrap();
    let header = text("guest-tools/sdk-c/internal.h");
    for (name, file, of) in [
        ("answer", "human", named("human", "answer")),
        ("form-answer", "human", named("human", "form-answer")),
        ("artifact", "artifacts", named("artifacts", "artifact")),
        ("the result of list", "artifacts", result("list")),
        ("the result of get", "artifacts", result("get")),
        ("the result of put", "artifacts", result("put")),
        ("the result of put", "artifacts", result("delete")),
    ] {
        let size = size(&of);
        let asserted = format!(" == {size}, \"the size of {name} in wit/{file}.wit\");");
        assert!(header.contains(&asserted), "{asserted}");
    }
    let component = text("guest-tools/sdk-c/component.c");
    for name in ["tool-definition", "content-part", "tool-result-output"] {
        let size = size(&named("types", name));
        let asserted = format!(" == {size}, \"the size of {name} in wit/types.wit\");");
        assert!(component.contains(&asserted), "{asserted}");
    }
    // What Go reads by offsets.
    let artifact = named("artifacts", "artifact");
    assert_eq!(
        (size(&artifact), sizes.align(&artifact).align_wasm32()),
        (24, 8)
    );
}

/// Returns the parameters and the result of the imports that Go declares, by interface and function.
fn go_imports(text: &str) -> BTreeMap<String, Vec<WasmType>> {
    let mut found = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(import) = line.strip_prefix("//go:wasmimport agent:tool/") else {
            continue;
        };
        let declared = lines.next().unwrap();
        let (_, parameters) = declared.split_once('(').unwrap();
        let (parameters, result) = parameters.rsplit_once(')').unwrap();
        let mut kind = WasmType::I32;
        let kinds = parameters.rsplit(", ").map(|parameter| {
            // A type holds for the parameters before it, too.
            kind = match parameter.split_once(' ') {
                Some((_, "float64")) => WasmType::F64,
                Some((_, "uint32")) => WasmType::I32,
                Some((_, other)) => panic!("{other}"),
                None => kind,
            };
            kind
        });
        let mut kinds: Vec<WasmType> = kinds.collect();
        kinds.reverse();
        kinds.extend((result == " uint32").then_some(WasmType::I32));
        found.insert(import.to_owned(), kinds);
    }
    found
}

#[test]
fn go_imports_have_the_signatures_of_the_contract() {
    let (resolve, world) = full_world().unwrap();
    let mut expected = BTreeMap::new();
    let imports = imported(&resolve, world).into_iter();
    // No SDK but that of Rust has the calls of programs.
    for (name, interface) in imports.filter(|(name, _)| *name != "tools") {
        for function in interface.functions.values() {
            let signature = resolve.wasm_signature(AbiVariant::GuestImport, function);
            let kinds = signature.params.into_iter().chain(signature.results);
            let kinds = kinds.map(|kind| match kind {
                WasmType::Pointer | WasmType::Length => WasmType::I32,
                other => other,
            });
            expected.insert(
                format!("{name}@0.1.0 {}", function.name),
                kinds.collect::<Vec<_>>(),
            );
        }
    }
    let mut declared = go_imports(text("guest-tools/sdk-go/host_wasip1.go"));
    declared.extend(go_imports(text("guest-tools/sdk-go/artifacts_wasip1.go")));
    assert_eq!(declared, expected);
}

/// Returns the numbers of parameters and results of the imports that C declares.
fn c_imports(text: &str, interface: Option<&str>) -> BTreeMap<String, usize> {
    let lines = text.replace(",\n", ",");
    let mut lines = lines.lines();
    let mut found = BTreeMap::new();
    while let Some(line) = lines.next() {
        let Some(import) = line.strip_prefix("IMPORT(\"") else {
            continue;
        };
        let import = import.strip_suffix("\")").unwrap();
        let name = match (interface, import.split_once("\", \"")) {
            (None, Some((interface, function))) => format!("{interface}@0.1.0 {function}"),
            (Some(interface), None) => format!("{interface}@0.1.0 {import}"),
            other => panic!("{other:?}"),
        };
        let declared = lines.next().unwrap();
        let results = usize::from(!declared.starts_with("void"));
        found.insert(name, declared.matches(',').count() + 1 + results);
    }
    found
}

#[test]
fn c_and_go_declare_the_same_imports() {
    let mut c = c_imports(text("guest-tools/sdk-c/host.c"), None);
    c.extend(c_imports(
        text("guest-tools/sdk-c/artifacts.c"),
        Some("artifacts"),
    ));
    let mut go = go_imports(text("guest-tools/sdk-go/host_wasip1.go"));
    go.extend(go_imports(text("guest-tools/sdk-go/artifacts_wasip1.go")));
    let go = go
        .into_iter()
        .map(|(name, kinds)| (name, kinds.len()))
        .collect::<BTreeMap<_, _>>();
    assert_eq!(c, go);
}
