//! Files that run later: the table, and grants that allow one.

use super::{rules, short};
use crate::policy::{
    DirGrant, DirMode, FileOp, Grants, PathRules, Ruling, decide_file, is_repository,
    repository_entries, run_later,
};
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;

fn writable(allowed: &[&str]) -> Grants {
    let dir = DirGrant {
        allow_run_later: rules(allowed),
        ..DirGrant::new("/srv/work", "/workspace", DirMode::ReadWrite)
    };
    Grants {
        dirs: vec![dir],
        ..Grants::default()
    }
}

fn rule(allowed: &[&str], op: FileOp, path: &str) -> String {
    short(decide_file(
        &writable(allowed),
        Effect::Effectful,
        0,
        op,
        path,
    ))
}

#[test]
fn run_later_patterns_are_lower_case_globs_listed_once() {
    let patterns = run_later::patterns();
    let once: BTreeSet<&str> = patterns.iter().copied().collect();
    assert_eq!(once.len(), patterns.len());
    PathRules::new(&patterns).unwrap();
    for pattern in patterns {
        assert_eq!(pattern, pattern.to_lowercase());
        // No pattern is shadowed by another.
        let path = pattern.trim_start_matches("**/").replace('*', "x");
        let found = run_later::find(&path, true).map(|found| found.pattern);
        assert_eq!(found, Some(pattern), "{path}");
    }
}

#[test]
fn every_run_later_row_needs_a_grant_that_names_it() {
    for pattern in run_later::patterns() {
        let path = pattern.trim_start_matches("**/").replace('*', "x");
        for path in [path.clone(), format!("sub/{path}"), path.to_uppercase()] {
            let denied = format!("deny files.run-later `{pattern}`");
            assert_eq!(rule(&[], FileOp::Write, &path), denied, "{path}");
            let named = [&*format!("/{path}")];
            let allowed = rule(&named, FileOp::Write, &path);
            assert_eq!(allowed, "allow grants.dir[0]", "{path}");
            let other = rule(&named, FileOp::Write, &format!("other/{path}"));
            assert_eq!(other, denied, "other/{path}");
        }
    }
}

/// Names from the documentation of programs, and the pattern that refuses each.
const DOCUMENTED: &[(&str, &str)] = &[
    (".git/rebase-merge/git-rebase-todo", "**/.git/rebase-merge"),
    (".hg/hgrc-not-shared", "**/.hg/hgrc*"),
    ("home/.jjconfig.toml", ".jjconfig.toml"),
    ("home/.config/jj/conf.d/work.toml", "**/.config/jj"),
    ("home/.config/husky/init.sh", "**/.config/husky"),
    (".config/lefthook.toml", "lefthook.toml"),
    ("lefthook-local.jsonc", "lefthook-local.*"),
    (".pre-commit-config.yml", ".pre-commit-config.y*ml"),
    ("prek.toml", "prek.toml"),
    ("home/.config/Code/User/mcp.json", "**/.config/code/user"),
    (".bsp/sbt.json", ".bsp"),
    ("_dir-locals.el", "_dir-locals.el"),
    (".continuerc.json", ".continuerc.json"),
    (".codeium/windsurf/hooks.json", "**/.codeium/windsurf"),
    (".kilo/kilo.jsonc", ".kilo"),
    ("kilo.jsonc", "kilo.json*"),
    (".github/lsp.json", "**/.github/lsp.json"),
    (".github/mcp.json", "**/.github/mcp.json"),
    (
        ".github/copilot/settings.local.json",
        "**/.github/copilot/settings*.json",
    ),
    ("crushrc", "crushrc"),
    (".amp/plugins/a.ts", "**/.amp/plugins"),
    (".agents/plugins/a/hooks/hooks.json", "**/.agents/plugins"),
    (".agents/hooks.json", "**/.agents/hooks.json"),
    (".devin/hooks.v1.json", "**/.devin/hooks*"),
    (".zshrc.zwc", ".zshrc*"),
    (
        "Documents/PowerShell/Microsoft.VSCode_profile.ps1",
        "microsoft.*_profile.ps1",
    ),
    (
        "Documents/PowerShell/Profile.ps1",
        "**/powershell/profile.ps1",
    ),
    ("Library/LaunchAgents/a.plist", "launchagents"),
    (
        "Microsoft/Windows/Start Menu/Programs/StartUp/a.lnk",
        "**/start menu/programs/startup",
    ),
    ("home/.cargo/bin/cargo", "**/.cargo/bin"),
    ("home/.cargo/env.fish", "**/.cargo/env*"),
    (".envrc.private", ".envrc.private"),
    ("devenv.nix", "devenv.nix"),
    (".mise/conf.d/a.toml", "**/.mise/conf.d"),
    ("mise/config.local.toml", "**/mise/config*.toml"),
    (".tool-versions", ".tool-versions"),
    (".gnupg/gpg-agent.conf", ".gnupg"),
    ("pnpm-workspace.yaml", "pnpm-workspace.yaml"),
    ("bunfig.toml", "bunfig.toml"),
    (
        ".venv/lib/python3.15/site-packages/a.start",
        "**/site-packages/*.start",
    ),
    (".python-version", ".python-version"),
    (".pdm-python", ".pdm-python"),
    ("etc/conda/activate.d/a.sh", "activate.d"),
    ("ipython_kernel_config.json", "ipython_*config.*"),
    (".bundle/plugin/index", "**/.bundle/plugin"),
    ("mavenrc_pre.cmd", "mavenrc*.cmd"),
    (".jvmopts", ".jvmopts"),
    ("home/.stack/hooks/ghc-install.sh", "**/.stack/hooks"),
    ("home/.config/go/env", "**/.config/go/env"),
    ("$irbrc", "$irbrc"),
    (".RData", ".rdata"),
    (
        "home/.docker/cli-plugins/docker-a",
        "**/.docker/cli-plugins",
    ),
];

#[test]
fn run_later_names_of_the_documentation_are_refused() {
    for (path, pattern) in DOCUMENTED {
        let denied = format!("deny files.run-later `{pattern}`");
        assert_eq!(rule(&[], FileOp::Write, path), denied, "{path}");
    }
}

/// Names that ordinary projects hold, close to names of the table.
const ORDINARY: &[&str] = &[
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "deno.json",
    "tsconfig.json",
    "eslint.config.js",
    ".prettierrc",
    "jest.config.js",
    "vite.config.ts",
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "clippy.toml",
    "rustfmt.toml",
    ".config/nextest.toml",
    "pyproject.toml",
    "poetry.toml",
    "pdm.toml",
    "uv.toml",
    "uv.lock",
    "setup.cfg",
    "requirements.txt",
    "tests/conftest.py",
    "weights/model.pth",
    "src/site_packages.py",
    "go.mod",
    "go.sum",
    "Gemfile",
    ".rubocop.yml",
    ".ruby-version",
    ".nvmrc",
    "Rakefile",
    "composer.json",
    "pom.xml",
    "build.gradle.kts",
    "gradle.properties",
    "gradle/wrapper/gradle-wrapper.properties",
    "build.sbt",
    "project/plugins.sbt",
    "mix.exs",
    ".formatter.exs",
    "stack.yaml",
    "cabal.project",
    "flake.nix",
    "CMakeLists.txt",
    "CMakePresets.json",
    "BUILD.bazel",
    "MODULE.bazel",
    "tools/bazel/defs.bzl",
    "justfile",
    "meson.build",
    "Dockerfile",
    "compose.yaml",
    ".dockerignore",
    ".editorconfig",
    ".env",
    ".env.example",
    ".envrc.example",
    ".vscodeignore",
    "global.json",
    "locales/en/global.json",
    "AGENTS.md",
    "CLAUDE.md",
    ".agents/skills/a/SKILL.md",
    ".roo/rules/a.md",
    ".clinerules/a.md",
    ".github/copilot-instructions.md",
    ".github/dependabot.yml",
    "src/extensions/a.json",
    "hooks/useState.ts",
    "src/plugins/a.ts",
    "mcp.json",
    "lsp.json",
    "docs/settings.json",
    "docs/lefthook.md",
    "scripts/profile.ps1",
    "library/agents.plist",
    "bin/run",
    "etc/config.yaml",
    "startup/main.c",
    "data.RData.csv",
    "analysis.R",
    "mise.md",
    "devenv.md",
    "a.crushrc",
    "home/config.toml",
    "index.bsp",
];

#[test]
fn run_later_near_misses_stay_writable() {
    let allowed = "allow grants.dir[0]";
    for path in ORDINARY {
        assert_eq!(rule(&[], FileOp::Write, path), allowed, "{path}");
    }
    // Ordinary directories may be moved with what is in them.
    for path in [
        "src",
        "lib",
        "library",
        "tools",
        "docs",
        "documents",
        "bin",
        "etc",
        "home",
        "code",
        "config",
        "plugins",
        "extensions",
        "hooks",
        "scripts",
        "project",
        "gradle",
    ] {
        assert_eq!(rule(&[], FileOp::Move, path), allowed, "{path}");
    }
}

#[test]
fn entries_of_a_repository_are_those_of_its_git_directory() {
    fn entries(path: &str) -> Vec<&str> {
        let entries = repository_entries(path, /*makes_dir*/ false);
        entries.map(|entry| entry.dir).collect()
    }
    for pattern in run_later::patterns() {
        let Some(below) = pattern.strip_prefix("**/.git/") else {
            continue;
        };
        let name = below.replace('*', "");
        let (first, rest) = name.split_at(1);
        for path in [
            name.clone(),
            name.to_uppercase(),
            format!("{name}/x").trim_start_matches('/').to_owned(),
            format!("{first}\u{200c}{rest}"),
        ] {
            assert_eq!(entries(&path), [""], "{path}");
            let deep = format!("a/b/{path}");
            assert_eq!(entries(&deep), ["a/b"], "{deep}");
        }
    }
    assert_eq!(entries("a/hooks/b/config"), ["a", "a/hooks/b"]);
    for path in [
        "foo.txt",
        "src/main.rs",
        "heads",
        "inform/x",
        "refs/heads/main",
    ] {
        assert_eq!(entries(path), Vec::<&str>::new(), "{path}");
    }
}

#[test]
fn repository_needs_a_head_and_its_data() {
    for (entries, expected) in [
        ("HEAD objects refs", true),
        ("HEAD commondir", true),
        ("HEAD objects", false),
        ("HEAD refs config", false),
        ("objects refs commondir", false),
    ] {
        let has = |name: &str| Ok::<_, ()>(entries.split(' ').any(|entry| entry == name));
        assert_eq!(is_repository(has), Ok(expected), "{entries}");
    }
}

#[test]
fn run_later_file_is_readable_and_not_writable() {
    let (allowed, denied) = ("allow grants.dir[0]", |pattern: &str| {
        format!("deny files.run-later `{pattern}`")
    });
    for (path, pattern) in [
        (".git/hooks/pre-commit", "**/.git/hooks"),
        (".git/hooks", "**/.git/hooks"),
        ("a/b/.git/hooks/x/y", "**/.git/hooks"),
        (".git/modules/lib/hooks/post-checkout", "**/.git/modules"),
        (".git/config.worktree", "**/.git/config*"),
        (".git/HEAD", "**/.git/head"),
        (
            ".git/objects/info/alternates",
            "**/.git/objects/info/alternates",
        ),
        (".gitmodules", ".gitmodules"),
        (".gitattributes", ".gitattributes"),
        ("app/.roo/mcp.json", "**/.roo/mcp.json"),
        (".venv/bin/python", "**/.venv/bin"),
        ("web/node_modules/.bin/tsc", "**/node_modules/.bin"),
        (".direnv/bin/x", ".direnv"),
        (".bazelrc", ".bazelrc"),
        ("sitecustomize.py", "sitecustomize.py"),
        (".husky/pre-push", ".husky"),
        ("app/.vscode/tasks.json", ".vscode"),
        (".envrc", ".envrc"),
        (".bashrc", ".bashrc"),
        (".github/workflows/ci.yml", "**/.github/workflows"),
        ("Jenkinsfile", "jenkinsfile*"),
        (".mcp.json", ".mcp.json"),
        // For file systems that fold case, ignore invisible characters, or drop dots at the end.
        (".GIT/Hooks/pre-commit", "**/.git/hooks"),
        (".hu\u{17f}ky/x", ".husky"),
        (".gi\u{200c}t/hooks/x", "**/.git/hooks"),
        (".git./hooks. /x", "**/.git/hooks"),
    ] {
        for op in [
            FileOp::Write,
            FileOp::WriteExecutable,
            FileOp::WriteDir,
            FileOp::Move,
        ] {
            assert_eq!(rule(&[], op, path), denied(pattern), "{op:?} {path}");
        }
        for op in [FileOp::Stat, FileOp::List, FileOp::Read] {
            assert_eq!(rule(&[], op, path), allowed, "{op:?} {path}");
        }
    }
    for path in [
        "src/main.rs",
        ".git/objects/ab/cd",
        "config",
        "HEAD",
        "model.pth",
        ".github/ISSUE_TEMPLATE.md",
        "Makefile",
        "package.json",
        "hooks/pre-commit",
        ".gitignore",
        "a.bashrc",
    ] {
        assert_eq!(rule(&[], FileOp::Write, path), allowed, "{path}");
    }
}

#[test]
fn run_later_ancestor_may_only_become_a_directory() {
    for path in [".git", "sub/.git", ".github", ".GitHub", ".config", ".yarn"] {
        for (op, expected) in [
            (FileOp::Write, "deny"),
            (FileOp::WriteExecutable, "deny"),
            (FileOp::Move, "deny"),
            (FileOp::WriteDir, "allow"),
        ] {
            let found = rule(&[], op, path);
            assert_eq!(found.split(' ').next(), Some(expected), "{op:?} {path}");
        }
    }
}

#[test]
fn run_later_grant_allows_only_what_it_names() {
    let workflows = [".github/workflows"];
    for (allowed, op, path, expected) in [
        (
            &workflows[..],
            FileOp::Write,
            ".github/workflows/ci.yml",
            "allow grants.dir[0]",
        ),
        (
            &workflows,
            FileOp::WriteDir,
            ".github/workflows",
            "allow grants.dir[0]",
        ),
        (
            &workflows,
            FileOp::Write,
            "sub/.github/workflows/ci.yml",
            "deny files.run-later `**/.github/workflows`",
        ),
        (
            &workflows,
            FileOp::Move,
            ".github",
            "deny files.run-later `**/.github/workflows`",
        ),
        (
            &workflows,
            FileOp::Write,
            ".envrc",
            "deny files.run-later `.envrc`",
        ),
        (
            &["*"],
            FileOp::Write,
            ".git/hooks/pre-commit",
            "allow grants.dir[0]",
        ),
    ] {
        assert_eq!(rule(allowed, op, path), expected, "{op:?} {path}");
    }
}

#[test]
fn run_later_denial_suggests_the_smallest_grant() {
    let head = "# changed lines of the [[grants.dir]] with guest = \"/workspace\"";
    let path = ".github/workflows/ci.yml";
    let denial = |lines: &str| {
        Ruling::Deny {
        rule: "files.run-later `**/.github/workflows`".to_owned(),
        reason:
            "a continuous integration service runs it, outside of the sandbox, and the grant's `allow-run-later` \
             does not list it"
                .to_owned(),
        grant: Some(format!("{head}\n{lines}")),
    }
    };
    let mut grants = writable(&["Jenkinsfile"]);
    let decide = |grants: &Grants, effect| decide_file(grants, effect, 0, FileOp::Write, path);
    let allowed = "allow-run-later = [\"Jenkinsfile\", \"/.github/workflows/ci.yml\"]";
    assert_eq!(decide(&grants, Effect::Effectful), denial(allowed));
    // A read-only grant needs both lines.
    grants.dirs[0].mode = DirMode::ReadOnly;
    let Ruling::Deny { rule, grant, .. } = decide(&grants, Effect::Effectful) else {
        panic!("it is allowed");
    };
    assert_eq!(
        (rule.as_str(), grant),
        (
            "grants.dir[0].mode",
            Some(format!("{head}\nmode = \"read-write\"\n{allowed}"))
        )
    );
}
