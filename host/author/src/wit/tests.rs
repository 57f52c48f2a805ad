use super::{WORLD, everything, unpack};
use crate::uses::Use;
use pretty_assertions::assert_eq;
use tempfile::TempDir;
use wit_parser::{Resolve, WorldId};

/// The names of the interfaces that a world imports, without those that only hold types.
fn imports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let imports = resolve.worlds[world].imports.keys();
    imports
        .map(|key| resolve.name_world_key(key))
        .filter(|name| name != "agent:tool/types@0.1.0")
        .collect()
}

#[test]
fn the_carried_contract_has_every_import() {
    let (resolve, world) = everything().unwrap();
    let expected = ["progress", "state", "human"].map(|name| format!("agent:tool/{name}@0.1.0"));
    assert_eq!(imports(&resolve, world), expected);
}

#[test]
fn an_unpacked_contract_imports_what_is_declared() {
    let cases: [(&[Use], &[&str]); 3] = [
        (&[], &[]),
        (&[Use::Ask, Use::Http], &["human"]),
        (
            &[Use::Progress, Use::State, Use::Ask],
            &["progress", "state", "human"],
        ),
    ];
    // One folder for all: each time it is written over.
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
