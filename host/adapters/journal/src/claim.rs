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

/// Parts the name of a host from the store to which it moves a session.
const MOVES: &str = ", which moves it to ";

/// Returns this process as the one that moves a session to another store. It owns the session until
/// the move is complete, even if it ends before.
pub(crate) fn mover_to(store: &str) -> SessionOwner {
    let process = this_process();
    let host = format!("{}{MOVES}{store}", process.host);
    SessionOwner { host, ..process }
}

/// Returns the store to which the owner of a session moves it, if that is so.
pub(crate) fn moves_to(owner: &SessionOwner) -> Option<&str> {
    owner.host.split_once(MOVES).map(|(_, store)| store)
}
