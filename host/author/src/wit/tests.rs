mod layouts;

use super::{WORLD, contract, contract_text, full_world, unpack, write_contract};
use crate::wit_usage::HostImport;
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use wit_parser::{Resolve, WorldId};

/// Returns the names of a world's imports, without interfaces that only define types.
fn imports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let imports = resolve.worlds[world].imports.keys();
    imports
        .map(|key| resolve.name_world_key(key))
        .filter(|name| name != "agent:tool/types@0.1.0")
        .collect()
}

#[test]
fn embedded_contract_has_every_import() {
    let (resolve, world) = full_world().unwrap();
    let expected = [
        "progress",
        "state",
        "human",
        "context",
        "control",
        "artifacts",
    ];
    let expected = expected.map(|name| format!("agent:tool/{name}@0.1.0"));
    assert_eq!(imports(&resolve, world), expected);
}

#[test]
fn unpacked_contract_imports_declared_uses() {
    let cases: [(&[HostImport], &[&str]); 4] = [
        (&[], &[]),
        (&[HostImport::Ask, HostImport::Http], &["human"]),
        (
            &[HostImport::Progress, HostImport::State, HostImport::Ask],
            &["progress", "state", "human"],
        ),
        (
            &[
                HostImport::Context,
                HostImport::Control,
                HostImport::Artifacts,
            ],
            &["context", "control", "artifacts"],
        ),
    ];
    // One directory for all, rewritten each time.
    let dir = TempDir::new().unwrap();
    for (uses, expected) in cases {
        unpack(dir.path(), uses).unwrap();
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(dir.path()).unwrap();
        let world = resolve.select_world(&[package], Some(WORLD)).unwrap();
        let expected: Vec<String> = expected
            .iter()
            .map(|name| format!("agent:tool/{name}@0.1.0"))
            .collect();
        assert_eq!(imports(&resolve, world), expected, "{uses:?}");
    }
}

/// Printed again, the parsed text is the same, so that nothing of the package is lost in it.
#[test]
fn contract_text_is_the_whole_package() {
    let text = contract_text().unwrap();
    let mut resolve = Resolve::default();
    let package = resolve.push_str("agent-tool.wit", &text).unwrap();
    let mut printer = wit_component::WitPrinter::default();
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
            "{} is there already, and nothing is written over; remove it, or name another directory",
            types.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&types).unwrap(), "mine");
    assert!(!target.join("tool.wit").exists());
}
