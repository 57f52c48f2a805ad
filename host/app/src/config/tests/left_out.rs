//! Files of the working directory that are left out for a command that only looks, and the order in
//! which they say what they ask for.

use super::Tree;
use crate::{
    config::{Config, ConfigError, LeftOut, OnUntrusted, Overrides, Untrusted},
    trust::TrustFile,
};
use pretty_assertions::assert_eq;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

fn look(tree: &Tree) -> Result<Config, ConfigError> {
    let overrides = Overrides {
        on_untrusted: OnUntrusted::LeaveOut,
        ..Overrides::default()
    };
    Config::load(None, &overrides, &tree.environment)
}

/// Returns why the file of the directory is left out.
fn reason(tree: &Tree) -> String {
    let config = look(tree).unwrap();
    assert_eq!((config.file, config.budgets.turns), (None, 50));
    match config.left_out {
        Some(LeftOut::Unusable(file)) => {
            assert_eq!(file.path, tree.cwd().join("agent.toml"));
            file.reason()
                .replace(&tree.root.display().to_string(), "ROOT")
        }
        other => panic!("{other:?}"),
    }
}

/// Files that cannot be read, parsed or resolved, none of which asks for anything in a form that
/// could be shown.
#[test]
fn unusable_file_is_left_out_with_the_reason() {
    let long = format!("max-turns = 3\n# {}\n", "x".repeat(1024 * 1024));
    let name = "n".repeat(1_000);
    let table: [(&[u8], &str); 9] = [
        (
            b"max-turns = 3\nmodel = \n",
            "line 2 is invalid: string values must be quoted, expected literal string",
        ),
        (
            b"max-turns = 3\nmodle = \"a:b\"\n",
            "line 2 is invalid: unknown key `modle`",
        ),
        (
            b"max-turns = \"many\"\n",
            "line 1 is invalid: invalid type: string \"many\", expected u64",
        ),
        (
            b"[tool]\nname = \"t\"\n",
            "line 1 is invalid: `tool` takes a list of tables, and this is one table",
        ),
        (
            b"max-turns = 3\n\xff",
            "it is invalid: it is not UTF-8 text",
        ),
        (
            long.as_bytes(),
            "it is invalid: it is longer than 1048576 bytes",
        ),
        // Asks for nothing, and names what is not there.
        (
            b"max-turns = 3\nskills = [\"gone\"]\n",
            "line 2 is invalid: ",
        ),
        (
            b"max-turns = 3\nagents = [\"gone\"]\n",
            "line 2 is invalid: ",
        ),
        (
            format!("{name} = 1\n").leak().as_bytes(),
            "line 1 is invalid: unknown key `nnn",
        ),
    ];
    for (bytes, expected) in table {
        let tree = Tree::new();
        fs::write(tree.cwd().join("agent.toml"), bytes).unwrap();
        let reason = reason(&tree);
        assert!(reason.starts_with(expected), "{reason}");
        assert!(reason.len() < 400, "{reason}");
        // A command that acts does not go without it.
        assert!(Config::load(None, &Overrides::default(), &tree.environment).is_err());
    }
}

#[test]
fn file_that_is_no_file_of_the_directory_is_left_out() {
    let tree = Tree::new();
    let file = tree.cwd().join("agent.toml");
    let outside = tree.root.join("srv/agent.toml");
    fs::write(&outside, "max-turns = 3\n").unwrap();
    for (target, expected) in [
        (
            outside.as_path(),
            "it is invalid: it is a link to ROOT/srv/agent.toml, outside of the directory",
        ),
        (
            Path::new("gone.toml"),
            "it is invalid: it is a link to gone.toml, which cannot be opened",
        ),
        (Path::new("data"), "it is not a regular file"),
    ] {
        symlink(target, &file).unwrap();
        let config = look(&tree).unwrap();
        let Some(LeftOut::Unusable(unusable)) = config.left_out else {
            panic!("{target:?}: {:?}", config.left_out);
        };
        let reason = unusable
            .reason()
            .replace(&tree.root.display().to_string(), "ROOT");
        assert!(reason.contains(expected), "{reason}");
        fs::remove_file(&file).unwrap();
    }
    fs::write(&file, "max-turns = 3\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let expected = "it is invalid: every user of this machine can write to it";
    let reason = reason(&tree);
    assert!(reason.starts_with(expected), "{reason}");
}

/// The user trusted it, and is told what is wrong with it; so they are of a file that they name.
#[test]
fn trusted_file_that_cannot_be_used_is_an_error() {
    let tree = Tree::new();
    let file = tree.cwd().join("agent.toml");
    fs::write(&file, "max-turns = 51\n").unwrap();
    let found = Untrusted::found(&tree.environment).unwrap().unwrap();
    TrustFile::for_environment(&tree.environment)
        .unwrap()
        .add(&found)
        .unwrap();
    assert_eq!(look(&tree).unwrap().budgets.turns, 51);
    let broken = "max-turns = 51\nmodle = \"a:b\"\n";
    fs::write(&file, broken).unwrap();
    let expected = "cannot use ROOT/home/ann/project/agent.toml: line 2, column 1: unknown key `modle`; did you mean \
                    `model`?";
    assert_eq!(tree.portable(&look(&tree).unwrap_err()), expected);
    assert_eq!(tree.refusal(broken, &Overrides::default()), expected);
}

/// A fault of the user's own file is not one of the file of the directory.
#[test]
fn fault_of_a_lower_layer_is_an_error() {
    let tree = Tree::new();
    fs::create_dir_all(tree.home().join(".config/agent-host")).unwrap();
    let own = tree.home().join(".config/agent-host/config.toml");
    fs::write(&own, "modle = \"a:b\"\n").unwrap();
    fs::write(tree.cwd().join("agent.toml"), "max-turns = \n").unwrap();
    let error = tree.portable(&look(&tree).unwrap_err());
    assert!(error.contains("config.toml: line 1"), "{error}");
}

/// The most dangerous demands come first, wherever the file has them.
#[test]
fn demands_are_in_the_order_of_their_danger() {
    let tree = Tree::new();
    fs::write(
        tree.cwd().join("agent.toml"),
        r#"
max-turns = 51
approval-timing = "in-order"
[store]
key = "cmd:cat key"
[[rule]]
decision = "allow"
tool = "*"
[[secret]]
name = "s"
from = "env:S"
audience = "https://a.example"
[[grants.http]]
host = "*"
[[grants.dir]]
host = "data"
mode = "read-write"
[[grants.env]]
name = "HOME"
from-host = true
[[mcp]]
name = "m"
command = ["touch", "ran"]
[[tool]]
name = "t"
component = "t.wasm"
[[tool.dir]]
host = "."
mode = "read-write"
allow-run-later = [".git/hooks/*"]
"#,
    )
    .unwrap();
    let found = Untrusted::found(&tree.environment).unwrap().unwrap();
    let begin = |demand: &String| {
        let words: Vec<&str> = demand.split(' ').take(4).collect();
        words.join(" ")
    };
    assert_eq!(
        found.demands.iter().map(begin).collect::<Vec<_>>(),
        [
            "seals secrets with the",
            "lets \"t\" read and",
            "starts the program \"touch\"",
            "runs the component \"t.wasm\"",
            "lets every tool read",
            "lets every tool send",
            "passes the environment variable",
            "reads the secret \"s\"",
            "runs calls that need",
            "runs calls of \"*\"",
            "raises max-turns to 51",
        ]
    );
}
