//! The table as Markdown: `host/core/engine/RUN_LATER.md`.

use super::{all_files, git_config::EXECUTING_KEYS, sources, table::TABLE};
use std::fmt::Write as _;

const HEAD: &str = "\
# Files that run later

Tools may read these files, and write them only where the grant's `allow-run-later` names them.
Generated from the table of the policy by `cargo run -p agent-host-engine --example run_later`.

A file is listed if a program executes it, or a command that it names, merely because the user
enters the directory, opens it in an editor or an agent, logs in, pushes it, or runs an everyday
command there that is not meant to run the project's code. Build scripts (`Makefile`, `build.rs`,
`package.json`, `setup.py`), configuration of linters and test runners, and texts for a model
(`AGENTS.md`, `CLAUDE.md`) are not listed. The list cannot be complete: the last section names the
products whose documentation it was compared with.

Names are compared without case; one without `/` matches at any depth, and a directory covers
everything in it. Entries below `.git` apply to every directory with the structure of a git
repository: `HEAD` with `commondir`, or with `objects` and `refs`.
";

const KEYS: &str = "
## Keys of git configuration that execute

No file named `config`, `config.worktree`, or with `gitconfig` in its name becomes git
configuration with one of these keys.
From `git-config(1)` and the sources of git 2.47. `*.` stands for any subsection, and a key without
it executes only where there is none; `*` alone is any key. A key with a path executes with a value
that has a `/`.
";

/// The head of the list of pages, after the month.
const SOURCES: &str = "
Copies of these pages, which may be some months older, were read or searched for names of files.
Names of other products have not been compared with their documentation.

| product | pages |
|---|---|
";

/// Returns the page.
#[must_use]
pub fn run_later_document() -> String {
    let mut page = HEAD.to_owned();
    for (reason, _) in TABLE {
        let _ = writeln!(page, "\n## Because {reason}\n");
        page.push_str("| name | what runs it, and when | source |\n|---|---|---|\n");
        for (_, files) in all_files().filter(|(of, _)| of == reason) {
            for pattern in files.patterns {
                let name = pattern.trim_start_matches("**/");
                let _ = writeln!(page, "| `{name}` | {} | {} |", files.runs, files.source);
            }
        }
    }
    page.push_str(KEYS);
    page.push_str("\n| section | keys |\n|---|---|\n");
    for (section, keys) in EXECUTING_KEYS {
        let keys: Vec<String> = keys.iter().map(|key| shown_key(key)).collect();
        let _ = writeln!(page, "| `{section}` | {} |", keys.join(", "));
    }
    let _ = writeln!(page, "\n## Documentation read in {}", sources::READ_IN);
    page.push_str(SOURCES);
    for (product, pages) in sources::PAGES {
        let _ = writeln!(page, "| {product} | {pages} |");
    }
    page
}

/// Returns a key of the table with what its value has to be.
fn shown_key(key: &str) -> String {
    match (key.strip_suffix('/'), key.strip_suffix('!')) {
        (Some(key), _) => format!("`{key}` (a path)"),
        (_, Some(key)) => format!("`{key}` (a value from `!` on)"),
        _ => format!("`{key}`"),
    }
}
