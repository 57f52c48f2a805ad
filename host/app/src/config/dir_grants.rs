//! Directory grants: of `[[grants.dir]]`, of `--grant dir:PATH`, and the default one.

use super::{
    ConfigError, Environment,
    paths::{KERNEL_DIRECTORIES, Scope, kernel_directory, too_wide},
    problem::{config_error, resolve_steps},
    review::{Danger, Review, UseOf, all_quoted, quoted},
    section::{section, values},
};
use agent_host_engine::policy::{DirGrant, DirMode, DirQuota, PathRules};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The files with keys, which guests do not see in a granted directory unless its `mask` says
/// otherwise. A pattern without `/` matches at any depth. A plain name is also matched by the
/// identity of the file, which costs each operation two lookups; the others are matched by path.
#[rustfmt::skip]
pub const DEFAULT_MASK: [&str; 53] = [
    // Variables with secrets, which programs load at their start.
    ".env*",
    // SSH, PGP and password stores.
    ".ssh", ".gnupg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.ppk", "*.kdbx", "**/.password-store",
    "**/.local/share/keyrings",
    // Private keys and stores of them, for TLS and for signing. A `*.pem` may be a mere
    // certificate; its name does not say so.
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
    // Accounts of clouds and clusters.
    ".aws", ".azure", "**/.config/gcloud", "**/.kube", "**/.oci", "**/.docker/config.json", "**/.vault-token",
    "**/.terraform.d/credentials.tfrc.json", "**/.terraformrc",
    // Logins at servers: any, git, and databases.
    ".netrc", "**/_netrc", ".git-credentials", "**/.git/config", "**/.git/modules/**/config", "**/.config/git/credentials",
    "**/.config/gh/hosts.yml", "**/.config/glab-cli", "**/.pgpass", "**/.my.cnf", ".htpasswd*",
    // Tokens of package registries.
    ".npmrc", ".pypirc", "**/.cargo/credentials*", "**/.gem/credentials", "**/.m2/settings*.xml",
    "**/.gradle/gradle.properties", "**/.composer/auth.json",
    // What was typed, passwords included, and what browsers keep.
    "**/.bash_history", "**/.zsh_history", "**/.python_history", "**/.psql_history", "**/.mysql_history", "**/.mozilla",
    // Logins of agents.
    "**/.claude/.credentials.json", "**/.codex/auth.json", "**/.gemini/oauth_creds.json",
];

/// The files that no guest sees in any directory, whatever `mask` says: with these a tool could
/// grant itself more at the next start.
const ALWAYS_MASKED: [&str; 2] = ["agent.toml", "agent.lock"];

/// The guest path of the directory in which tools work; relative paths resolve there.
pub(super) const WORKSPACE: &str = "/workspace";

/// The parent of the guest paths of further directories of the command line.
const FURTHER: &str = "/mnt";

section! {
    /// `[[grants.dir]]` and `[[tool.dir]]`.
    pub(super) struct RawDirGrant {
        /// The directory on the host.
        host [Directory]: String => together;
        /// Its path for guests; absent for `/workspace`.
        guest: Option<String> => pinned;
        /// The mode; absent for read-only.
        mode: Option<DirMode> => together;
        /// Globs of files that may be opened; empty for all.
        #[serde(default)]
        allow: Vec<String> => pinned;
        /// Globs of files that are refused.
        #[serde(default)]
        deny: Vec<String> => pinned;
        /// Globs of files that are hidden from guests; absent for the built-in list of keys and other
        /// private files.
        mask: Option<Vec<String>> => together;
        /// Globs of files that may be written although the user's programs run them later, such as
        /// `.github/workflows`.
        #[serde(default)]
        allow_run_later: Vec<String> => together;
        /// The quota of one call; absent for the limits of the call.
        #[serde(default)]
        quota: DirQuota => pinned;
    }
}

values!(DirMode, DirQuota);

/// Demands a directory grant beyond the default, which is to read the directory that the file came
/// with, or a part of it.
pub(super) fn demand(raw: &RawDirGrant, who: &str, review: &mut Review<'_>) {
    let writes = raw.mode == Some(DirMode::ReadWrite);
    let beyond = match review.reach(&raw.host) {
        Some(real) => {
            let real = quoted(&real.to_string_lossy());
            Some(format!(" outside of its directory (it is {real})"))
        }
        None if is_kept_from_tools(&raw.host, review) => {
            Some(", which is hidden from tools by default".to_owned())
        }
        None => None,
    };
    let (mask, run_later) = (raw.mask.as_deref(), raw.allow_run_later.as_slice());
    let copied = matches!(review.use_of, UseOf::Cases { .. });
    if beyond.is_none() && mask.is_none() && run_later.is_empty() && (!writes || copied) {
        return;
    }
    let (danger, may) = match (writes, run_later) {
        (false, _) => (Danger::Private, "read"),
        (true, []) => (Danger::Writes, "read and change"),
        (true, _) => (Danger::Program, "read and change"),
    };
    let hidden = match mask {
        None => String::new(),
        Some([]) => ", with nothing hidden (mask = [])".to_owned(),
        Some(mask) => format!(", with nothing hidden but {}", all_quoted(mask)),
    };
    let runs = match run_later {
        [] => String::new(),
        files => {
            let files = all_quoted(files);
            format!(", including files that your programs run later ({files})")
        }
    };
    let (host, beyond) = (quoted(&raw.host), beyond.unwrap_or_default());
    review.demand(
        danger,
        format!("lets {who} {may} {host}{beyond}{hidden}{runs}"),
    );
}

/// True if a directory inside of the file's own is not granted by default, or only in part.
fn is_kept_from_tools(host: &str, review: &Review<'_>) -> bool {
    let refused = match review.use_of {
        UseOf::Configuration => of_working_dir(review.environment).is_err(),
        UseOf::Cases { .. } => too_wide(&review.directory, review.environment).is_some(),
    };
    let Some(inside) = review.path_inside(host) else {
        return refused;
    };
    // The mask of a grant begins at its own directory: one of `.git` would not hide `.git/config`.
    let hidden = PathRules::new(&DEFAULT_MASK).map_or(true, |mask| {
        let mut names = Path::new(&inside).ancestors().filter_map(Path::to_str);
        names.any(|name| mask.first_match(name).is_some()) || mask.first_below(&inside).is_some()
    });
    refused || hidden
}

/// Resolves a grant of the configuration.
pub(super) fn from_raw(raw: RawDirGrant, scope: Scope<'_>) -> Result<DirGrant, ConfigError> {
    let mask = raw.mask.map(|mask| masks(mask.iter().map(String::as_str)));
    resolve_steps! {
        directory = configurable(&raw.host, scope).map_err(|error| error.with_value(&raw.host));
        guest = guest_path(raw.guest.as_deref().unwrap_or(WORKSPACE));
        allow = rules("allow", &raw.allow);
        deny = rules("deny", &raw.deny);
        mask = mask.transpose();
        allow_run_later = rules("allow-run-later", &raw.allow_run_later);
    }
    let default = grant(directory, guest, raw.mode)?;
    Ok(DirGrant {
        allow,
        deny,
        mask: mask.unwrap_or(default.mask),
        allow_run_later,
        quota: raw.quota,
        ..default
    })
}

/// Returns the directory of a `host` key, without links.
fn configurable(host: &str, scope: Scope<'_>) -> Result<PathBuf, ConfigError> {
    let directory = existing("host", &scope.resolve_path("host", host)?)?;
    let Some(what) = too_wide(&directory, scope.environment) else {
        return Ok(directory);
    };
    let directory = directory.display();
    Err(config_error!(
        "host",
        "agent.toml may not grant {directory}: it is {what}, which contains keys and private files",
        "grant a smaller directory, or, if you are sure, remove the grant from agent.toml and pass `--grant \
         dir:{directory}` on the command line"
    ))
}

/// Resolves a grant of the command line, `PATH`, `PATH:read-only` or `PATH:read-write`: at
/// `/workspace` if that is free, and else at `/mnt/NAME`. The user names the directory explicitly,
/// so it may be any.
pub(super) fn from_argument(
    argument: &str,
    cwd: &Path,
    others: &[DirGrant],
) -> Result<DirGrant, ConfigError> {
    let (path, mode) = match argument.rsplit_once(':') {
        Some((path, "read-write")) => (path, DirMode::ReadWrite),
        Some((path, "read-only")) => (path, DirMode::ReadOnly),
        // As other programs write it; a directory may have such a name, too.
        Some((path, "rw" | "ro")) if !cwd.join(argument).exists() => {
            return Err(config_error!(
                "--grant",
                "unknown mode in `--grant dir:{argument}`",
                "write `--grant dir:{path}:read-write`, or leave the mode out for read-only access"
            ));
        }
        Some(_) | None => (argument, DirMode::ReadOnly),
    };
    if path.is_empty() {
        return Err(ConfigError::new(
            "--grant",
            "`--grant dir:` names no directory",
            "write it like `--grant dir:PATH` or `--grant dir:PATH:read-write`",
        ));
    }
    let directory = existing("--grant", &cwd.join(path))?;
    let guest = free_guest_path(&directory, others);
    grant(directory, guest, Some(mode))
}

/// Returns the grant of the working directory, which holds where no directory is named.
///
/// # Errors
/// The working directory is too large, or is never granted.
pub(super) fn of_working_dir(environment: &Environment) -> Result<DirGrant, ConfigError> {
    let directory = existing("", &environment.cwd)?;
    let Some(what) = too_wide(&directory, environment) else {
        return grant(directory, WORKSPACE.to_owned(), None);
    };
    let directory = directory.display();
    Err(config_error!(
        "",
        "the working directory {directory} is not granted to the tools by default: it is {what}, which contains keys \
         and private files",
        "change to a smaller directory, or grant one with `--grant dir:PATH`"
    ))
}

/// Refuses grants that overlap for the guest: the meaning of a path in both would depend on the
/// tool's language.
pub(super) fn check_apart(key: &str, grants: &[DirGrant]) -> Result<(), ConfigError> {
    for (index, one) in grants.iter().enumerate() {
        let other = grants
            .iter()
            .skip(index + 1)
            .find(|other| overlap(&one.guest, &other.guest));
        if let Some(other) = other {
            let (host, other_host) = (one.host.display(), other.host.display());
            let (guest, other_guest) = (&one.guest, &other.guest);
            return Err(config_error!(
                key,
                "the directories {host} and {other_host} are granted at {guest} and {other_guest}, which overlap, so \
                 a path there could mean either",
                "give one of them another `guest` path, such as /mnt/NAME"
            ));
        }
    }
    Ok(())
}

fn grant(host: PathBuf, guest: String, mode: Option<DirMode>) -> Result<DirGrant, ConfigError> {
    // Only `/` contains them, and its grant is for files.
    let kernel = KERNEL_DIRECTORIES
        .iter()
        .filter(|_| host.parent().is_none());
    let mask = masks(DEFAULT_MASK.iter().chain(kernel).copied())?;
    Ok(DirGrant {
        mask,
        ..DirGrant::new(host, guest, mode.unwrap_or(DirMode::ReadOnly))
    })
}

fn masks<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<PathRules, ConfigError> {
    let all: Vec<&str> = patterns.into_iter().chain(ALWAYS_MASKED).collect();
    rules("mask", &all)
}

fn rules<S: AsRef<str>>(key: &str, patterns: &[S]) -> Result<PathRules, ConfigError> {
    PathRules::new(patterns).map_err(|error| {
        let fix = "correct it in the grant's allow, deny, mask or allow-run-later list";
        ConfigError::new(key, error.to_string(), fix)
    })
}

/// Returns the directory without links, unless no tool may ever have it.
fn existing(key: &str, path: &Path) -> Result<PathBuf, ConfigError> {
    let refuse = |why: &dyn std::fmt::Display| {
        let reason = format!("cannot grant the directory {}: {why}", path.display());
        ConfigError::new(key, reason, "create it, or correct the path")
    };
    let found = path.canonicalize().map_err(|error| refuse(&error))?;
    if let Some(kernel) = kernel_directory(&found) {
        let found = found.display();
        return Err(config_error!(
            key,
            "the directory {found} can never be granted: {kernel} exposes processes, their environment, and devices",
            "grant a directory of files"
        ));
    }
    if found.is_dir() {
        Ok(found)
    } else {
        Err(refuse(&"it is not a directory"))
    }
}

fn guest_path(guest: &str) -> Result<String, ConfigError> {
    let path = guest.strip_suffix('/').unwrap_or(guest);
    let good = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
    let names = path.strip_prefix('/');
    if names.is_some_and(|names| names.split('/').all(good)) {
        return Ok(path.to_owned());
    }
    let shown = guest.escape_debug();
    Err(config_error!(
        "guest",
        "invalid guest path `{shown}`: it must start with `/` and name a directory without `.` or `..`",
        "write it like `/workspace`"
    )
    .with_value(guest))
}

fn free_guest_path(directory: &Path, others: &[DirGrant]) -> String {
    let free = |guest: &String| !others.iter().any(|other| overlap(&other.guest, guest));
    let name = directory.file_name().map(OsStr::to_string_lossy);
    let is_other = |c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-');
    let name = name.unwrap_or("root".into()).replace(is_other, "-");
    let base = format!("{FURTHER}/{name}");
    // Each of the others takes at most one of these, or all below /mnt, which `check_apart`
    // refuses.
    let numbered = (2..others.len() + 2).map(|n| format!("{base}-{n}"));
    let first = [WORKSPACE.to_owned(), base.clone()].into_iter();
    first.chain(numbered).find(free).unwrap_or(base)
}

fn overlap(one: &str, other: &str) -> bool {
    Path::new(one).starts_with(other) || Path::new(other).starts_with(one)
}
