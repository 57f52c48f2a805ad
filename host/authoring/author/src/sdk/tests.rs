use super::unpack;
use crate::project::Language;
use pretty_assertions::assert_eq;
use std::fs;
use tempfile::TempDir;

#[test]
fn sdk_is_unpacked_without_its_tests() {
    for (language, part, tests) in [
        (Language::Rust, "sdk/src/lib.rs", "sdk/tests"),
        (Language::Python, "agent_tool/__init__.py", "tests"),
        (Language::TypeScript, "build.mjs", "tests"),
        (Language::JavaScript, "index.js", "tests"),
        (Language::C, "agent_tool.h", "tests"),
        (Language::Go, "go.mod", "tests"),
    ] {
        let dir = TempDir::new().unwrap();
        unpack(language, dir.path()).unwrap();
        let there = |path| dir.path().join(path).exists();
        assert_eq!((there(part), there(tests)), (true, false), "{language}");
    }
}

#[test]
fn rust_sdk_is_its_own_workspace() {
    let dir = TempDir::new().unwrap();
    unpack(Language::Rust, dir.path()).unwrap();
    let manifest = fs::read_to_string(dir.path().join("Cargo.toml")).unwrap();
    let mut unpacked: toml::Table = toml::from_str(&manifest).unwrap();
    let mut original: toml::Table =
        toml::from_str(include_str!("../../../../../guest-tools/Cargo.toml")).unwrap();
    // Removes the members to compare the rest.
    let members = |manifest: &mut toml::Table| {
        let members = manifest["workspace"]["members"].as_array_mut();
        std::mem::take(members.unwrap())
    };
    assert_eq!(
        members(&mut unpacked),
        ["sdk", "sdk-macros"].map(toml::Value::from)
    );
    members(&mut original);
    assert_eq!(unpacked, original);
}
