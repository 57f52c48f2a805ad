//! The main function of the compile worker, which is the child.

use super::{
    confine,
    wire::{self, CompilerReply, HEADER_BYTES, Header},
};
use crate::{component::code, engine::Compilers};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::{
    ffi::OsString,
    io::{self, Read, Write},
    process::ExitCode,
    thread,
};

/// Runs the compile worker: limits this process, reads one component from stdin, and writes its
/// machine code to stdout. The program of a [`crate::CompileWorker`] calls this with the arguments
/// after its own, before it reads input or starts a thread, and exits with the returned code.
#[must_use]
pub fn compile_worker(args: &[OsString]) -> ExitCode {
    match serve(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent may have closed the pipe.
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
            "this command is for internal use: it takes a number of bytes, a number of seconds, and a component on \
             stdin",
        )
    })?;
    confine::limit(memory_bytes, cpu_seconds)?;
    let confinement = confine::filter_system_calls();
    let mut output = io::stdout().lock();
    output.write_all(&[confinement as u8])?;
    output.flush()?;
    let Some((header, component)) = read(&mut io::stdin().lock())? else {
        return Ok(());
    };
    wire::write_reply(&mut output, reply(&header, &component)?)
}

fn limits(args: &[OsString]) -> Option<[u64; 2]> {
    let [memory_bytes, cpu_seconds] = args else {
        return None;
    };
    let number = |arg: &OsString| arg.to_str()?.parse().ok();
    Some([number(memory_bytes)?, number(cpu_seconds)?])
}

/// Reads the header and the component; absent without input, which only asks for the confinement.
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
        .ok_or_else(|| io::Error::other("the input is from another version of agent-host"))?;
    code::check_size(header.component_bytes).map_err(io::Error::other)?;
    let size = usize::try_from(header.component_bytes).map_err(io::Error::other)?;
    let mut component = vec![0; size];
    input.read_exact(&mut component)?;
    Ok(Some((header, component)))
}

fn reply(header: &Header, component: &[u8]) -> io::Result<CompilerReply> {
    let engines = Compilers::new(header.layout, header.wasi)
        .map_err(|error| io::Error::other(error.root_cause().to_string()))?;
    if engines.fingerprint() != header.engines {
        return Ok(CompilerReply::OtherEngine);
    }
    let compiled = compiler_threads()?.install(|| code::compile(&engines, component));
    Ok(match compiled {
        Ok(code) => CompilerReply::Code(code),
        Err(error) => CompilerReply::Failed(error),
    })
}

/// Starts the compiler's thread pool with the number of threads in the environment; this thread is
/// the first. The compiler's own pool would panic if the system refuses one of the others.
fn compiler_threads() -> io::Result<ThreadPool> {
    ThreadPoolBuilder::new()
        .use_current_thread()
        .spawn_handler(|worker| {
            // If it is refused, the others do its work; this thread always exists.
            let _ = thread::Builder::new().spawn(|| worker.run());
            Ok(())
        })
        .build()
        .map_err(io::Error::other)
}
