//! The names of files that run later. `RUN_LATER.md` has the program that runs each, and its
//! documentation.
//!
//! **Criterion.** A file is listed if a program executes it, or a command that it names, merely
//! because the user enters the directory, opens it in an editor or an agent, logs in, pushes it, or
//! gives an everyday command there (`git status`, `npm view`, `cargo --version`) that does not mean
//! to run the project's code. Left out are build scripts (`Makefile`, `build.rs`, `package.json`,
//! `setup.py`), which tools write all the time and whose point is to be run, and texts for a model
//! (`AGENTS.md`, `CLAUDE.md`), which execute nothing.
//!
//! Close to the criterion, and left out because ordinary projects write the name all the time:
//! - configuration of linters, formatters and test runners that is code or names code
//!   (`eslint.config.js`, `.rubocop.yml`, `conftest.py`, `deno.json`), though editors run some;
//! - `.env`, which only holds variables; what runs with them is the project;
//! - `gradle.properties`, `gradle-wrapper.properties` and `CMakePresets.json`, which name programs
//!   for a build that runs the project's scripts anyway (those in a home directory are listed);
//! - `flake.nix` and `shell.nix`: a shell enters them only by a command or through `.envrc`;
//! - `tools/bazel`, a wrapper that Bazelisk runs, `~/bin`, which is on the path of some shells, and
//!   `global.json`, which may name a .NET SDK: ordinary names, of directories or translations.

/// All files that run later, under the clause that a refusal gives as the reason: globs in lower
/// case. One without `/` matches at any depth; a directory covers all in it, and one below `**/.git`
/// is protected in every directory that has the structure of a repository. `RUN_LATER.md` says of
/// each what runs it, and when.
#[rustfmt::skip]
pub(super) const TABLE: &[(&str, &[&str])] = &[
    ("git runs the hooks and the commands that it finds there", &[
        "**/.git/hooks", ".githooks",
        "**/.git/config*", ".gitconfig", "**/.config/git",
        "**/.git/modules", "**/.git/worktrees", "**/.git/commondir", "**/.git/head",
        "**/.git/objects/info/alternates",
        "**/.git/rebase-merge",
        ".gitattributes", "**/.git/info/attributes",
        ".gitmodules",
        "**/.hg/hgrc*", ".hgrc",
        // Jujutsu before 0.38 reads the file in the repository; later versions move it away.
        "**/.jj/repo/config.toml", ".jjconfig.toml", "**/.config/jj",
        "**/appdata/roaming/jj",
    ]),
    ("a manager of git hooks runs the commands in it", &[
        ".husky", ".huskyrc*", "**/.config/husky",
        "lefthook.y*ml", "lefthook.toml", "lefthook.json*", ".lefthook*",
        "lefthook-local.*",
        ".overcommit.yml",
        ".pre-commit-config.y*ml", ".pre-commit-hooks.yaml", "prek.toml",
        ".lintstagedrc*", "lint-staged.config.*",
        ".simple-git-hooks.*", "simple-git-hooks.*",
        ".commitlintrc*", "commitlint.config.*",
    ]),
    ("an editor runs the tasks and programs that it names", &[
        ".vscode", "*.code-workspace", "**/.config/code/user",
        "**/application support/code/user", "**/appdata/roaming/code/user",
        ".theia",
        ".vs",
        ".idea", ".fleet",
        ".zed", "**/.config/zed",
        ".bsp",
        ".helix", "**/.config/helix",
        "*.sublime-project",
        ".devcontainer", ".devcontainer.json",
        ".gitpod.yml", ".idx", ".replit", ".codesandbox", "devfile.yaml",
        ".vim", "vimfiles", ".vimrc", "_vimrc", ".gvimrc", "_gvimrc", ".exrc", "_exrc",
        "**/.config/vim",
        ".lvimrc",
        ".nvimrc", "_nvimrc", ".nvim.lua", "**/.config/nvim", "**/appdata/local/nvim",
        ".lazy.lua",
        ".ycm_extra_conf.py",
        ".emacs", ".emacs.el", ".emacs.d", "**/.config/emacs", ".dir-locals.el",
        ".dir-locals-2.el", "_dir-locals.el",
        ".nanorc",
    ]),
    ("a continuous integration service runs it", &[
        "**/.github/workflows", "**/.github/actions", "**/.forgejo/workflows",
        "**/.gitea/workflows",
        ".gitlab-ci.yml", ".gitlab-ci", "**/.gitlab/ci",
        ".circleci", ".buildkite", ".travis.yml", "jenkinsfile*", "azure-pipelines*.y*ml",
        "bitbucket-pipelines.yml", "buildspec.y*ml", "cloudbuild.y*ml",
        ".drone.yml", ".woodpecker", ".woodpecker.y*ml", "appveyor.yml", ".appveyor.yml",
        ".cirrus.yml", ".semaphore", ".teamcity", ".build.yml", ".builds",
    ]),
    ("an agent starts the servers and hooks that it names", &[
        ".claude", ".claude.json", ".mcp.json",
        "claude_desktop_config.json",
        ".cursor",
        ".codex",
        ".gemini",
        ".qwen",
        ".continue", ".continuerc.json",
        ".windsurf", "**/.codeium/windsurf",
        "**/.devin/config*.json", "**/.devin/hooks*", "**/.config/devin",
        "**/appdata/roaming/devin",
        "**/.agents/hooks.json", "**/.agents/mcp_config.json",
        ".trae",
        ".kiro",
        ".amazonq",
        ".opencode", "opencode.json*", "**/.config/opencode",
        ".aider.conf.yml",
        "**/.roo/mcp.json", "mcp_settings.json",
        "**/.kilocode/mcp.json", ".kilo", "kilo.json*", "**/.config/kilo",
        "**/.clinerules/hooks", ".cline", "cline_mcp_settings.json",
        "**/.github/hooks", "**/.github/mcp.json", "**/.github/lsp.json",
        "**/.github/extensions", "**/.github/copilot/settings*.json", ".copilot",
        "crushrc", ".crushrc", "crush.json", ".crush.json", "**/.config/crush",
        "**/.junie/mcp",
        ".factory",
        "**/.amp/settings.json*", "**/.amp/plugins", "**/.config/amp",
        ".openhands",
        "**/.config/goose", "**/.agents/plugins",
    ]),
    ("a shell or a login runs it", &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
        ".bash_completion", ".profile",
        "**/.config/bash_completion", "**/.local/share/bash-completion",
        ".inputrc",
        // With `.zwc`, each is a compiled file that zsh prefers if it is newer.
        ".zshrc*", ".zprofile*", ".zshenv*", ".zlogin*", ".zlogout*", ".oh-my-zsh",
        ".kshrc", ".cshrc", ".tcshrc", ".login",
        "**/.config/fish", "**/.config/nushell", "**/application support/nushell",
        "**/appdata/roaming/nushell", "**/.config/elvish", ".xonshrc", "**/.config/xonsh",
        "**/.config/powershell", "**/powershell/profile.ps1",
        "**/windowspowershell/profile.ps1", "microsoft.*_profile.ps1",
        "**/.config/starship.toml",
        ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", "**/.config/autostart",
        ".sway", ".i3", "**/.config/sway", "**/.config/i3",
        "**/.config/systemd", "**/.local/share/systemd", "**/.config/environment.d",
        ".pam_environment",
        "launchagents", "launchdaemons",
        "**/start menu/programs/startup",
        "**/.local/bin",
        "**/.cargo/bin", "**/.cargo/env*", ".rustup",
        // direnv asks again about a changed `.envrc`, and not about what it loads.
        ".envrc", ".envrc.local", ".envrc.private", ".direnvrc", ".direnv",
        "**/.config/direnv",
        "devenv.nix", "devenv.yaml", "devenv.local.nix", "devenv.local.yaml",
        ".autoenv*",
        "mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", ".rtx*.toml",
        "**/.mise/config*.toml", "**/.mise/conf.d", "**/mise/config*.toml",
        "**/.config/mise",
        ".tool-versions", ".asdfrc", ".asdf",
        ".ssh",
        ".gnupg",
        ".tmux.conf", "**/.config/tmux", ".screenrc", ".alacritty.toml",
        "**/.config/alacritty", ".wezterm.lua", "**/.config/wezterm", "**/.config/kitty",
        ".lessfilter", ".lesskey", "_lesskey", "**/.config/lesskey", ".mailcap",
    ]),
    ("a build tool or a debugger runs the programs that it names, whatever it is asked to do", &[
        "**/.cargo/config", "**/.cargo/config.toml",
        "rust-toolchain", "rust-toolchain.toml",
        ".npmrc",
        "**/node_modules/.bin",
        ".yarnrc", ".yarnrc.yml", "**/.yarn/releases", "**/.yarn/plugins", "**/.yarn/sdks",
        ".pnp.cjs", ".pnp.loader.mjs",
        // Since version 10 of pnpm the file of the workspace may name the files with hooks.
        ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpm-workspace.yaml", "**/.config/pnpm",
        "bunfig.toml", ".bunfig.toml",
        "sitecustomize.py", "usercustomize.py", "**/site-packages/*.pth",
        "**/site-packages/*.start", "**/dist-packages/*.pth", "pyvenv.cfg",
        ".python-version", ".python-versions", ".pdm-python",
        // Not `env`, which is the name of ordinary files: none could be written.
        "**/.venv/bin", "**/.venv/scripts", "**/venv/bin", "**/venv/scripts",
        "**/.tox/*/bin", "**/.tox/*/scripts", "**/.nox/*/bin", "**/.nox/*/scripts",
        "pip.conf", "pip.ini", "**/.config/pip", ".condarc",
        "activate.d", "deactivate.d",
        ".ipython", "ipython_*config.*", "jupyter_*config.py", ".jupyter",
        "**/.bundle/config", "**/.bundle/plugin", ".gemrc",
        ".bazelrc", "user.bazelrc", ".bazelversion", ".bazeliskrc", ".buckconfig*",
        ".mvn", ".mavenrc", "mavenrc*.cmd",
        ".sbtopts", ".jvmopts", ".sbt",
        "**/.gradle/init.gradle*", "**/.gradle/init.d", "**/.gradle/gradle.properties",
        ".composer", "**/.config/composer",
        "**/.cabal/config", "**/.config/cabal", "**/.stack/config.yaml", "**/.stack/hooks",
        ".mix",
        "**/.config/go/env", "**/application support/go/env",
        "**/.config/nix",
        "brew.env",
        ".gdbinit", ".gdbearlyinit", "**/.config/gdb", ".lldbinit*", ".pdbrc", ".perldb",
        // R runs the function `.First` of a saved workspace.
        ".irbrc", "irb.rc", "_irbrc", "$irbrc", "**/.config/irb", ".pryrc", ".rprofile",
        ".renviron", ".rdata", ".ghci", ".erlang", ".iex.exs", ".ocamlinit", ".sbclrc",
        ".guile", "**/.julia/config", ".octaverc",
        ".psqlrc*", ".sqliterc", ".my.cnf",
        ".ackrc", ".ripgreprc", ".wgetrc",
        "**/.docker/config.json", "**/.docker/cli-plugins", "**/.kube/config",
        "**/.aws/config", "**/.aws/cli/alias", ".terraformrc", "terraform.rc",
        "**/.config/gh",
    ]),
];
