use super::create;
use crate::{
    embedded,
    error::AuthorError,
    project::{Language, Project},
};
use pretty_assertions::assert_eq;
use std::{collections::BTreeMap, fs, path::Path};
use tempfile::TempDir;

/// Returns the files of a project by path, without those in `.agent-host`.
fn files(project: &Path, dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with(".agent-host") {
            found.extend(files(project, &path));
        } else if path.is_file() {
            let name = path.strip_prefix(project).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn new_project_is_the_renamed_template() {
    for language in Language::ALL {
        let dir = TempDir::new().unwrap();
        let project = create("rain-radar", language, dir.path()).unwrap();
        let place = fs::canonicalize(dir.path().join("rain-radar")).unwrap();
        let named = |text: &str| {
            text.replace("my-tool", "rain-radar")
                .replace("my_tool", "rain_radar")
        };
        let template = embedded::below(&format!("guest-tools/templates/{}", language.as_str()));
        let expected: BTreeMap<String, Vec<u8>> = template
            .into_iter()
            .map(|(path, content)| {
                let content = match std::str::from_utf8(content) {
                    Ok(text) => named(text).into_bytes(),
                    Err(_) => content.to_vec(),
                };
                (named(path), content)
            })
            .collect();
        assert_eq!(files(&place, &place), expected, "{language}");
        assert_eq!(Project::find(&place), Ok(project.clone()), "{language}");
        assert_eq!(
            (project.language, project.name.replace('_', "-")),
            (language, "rain-radar".to_owned())
        );
        // The files of every project, besides those of its language.
        for part in [
            ".gitignore",
            "README.md",
            "tests/rain_radar.toml",
            ".agent-host/wit/tool.wit",
            ".agent-host/sdk",
            language.marker(),
        ] {
            assert!(place.join(part).exists(), "{language}: {part}");
        }
    }
}

#[test]
fn existing_dir_is_not_overwritten() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("weather");
    fs::create_dir(&place).unwrap();
    assert_eq!(
        create("weather", Language::C, dir.path()),
        Err(AuthorError::Usage(format!(
            "{} already exists, and is not overwritten. Choose another name, or another directory with `--dir`",
            place.display()
        )))
    );
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn invalid_project_name_is_refused() {
    let dir = TempDir::new().unwrap();
    let long = "a".repeat(65);
    for name in ["", "Weather", "1st", "-a", "../a", "a b", "wétter", &long] {
        assert_eq!(
            create(name, Language::C, dir.path()),
            Err(AuthorError::Usage(format!(
                "invalid project name `{}`: a name is a lower-case letter, followed by at most 63 lower-case \
                 letters, digits, `_` and `-`",
                name.escape_debug()
            )))
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let longest = "a".repeat(64);
    for name in ["a", "a-b_c1", &longest] {
        assert_eq!(create(name, Language::C, dir.path()).unwrap().name, name);
    }
}
