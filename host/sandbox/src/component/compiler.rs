//! Compiling in a child process. The time and the memory that a compiler takes are not bounded by the size of its input, so a
//! child with limits does it: this file starts it, talks to it, ends it whatever happens, and says how it ended.
//!
//! The child is there against components that exhaust the compiler. It is no boundary against one that finds a fault in the
//! compiler's code: what the child answers is run as machine code.

mod child;
mod confine;
#[cfg(test)]
mod tests;
mod wire;
mod worker;

pub use confine::Confinement;
pub use worker::compile_worker;

use crate::{
    engine::Layout,
    error::{LoadError, LoadFault},
    text,
};
use bytes::Bytes;
use child::{Child, Said, Stop};
use std::{
    ffi::OsString, os::unix::process::ExitStatusExt as _, path::PathBuf, process::ExitStatus,
    time::Duration,
};
use wire::{Answer, Header};

/// The machine code of a component, in bytes for each byte of it, and what comes on top for a small one. Compiled, a Rust tool
/// has 3.5 times its size, one in JavaScript 3.1 times, and one in Python twice.
const CODE_RATIO: usize = 16;
const CODE_BASE_BYTES: usize = 1024 * 1024;

/// The most machine code of one component, in bytes. Python's has 35 MiB.
const MAX_CODE_BYTES: usize = 256 * 1024 * 1024;

/// What is shown of the child's own words, in bytes.
const MAX_WORDS_BYTES: usize = 300;

/// The program that compiles, as a child process: one that calls [`compile_worker`] with the arguments that follow these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileWorker {
    /// The program. It gets no environment of this process, and `/` as its folder.
    pub exe: PathBuf,
    /// Its first arguments.
    pub args: Vec<OsString>,
}

/// What compiling one component may take, where a [`CompileWorker`] does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// The child's address space, in bytes.
    pub memory_bytes: usize,
    /// Processor time over all of the child's threads, in seconds.
    pub cpu_seconds: usize,
    /// Time on the clock, in milliseconds.
    pub deadline_ms: usize,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 2 * 1024 * 1024 * 1024,
            cpu_seconds: 60,
            deadline_ms: 300_000,
        }
    }
}

/// How a child ended.
enum Ended {
    /// By itself, or killed from outside.
    Itself(ExitStatus, Said),
    /// By its parent, because it wrote more than is taken.
    TooMuch,
    /// By its parent, because its time was over.
    TooLate,
}

/// Where components are compiled.
pub(crate) struct Compiler {
    pub(crate) worker: CompileWorker,
    pub(crate) limits: CompileLimits,
}

impl Compiler {
    /// Compiles a component for engines with the layout and the fingerprint. To be called on a runtime whose threads last as
    /// long as the child may. Dropping the future ends the child.
    pub(crate) async fn compile(
        &self,
        layout: Layout,
        engine: [u8; 32],
        component: Bytes,
    ) -> Result<Vec<u8>, LoadError> {
        let header = Header {
            layout,
            engine,
            component_bytes: component.len() as u64,
        };
        let max_code = component
            .len()
            .saturating_mul(CODE_RATIO)
            .saturating_add(CODE_BASE_BYTES)
            .min(MAX_CODE_BYTES);
        match self.run(header.to_bytes(), component, max_code).await? {
            Ended::Itself(status, said) => self.judge(status, said),
            Ended::TooMuch => Err(exceeded(&format!(
                "its machine code has more than {max_code} bytes"
            ))),
            Ended::TooLate => Err(exceeded(&format!(
                "it was not compiled after {} ms (`compile-deadline-ms`)",
                self.limits.deadline_ms
            ))),
        }
    }

    /// Starts the child, gives it nothing to do, and says how far it confined itself.
    pub(crate) async fn check(&self) -> Result<Confinement, LoadError> {
        match self.run(Vec::new(), Bytes::new(), 0).await? {
            Ended::Itself(status, said) => wire::confinement(&said.answer)
                .ok_or_else(|| self.not_a_worker(status, &said.words)),
            Ended::TooMuch | Ended::TooLate => Err(self.broken("it does not end by itself")),
        }
    }

    /// The life of one child.
    async fn run(
        &self,
        header: Vec<u8>,
        component: Bytes,
        max_code: usize,
    ) -> Result<Ended, LoadError> {
        let mut child = Child::start(&self.worker, self.limits).map_err(|error| {
            let why = format!("it cannot be started: {error}");
            match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM) => refused(&why),
                _ => self.broken(&why),
            }
        })?;
        let patience = Duration::from_millis(self.limits.deadline_ms as u64);
        let talk = child.talk(&header, component, wire::answer_bytes(max_code));
        let said = tokio::time::timeout(patience, talk).await;
        let status = child
            .end()
            .await
            .map_err(|error| self.broken(&format!("its end cannot be waited for: {error}")))?;
        match said {
            Ok(Ok(said)) => Ok(Ended::Itself(status, said)),
            Ok(Err(Stop::TooMuch)) => Ok(Ended::TooMuch),
            Ok(Err(Stop::Io(error))) => {
                Err(self.broken(&format!("it cannot be talked to: {error}")))
            }
            Err(_) => Ok(Ended::TooLate),
        }
    }

    /// Makes of the child's end what its operator is told.
    fn judge(&self, status: ExitStatus, said: Said) -> Result<Vec<u8>, LoadError> {
        let words = text::sanitize(said.words.trim(), MAX_WORDS_BYTES);
        let Some(confinement) = wire::confinement(&said.answer) else {
            return Err(self.not_a_worker(status, &words));
        };
        if confinement == Confinement::Limits {
            tracing::debug!("the compiler runs without a filter of its system calls");
        }
        if !words.is_empty() {
            tracing::debug!("the compiler ended with {status} and said: {words}");
        }
        match (status.code(), status.signal()) {
            (Some(0), _) => match wire::read_answer(said.answer) {
                Some(Answer::Code(code)) => Ok(code),
                Some(Answer::Refused(error)) => Err(error),
                Some(Answer::OtherEngine) => Err(self.broken(
                    "it is of another version than this program, or set up in another way",
                )),
                None => Err(self.broken("its answer is not one of this program's version")),
            },
            (_, Some(libc::SIGXCPU)) => Err(exceeded(&format!(
                "it took more than {} s of processor time (`compile-cpu-seconds`)",
                self.limits.cpu_seconds
            ))),
            // Rust's allocator and its stack guard end the process so.
            (_, Some(libc::SIGABRT)) => Err(exceeded(&format!(
                "the compiler needed more than {} bytes of memory (`compile-memory-bytes`), or of stack",
                self.limits.memory_bytes
            ))),
            (_, Some(libc::SIGKILL)) => Err(exceeded(
                "the compiler was killed from outside, as the system does when the machine or the service has no memory left",
            )),
            _ => Err(exceeded(&format!("the compiler failed on it ({status})"))),
        }
    }

    fn not_a_worker(&self, status: ExitStatus, words: &str) -> LoadError {
        self.broken(&format!(
            "it ended with {status} before it was ready, and said {words:?}"
        ))
    }

    /// A fault of the host, and not of the component.
    fn broken(&self, why: &str) -> LoadError {
        LoadError::new(
            LoadFault::HostFailed,
            format!(
                "the compiler `{}` does not work: {why}. `agent-host doctor` checks it; it needs to be executable and to get {} bytes of address space",
                self.worker.exe.display(),
                self.limits.memory_bytes
            ),
        )
    }
}

/// The system has no room for another process.
fn refused(why: &str) -> LoadError {
    LoadError::new(
        LoadFault::HostFailed,
        format!(
            "the process that compiles components is missing: {why}. Raise the limits of this user or service on processes (`ulimit -u`), open \
             files (`ulimit -n`) or memory, or end other programs"
        ),
    )
}

/// The component needs more than compiling may take.
fn exceeded(why: &str) -> LoadError {
    LoadError::new(
        LoadFault::CompileLimit,
        format!(
            "the component cannot be compiled within the limits: {why}. Build it with optimisation, or split it"
        ),
    )
}
