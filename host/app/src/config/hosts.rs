//! `[hosts]`: what a host is among several that share a store.

use super::{
    ConfigError,
    paths::Scope,
    problem::config_error,
    review::{Danger, Review},
    section::{Section as _, section},
};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// The most runs of a host by default. One that waits for a model takes less than 1 MiB.
const MAX_RUNS: u32 = 256;

/// The default and the least length of a lease, in seconds. Renewals take a fifth of it.
const LEASE_SECONDS: u64 = 15;
const MIN_LEASE_SECONDS: u64 = 2;

/// The longest lease, in seconds: the sessions of a host that ended wait for so long.
const MAX_LEASE_SECONDS: u64 = 600;

section! {
    /// `[hosts]`.
    #[derive(Default, Eq)]
    #[serde(default)]
    pub(super) struct RawHosts {
        /// The name of this machine; absent for the system's host name.
        machine: Option<String> => asks(Other, "names this machine {value}");
        /// The directories that every host has at the same path with the same content.
        shared_directories [Path]: Vec<String> =>
            asks(Other, "lets any host continue sessions that reach {value}");
        /// The time after which other hosts continue the sessions of an unresponsive host.
        lease_seconds: Option<u64>, in seconds, within(MIN_LEASE_SECONDS, MAX_LEASE_SECONDS)
            => together;
        /// The maximum number of concurrent sessions in a server.
        max_runs: Option<u32>, within(1) => together;
        /// The memory use of the process above which it accepts no more sessions.
        max_memory_bytes: Option<u64>, in bytes => together;
    }
}

/// Demands what the section asks for.
pub(super) fn demand(raw: &RawHosts, who: &str, review: &mut Review<'_>) {
    raw.demand_keys(who, review);
    if raw.lease_seconds.is_some() || raw.max_runs.is_some() || raw.max_memory_bytes.is_some() {
        let text = "sets how many sessions run here, and when other hosts continue them";
        review.demand(Danger::Other, text);
    }
}

/// The place of a host among several that share a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsConfig {
    /// The name of this machine.
    pub machine: String,
    /// The directories that each host has.
    pub shared_directories: Vec<PathBuf>,
    /// The length of a claim on a session that is not renewed.
    pub lease: Duration,
    /// The maximum number of concurrent sessions in a server.
    pub max_runs: u32,
    /// The memory of the process beyond which it takes no further session, in bytes.
    pub max_memory_bytes: Option<u64>,
}

impl HostsConfig {
    /// Whether each host has a directory.
    #[must_use]
    pub fn shares(&self, directory: &Path) -> bool {
        let mut shared = self.shared_directories.iter();
        shared.any(|shared| directory.starts_with(shared))
    }
}

/// Resolves the section.
pub(super) fn resolve(raw: RawHosts, scope: Scope<'_>) -> Result<HostsConfig, ConfigError> {
    let machine = match raw.machine {
        Some(machine) => machine,
        None => system_name(),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if machine.is_empty() || machine.len() > 253 || !machine.chars().all(is_name) {
        return Err(config_error!(
            "hosts.machine",
            "`machine` of [hosts] is not a machine name",
            "write up to 253 letters, digits, `.`, `-` and `_`"
        )
        .with_value(format!("{machine:?}")));
    }
    let shared = raw.shared_directories.iter().map(|directory| {
        let path = scope.resolve_path("hosts.shared-directories", directory)?;
        // Grants name directories without links.
        Ok(std::fs::canonicalize(&path).unwrap_or(path))
    });
    Ok(HostsConfig {
        machine,
        shared_directories: shared.collect::<Result<_, ConfigError>>()?,
        lease: Duration::from_secs(raw.lease_seconds.unwrap_or(LEASE_SECONDS)),
        max_runs: raw.max_runs.unwrap_or(MAX_RUNS),
        max_memory_bytes: raw.max_memory_bytes,
    })
}

/// Returns the name that the system has.
fn system_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}
