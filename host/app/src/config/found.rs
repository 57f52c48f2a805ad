//! What an `agent.toml` may say that was found in the working folder and not named with `--config`.
//!
//! Such a file may have come with the folder: from a repository, an archive, somebody else. It may choose tools, a model,
//! limits and budgets, and grant what lies in its own folder. It may not decide where a key or a secret is taken from or sent, to which other machine
//! the conversation goes, which program is started or asked for tools, what is granted or read outside its folder or of the host's environment, that nobody is asked before a call, by what prices a budget of the
//! command line counts, or where sessions and compiled code are kept: compiled code is run, so whoever makes the cache folder
//! could bring code along. Naming the file is how the operator says that it is theirs.

use super::{
    ConfigError, Environment, Overrides, RawApproval, RawConfig,
    paths::{canonical, place},
    provider::key_variable,
};
use agent_host_models::{Provider, is_on_this_machine};
use std::path::Path;

/// Checks a configuration that was found.
pub(super) fn check(
    raw: &RawConfig,
    file: &Path,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<(), ConfigError> {
    // Paths begin where the file really is, as in `Config::resolve`; inside means inside the folder where it was found.
    let real = canonical(file);
    let base = real.parent().unwrap_or(&environment.cwd);
    let too_much =
        says_too_much(raw, overrides, environment).or_else(|| reaches_out(raw, base, environment));
    match too_much {
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

fn says_too_much(
    raw: &RawConfig,
    overrides: &Overrides,
    environment: &Environment,
) -> Option<String> {
    if raw.state_dir.is_some() {
        return Some("sets `state-dir`".to_owned());
    }
    if raw.cache_dir.is_some() {
        return Some("sets `cache-dir`".to_owned());
    }
    if let Some(what) = Provider::ALL
        .into_iter()
        .find_map(|provider| redirects(raw, provider, environment))
    {
        return Some(what);
    }
    if let Some(secret) = raw.secret.first() {
        return Some(format!(
            "says where the secret `{}` is and to whom it is sent",
            secret.name.escape_debug()
        ));
    }
    if let Some(server) = raw.mcp.first() {
        return Some(format!(
            "names the MCP server `{}`, which would be started or asked",
            server.get_ref().name.escape_debug()
        ));
    }
    if overrides.max_usd.is_some() && !raw.prices.is_empty() {
        return Some("sets [prices], by which `--max-usd` would count".to_owned());
    }
    let mut unasked = raw.tool.iter().flatten().filter(|tool| {
        tool.approval.is_never() || tool.approvals.values().any(RawApproval::is_never)
    });
    if let Some(tool) = unasked.next() {
        return Some(format!(
            "says that nobody is asked about calls of `{}` (approval \"never\")",
            tool.name.escape_debug()
        ));
    }
    let general = raw.grants.iter().flat_map(|grants| &grants.env);
    let own = raw
        .tool
        .iter()
        .flatten()
        .filter_map(|tool| tool.env.as_ref());
    let mut variables = general.chain(own.flatten());
    let variable = variables.find(|variable| variable.from_host)?;
    Some(format!(
        "grants the host's variable `{}`",
        variable.name.escape_debug()
    ))
}

/// What it says of where the key of a provider is taken from, or where that or the conversation is sent.
fn redirects(raw: &RawConfig, provider: Provider, environment: &Environment) -> Option<String> {
    let (name, section) = (provider.name(), raw.provider(provider)?);
    if section.api_key.is_some() {
        return Some(format!("sets `api-key` under [{name}]"));
    }
    let base_url = section.base_url.as_ref()?;
    if let Some(variable) = key_variable(provider, environment) {
        return Some(format!(
            "sets `base-url` under [{name}], where the key in {variable} would be sent"
        ));
    }
    (!is_on_this_machine(base_url)).then(|| {
        format!(
            "sets `base-url` under [{name}] to another machine, where what you say would be sent"
        )
    })
}

/// What it grants or reads outside its folder.
fn reaches_out(raw: &RawConfig, base: &Path, environment: &Environment) -> Option<String> {
    let general = raw.grants.iter().flat_map(|grants| &grants.dir);
    let own = raw
        .tool
        .iter()
        .flatten()
        .filter_map(|tool| tool.dir.as_ref())
        .flatten();
    let granted = general.chain(own).map(|grant| &grant.get_ref().host);
    let external = raw.external_tool.iter().map(AsRef::as_ref);
    let mut read = external.filter_map(|tool| tool.input_schema.as_str());
    let outside = |path: &&str| !is_inside(path, base, environment);
    if let Some(folder) = granted.map(String::as_str).find(outside) {
        return Some(format!(
            "grants the folder `{}`, which is outside its own",
            folder.escape_debug()
        ));
    }
    if let Some(file) = read.find(outside) {
        return Some(format!(
            "takes a schema from `{}`, which is outside its folder",
            file.escape_debug()
        ));
    }
    let mut instructions = raw.instructions.iter().map(|file| file.get_ref().as_str());
    let file = instructions.find(outside)?;
    Some(format!(
        "takes instructions from `{}`, which is outside its folder",
        file.escape_debug()
    ))
}

fn is_inside(path: &str, base: &Path, environment: &Environment) -> bool {
    // A path that cannot be placed is refused later, with the reason.
    place(path, base, environment).map_or(true, |host| {
        canonical(&host).starts_with(canonical(&environment.cwd))
    })
}
