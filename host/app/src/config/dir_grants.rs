//! Folder grants: from `[[grants.dir]]`, from `--grant dir:PATH`, and the one that holds when nobody says anything.

use super::{
    ConfigError, Environment, RawDirGrant,
    paths::{KERNEL_FOLDERS, kernel_folder, place, too_wide},
};
use agent_host_engine::policy::{DirGrant, DirMode, DirQuota, PathRules};
use std::path::{Path, PathBuf};

/// What guests do not see in a granted directory unless its `mask` says otherwise: the files in which keys are kept. A pattern
/// without `/` holds at any depth. A plain name is also known by its identity, which costs each operation two looks; the
/// rest is known by its path.
#[rustfmt::skip]
pub const DEFAULT_MASK: [&str; 53] = [
    // Variables with secrets, which programs load at their start.
    ".env*",
    // SSH, PGP and password stores.
    ".ssh", ".gnupg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.ppk", "*.kdbx", "**/.password-store",
    "**/.local/share/keyrings",
    // Private keys and stores of them, for TLS and for signing. A `*.pem` may be a mere certificate; its name does not say so.
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

/// What no guest sees in any folder, whatever `mask` says: with these a tool could grant itself more at the next start.
const ALWAYS_MASKED: [&str; 2] = ["agent.toml", "agent.lock"];

/// Where guests find the folder that they work in; relative paths resolve there.
pub(super) const WORKSPACE: &str = "/workspace";

/// Where guests find further folders of the command line.
const FURTHER: &str = "/mnt";

/// A grant of the configuration.
pub(super) fn from_raw(
    raw: RawDirGrant,
    base: &Path,
    environment: &Environment,
) -> Result<DirGrant, ConfigError> {
    let RawDirGrant {
        host,
        guest,
        mode,
        allow,
        deny,
        mask,
        allow_run_later,
        quota,
    } = raw;
    let folder = existing(&place(&host, base, environment)?)?;
    if let Some(what) = too_wide(&folder, environment) {
        return Err(ConfigError::new(format!(
            "agent.toml may not grant {}: it is {what}, with keys and private files in it; grant a smaller folder, or, if \
             you mean it, take the grant out of agent.toml and pass `--grant dir:{0}` on the command line",
            folder.display()
        )));
    }
    let mut grant = grant(
        folder,
        guest_path(guest.as_deref().unwrap_or(WORKSPACE))?,
        mode,
    )?;
    grant.allow = rules(&allow)?;
    grant.deny = rules(&deny)?;
    grant.allow_run_later = rules(&allow_run_later)?;
    grant.quota = quota;
    if let Some(mask) = mask {
        grant.mask = masks(mask.iter().map(String::as_str))?;
    }
    Ok(grant)
}

/// A grant of the command line, `PATH`, `PATH:ro` or `PATH:rw`: at `/workspace` if nothing is there yet, and else at
/// `/mnt/NAME`. The person has named the folder here and now, so it may be any.
pub(super) fn from_argument(
    argument: &str,
    cwd: &Path,
    others: &[DirGrant],
) -> Result<DirGrant, ConfigError> {
    let (path, mode) = match argument.rsplit_once(':') {
        Some((path, "rw")) => (path, DirMode::ReadWrite),
        Some((path, "ro")) => (path, DirMode::ReadOnly),
        Some(_) | None => (argument, DirMode::ReadOnly),
    };
    if path.is_empty() {
        return Err(ConfigError::new(
            "`--grant dir:` names no folder; write it like `--grant dir:PATH` or `--grant dir:PATH:rw`",
        ));
    }
    let folder = existing(&cwd.join(path))?;
    let guest = free_guest_path(&folder, others);
    grant(folder, guest, Some(mode))
}

/// The grant that holds when neither the configuration nor the command line says anything about folders, or why it cannot.
pub(super) fn of_current_folder(environment: &Environment) -> Result<DirGrant, ConfigError> {
    let folder = existing(&environment.cwd)?;
    match too_wide(&folder, environment) {
        None => grant(folder, WORKSPACE.to_owned(), None),
        Some(what) => Err(ConfigError::new(format!(
            "the current folder {} is not granted to the tools by itself: it is {what}, with keys and private files in it; \
             change to a smaller folder, or name the folder that you mean with `--grant dir:PATH`",
            folder.display()
        ))),
    }
}

/// Refuses grants of which one lies in the other for the guest: which one a path means would depend on the tool's language.
pub(super) fn check_apart(grants: &[DirGrant]) -> Result<(), ConfigError> {
    for (index, one) in grants.iter().enumerate() {
        let other = grants
            .iter()
            .skip(index + 1)
            .find(|other| overlap(&one.guest, &other.guest));
        if let Some(other) = other {
            return Err(ConfigError::new(format!(
                "the folders {} and {} are granted at {} and {}, of which one is the other or lies in it, so a path there \
                 could mean either; give one of them another `guest` path, such as /mnt/NAME",
                one.host.display(),
                other.host.display(),
                one.guest,
                other.guest
            )));
        }
    }
    Ok(())
}

fn grant(host: PathBuf, guest: String, mode: Option<DirMode>) -> Result<DirGrant, ConfigError> {
    // Only `/` holds them. Whoever grants it means its files.
    let kernel = KERNEL_FOLDERS.iter().filter(|_| host.parent().is_none());
    let mask = masks(DEFAULT_MASK.iter().chain(kernel).copied())?;
    Ok(DirGrant {
        host,
        guest,
        mode: mode.unwrap_or(DirMode::ReadOnly),
        allow: PathRules::default(),
        deny: PathRules::default(),
        mask,
        allow_run_later: PathRules::default(),
        quota: DirQuota::default(),
    })
}

fn masks<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<PathRules, ConfigError> {
    let all: Vec<&str> = patterns.into_iter().chain(ALWAYS_MASKED).collect();
    rules(&all)
}

fn rules<S: AsRef<str>>(patterns: &[S]) -> Result<PathRules, ConfigError> {
    PathRules::new(patterns).map_err(|error| {
        ConfigError::new(format!(
            "{error}; correct it in the grant's allow, deny, mask or allow-run-later list"
        ))
    })
}

/// The folder with its links resolved, unless no tool may ever have it.
fn existing(path: &Path) -> Result<PathBuf, ConfigError> {
    let refuse = |why: &dyn std::fmt::Display| {
        ConfigError::new(format!(
            "the folder {} cannot be granted: {why}; make it, or correct the path",
            path.display()
        ))
    };
    let found = path.canonicalize().map_err(|error| refuse(&error))?;
    if let Some(kernel) = kernel_folder(&found) {
        return Err(ConfigError::new(format!(
            "the folder {} is never granted: what is in {kernel} are no files but the kernel's view of processes, with their \
             environment, and of devices; grant a folder that holds files",
            found.display()
        )));
    }
    if found.is_dir() {
        Ok(found)
    } else {
        Err(refuse(&"it is not a folder"))
    }
}

fn guest_path(guest: &str) -> Result<String, ConfigError> {
    let path = guest.strip_suffix('/').unwrap_or(guest);
    let good = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(char::is_control);
    match path.strip_prefix('/') {
        Some(names) if names.split('/').all(good) => Ok(path.to_owned()),
        Some(_) | None => Err(ConfigError::new(format!(
            "the guest path `{}` cannot be used: it has to begin with `/` and name a folder without `.` or `..`; write it \
             like `/workspace`",
            guest.escape_debug()
        ))),
    }
}

fn free_guest_path(folder: &Path, others: &[DirGrant]) -> String {
    let free = |guest: &String| !others.iter().any(|other| overlap(&other.guest, guest));
    let name: String = folder
        .file_name()
        .map_or_else(|| "root".into(), |name| name.to_string_lossy())
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') {
                c
            } else {
                '-'
            }
        })
        .collect();
    let first = [WORKSPACE.to_owned(), format!("{FURTHER}/{name}")];
    let further = (2_u64..).map(|n| format!("{FURTHER}/{name}-{n}"));
    // Each of the others takes at most one of these, or all below /mnt: then the check for overlaps says so.
    let tries = others.len() + 2;
    let mut paths = first.iter().cloned().chain(further).take(tries);
    paths
        .find(free)
        .unwrap_or_else(|| format!("{FURTHER}/{name}"))
}

fn overlap(one: &str, other: &str) -> bool {
    Path::new(one).starts_with(other) || Path::new(other).starts_with(one)
}
