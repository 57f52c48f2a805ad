//! `skills`: which directories are read, and which are refused.

use super::Tree;
use crate::config::Overrides;
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::symlink};

/// Writes a skill below the directory of the configuration.
fn skill(tree: &Tree, path: &str) {
    let directory = tree.cwd().join(path);
    fs::create_dir_all(&directory).unwrap();
    let name = path.rsplit('/').next().unwrap();
    let text = format!("---\nname: {name}\ndescription: For {name}.\n---\nDo it.");
    fs::write(directory.join("SKILL.md"), text).unwrap();
}

fn names(tree: &Tree, toml: &str) -> Vec<String> {
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let skills = config.skills.iter();
    skills.map(|skill| skill.name.clone()).collect()
}

#[test]
fn folders_of_skills_are_read_and_protected() {
    let tree = Tree::new();
    for path in ["skills/pdf", "skills/csv", "one"] {
        skill(&tree, path);
    }
    fs::create_dir_all(tree.cwd().join("skills/notes")).unwrap();
    assert_eq!(names(&tree, ""), [""; 0]);
    assert_eq!(
        names(&tree, "skills = [\"skills\", \"one\"]"),
        ["csv", "pdf", "one"]
    );
    let whole = tree.cwd().join("one");
    let toml = format!("skills = [{whole:?}]");
    assert_eq!(names(&tree, &toml), ["one"]);
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    assert!(
        config.protected_paths().contains(&whole),
        "{:?}",
        config.protected_paths()
    );
}

#[test]
fn unusable_folders_are_refused_with_their_line() {
    let tree = Tree::new();
    for path in ["skills/pdf", "more/pdf", "files"] {
        skill(&tree, path);
    }
    fs::create_dir_all(tree.cwd().join("empty")).unwrap();
    fs::create_dir_all(tree.cwd().join("bad/x")).unwrap();
    fs::write(tree.cwd().join("bad/x/SKILL.md"), "no").unwrap();
    symlink("/etc", tree.cwd().join("out")).unwrap();
    for (toml, says) in [
        (
            "skills = [\"gone\"]",
            "cannot use the skills in `gone`: No such file or directory",
        ),
        (
            "skills = [\"empty\"]",
            "neither it nor a directory in it contains SKILL.md",
        ),
        (
            "skills = [\"out\"]",
            "they are in /etc, outside of the directory of agent.toml",
        ),
        (
            "skills = [\"../..\"]",
            "outside of the directory of agent.toml",
        ),
        ("skills = [\"bad\"]", "SKILL.md has no front matter"),
        (
            "skills = [\"skills\", \"more\"]",
            "another skill, a tool or an MCP server is named `pdf`",
        ),
        (
            "skills = [\"files\"]\n[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"",
            "another skill, a tool or an MCP server is named `files`",
        ),
    ] {
        let refusal = tree.refusal(toml, &Overrides::default());
        assert!(refusal.contains(says), "{toml}: {refusal}");
        assert!(refusal.contains("line 1"), "{refusal}");
    }
}
