//! Confines the compile worker for the rest of its life, before it reads any input.

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, nice, set_parent_process_death_signal, setrlimit,
};
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};
use std::{collections::BTreeMap, env::consts::ARCH, io, process};

/// The file descriptors of the process: its input, its outputs, and a few for libraries.
const DESCRIPTORS: u64 = 16;

/// The nice value that the process adds to its parent's (`setpriority(2)`).
const NICE: i32 = 10;

/// The confinement of a compile worker, which reports it as a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Confinement {
    /// Memory and time are limited, no file can be written, and all system calls are refused but
    /// those for memory, threads and the open pipes: it opens no file and no socket, and starts no
    /// process.
    SystemCalls = b'f',
    /// Only the limits hold: this kernel does not filter system calls.
    Limits = b'l',
}

/// The system calls that a compiler needs besides [`conditional`]: memory, threads, time, exit.
const ALLOWED: [libc::c_long; 26] = [
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Limits this process and ends it with its parent. Lower limits stay.
///
/// # Errors
/// The kernel refuses one of the limits.
pub(super) fn limit(memory_bytes: u64, cpu_seconds: u64) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    for (resource, soft, hard) in [
        (Resource::As, memory_bytes, memory_bytes),
        // The soft limit kills by a signal that tells why; the hard limit cannot be caught.
        (Resource::Cpu, cpu_seconds, cpu_seconds.saturating_add(1)),
        (Resource::Fsize, 0, 0),
        (Resource::Core, 0, 0),
        (Resource::Nofile, DESCRIPTORS, DESCRIPTORS),
    ] {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit {
            current: Some(soft.min(most)),
            maximum: Some(hard.min(most)),
        };
        setrlimit(resource, limit)?;
    }
    nice(NICE)?;
    // The first victim when memory runs out. Without /proc this has no effect.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

/// Refuses all system calls that a compiler does not need to this thread and the threads that it
/// starts, with EPERM. Also sets `no_new_privs`.
pub(super) fn filter_system_calls() -> Confinement {
    match programs().and_then(|programs| programs.iter().try_for_each(|one| apply_filter(one))) {
        Ok(()) => Confinement::SystemCalls,
        Err(error) => {
            tracing::debug!("system calls are not filtered: {error}");
            Confinement::Limits
        }
    }
}

/// Builds two filters, because a filter has one errno. The second would refuse to set the first.
/// The kernel applies the stricter result.
fn programs() -> Result<[BpfProgram; 2], Error> {
    let arch = ARCH.try_into()?;
    let refuse = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    // The flags of `clone3` are in memory, which a filter cannot read. With ENOSYS, the C library
    // uses `clone`.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, refuse(libc::ENOSYS), arch)?;
    let mut allowed = conditional()?;
    allowed.extend(ALLOWED.map(|call| (call, Vec::new())));
    let needed = SeccompFilter::new(allowed, refuse(libc::EPERM), SeccompAction::Allow, arch)?;
    Ok([clone3.try_into()?, needed.try_into()?])
}

/// The system calls that are allowed with some arguments only: reading the input and writing the
/// outputs, but no inherited descriptor; anonymous memory, but no mapped files; threads, but no
/// processes; and signals to itself, which abort needs.
fn conditional() -> Result<BTreeMap<i64, Vec<SeccompRule>>, Error> {
    let anonymous = libc::MAP_ANONYMOUS.unsigned_abs().into();
    let thread = libc::CLONE_THREAD.unsigned_abs().into();
    let (input, outputs) = (vec![equal(0)?], vec![equal(1)?, equal(2)?]);
    Ok(BTreeMap::from([
        (libc::SYS_read, input.clone()),
        (libc::SYS_readv, input),
        (libc::SYS_write, outputs.clone()),
        (libc::SYS_writev, outputs),
        (libc::SYS_mmap, vec![has_flag(3, anonymous)?]),
        (libc::SYS_clone, vec![has_flag(0, thread)?]),
        (libc::SYS_tgkill, vec![equal(process::id().into())?]),
    ]))
}

/// A rule for calls whose first argument is `value`.
fn equal(value: u64) -> Result<SeccompRule, Error> {
    let (size, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
    let condition = SeccompCondition::new(0, size, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// A rule for calls with `flag` in one argument.
fn has_flag(argument: u8, flag: u64) -> Result<SeccompRule, Error> {
    let (size, operator) = (SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag));
    let condition = SeccompCondition::new(argument, size, operator, flag)?;
    Ok(SeccompRule::new(vec![condition])?)
}
