//! What an `agent.toml` may say that was found in the working folder and not named with `--config`.
//!
//! Such a file may have come with the folder: from a repository, an archive, somebody else. It may choose tools, a model and
//! limits, and grant what lies in its own folder. It may not decide where a key or a secret is taken from or sent, what is granted
//! outside its folder or of the host's environment, or where sessions and compiled code are kept: compiled code is run, so whoever makes the cache folder
//! could bring code along. Naming the file is how the operator says that it is theirs.

use super::{
    ConfigError, Environment, RawConfig, RawDirGrant,
    model::KEY_VARIABLE,
    paths::{canonical, place},
};
use std::path::Path;

/// Checks a configuration that was found.
pub(super) fn check(
    raw: &RawConfig,
    file: &Path,
    environment: &Environment,
) -> Result<(), ConfigError> {
    // Paths begin where the file really is, as in `Config::resolve`; inside means inside the folder where it was found.
    let real = canonical(file);
    let base = real.parent().unwrap_or(&environment.cwd);
    match says_too_much(raw, base, environment) {
        None => Ok(()),
        Some(what) => Err(ConfigError::new(format!(
            "{} was found here and not named, and it {what}; a file that may have come with the folder does not decide \
             that. If it is yours, name it: --config {}",
            file.display(),
            file.file_name()
                .unwrap_or(file.as_os_str())
                .to_string_lossy()
        ))),
    }
}

fn says_too_much(raw: &RawConfig, base: &Path, environment: &Environment) -> Option<String> {
    if raw.state_dir.is_some() {
        return Some("sets `state-dir`".to_owned());
    }
    if raw.cache_dir.is_some() {
        return Some("sets `cache-dir`".to_owned());
    }
    if let Some(server) = &raw.openai_compat {
        if server.api_key.is_some() {
            return Some("sets `api-key` under [openai-compat]".to_owned());
        }
        if server.base_url.is_some() && environment.variable(KEY_VARIABLE).is_some() {
            return Some(format!(
                "sets `base-url` under [openai-compat], where the key in {KEY_VARIABLE} would be sent"
            ));
        }
    }
    if let Some(secret) = raw.secret.first() {
        return Some(format!(
            "says where the secret `{}` is and to whom it is sent",
            secret.name.escape_debug()
        ));
    }
    let general = raw.grants.iter().flat_map(|grants| &grants.env);
    let own = raw
        .tool
        .iter()
        .flatten()
        .filter_map(|tool| tool.env.as_ref());
    if let Some(variable) = general
        .chain(own.flatten())
        .find(|variable| variable.from_host)
    {
        return Some(format!(
            "grants the host's variable `{}`",
            variable.name.escape_debug()
        ));
    }
    let general = raw.grants.iter().flat_map(|grants| &grants.dir);
    let own = raw
        .tool
        .iter()
        .flatten()
        .filter_map(|tool| tool.dir.as_ref())
        .flatten();
    general
        .chain(own)
        .map(AsRef::as_ref)
        .find(|grant| !is_inside(grant, base, environment))
        .map(|grant| {
            format!(
                "grants the folder `{}`, which is outside its own",
                grant.host.escape_debug()
            )
        })
}

fn is_inside(grant: &RawDirGrant, base: &Path, environment: &Environment) -> bool {
    // A path that cannot be placed is refused later, with the reason.
    place(&grant.host, base, environment).map_or(true, |host| {
        canonical(&host).starts_with(canonical(&environment.cwd))
    })
}
