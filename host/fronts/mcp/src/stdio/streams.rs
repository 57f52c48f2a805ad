//! The process's standard input and output. Pipes and sockets, which clients start servers with,
//! are read and written without a thread.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileTypeExt as _,
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixStream, unix::pipe},
};

/// Standard input.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// Standard output.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens both. Must be called within a tokio runtime.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "standard input is the client's, and nothing is asked at a terminal"
)]
pub fn standard_streams() -> (Input, Output) {
    // A pipe is opened again, so that making it non-blocking does not affect other processes.
    let pipes = pipe::OpenOptions::new();
    let input: Input = match pipes.open_receiver("/proc/self/fd/0") {
        Ok(pipe) => Box::new(pipe),
        Err(_) => match socket(&io::stdin()) {
            Ok(socket) => Box::new(socket),
            Err(_) => Box::new(tokio::io::stdin()),
        },
    };
    let output: Output = match pipes.open_sender("/proc/self/fd/1") {
        Ok(pipe) => Box::new(pipe),
        Err(_) => match socket(&io::stdout()) {
            Ok(socket) => Box::new(socket),
            Err(_) => Box::new(tokio::io::stdout()),
        },
    };
    (input, output)
}

/// Returns the socket behind a descriptor, non-blocking.
fn socket(stream: &impl AsFd) -> io::Result<UnixStream> {
    let file = File::from(stream.as_fd().try_clone_to_owned()?);
    if !file.metadata()?.file_type().is_socket() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let socket = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
