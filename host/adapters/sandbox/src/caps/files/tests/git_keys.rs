//! Keys of git configuration that execute only with, or only without, a subsection. Git itself is
//! the oracle: what it runs is refused, and what it does not run is written.

use super::fixture::writable;
use pretty_assertions::assert_eq;
use std::{fs, path::Path, process::Command};

/// A repository whose one file is changed, and has a filter, a diff driver and a merge driver `x`.
fn repository(dir: &Path) {
    fs::create_dir(dir).unwrap();
    fs::write(
        dir.join(".gitattributes"),
        "*.txt filter=x diff=x merge=x\n",
    )
    .unwrap();
    for (text, arguments) in [
        ("one\n", &["init", "--quiet"][..]),
        ("one\n", &["add", "."]),
        (
            "two\n",
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "commit",
                "-qm",
                "one",
            ],
        ),
    ] {
        fs::write(dir.join("a.txt"), "one\n").unwrap();
        git(dir, Path::new("/dev/null"), arguments);
        fs::write(dir.join("a.txt"), text).unwrap();
    }
}

fn git(dir: &Path, config: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", config)
        .output();
    output.unwrap();
}

/// Two sections, the first of which executes, a key, and the command that would run it. The value
/// of `path` is a file of configuration.
const PAIRS: &[(&str, &str, &str, &str)] = &[
    ("core", "core \"x\"", "fsmonitor", "status"),
    ("core", "core.x", "fsmonitor", "status"),
    ("CORE", "core \"\"", "fsMonitor", "status"),
    ("filter \"x\"", "filter", "clean", "add a.txt"),
    ("filter.x", "filter", "clean", "add a.txt"),
    ("diff", "diff \"x\"", "external", "diff"),
    ("diff \"x\"", "diff", "command", "diff"),
    ("diff \"x\"", "diff", "textconv", "diff"),
    ("tar \"x\"", "tar", "command", "archive --format=x HEAD"),
    (
        "trailer \"x\"",
        "trailer",
        "command",
        "interpret-trailers --trailer x=1 a.txt",
    ),
    (
        "browser \"x\"",
        "browser",
        "cmd",
        "web--browse --tool=x http://localhost",
    ),
    ("include", "include \"x\"", "path", "status"),
    ("includeIf \"gitdir:/\"", "includeIf", "path", "status"),
];

#[tokio::test]
async fn git_key_is_refused_only_in_the_section_that_git_reads() {
    for (executes, harmless, key, command) in PAIRS {
        let mut fixture = writable();
        let dir = fixture.dir.path().to_owned();
        let (repository_dir, ran) = (dir.join("repository"), dir.join("ran"));
        repository(&repository_dir);
        let (ran_path, included) = (ran.display(), dir.join("included"));
        let fsmonitor = format!("[core]\nfsmonitor = touch {ran_path} #\n");
        fs::write(&included, fsmonitor).unwrap();
        let value = if *key == "path" {
            included.display().to_string()
        } else {
            format!("touch {ran_path}; cat")
        };
        let mut found = Vec::new();
        for (section, name) in [(executes, "one.gitconfig"), (harmless, "two.gitconfig")] {
            let text = format!("[{section}]\n\t{key} = \"{value}\"\n");
            let config = dir.join(name);
            fs::write(&config, &text).unwrap();
            let arguments: Vec<&str> = command.split(' ').collect();
            git(&repository_dir, &config, &arguments);
            let runs = ran.exists();
            let _ = fs::remove_file(&ran);
            let written = fixture.act(&format!("create {name} {text}")).await;
            found.push((runs, written == "access"));
        }
        assert_eq!(
            found,
            [(true, true), (false, false)],
            "git runs it, and it is refused: {executes}, {harmless}: {key}"
        );
    }
}

/// Git reads the file of a tool, below the directory of its own ones, as a script.
#[tokio::test]
async fn git_tool_is_refused_only_if_it_is_a_path() {
    let mut fixture = writable();
    let dir = fixture.dir.path().to_owned();
    let (repository_dir, ran) = (dir.join("repository"), dir.join("ran"));
    repository(&repository_dir);
    let (script, config) = (dir.join("script"), dir.join("one.gitconfig"));
    let text = format!("touch {}\ndiff_cmd () {{ :; }}\n", ran.display());
    fs::write(&script, text).unwrap();
    let up = "../".repeat(20);
    let tool = format!("[diff]\n\ttool = {up}{}\n", script.display());
    fs::write(&config, &tool).unwrap();
    git(&repository_dir, &config, &["difftool", "--no-prompt"]);
    assert!(ran.exists(), "the oracle does not see an attack");
    fixture
        .check(&[
            (&*format!("create one.gitconfig {tool}"), "access"),
            ("create two.gitconfig [merge]\ntool = a/b", "access"),
            ("create three.gitconfig [diff]\ntool = vimdiff", "21"),
        ])
        .await;
}
