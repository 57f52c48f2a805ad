//! How the compiling process limits itself, for good, before it has seen a byte of what it compiles.

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, nice, set_parent_process_death_signal, setrlimit,
};
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, apply_filter,
};
use std::{collections::BTreeMap, env::consts::ARCH, io, process};

/// The descriptors of the process: its input, its outputs, and a few that libraries may want for a moment.
const DESCRIPTORS: u64 = 16;

/// By how much the process is nicer to others than its parent is (see `setpriority(2)`).
const NICE: i32 = 10;

/// How far a compiling process is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Its memory and its time are limited, it writes no files, and every system call is refused but those for memory,
    /// threads, and its open pipes: it opens no file and no socket, and starts no process.
    SystemCalls,
    /// Only the limits hold: this kernel offers no filter of system calls.
    Limits,
}

/// What a compiler needs besides [`conditional`]: memory, threads, time, and a way to end.
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

/// Limits this process. A limit that is already lower stays. The process ends when its parent does.
///
/// # Errors
/// When the kernel refuses one of the limits.
pub(super) fn limit(memory_bytes: u64, cpu_seconds: u64) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    for (resource, soft, hard) in [
        (Resource::As, memory_bytes, memory_bytes),
        // The first ends the process by a signal that tells why; the second cannot be survived.
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
    // Whoever else wants a processor goes before.
    nice(NICE)?;
    // Of all processes this one is the first to go when memory runs out. Where there is no /proc, all are equal.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

/// Refuses this thread, and those that it starts from now on, every system call that a compiler does not need. A refused call
/// fails with EPERM. Sets `no_new_privs`, too.
pub(super) fn filter_system_calls() -> Confinement {
    match programs().and_then(|programs| programs.iter().try_for_each(|one| apply_filter(one))) {
        Ok(()) => Confinement::SystemCalls,
        Err(error) => {
            tracing::debug!("system calls are not filtered: {error}");
            Confinement::Limits
        }
    }
}

/// Two programs, since one has one refusal; the second would refuse to set the first. The kernel goes by the stricter answer.
fn programs() -> Result<[BpfProgram; 2], Error> {
    let arch = ARCH.try_into()?;
    let refuse = |errno: i32| SeccompAction::Errno(errno.unsigned_abs());
    // Its flags lie in memory, where a filter cannot see them. Where it does not exist, the C library uses `clone`.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let clone3 = SeccompFilter::new(clone3, SeccompAction::Allow, refuse(libc::ENOSYS), arch)?;
    let mut allowed = conditional()?;
    allowed.extend(ALLOWED.map(|call| (call, Vec::new())));
    let needed = SeccompFilter::new(allowed, refuse(libc::EPERM), SeccompAction::Allow, arch)?;
    Ok([clone3.try_into()?, needed.try_into()?])
}

/// The calls that are allowed with some arguments only: reading its input and writing its outputs (a descriptor that whoever
/// started the parent left open is out of reach), memory but no files in it, threads but no processes, and signals to itself,
/// which is how it aborts.
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

/// A rule for a call whose first argument is this number.
fn equal(value: u64) -> Result<SeccompRule, Error> {
    let (size, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
    let condition = SeccompCondition::new(0, size, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// A rule for a call that has this flag in one of its arguments.
fn has_flag(argument: u8, flag: u64) -> Result<SeccompRule, Error> {
    let (size, operator) = (SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(flag));
    let condition = SeccompCondition::new(argument, size, operator, flag)?;
    Ok(SeccompRule::new(vec![condition])?)
}
