//! Compiles components in a child process with limits, because the time and the memory of a
//! compiler are not bounded by the size of its input. The parent starts the child, sends the
//! component, always ends the child, and explains how it ended.
//!
//! The child contains components that exhaust the compiler. It is no boundary against a component
//! that exploits a fault in the compiler's code: what the child returns is run as machine code.

mod child;
mod confine;
#[cfg(test)]
mod tests;
mod wire;
mod worker;

pub use confine::Confinement;
pub use worker::compile_worker;

use crate::{
    component::{code::MachineCode, error::LoadError},
    config::{CompileLimits, CompileWorker},
    engine::{Compilers, Layout},
    text,
};
use bytes::Bytes;
use child::{ChildOutput, ExchangeError};
use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};
use wire::{CompilerReply, Header};

/// The bound on machine code: bytes for each byte of the component, and a base for small ones.
/// Compiled, a Rust tool has 3.5 times its size, one in JavaScript 3.1 times, and one in Python
/// twice.
const CODE_RATIO: usize = 16;
const CODE_BASE_BYTES: usize = 1024 * 1024;

/// The bound on machine code of one component, in bytes. Python's has 35 MiB.
const MAX_CODE_BYTES: usize = 256 * 1024 * 1024;

/// The bound on the child's stderr in an error, in bytes.
const MAX_STDERR_BYTES: usize = 300;

/// The parent's side of the compile worker.
pub(crate) struct Compiler {
    pub(crate) worker: CompileWorker,
    pub(crate) limits: CompileLimits,
}

impl Compiler {
    /// Compiles a component for engines of the layout. Dropping the future ends the child.
    pub(crate) async fn compile(
        &self,
        layout: Layout,
        engines: &Compilers,
        component: Bytes,
    ) -> Result<MachineCode, LoadError> {
        let header = Header {
            layout,
            wasi: engines.wasi(),
            engines: engines.fingerprint(),
            component_bytes: component.len() as u64,
        };
        let max_code = component
            .len()
            .saturating_mul(CODE_RATIO)
            .saturating_add(CODE_BASE_BYTES)
            .min(MAX_CODE_BYTES);
        let (status, output) = self.run(header.to_bytes(), component, max_code).await?;
        self.reply(status, output)
    }

    /// Starts the child without input and returns its confinement.
    pub(crate) async fn check(&self) -> Result<Confinement, LoadError> {
        let ended = self.run(Vec::new(), Bytes::new(), 0).await;
        let (status, output) = ended.map_err(|error| match error {
            LoadError::CompileLimit(_) => self.broken("it does not exit"),
            other => other,
        })?;
        wire::confinement(&output.reply).ok_or_else(|| self.not_ready(status, &output.stderr))
    }

    /// Runs a child to its end, by itself or killed by another process.
    ///
    /// # Errors
    /// [`LoadError::CompileLimit`] if this process killed it, for its output or at the deadline.
    async fn run(
        &self,
        header: Vec<u8>,
        component: Bytes,
        max_code: usize,
    ) -> Result<(ExitStatus, ChildOutput), LoadError> {
        let started = child::start(&self.worker, self.limits).await;
        let (mut child, pipes) = started.map_err(|error| match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                LoadError::NoProcess(error)
            }
            _ => self.broken(&format!("it does not start: {error}")),
        })?;
        let timeout = Duration::from_millis(self.limits.deadline_ms as u64);
        let max_reply = wire::max_reply_bytes(max_code);
        let exchange = child::exchange(pipes, &header, component, max_reply);
        let output = tokio::time::timeout(timeout, exchange).await;
        child.stop();
        let status = child
            .wait()
            .await
            .ok_or_else(|| self.broken("its status cannot be read"))?;
        match output {
            Ok(Ok(output)) => Ok((status, output)),
            Ok(Err(ExchangeError::OutputTooLarge)) => Err(LoadError::CompileLimit(format!(
                "its machine code has more than {max_code} bytes"
            ))),
            Ok(Err(ExchangeError::Io(error))) => {
                Err(self.broken(&format!("its pipes do not work: {error}")))
            }
            Err(_) => Err(LoadError::CompileLimit(format!(
                "it was not compiled after {} ms (`compile-deadline-ms`)",
                self.limits.deadline_ms
            ))),
        }
    }

    /// Returns the machine code, or explains the child's exit.
    fn reply(&self, status: ExitStatus, output: ChildOutput) -> Result<MachineCode, LoadError> {
        let stderr = text::sanitize(output.stderr.trim(), MAX_STDERR_BYTES);
        let Some(confinement) = wire::confinement(&output.reply) else {
            return Err(self.not_ready(status, &stderr));
        };
        if confinement == Confinement::Limits {
            tracing::debug!("the compiler runs without a system call filter");
        }
        if !stderr.is_empty() {
            tracing::debug!("the compiler ended with {status} and said: {stderr}");
        }
        match (status.code(), status.signal()) {
            (Some(0), _) => match wire::read_reply(output.reply) {
                Some(CompilerReply::Code(code)) => Ok(code),
                Some(CompilerReply::Failed(error)) => Err(error.into()),
                Some(CompilerReply::OtherEngine) => Err(self.broken(
                    "it has a different version or setup from this program",
                )),
                None => Err(self.broken("its answer is from another version of this program")),
            },
            (_, Some(libc::SIGXCPU)) => Err(LoadError::CompileLimit(format!(
                "it took more than {} s of CPU time (`compile-cpu-seconds`)",
                self.limits.cpu_seconds
            ))),
            // Rust's allocator and its stack guard abort the process.
            (_, Some(libc::SIGABRT)) => Err(LoadError::CompileLimit(format!(
                "the compiler needed more than {} bytes of memory (`compile-memory-bytes`), or of stack",
                self.limits.memory_bytes
            ))),
            (_, Some(libc::SIGKILL)) => Err(LoadError::CompileLimit(
                "the compiler was killed from outside, perhaps because the machine or the service ran out of memory".to_owned(),
            )),
            _ => Err(LoadError::CompileLimit(format!("the compiler failed on it ({status})"))),
        }
    }

    fn not_ready(&self, status: ExitStatus, stderr: &str) -> LoadError {
        self.broken(&format!(
            "it ended with {status} before it was ready, and said {stderr:?}"
        ))
    }

    fn broken(&self, reason: &str) -> LoadError {
        LoadError::CompilerBroken {
            exe: self.worker.exe.clone(),
            memory_bytes: self.limits.memory_bytes,
            reason: reason.to_owned(),
        }
    }
}
