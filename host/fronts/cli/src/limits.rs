//! Checks of process limits (`ulimit`): one that is too low is refused in one sentence, before it
//! becomes an error in some library.

use crate::exit::Failure;
use rustix::process::{Resource, getrlimit};
use std::{env, fs, os::unix::process::CommandExt as _, process::Command};

/// The settings of the allocators that keep their address space small, for the environment, which
/// they read before `main`. By default mimalloc, which is the program's, reserves 1 GiB at a time
/// (in KiB), and the C library, which is SQLite's, 64 MiB for each thread.
const SMALL_ARENAS: [(&str, &str); 2] = [
    ("MIMALLOC_ARENA_RESERVE", "32768"),
    ("MALLOC_ARENA_MAX", "1"),
];

/// The address space that a run needs beyond the program itself, in bytes: the memory of one call
/// at the default limit, and 64 MiB. With less, a failed allocation ends the process without a
/// message.
const ADDRESS_SPACE_BYTES: u64 = 192 * 1024 * 1024;

/// The stack that the first thread needs, in bytes: the command line is parsed on it. 512 KiB are
/// enough with optimization.
const STACK_BYTES: u64 = 1024 * 1024;

/// The minimum number of file descriptors; the built-in tools need 48.
const DESCRIPTORS: usize = 64;

/// Executes this program again with [`SMALL_ARENAS`] if the address space is limited and they are
/// not set. Call it before any thread starts.
pub(crate) fn limit_arenas() {
    if getrlimit(Resource::As).current.is_none()
        || SMALL_ARENAS
            .iter()
            .all(|(name, _)| env::var_os(name).is_some())
    {
        return;
    }
    let mut args = env::args_os();
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    // Returns only on failure; then less address space is left for guests.
    let error = again.args(args).envs(SMALL_ARENAS).exec();
    tracing::debug!("the allocators keep their large arenas: {error}");
}

/// Checks the limit on the stack of the first thread, before anything needs much of it.
///
/// # Errors
/// It is too low to parse a command line.
pub(crate) fn check_stack() -> Result<(), Failure> {
    match getrlimit(Resource::Stack).current {
        Some(limit) if limit < STACK_BYTES => Err(Failure::failed(format!(
            "{limit} bytes of stack are too few: {STACK_BYTES} are needed; raise the limit (`ulimit -s`, or LimitSTACK of the service)"
        ))),
        _ => Ok(()),
    }
}

/// Checks the limits on descriptors and address space.
///
/// # Errors
/// A limit that is too low to work with.
pub(crate) fn check() -> Result<(), Failure> {
    if let Some(limit) = descriptors()
        && limit < DESCRIPTORS
    {
        return Err(Failure::failed(format!(
            "this process may open {limit} files at once, and {DESCRIPTORS} are needed; raise the limit (`ulimit -n`, or LimitNOFILE of the service)"
        )));
    }
    if let Some(limit) = getrlimit(Resource::As).current
        && limit.saturating_sub(used_address_space()) < ADDRESS_SPACE_BYTES
    {
        return Err(Failure::failed(format!(
            "{limit} bytes of address space are too few: {ADDRESS_SPACE_BYTES} are needed beside the program itself; raise the limit (`ulimit -v`, or LimitAS of the service)"
        )));
    }
    Ok(())
}

/// Returns the number of files that this process may open at once; `None` without a limit.
pub(crate) fn descriptors() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

/// Returns the bytes of address space that this process uses, or 0 without `/proc`.
fn used_address_space() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut fields = status
        .lines()
        .filter_map(|line| line.strip_prefix("VmSize:"));
    let kib = fields.next().and_then(|kib| kib.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
