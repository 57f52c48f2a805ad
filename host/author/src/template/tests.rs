use super::create;
use crate::{
    carried,
    error::AuthorError,
    project::{Language, Project},
};
use pretty_assertions::assert_eq;
use std::{collections::BTreeMap, fs, path::Path};
use tempfile::TempDir;

/// The author's files of a project, by their paths: all but those that are agent-host's own.
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
fn a_new_project_is_the_template_with_its_name() {
    for language in Language::ALL {
        let dir = TempDir::new().unwrap();
        let project = create("rain-radar", language, dir.path()).unwrap();
        let place = fs::canonicalize(dir.path().join("rain-radar")).unwrap();
        let named = |text: &str| {
            text.replace("my-tool", "rain-radar")
                .replace("my_tool", "rain_radar")
        };
        let template = carried::below(&format!("guest-tools/templates/{}", language.as_str()));
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
        // What every project has, beside what its language needs.
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
fn nothing_is_written_over() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("weather");
    fs::create_dir(&place).unwrap();
    assert_eq!(
        create("weather", Language::C, dir.path()),
        Err(AuthorError::usage(format!(
            "{} is there already, and nothing is written over. Choose another name, or another folder with `--dir`",
            place.display()
        )))
    );
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
}

#[test]
fn a_name_fits_every_place_where_it_stands() {
    let dir = TempDir::new().unwrap();
    let long = "a".repeat(65);
    for name in ["", "Weather", "1st", "-a", "../a", "a b", "wétter", &long] {
        assert_eq!(
            create(name, Language::C, dir.path()),
            Err(AuthorError::usage(format!(
                "a project cannot be called `{}`: a name is a small letter, followed by at most 63 small letters, digits, `_` and `-`",
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
