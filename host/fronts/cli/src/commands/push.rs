//! `agent-host push`: a component into a registry, signed if there is a key.

use super::{
    configure,
    pull::{MAX_KEY_BYTES, parse},
    search::index_source,
};
use crate::{
    args::PushArgs,
    exit::{Exit, Failure},
    terminal::Terminal,
};
use agent_host_app::{
    Overrides, Registry, add_to_index,
    oci::{IndexEntry, Package, Reference, SigningKey, WasmInterface, parse_version},
    read_secret,
};
use agent_host_author::PackageInfo;
use agent_host_types::reason::Reason;
use serde_json::json;
use std::path::Path;

/// The annotations that an index repeats.
const VERSION: &str = "org.opencontainers.image.version";
const DESCRIPTION: &str = "org.opencontainers.image.description";

pub(super) async fn push(args: PushArgs, terminal: &Terminal) -> Result<Exit, Failure> {
    let reference: Reference = parse(&args.reference)?;
    let config = configure(args.config, Overrides::default())?;
    let key = args.sign.as_deref().map(signing_key).transpose()?;
    let index = args.index.as_deref().map(index_source).transpose()?;
    let path = args.component.display();
    let name = args
        .component
        .to_str()
        .ok_or_else(|| Failure::usage(format!("the path {path} is not UTF-8; rename the file")))?;
    // Loaded as a host would, so that nothing is pushed that no host runs.
    let registry = Registry::open_one_unlocked(&config, name).await?;
    let entry = registry.components().next();
    let entry = entry.ok_or_else(|| Failure::usage(format!("{path} is not a component")))?;
    let bytes = entry.bytes()?.as_ref().to_vec();
    let read = bytes.clone();
    let info = tokio::task::spawn_blocking(move || PackageInfo::from_component(&read)).await;
    let info = info
        .map_err(|_| "its contents cannot be parsed".into())
        .flatten()
        .map_err(|why| Failure::usage(format!("cannot push {path}: {why}")))?;
    let mut annotations = info.annotations;
    // A tag that is a version says which one it is, where the component does not.
    if let Some(tag) = reference.tag().filter(|tag| parse_version(tag).is_some()) {
        let version = annotations.entry(VERSION.to_owned());
        version.or_insert_with(|| tag.trim_start_matches('v').to_owned());
    }
    let listed = IndexEntry {
        reference: reference.to_string(),
        version: annotations.get(VERSION).cloned(),
        description: annotations.get(DESCRIPTION).cloned(),
        tools: entry
            .component
            .definitions()
            .iter()
            .map(|it| it.name.clone())
            .collect(),
    };
    let package = Package {
        component: bytes.into(),
        interface: WasmInterface {
            exports: info.exports,
            imports: info.imports,
            target: None,
        },
        annotations,
    };
    let pushed = agent_host_app::push(&config, &reference, package, key.as_ref()).await?;
    if let Some(index) = &index {
        add_to_index(&config, index, listed).await?;
    }
    terminal.println_as(
        args.json,
        || {
            json!({
                "reference": pushed.reference,
                "manifest": pushed.reference.digest(),
                "component": pushed.digest,
                "signer": pushed.signer,
            })
        },
        || pushed.reference.to_string(),
    );
    if !args.json {
        terminal.note(&match &pushed.signer {
            Some(key) => format!("signed with the key {key}"),
            None => "not signed; sign it with `--sign KEY`".to_owned(),
        });
    }
    Ok(Exit::Done)
}

pub(super) fn signing_key(path: &Path) -> Result<SigningKey, Failure> {
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot use the key {}: {why}", path.display()))
    };
    let text = read_secret(path, MAX_KEY_BYTES).map_err(|error| unusable(&error))?;
    text.parse().map_err(|error: Reason| unusable(&error))
}
