//! Files that programs of the user run later without asking, so that writing one runs code outside
//! the sandbox. Tools may read them, and may write them only if the grant allows it.
//!
//! The table cannot be complete. Build scripts (`Makefile`, `build.rs`, `package.json`, `setup.py`)
//! stay writable, since coding tools write programs; so do bare git repositories, whose files have
//! ordinary names.

use super::PathRules;
use crate::text::{is_deceptive, is_invisible, is_joiner};
use std::sync::LazyLock;

/// The reason not to write some files, and their patterns in lower case. A pattern without `/`
/// matches at any depth.
type RunLaterFiles = (&'static str, &'static [&'static str]);

/// All files that run later.
#[rustfmt::skip]
const TABLE: &[RunLaterFiles] = &[
    ("git runs the hooks and the commands that it finds there", &[
        "**/.git/hooks", "**/.git/modules", "**/.git/worktrees", "**/.git/config*",
        "**/.git/commondir", ".gitconfig", "**/.config/git", ".githooks",
    ]),
    ("a manager of git hooks runs the commands in it", &[
        ".husky", ".huskyrc*", "lefthook.y*ml", ".lefthook*", "lefthook-local.y*ml",
        ".overcommit.yml", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml",
    ]),
    ("an editor runs the tasks and programs that it names", &[
        ".vscode", "*.code-workspace", ".idea", ".fleet", ".zed", "*.sublime-project",
        ".devcontainer", ".devcontainer.json", ".vim", ".vimrc", ".exrc", ".nvimrc", ".nvim.lua",
        "**/.config/nvim", ".emacs", ".emacs.d", ".dir-locals.el",
    ]),
    ("an agent starts the servers and hooks that it names", &[
        ".claude", ".claude.json", ".mcp.json", ".cursor", ".codex", ".gemini", ".continue",
        ".windsurf", ".kiro", ".amazonq", ".opencode", "opencode.json*", ".aider.conf.yml",
    ]),
    ("a shell or a login runs it", &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
        ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
        ".login", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".envrc", ".direnvrc",
        "mise.toml", ".mise.toml", "**/.config/fish", "**/.config/mise", "**/.config/direnv",
        "**/.config/autostart", "**/.config/systemd", ".ssh", ".tmux.conf", ".screenrc",
    ]),
    ("a continuous integration service runs it", &[
        "**/.github/workflows", "**/.github/actions", ".gitlab-ci.yml", ".gitlab-ci",
        "**/.gitlab/ci", ".circleci", ".buildkite", ".travis.yml", "jenkinsfile*",
        "azure-pipelines*.y*ml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker",
        ".woodpecker.y*ml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".semaphore",
        ".teamcity", "**/.forgejo/workflows", "**/.gitea/workflows", "buildspec.y*ml",
        "cloudbuild.y*ml",
    ]),
    ("a build tool or a debugger runs the programs that it names, whatever it is asked to do", &[
        "**/.cargo/config", "**/.cargo/config.toml", ".npmrc", ".yarnrc", ".yarnrc.yml",
        "**/.yarn/releases", "**/.yarn/plugins", ".pnpmfile.cjs", ".mvn", ".gdbinit", ".lldbinit",
        ".pdbrc", ".irbrc", ".pryrc", ".rprofile",
    ]),
];

/// The compiled patterns. A test checks that they compile; otherwise no write would be allowed.
static RULES: LazyLock<Option<PathRules>> = LazyLock::new(|| PathRules::new(&patterns()).ok());

/// The reason not to write a path.
pub(super) struct RunLater {
    /// The pattern in the table.
    pub(super) pattern: &'static str,
    /// The program that runs it, as a clause.
    pub(super) reason: &'static str,
}

/// Returns the patterns in the order of the table.
pub(super) fn patterns() -> Vec<&'static str> {
    TABLE
        .iter()
        .flat_map(|(_, patterns)| *patterns)
        .copied()
        .collect()
}

/// Returns why a path must not be written: it is a file that runs later or, unless `makes_dir`, an
/// ancestor of one. A file, a link or a moved directory of that name could contain such files; a
/// new directory is empty.
pub(super) fn find(path: &str, makes_dir: bool) -> Option<RunLater> {
    let Some(rules) = &*RULES else {
        return Some(RunLater {
            pattern: "*",
            reason: "the table of files that run later cannot be read",
        });
    };
    let path = fold(path);
    let on_the_way = || rules.first_below(&path).filter(|_| !makes_dir);
    let found = rules.first_match(&path).or_else(on_the_way)?;
    TABLE.iter().find_map(|(reason, patterns)| {
        let pattern = patterns.iter().find(|pattern| **pattern == found)?;
        Some(RunLater { pattern, reason })
    })
}

/// Folds a path like the file systems that distinguish the fewest names: ignores case and invisible
/// characters (ext4 with case folding), and dots and spaces at the end of a name (FAT).
pub(super) fn fold(path: &str) -> String {
    let seen = |c: &char| !is_deceptive(*c) && !is_invisible(*c) && !is_joiner(*c);
    // Upper case first: `ſ` is a lower-case letter that equals `s`.
    let text: String = path.chars().filter(seen).collect();
    let text = text.to_uppercase().to_lowercase();
    let names: Vec<&str> = text
        .split('/')
        .map(|name| name.trim_end_matches(['.', ' ']))
        .collect();
    names.join("/")
}
