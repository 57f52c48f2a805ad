//! Grants: `[grants]`, the lists of a `[[tool]]`, `--grant` and `--write`.

use super::{
    ConfigError, GrantsSection, Overrides, dir_grants, env_grants, http_grants,
    paths::{Scope, canonical},
    problem::resolve_steps,
    resolve::resolve_all,
    secrets::{self, SecretConfig},
};
use agent_host_engine::policy::{DirGrant, DirMode, Grants};
use std::{path::Path, sync::Arc};

/// The grants of every tool without lists of its own.
pub(super) struct GeneralGrants {
    pub(super) grants: Arc<Grants>,
    /// Why the working directory is not granted although nothing else names a directory.
    pub(super) default_dir_refusal: Option<ConfigError>,
    /// True if `agent.toml` has no grants, and the working directory is granted by default.
    pub(super) grants_default_dir: bool,
}

/// Resolves the general grants, those of the command line included.
///
/// # Errors
/// The grants that cannot be used.
pub(super) fn resolve(
    raw: Option<GrantsSection>,
    overrides: &Overrides,
    secrets: &[SecretConfig],
    scope: Scope<'_>,
) -> Result<GeneralGrants, ConfigError> {
    let cwd = scope.environment.cwd.as_path();
    let has_section = raw.is_some();
    let GrantsSection {
        dir,
        http,
        env,
        secrets: names,
    } = raw.unwrap_or_default();
    resolve_steps! {
        dirs = dir_grants::resolve("grants.dir", dir, scope);
        http = resolve_all("grants.http", http, http_grants::from_raw);
        env = env_grants::resolve("grants.env", env, scope);
        secret_grants = secrets::granted(secrets, "grants.secrets", &names, "[grants]");
    }
    let configured = dirs.len();
    let mut grants = Grants {
        dirs,
        http,
        env,
        secrets: secret_grants,
    };
    for argument in &overrides.grants {
        add_argument(&mut grants, argument, secrets, scope)?;
    }
    let default_dir = dir_grants::of_working_dir(scope.environment);
    let grants_default_dir = !has_section && default_dir.is_ok();
    let mut default_dir_refusal = None;
    if !has_section && grants.dirs.len() == configured {
        match default_dir {
            Ok(grant) => grants.dirs.push(grant),
            Err(error) => default_dir_refusal = Some(error),
        }
    }
    if overrides.write && default_dir_refusal.is_none() {
        make_writable(&mut grants.dirs, cwd)?;
    }
    dir_grants::check_apart("grants.dir", &grants.dirs)?;
    Ok(GeneralGrants {
        grants: Arc::new(grants),
        default_dir_refusal,
        grants_default_dir,
    })
}

fn add_argument(
    grants: &mut Grants,
    argument: &str,
    secrets: &[SecretConfig],
    scope: Scope<'_>,
) -> Result<(), ConfigError> {
    let environment = scope.environment;
    match argument.split_once(':') {
        Some(("dir", directory)) => {
            let grant = dir_grants::from_argument(directory, &environment.cwd, &grants.dirs)?;
            grants.dirs.push(grant);
        }
        Some(("http", host)) => grants.http.push(http_grants::from_argument(host)?),
        Some(("env", variable)) => {
            env_grants::add_argument(&mut grants.env, variable, environment)?
        }
        Some(("secret", name)) => {
            secrets::add(&mut grants.secrets, secrets, "--grant", name, "`--grant`")?;
        }
        Some(_) | None => {
            return Err(ConfigError::new(
                "--grant",
                format!(
                    "the grant `{}` is of no kind that there is",
                    argument.escape_debug()
                ),
                "write `dir:PATH`, `dir:PATH:rw`, `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, \
                 `env:NAME[=VALUE]` or `secret:NAME`",
            ));
        }
    }
    Ok(())
}

fn make_writable(dirs: &mut [DirGrant], cwd: &Path) -> Result<(), ConfigError> {
    let cwd = canonical(cwd);
    match dirs.iter_mut().find(|grant| grant.host == cwd) {
        Some(grant) => {
            grant.mode = DirMode::ReadWrite;
            Ok(())
        }
        None => Err(ConfigError::new(
            "--write",
            format!(
                "`--write` makes the grant of the working directory writable, and {} is not granted",
                cwd.display()
            ),
            "pass `--grant dir:PATH:rw` for the directory that tools may write to",
        )),
    }
}
