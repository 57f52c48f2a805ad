//! The limits of the process (`ulimit`): what is too little to work with is refused in one sentence, before it is an error in
//! some library.

use crate::exit::Failure;
use rustix::process::{Resource, getrlimit};

/// The address space that a run takes beside what the program has at its start, in bytes: the memory of one call at the default limit,
/// and 64 MiB. Where there is less, some allocation of the host fails, which ends the process without a word of its own.
const ADDRESS_SPACE_BYTES: usize = 192 * 1024 * 1024;

/// The descriptors of a run: the built-in tools do with 48.
const DESCRIPTORS: u64 = 64;

/// Checks the limits on descriptors and on address space, and keeps the C library to one arena where the latter is limited: by
/// default it reserves 64 MiB for each thread that allocates, which is only an address elsewhere, but takes half a gigabyte from
/// a process that has no more. To be called before there are threads.
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
        one_arena();
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
fn one_arena() {
    // SAFETY: mallopt takes two integers and changes a parameter of the allocator. No other thread runs yet.
    let accepted = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    if accepted != 1 {
        tracing::debug!("the C library does not take a limit on its arenas");
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn one_arena() {}
