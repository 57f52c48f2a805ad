//! Small machines: where the address space of the process is limited (`ulimit -v`), the C library must not spread over it.

use rustix::process::{Resource, getrlimit};

/// Keeps the C library to one arena where the address space is limited. By default it reserves 64 MiB for each thread that
/// allocates, which is only an address elsewhere, but takes half a gigabyte from a process that has no more. To be called
/// before there are threads.
pub(crate) fn fit_address_space() {
    if getrlimit(Resource::As).current.is_some() {
        one_arena();
    }
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
