//! The child's side.

use super::{
    confine,
    wire::{self, Answer, HEADER_BYTES, Header},
};
use crate::{
    component::code,
    engine::{self, fingerprint},
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::{
    ffi::OsString,
    io::{self, Read, Write},
    process::ExitCode,
    thread,
};

/// The whole life of a compiling process: limits itself, reads one component from stdin, and writes its machine code to stdout.
/// A program that is named as [`CompileWorker`](super::CompileWorker) calls this with the arguments that follow its own ones,
/// before it reads anything or starts a thread, and ends with the code.
#[must_use]
pub fn compile_worker(args: &[OsString]) -> ExitCode {
    match serve(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nobody listens any more, nobody needs to know.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the process that compiles reads a pipe from its parent"
)]
fn serve(args: &[OsString]) -> io::Result<()> {
    let [memory_bytes, cpu_seconds] = limits(args).ok_or_else(|| {
        io::Error::other(
            "this command is for agent-host itself: it needs a number of bytes and a number of seconds, and a component on stdin",
        )
    })?;
    confine::limit(memory_bytes, cpu_seconds)?;
    let confinement = confine::filter_system_calls();
    let mut output = io::stdout().lock();
    output.write_all(&[wire::confinement_byte(confinement)])?;
    output.flush()?;
    let Some((header, component)) = read(&mut io::stdin().lock())? else {
        return Ok(());
    };
    wire::write_answer(&mut output, answer(&header, &component)?)
}

fn limits(args: &[OsString]) -> Option<[u64; 2]> {
    let [memory_bytes, cpu_seconds] = args else {
        return None;
    };
    let number = |arg: &OsString| arg.to_str()?.parse().ok();
    Some([number(memory_bytes)?, number(cpu_seconds)?])
}

/// The header and the component; absent when there is no input at all, as when the parent only asks for the confinement.
fn read(input: &mut impl Read) -> io::Result<Option<(Header, Vec<u8>)>> {
    let mut header = Vec::new();
    input
        .by_ref()
        .take(HEADER_BYTES as u64)
        .read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(None);
    }
    let header: &[u8; HEADER_BYTES] = header
        .as_slice()
        .try_into()
        .map_err(|_| io::Error::other("the input ends in its header"))?;
    let header = Header::from_bytes(header)
        .ok_or_else(|| io::Error::other("the input is of another version of agent-host"))?;
    code::check_size(header.component_bytes).map_err(io::Error::other)?;
    let size = usize::try_from(header.component_bytes).map_err(io::Error::other)?;
    let mut component = vec![0; size];
    input.read_exact(&mut component)?;
    Ok(Some((header, component)))
}

fn answer(header: &Header, component: &[u8]) -> io::Result<Answer> {
    let engine = engine::compiling(header.layout)
        .map_err(|error| io::Error::other(error.root_cause().to_string()))?;
    if fingerprint(&engine) != header.engine {
        return Ok(Answer::OtherEngine);
    }
    let compiled = compiler_threads()?.install(|| code::compile(&engine, component));
    Ok(match compiled {
        Ok(code) => Answer::Code(code),
        Err(error) => Answer::Refused(error),
    })
}

/// Starts the threads of the compiler, as many as the environment says; this one is the first of them. The compiler's own pool
/// would panic where the system refuses one of the others.
fn compiler_threads() -> io::Result<ThreadPool> {
    ThreadPoolBuilder::new()
        .use_current_thread()
        .spawn_handler(|worker| {
            // Without it the others do its work, and this thread is always there.
            let _ = thread::Builder::new().spawn(|| worker.run());
            Ok(())
        })
        .build()
        .map_err(io::Error::other)
}
