//! `agent-host pull`: a component of a registry or an address into the cache, or into a file.

use super::configure;
use crate::{
    args::PullArgs,
    exit::{Exit, Failure},
    terminal::{Terminal, bytes, escape, escape_line},
};
use agent_host_app::{
    Overrides, PulledComponent,
    oci::{PublicKey, Remote, SignatureForm},
    trusted_file,
};
use agent_host_types::reason::Reason;
use serde_json::{Value, json};
use std::{fmt::Display, fs::File, io::Write as _, path::Path, str::FromStr};

/// The maximum size of a file with a key, in bytes.
pub(super) const MAX_KEY_BYTES: u64 = 16 * 1024;

/// The maximum of annotations that are shown; a publisher may write any number.
const MAX_SHOWN: usize = 20;

pub(super) async fn pull(args: PullArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let remote: Remote = parse(&args.reference)?;
    let config = configure(args.config, Overrides::default())?;
    let key = args.verify.as_deref().map(public_key).transpose()?;
    let pulled = agent_host_app::pull(&config, &remote, key).await?;
    if let Some(path) = &args.output {
        write(path, &pulled.bytes)?;
    }
    terminal.println_as(
        args.json,
        || as_json(&pulled),
        || as_text(&pulled).join("\n"),
    );
    Ok(Exit::Done)
}

/// Parses a reference of the command line.
pub(super) fn parse<T>(text: &str) -> Result<T, Failure>
where
    T: FromStr<Err: Display>,
{
    text.parse()
        .map_err(|error| Failure::usage(format!("`{}` {error}", text.escape_debug())))
}

pub(super) fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    let unusable =
        |why: &dyn Display| Failure::usage(format!("cannot use the key {}: {why}", path.display()));
    let text = trusted_file::read(path, MAX_KEY_BYTES).map_err(|error| unusable(&error))?;
    text.parse().map_err(|error: Reason| unusable(&error))
}

/// Writes a new file; what was written of it in vain is removed.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let fault = |error| Failure::usage(format!("cannot write {}: {error}", path.display()));
    let mut file = File::create_new(path).map_err(fault)?;
    file.write_all(bytes).map_err(|error| {
        let _ = std::fs::remove_file(path);
        fault(error)
    })
}

/// Returns who signed a component, in words.
pub(super) fn signer(pulled: &PulledComponent) -> String {
    match &pulled.signer {
        Some((key, SignatureForm::Bundle)) => format!("by the key {key}"),
        Some((key, SignatureForm::Simple)) => format!("by the key {key} (older form)"),
        None if pulled.manifest.is_none() => {
            "nothing proves who made it; its digest is the one that you gave".to_owned()
        }
        None => "not checked: no key is configured for it".to_owned(),
    }
}

fn as_text(pulled: &PulledComponent) -> Vec<String> {
    let mut lines = vec![
        pulled.exact.to_string(),
        format!("  component   {}", pulled.digest),
        format!("  size        {}", bytes(pulled.bytes.len() as u64)),
        format!("  signed      {}", signer(pulled)),
    ];
    let annotations = pulled.annotations.iter().take(MAX_SHOWN);
    lines.extend(annotations.map(|(key, value)| {
        let key = key.strip_prefix("org.opencontainers.image.").unwrap_or(key);
        format!("  {:<11} {}", escape_line(key), escape_line(value))
    }));
    lines.extend(policy_lines(pulled));
    lines
}

/// Returns the permissions that the author asks for, which are never applied.
pub(super) fn policy_lines(pulled: &PulledComponent) -> Vec<String> {
    let mut lines = Vec::new();
    for policy in &pulled.policies {
        lines.push("  Its author asks for (none of it is granted):".to_owned());
        lines.extend(
            escape(&policy.text)
                .lines()
                .map(|line| format!("    {line}")),
        );
    }
    lines
}

fn as_json(pulled: &PulledComponent) -> Value {
    let policies = pulled.policies.iter();
    let policies = policies.map(|it| json!({ "media_type": it.media_type, "text": it.text }));
    json!({
        "reference": pulled.exact.to_string(),
        "manifest": pulled.manifest,
        "component": pulled.digest,
        "size_bytes": pulled.bytes.len(),
        "signer": pulled.signer.as_ref().map(|(key, _)| key),
        "annotations": pulled.annotations,
        "asks_for": policies.collect::<Vec<_>>(),
    })
}
