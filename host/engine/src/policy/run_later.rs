//! Files that programs of the user run later, without asking: writing one runs code outside
//! of the sandbox. Tools may read them, and may not write them unless the grant says so.
//!
//! The table is incomplete and cannot be complete. Build scripts (`Makefile`, `build.rs`,
//! `package.json`, `setup.py`) stay writable, since writing programs is what coding tools are for;
//! so do bare git repositories, whose files have ordinary names.

use super::PathRules;
use crate::text::{is_deceptive, is_joiner, is_unseen};
use std::sync::LazyLock;

/// Why its files are not to be written, and the patterns of the files, in lower case. A pattern
/// without `/` holds at any depth.
type Group = (&'static str, &'static [&'static str]);

/// What runs later.
#[rustfmt::skip]
const TABLE: &[Group] = &[
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

/// The patterns of the table, compiled. A test shows that they are patterns; were they none, no
/// write would be allowed.
static RULES: LazyLock<Option<PathRules>> = LazyLock::new(|| PathRules::new(&patterns()).ok());

/// Why a path is not to be written.
pub(super) struct RunLater {
    /// The pattern of the table.
    pub(super) pattern: &'static str,
    /// Who runs it.
    pub(super) reason: &'static str,
}

/// The patterns, in the order of the table.
pub(super) fn patterns() -> Vec<&'static str> {
    TABLE
        .iter()
        .flat_map(|(_, patterns)| *patterns)
        .copied()
        .collect()
}

/// Finds why a path is not to be written: it is a file that runs later or, unless `makes_dir`, it
/// is on the way to one. A file, a link or another directory with that name could bring such files
/// along; a new directory is empty.
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

/// The path as the file systems see it that tell names apart the least: without upper and lower
/// case, characters that are not seen (ext4 with case folding), and dots or spaces at the end of a
/// name (FAT).
fn fold(path: &str) -> String {
    let seen = |c: &char| !is_deceptive(*c) && !is_unseen(*c) && !is_joiner(*c);
    // Upper case first: `ſ` is a lower case letter, and the same as `s`.
    let text: String = path.chars().filter(seen).collect();
    let text = text.to_uppercase().to_lowercase();
    let names: Vec<&str> = text
        .split('/')
        .map(|name| name.trim_end_matches(['.', ' ']))
        .collect();
    names.join("/")
}
