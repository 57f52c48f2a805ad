mod layouts;

use super::{WORLD, full_world, unpack};
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
