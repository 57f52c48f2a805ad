//! The limit of open files of this process and of its children.

#[cfg(test)]
mod tests;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::sync::OnceLock;

/// The limit before this process raised it.
static ORIGINAL: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit of open files of this process to the hard one, for a server. Children that
/// [`Child`](crate::Child) starts get the one before: a program that uses `select` fails with
/// descriptors beyond 1,023 (`FD_SETSIZE`).
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Some kernels refuse a hard limit above their own maximum; the soft limit then stays.
    if setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = ORIGINAL.set(limit);
    }
}

/// Gives a child the limit that this process had before it raised its own.
pub(crate) fn restore_for(child: Pid) {
    if let Some(limit) = ORIGINAL.get() {
        // It fails only if the child has ended.
        let _ = prlimit(Some(child), Resource::Nofile, *limit);
    }
}
