use super::{changed, record};
use crate::project::{Language, Project};
use pretty_assertions::assert_eq;
use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// The time of the build.
fn built() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
}

/// Writes a file that is modified `seconds` after the build.
fn write(project: &Path, name: &str, seconds: u64) {
    let path = project.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(built() + Duration::from_secs(seconds))
        .unwrap();
}

/// A project that was built with two files.
fn project(dir: &TempDir, language: Language) -> Project {
    let project = Project {
        dir: dir.path().to_path_buf(),
        name: "weather".to_owned(),
        language,
    };
    write(&project.dir, language.marker(), 0);
    write(&project.dir, "data/cities.csv", 0);
    project
}

#[test]
fn new_file_makes_a_build_stale_only_if_it_may_be_read() {
    let source = |language| match language {
        Language::Rust => "src/place.rs",
        Language::Python => "place.py",
        Language::TypeScript => "place.ts",
        Language::JavaScript => "place.js",
        Language::C => "place.h",
        Language::Go => "place.go",
    };
    for language in Language::ALL {
        let cases = [
            ("notes.txt", false),
            ("LICENSE", false),
            ("drawings/wheel.svg", false),
            ("dist/other.wasm", false),
            ("README.md", false),
            (source(language), true),
            ("data/rivers.csv", true),
            ("references/rules.txt", true),
        ];
        for (name, stale) in cases {
            let dir = TempDir::new().unwrap();
            let project = project(&dir, language);
            record(&project).unwrap();
            write(&project.dir, name, 1);
            let expected = stale.then(|| project.dir.join(name));
            assert_eq!(
                changed(&project, built()).unwrap(),
                expected,
                "{language}: {name}"
            );
        }
    }
}

#[test]
fn changed_file_makes_a_build_stale() {
    let dir = TempDir::new().unwrap();
    let project = project(&dir, Language::C);
    write(&project.dir, "notes.txt", 0);
    record(&project).unwrap();
    assert_eq!(changed(&project, built()).unwrap(), None);
    for name in ["data/cities.csv", "notes.txt", "tool.c"] {
        write(&project.dir, name, 1);
        let expected = Some(project.dir.join(name));
        assert_eq!(changed(&project, built()).unwrap(), expected);
        write(&project.dir, name, 0);
    }
}

#[test]
fn every_file_counts_without_a_record() {
    let dir = TempDir::new().unwrap();
    let project = project(&dir, Language::C);
    write(&project.dir, "notes.txt", 1);
    let expected = Some(project.dir.join("notes.txt"));
    assert_eq!(changed(&project, built()).unwrap(), expected);
}
