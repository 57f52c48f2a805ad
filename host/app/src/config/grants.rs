//! Grants: `[grants]`, the lists of a `[[tool]]`, `--grant` and `--write`.

use super::{
    ConfigError, Overrides,
    dir_grants::{self, RawDirGrant},
    env_grants::{self, RawEnvGrant},
    http_grants::{self, RawHttpGrant},
    lists,
    paths::{Scope, canonical},
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review},
    secrets::{self, SecretConfig},
    section::{Items as _, section, values},
};
use agent_host_engine::policy::{ArtifactAccess, DirGrant, DirMode, Grants};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{path::Path, sync::Arc};

section! {
    /// `[grants]`, and the lists of a `[[tool]]`.
    #[derive(Default)]
    #[serde(default)]
    pub struct GrantsSection {
        /// Directories.
        dir: Option<Vec<RawDirGrant>> => each(dir_grants::demand);
        /// Hosts.
        http: Option<Vec<RawHttpGrant>> => each(http_grants::demand);
        /// Environment variables.
        env: Option<Vec<RawEnvGrant>> => each(env_grants::demand);
        /// Names of secrets.
        secrets: Option<Vec<String>> => each(secrets::demand_use);
        /// The artifacts of the session.
        artifacts: Option<RawArtifacts> => by(demand_artifacts);
    }
}

/// `artifacts` in `[grants]` and in a `[[tool]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawArtifacts {
    /// No access.
    None,
    /// List and read.
    ReadOnly,
    /// List, read, store and delete.
    ReadWrite,
}

values!(RawArtifacts);

impl RawArtifacts {
    /// Returns the grant.
    fn access(self) -> Option<ArtifactAccess> {
        match self {
            Self::None => None,
            Self::ReadOnly => Some(ArtifactAccess::ReadOnly),
            Self::ReadWrite => Some(ArtifactAccess::ReadWrite),
        }
    }
}

/// Demands the artifacts of the session for `who`.
pub(super) fn demand_artifacts(raw: &Option<RawArtifacts>, who: &str, review: &mut Review<'_>) {
    let (danger, can) = match raw.and_then(RawArtifacts::access) {
        None => return,
        Some(ArtifactAccess::ReadOnly) => (Danger::Private, "read"),
        Some(ArtifactAccess::ReadWrite) => (Danger::Writes, "read, store and delete"),
    };
    review.demand(
        danger,
        format!(
            "lets {who} {can} the artifacts of the session, which include the results of every tool"
        ),
    );
}

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
    let has_section = raw.is_some();
    let lists = raw.unwrap_or_default();
    let mut grants = of_lists(lists, &Grants::default(), secrets, "[grants]", scope)
        .map_err(|error| error.within("grants"))?;
    let configured = grants.dirs.len();
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
        make_writable(&mut grants.dirs, &scope.environment.cwd)?;
    }
    dir_grants::check_apart("grants.dir", &grants.dirs)?;
    Ok(GeneralGrants {
        grants: Arc::new(grants),
        default_dir_refusal,
        grants_default_dir,
    })
}

/// Resolves lists of grants; in place of an absent one it takes that of `base`. `place` has the
/// names of secrets, for messages.
pub(super) fn of_lists(
    raw: GrantsSection,
    base: &Grants,
    secrets: &[SecretConfig],
    place: &str,
    scope: Scope<'_>,
) -> Result<Grants, ConfigError> {
    lists::check(&[
        ("dir", raw.dir.items().len(), lists::MAX_GRANTS),
        ("http", raw.http.items().len(), lists::MAX_GRANTS),
        ("secrets", raw.secrets.items().len(), lists::MAX_GRANTS),
    ])?;
    resolve_steps! {
        dirs = match raw.dir {
            Some(dirs) => resolve_all("dir", dirs, |raw| dir_grants::from_raw(raw, scope)),
            None => Ok(base.dirs.clone()),
        };
        http = match raw.http {
            Some(http) => resolve_all("http", http, http_grants::from_raw),
            None => Ok(base.http.clone()),
        };
        env = match raw.env {
            Some(env) => env_grants::resolve(env, scope),
            None => Ok(base.env.clone()),
        };
        secrets = match raw.secrets {
            Some(names) => secrets::granted(secrets, names, place),
            None => Ok(base.secrets.clone()),
        };
    }
    let artifacts = raw.artifacts.map(RawArtifacts::access);
    Ok(Grants {
        dirs,
        http,
        env,
        secrets,
        artifacts: artifacts.unwrap_or(base.artifacts),
        ceiling: None,
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
        Some(("artifacts", "read-only")) => grants.artifacts = Some(ArtifactAccess::ReadOnly),
        Some(("artifacts", "read-write")) => grants.artifacts = Some(ArtifactAccess::ReadWrite),
        Some(("secret", name)) => {
            secrets::add(&mut grants.secrets, secrets, "--grant", name, "`--grant`")?;
        }
        Some(_) | None => {
            let argument = argument.escape_debug();
            return Err(config_error!(
                "--grant",
                "unknown grant `{argument}`",
                "write `dir:PATH`, `dir:PATH:read-write`, `http:[METHODS=][SCHEME://]HOST[:PORT][/PATH]`, \
                 `env:NAME[=VALUE]`, `secret:NAME`, `artifacts:read-only` or `artifacts:read-write`"
            ));
        }
    }
    Ok(())
}

fn make_writable(dirs: &mut [DirGrant], cwd: &Path) -> Result<(), ConfigError> {
    let cwd = canonical(cwd);
    if let Some(grant) = dirs.iter_mut().find(|grant| grant.host == cwd) {
        grant.mode = DirMode::ReadWrite;
        return Ok(());
    }
    let cwd = cwd.display();
    Err(config_error!(
        "--write",
        "`--write` makes the granted working directory writable, but {cwd} is not granted",
        "pass `--grant dir:PATH:read-write` for the directory that tools may write to"
    ))
}
