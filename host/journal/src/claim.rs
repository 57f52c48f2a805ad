//! The identity of a process that claims a session.

use agent_host_engine::journal::SessionOwner;

/// Returns this process as an owner from now on.
pub(crate) fn this_process() -> SessionOwner {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let since = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    SessionOwner {
        pid: std::process::id(),
        host: host.trim().to_owned(),
        since: since.to_string(),
    }
}
