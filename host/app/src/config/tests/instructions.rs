//! Instructions in files: what the model is told, and which files are refused.

use super::Tree;
use crate::config::Overrides;
use pretty_assertions::assert_eq;
use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

/// Writes a file of the project.
fn write(tree: &Tree, name: &str, content: impl AsRef<[u8]>) {
    fs::write(tree.cwd().join(name), content).unwrap();
}

#[test]
fn instruction_files_follow_the_system_prompt() {
    let tree = Tree::new();
    write(&tree, "AGENTS.md", "\nUse tabs.\n");
    write(&tree, "data/style.md", "Be kind.");
    write(&tree, "empty.md", " \n");
    fs::write(tree.root.join("srv/ours.md"), "Ours.").unwrap();
    symlink("AGENTS.md", tree.cwd().join("link.md")).unwrap();
    let ours = tree.root.join("srv/ours.md");
    let table = [
        (String::new(), None),
        ("system = \"Be brief.\"".to_owned(), Some("Be brief.")),
        (
            "system = \"Be brief.\"\ninstructions = [\"AGENTS.md\", \"empty.md\", \"data/style.md\"]".to_owned(),
            Some("Be brief.\n\n# AGENTS.md\n\nUse tabs.\n\n# data/style.md\n\nBe kind."),
        ),
        (
            "instructions = [\"link.md\"]".to_owned(),
            Some("# link.md\n\nUse tabs."),
        ),
        ("instructions = [\"empty.md\"]".to_owned(), None),
    ];
    for (toml, expected) in table {
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        assert_eq!(config.system.as_deref(), expected, "{toml}");
    }
    // By its whole path it may be elsewhere. No guest sees or changes any of them.
    let toml = format!("instructions = [{ours:?}, \"link.md\"]");
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    let system = format!("# {}\n\nOurs.\n\n# link.md\n\nUse tabs.", ours.display());
    assert_eq!(config.system, Some(system));
    let protected = config.protected_paths();
    for file in [ours, tree.cwd().join("AGENTS.md")] {
        assert!(protected.contains(&file), "{protected:?}");
    }
}

#[test]
fn instruction_file_unusable_is_refused() {
    let tree = Tree::new();
    fs::write(tree.root.join("srv/ours.md"), "Ours.").unwrap();
    symlink(tree.root.join("srv/ours.md"), tree.cwd().join("out.md")).unwrap();
    write(&tree, "noise.md", [0xff, 0xfe]);
    write(&tree, "long.md", vec![b'a'; 128 * 1024 + 1]);
    write(&tree, "half.md", vec![b'a'; 100 * 1024]);
    write(&tree, "a.md", "a");
    let _socket = UnixListener::bind(tree.cwd().join("socket")).unwrap();
    let long =
        "together with it, the files of `instructions` have more than 131072 bytes; shorten them";
    let table = [
        (
            "\"gone.md\"",
            17,
            "cannot read the instructions `gone.md`: No such file or directory (os error 2); correct `instructions`, or create the \
             file",
        ),
        (
            "\"out.md\"",
            17,
            "cannot read the instructions `out.md`: the file is ROOT/srv/ours.md, outside of the directory of \
             agent.toml; write the full path if that is intended",
        ),
        (
            "\"../../../srv/ours.md\"",
            17,
            "cannot read the instructions `../../../srv/ours.md`: the file is ROOT/srv/ours.md, outside of the \
             directory of agent.toml; write the full path if that is intended",
        ),
        (
            "\"data\"",
            17,
            "cannot read the instructions `data`: it is not a regular file; name a text file",
        ),
        (
            "\"socket\"",
            17,
            "cannot read the instructions `socket`: it is not a regular file; name a text file",
        ),
        (
            "\"noise.md\"",
            17,
            "cannot read the instructions `noise.md`: it is not UTF-8 text; save it as UTF-8",
        ),
        (
            "\"a.md\", \"\"",
            25,
            "a path in the configuration is empty; write `.` for the directory of agent.toml, or remove the key",
        ),
        (
            "\"long.md\"",
            17,
            &format!("cannot read the instructions `long.md`: {long}"),
        ),
        (
            "\"half.md\", \"half.md\"",
            28,
            &format!("cannot read the instructions `half.md`: {long}"),
        ),
    ];
    for (list, column, expected) in table {
        let toml = format!("instructions = [{list}]");
        let place =
            format!("cannot use ROOT/home/ann/project/agent.toml: line 1, column {column}: ");
        assert_eq!(
            tree.refusal(&toml, &Overrides::default()),
            format!("{place}{expected}")
        );
    }
    let many = format!("instructions = [{}]", "\"a.md\",".repeat(17));
    let refused = tree.refusal(&many, &Overrides::default());
    let expected =
        "there are 17 files in `instructions`, and the maximum is 16; combine some of them";
    assert!(refused.ends_with(expected), "{refused}");
}
