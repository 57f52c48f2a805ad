mod layouts;
mod wasi;

use super::{WORLD, contract, contract_package, contract_text, full_world, unpack, write_contract};
use crate::{project::Language, wit_usage::HostImport};
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{Resolve, WorldId};

/// The interfaces of WASI that HTTP needs, in the order of a world's imports.
const HTTP: [&str; 6] = [
    "wasi:clocks/monotonic-clock@0.2.1",
    "wasi:io/error@0.2.1",
    "wasi:io/poll@0.2.1",
    "wasi:io/streams@0.2.1",
    "wasi:http/types@0.2.1",
    "wasi:http/outgoing-handler@0.2.1",
];

/// Returns the names of a world's imports, without interfaces that only define types.
fn imports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let imports = resolve.worlds[world].imports.keys();
    imports
        .map(|key| resolve.name_world_key(key))
        .filter(|name| name != "agent:tool/types@0.1.0")
        .collect()
}

/// Returns the full names of interfaces of the contract.
fn interfaces(names: &[&str]) -> Vec<String> {
    let named = names.iter().map(|name| format!("agent:tool/{name}@0.1.0"));
    named.collect()
}

#[test]
fn embedded_contract_has_every_import() {
    let (resolve, world) = full_world().unwrap();
    let expected = [
        "progress",
        "partial",
        "state",
        "human",
        "context",
        "control",
        "artifacts",
        "tools",
    ];
    let expected = [HTTP.map(str::to_owned).to_vec(), interfaces(&expected)].concat();
    assert_eq!(imports(&resolve, world), expected);
}

#[test]
fn unpacked_contract_imports_declared_uses() {
    let (python, script) = (Language::Python, Language::TypeScript);
    // The language, what it declares, and the imports of the contract and of WASI.
    type Case<'a> = (Language, &'a [HostImport], &'a [&'a str], &'a [&'a str]);
    let cases: [Case<'_>; 6] = [
        (python, &[], &[], &[]),
        // componentize-js brings HTTP itself.
        (
            script,
            &[HostImport::Ask, HostImport::Http],
            &["human"],
            &[],
        ),
        (
            python,
            &[HostImport::Ask, HostImport::Http],
            &["human"],
            &HTTP,
        ),
        (
            python,
            &[HostImport::Progress, HostImport::State, HostImport::Ask],
            &["progress", "state", "human"],
            &[],
        ),
        (python, &[HostImport::Http], &[], &HTTP),
        (
            script,
            &[
                HostImport::Context,
                HostImport::Control,
                HostImport::Artifacts,
            ],
            &["context", "control", "artifacts"],
            &[],
        ),
    ];
    // One directory for all, rewritten each time.
    let dir = TempDir::new().unwrap();
    for (language, uses, expected, wasi) in cases {
        unpack(dir.path(), language, uses).unwrap();
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(dir.path()).unwrap();
        let world = resolve.select_world(&[package], Some(WORLD)).unwrap();
        let wasi = wasi.iter().map(|name| (*name).to_owned()).collect();
        let expected = [interfaces(expected), wasi].concat();
        assert_eq!(imports(&resolve, world), expected, "{language} {uses:?}");
    }
}

/// Printed again, the parsed text is the same, so that nothing of the package is lost in it.
#[test]
fn contract_text_is_the_whole_package() {
    let text = contract_text().unwrap();
    let mut resolve = Resolve::default();
    let package = resolve.push_str("agent-tool.wit", &text).unwrap();
    let mut printer = WitPrinter::default();
    printer.print(&resolve, package, &[]).unwrap();
    assert_eq!(String::from(printer.output), text);
    let names = |(resolve, package): &(Resolve, wit_parser::PackageId)| {
        let package = &resolve.packages[*package];
        let mut interfaces: Vec<String> = package.interfaces.keys().cloned().collect();
        interfaces.sort();
        let mut worlds: Vec<String> = package.worlds.keys().cloned().collect();
        worlds.sort();
        (package.name.to_string(), interfaces, worlds)
    };
    assert_eq!(names(&(resolve, package)), names(&contract().unwrap()));
    assert!(
        text.contains("/// The exports of a tool component."),
        "{text}"
    );
}

#[test]
fn written_contract_is_never_over_another_file() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("wit/agent-tool");
    let written = write_contract(&target).unwrap();
    let mut resolve = Resolve::default();
    resolve.push_dir(&target).unwrap();
    assert_eq!(write_contract(&target).unwrap(), written);
    let types = target.join("types.wit");
    assert!(written.contains(&types));
    std::fs::write(&types, "mine").unwrap();
    std::fs::remove_file(target.join("tool.wit")).unwrap();
    let error = write_contract(&target).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} already exists, and is not overwritten; remove it, or choose another directory",
            types.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&types).unwrap(), "mine");
    assert!(!target.join("tool.wit").exists());
}

#[test]
fn package_decodes_to_the_printed_contract() {
    let package = contract_package().unwrap();
    let decoded = wit_component::decode(&package.component).unwrap();
    let DecodedWasm::WitPackage(resolve, id) = decoded else {
        panic!("it is a component");
    };
    let mut printer = WitPrinter::default();
    printer.print(&resolve, id, &[]).unwrap();
    assert_eq!(String::from(printer.output), contract_text().unwrap());
    assert_eq!(package.version, "0.1.0");
    let mut names = interfaces(&[
        "artifacts",
        "context",
        "control",
        "filter-component",
        "hook",
        "hook-component",
        "hook-host",
        "hook-types",
        "host",
        "human",
        "partial",
        "progress",
        "state",
        "tool",
        "tool-component",
        "tools",
        "types",
    ]);
    names.sort();
    assert_eq!(Vec::from_iter(package.exports), names);
}
