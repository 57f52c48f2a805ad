//! Directory grants: guest paths, refusals, and the default one.

use super::{Tree, granted};
use crate::config::{Config, Overrides};
use agent_host_engine::policy::DirMode;
use pretty_assertions::assert_eq;

const RO: DirMode = DirMode::ReadOnly;
const RW: DirMode = DirMode::ReadWrite;

/// Host (with `ROOT` for the tree), guest and mode of each directory.
fn dirs(tree: &Tree, config: &Config) -> Vec<(String, String, DirMode)> {
    let root = tree.root.display().to_string();
    let grants = config.grants.dirs.iter();
    grants
        .map(|grant| {
            (
                grant.host.display().to_string().replace(&root, "ROOT"),
                grant.guest.clone(),
                grant.mode,
            )
        })
        .collect()
}

#[test]
fn dir_grant_of_command_line_is_placed() {
    let tree = Tree::new();
    std::fs::create_dir_all(tree.root.join("srv/data")).unwrap();
    std::fs::create_dir(tree.root.join("srv/a b:rw")).unwrap();
    let (root, home) = (
        tree.root.display().to_string(),
        tree.home().display().to_string(),
    );
    let project = "ROOT/home/ann/project";
    for (toml, grants, write, expected) in [
        (
            "",
            vec![],
            true,
            vec![(project.to_owned(), "/workspace", RW)],
        ),
        // A named directory replaces the default one.
        (
            "",
            vec!["dir:data".to_owned()],
            false,
            vec![(format!("{project}/data"), "/workspace", RO)],
        ),
        (
            "",
            vec![
                "dir:.:read-only".to_owned(),
                "dir:data:read-write".to_owned(),
                format!("dir:{root}/srv/data"),
            ],
            true,
            vec![
                (project.to_owned(), "/workspace", RW),
                (format!("{project}/data"), "/mnt/data", RW),
                ("ROOT/srv/data".to_owned(), "/mnt/data-2", RO),
            ],
        ),
        // Beside configured directories it gets a free guest path.
        (
            "[[grants.dir]]\nhost = \"data\"",
            vec![format!("dir:{root}/srv/a b:rw:read-write")],
            false,
            vec![
                (format!("{project}/data"), "/workspace", RO),
                ("ROOT/srv/a b:rw".to_owned(), "/mnt/a-b-rw", RW),
            ],
        ),
        (
            "[grants]",
            vec!["dir:.".to_owned()],
            false,
            vec![(project.to_owned(), "/workspace", RO)],
        ),
        // An HTTP grant says nothing about directories.
        (
            "",
            vec!["http:example.com".to_owned()],
            false,
            vec![(project.to_owned(), "/workspace", RO)],
        ),
        // The home directory or the root may be named.
        (
            "",
            vec![format!("dir:{home}")],
            false,
            vec![("ROOT/home/ann".to_owned(), "/workspace", RO)],
        ),
        (
            "",
            vec!["dir:/".to_owned()],
            false,
            vec![("/".to_owned(), "/workspace", RO)],
        ),
        (
            "[[grants.dir]]\nhost = \"data\"",
            vec!["dir:/".to_owned()],
            false,
            vec![
                (format!("{project}/data"), "/workspace", RO),
                ("/".to_owned(), "/mnt/root", RO),
            ],
        ),
    ] {
        let overrides = Overrides {
            grants: grants.clone(),
            write,
            ..Overrides::default()
        };
        let config = tree.load(toml, &overrides).unwrap();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(host, guest, mode)| (host, guest.to_owned(), mode))
            .collect();
        assert_eq!(dirs(&tree, &config), expected, "{toml} {grants:?}");
    }
}

#[test]
fn home_directory_is_not_granted_by_default() {
    let mut tree = Tree::new();
    std::os::unix::fs::symlink(tree.home(), tree.root.join("link")).unwrap();
    for (cwd, shown, what) in [
        (tree.home(), "ROOT/home/ann", "the home directory"),
        (
            tree.root.join("link"),
            "ROOT/home/ann",
            "the home directory",
        ),
        (
            tree.root.join("home"),
            "ROOT/home",
            "a directory that contains the home directory",
        ),
        ("/".into(), "/", "the whole file system"),
    ] {
        tree.environment.cwd = cwd;
        for write in [false, true] {
            let overrides = Overrides {
                write,
                ..Overrides::default()
            };
            // Listing sessions works here; running a tool ends with this text.
            let config = Config::load(None, &overrides, &tree.environment).unwrap();
            assert_eq!(config.grants.dirs.len(), 0);
            assert_eq!(
                tree.portable(&config.default_dir_refusal.unwrap()),
                format!(
                    "the working directory {shown} is not granted to the tools by default: it is {what}, which \
                     contains keys and private files; change to a smaller directory, or grant one with `--grant \
                     dir:PATH`"
                )
            );
        }
        let config = Config::load(None, &granted(&["dir:."]), &tree.environment).unwrap();
        assert_eq!(
            (config.grants.dirs.len(), config.default_dir_refusal),
            (1, None)
        );
    }
}

#[test]
fn dir_grant_of_kernel_files_is_refused() {
    let mut tree = Tree::new();
    for (name, target) in [
        ("processes", "/proc"),
        ("null", "/dev/null"),
        ("work", "/proc/self/cwd"),
    ] {
        std::os::unix::fs::symlink(target, tree.cwd().join(name)).unwrap();
    }
    let refused = |directory: &str, kernel: &str| {
        format!(
            "the directory {directory} can never be granted: {kernel} exposes processes, their environment, and \
             devices; grant a directory of files"
        )
    };
    for (host, directory, kernel) in [
        ("/proc", "/proc", "/proc"),
        ("/proc/", "/proc", "/proc"),
        ("/usr/../sys", "/sys", "/sys"),
        ("/sys/kernel", "/sys/kernel", "/sys"),
        ("/dev", "/dev", "/dev"),
        ("/dev/null", "/dev/null", "/dev"),
        ("processes", "/proc", "/proc"),
        ("null", "/dev/null", "/dev"),
    ] {
        let expected = refused(directory, kernel);
        // Neither the file nor the command line may, not even for one tool.
        let lists = [
            format!("[[grants.dir]]\nhost = \"{host}\""),
            format!(
                "[[tool]]\nname = \"t\"\ncomponent = \"builtin:files\"\n[[tool.dir]]\nhost = \"{host}\""
            ),
        ];
        for toml in lists {
            assert_eq!(
                tree.problem(&toml, &Overrides::default()),
                expected,
                "{toml}"
            );
        }
        let argument = format!("dir:{host}");
        assert_eq!(tree.refusal("", &granted(&[&argument])), expected, "{host}");
    }
    // A link there leads to where it leads.
    let cwd = std::env::current_dir().unwrap();
    let config = tree.load("", &granted(&["dir:work"])).unwrap();
    assert_eq!(config.grants.dirs[0].host, cwd.canonicalize().unwrap());

    tree.environment.cwd = "/sys/kernel".into();
    let config = Config::load(None, &Overrides::default(), &tree.environment).unwrap();
    assert_eq!(config.grants.dirs.len(), 0);
    assert_eq!(
        config.default_dir_refusal.unwrap().to_string(),
        refused("/sys/kernel", "/sys")
    );
}

#[test]
fn dir_grant_of_root_hides_kernel_files() {
    let tree = Tree::new();
    for (argument, hidden) in [("dir:/", true), ("dir:.", false)] {
        let config = tree.load("", &granted(&[argument])).unwrap();
        let mask = &config.grants.dirs[0].mask;
        for path in ["proc", "proc/self/environ", "sys/kernel", "dev"] {
            assert_eq!(
                mask.first_match(path).is_some(),
                hidden,
                "{argument} {path}"
            );
        }
        for path in ["srv/proc", "home/dev/x", "process"] {
            assert_eq!(mask.first_match(path), None, "{argument} {path}");
        }
    }
}

#[test]
fn dir_grant_with_bad_path_is_refused() {
    let tree = Tree::new();
    let here = |text: String| text;
    std::fs::write(tree.cwd().join("file"), "").unwrap();
    let two = |guest: &str| {
        format!(
            "[[grants.dir]]\nhost = \".\"\n[[grants.dir]]\nhost = \"data\"\nguest = \"{guest}\""
        )
    };
    let apart = |guest: &str| {
        format!(
            "the directories ROOT/home/ann/project and ROOT/home/ann/project/data are granted at /workspace and \
             {guest}, which overlap, so a path there could mean either; give one of them another `guest` path, such \
             as /mnt/NAME"
        )
    };
    let wide = |path: &str, what: &str| {
        format!(
            "agent.toml may not grant {path}: it is {what}, which contains keys and private files; grant a smaller \
             directory, or, if you are sure, remove the grant from agent.toml and pass `--grant dir:{path}` on the \
             command line"
        )
    };
    let guest = |guest: &str| {
        format!(
            "invalid guest path `{guest}`: it must start with `/` and name a directory without `.` or `..`; write it \
             like `/workspace`"
        )
    };
    let dir = |rest: &str| format!("[[grants.dir]]\n{rest}");
    for (toml, expected) in [
        (two("/workspace"), apart("/workspace")),
        (two("/workspace/in"), apart("/workspace/in")),
        (
            dir("host = \"/\""),
            here(wide("/", "the whole file system")),
        ),
        (
            dir("host = \"~\""),
            here(wide("ROOT/home/ann", "the home directory")),
        ),
        (
            dir("host = \"../..\""),
            here(wide("ROOT/home", "a directory that contains the home directory")),
        ),
        (
            "[[tool]]\nname = \"t\"\ncomponent = \"builtin:files\"\n[[tool.dir]]\nhost = \"~\"".to_owned(),
            here(wide("ROOT/home/ann", "the home directory")),
        ),
        (dir("host = \".\"\nguest = \"data\""), here(guest("data"))),
        (dir("host = \".\"\nguest = \"/\""), here(guest("/"))),
        (dir("host = \".\"\nguest = \"/a/../b\""), here(guest("/a/../b"))),
        (dir("host = \".\"\nguest = \"/a//b\""), here(guest("/a//b"))),
        (
            dir("host = \"gone\""),
            here("cannot grant the directory ROOT/home/ann/project/gone: No such file or directory (os error 2); \
                 create it, or correct the path"
                    .to_owned(),
            ),
        ),
        (
            dir("host = \"file\""),
            here("cannot grant the directory ROOT/home/ann/project/file: it is not a directory; create it, or \
                correct the path"
                    .to_owned(),
            ),
        ),
        (
            dir("host = \".\"\ndeny = [\"a[\"]"),
            here("the path pattern `a[` is not a glob: unclosed character class; missing ']'; correct it in the grant's \
                 allow, deny, mask or allow-run-later list"
                    .to_owned(),
            ),
        ),
    ] {
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected, "{toml}");
    }
    for (grant, expected) in [
        (
            "dir:",
            "`--grant dir:` names no directory; write it like `--grant dir:PATH` or `--grant dir:PATH:read-write`",
        ),
        (
            "dir::read-write",
            "`--grant dir:` names no directory; write it like `--grant dir:PATH` or `--grant dir:PATH:read-write`",
        ),
        (
            "dir:data:rw",
            "unknown mode in `--grant dir:data:rw`; write `--grant dir:data:read-write`, or leave the mode out for \
             read-only access",
        ),
        (
            "dir:data:rwx",
            "cannot grant the directory ROOT/home/ann/project/data:rwx: No such file or directory (os error 2); \
             create it, or correct the path",
        ),
        (
            "data",
            "unknown grant `data`; write `dir:PATH`, `dir:PATH:read-write`, \
             `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, `env:NAME[=VALUE]`, `secret:NAME`, \
             `artifacts:read-only` or `artifacts:read-write`",
        ),
    ] {
        assert_eq!(tree.refusal("", &granted(&[grant])), expected, "{grant}");
    }
}

#[test]
fn implied_grant_can_be_written_down() {
    let mut tree = Tree::new();
    let lines = |host: &str| {
        format!(
            "# Granted by default, but only while there are no grants here.\n[[grants.dir]]\nhost = \"{host}\"\nguest = \"/workspace\""
        )
    };
    let here = lines(".");
    for (toml, overrides, expected) in [
        ("", Overrides::default(), Some(&here)),
        ("", granted(&["dir:data"]), Some(&here)),
        ("[grants]", Overrides::default(), None),
        (
            "[[grants.http]]\nhost = \"a.example\"",
            Overrides::default(),
            None,
        ),
    ] {
        let config = tree.load(toml, &overrides).unwrap();
        assert_eq!(config.implied_grant().as_ref(), expected, "{toml}");
    }
    // It grants what it says, also from a file in another directory.
    let implied = tree.load("", &Overrides::default()).unwrap();
    let written = tree.load(&here, &Overrides::default()).unwrap();
    assert_eq!(dirs(&tree, &written), dirs(&tree, &implied));
    let file = tree.cwd().join("agent.toml");
    std::fs::write(&file, "").unwrap();
    tree.environment.cwd = tree.root.join("srv");
    let elsewhere = Config::load(Some(&file), &Overrides::default(), &tree.environment).unwrap();
    let srv = tree.root.join("srv").display().to_string();
    assert_eq!(elsewhere.implied_grant(), Some(lines(&srv)));
    // Where it is not granted by itself, nothing is lost.
    tree.environment.cwd = tree.home();
    let home = Config::load(None, &Overrides::default(), &tree.environment).unwrap();
    assert_eq!(home.implied_grant(), None);
}
