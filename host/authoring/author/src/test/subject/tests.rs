use super::{cases, component};
use crate::{Language, Project};
use pretty_assertions::assert_eq;
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

/// Writes a file with a modification time `seconds` after the others.
fn write(root: &Path, name: &str, seconds: u64) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

fn project(dir: &Path) -> Project {
    Project {
        dir: dir.to_owned(),
        name: "weather".to_owned(),
        language: Language::Rust,
    }
}

#[test]
fn component_older_than_its_sources_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let project = project(root);
    write(root, "src/lib.rs", 0);
    let build = format!("run `agent-host build {}`", root.display());
    assert_eq!(
        component(&project).unwrap_err().to_string(),
        format!("weather is not built yet; {build}")
    );

    write(root, "dist/weather.wasm", 1);
    assert_eq!(component(&project), Ok(root.join("dist/weather.wasm")));
    // None of these is a source.
    for name in [
        "README.md",
        "tests/cases.toml",
        ".agent-host/sdk/lib.rs",
        "target/x.d",
        "node_modules/a/b.js",
        "dist/other.wasm",
    ] {
        write(root, name, 2);
        assert_eq!(component(&project), Ok(root.join("dist/weather.wasm")));
    }

    write(root, "src/deeper/a.rs", 2);
    assert_eq!(
        component(&project).unwrap_err().to_string(),
        format!(
            "{} has changed since {} was built, so an outdated tool would be tested; {build}",
            root.join("src/deeper/a.rs").display(),
            root.join("dist/weather.wasm").display()
        )
    );
    write(root, "dist/weather.wasm", 2);
    assert_eq!(component(&project), Ok(root.join("dist/weather.wasm")));
}

#[test]
fn cases_are_the_toml_files_of_the_test_dir() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    assert_eq!(cases(root), Ok(vec![]));
    for name in ["b.toml", "a.toml", "fixtures/c.toml", "golden.txt"] {
        write(&root.join("tests"), name, 0);
    }
    let expected = ["a.toml", "b.toml"].map(|name| root.join("tests").join(name));
    assert_eq!(cases(root), Ok(expected.to_vec()));
}
