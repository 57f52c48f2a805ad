//! Checks of process limits (`ulimit`): one that is too low is refused in one sentence, before it
//! becomes an error in some library.

use crate::exit::Failure;
use rustix::process::{Resource, getrlimit};

/// The address space that a run needs beyond the program itself, in bytes: the memory of one call
/// at the default limit, and 64 MiB. With less, a failed allocation ends the process without a
/// message.
const ADDRESS_SPACE_BYTES: usize = 192 * 1024 * 1024;

/// The minimum number of file descriptors; the built-in tools need 48.
const DESCRIPTORS: u64 = 64;

/// Checks the limits on descriptors and address space, and limits malloc to one arena where the
/// latter is limited: by default glibc reserves 64 MiB of addresses per allocating thread, half a
/// gigabyte in all. Call it before any thread starts.
///
/// # Errors
/// A limit that is too low to work with.
pub(crate) fn check() -> Result<(), Failure> {
    if let Some(limit) = getrlimit(Resource::Nofile).current
        && limit < DESCRIPTORS
    {
        return Err(Failure::failed(format!(
            "this process may open {limit} files at once, and {DESCRIPTORS} are needed; raise the limit (`ulimit -n`, or LimitNOFILE of the service)"
        )));
    }
    if let Some(limit) = getrlimit(Resource::As).current {
        limit_arenas();
        if Vec::<u8>::new()
            .try_reserve_exact(ADDRESS_SPACE_BYTES)
            .is_err()
        {
            return Err(Failure::failed(format!(
                "{limit} bytes of address space are too few: {ADDRESS_SPACE_BYTES} are needed beside the program itself; raise the limit (`ulimit -v`, or LimitAS of the service)"
            )));
        }
    }
    Ok(())
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "mallopt is the C library's only setting for this that a program can make for itself"
)]
fn limit_arenas() {
    // SAFETY: mallopt takes two integers and changes a parameter of the allocator. No other thread
    // runs yet.
    let accepted = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    if accepted != 1 {
        tracing::debug!("the C library does not take a limit on its arenas");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn limit_arenas() {}
