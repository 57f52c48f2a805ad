//! A server that runs in the sandbox of this process, as the client sees it: its streams or its
//! handler of requests, and an account of what it does. The sandbox itself is another crate's.

use agent_host_engine::{BoxFuture, secrets::Secrets};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    id::Digest,
    reason::Reason,
};
use http::{Request, Response};
use std::{fmt, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};

/// A server that was compiled to WebAssembly.
#[derive(Clone, Debug)]
pub struct ServerComponent {
    /// The digest of its bytes.
    pub digest: Digest,
    /// How it is spoken to, for the operator.
    pub form: &'static str,
    /// The secrets that it may use, redacted in everything it sends.
    pub secrets: Arc<Secrets>,
    /// Starts it.
    pub sandbox: Arc<dyn SandboxedServer>,
}

/// Starts a server in the sandbox.
pub trait SandboxedServer: fmt::Debug + Send + Sync {
    /// Starts an instance of its own for one connection.
    ///
    /// # Errors
    /// Why it does not start, as a fragment.
    fn start(&self) -> Result<StartedServer, Reason>;
}

/// A server that runs in the sandbox.
pub struct StartedServer {
    /// How messages reach it.
    pub io: ServerIo,
    /// Its control. Dropping it ends the server.
    pub control: Arc<dyn ServerControl>,
}

/// How messages reach a server.
pub enum ServerIo {
    /// By its standard streams.
    Streams {
        /// Its input.
        input: Box<dyn AsyncWrite + Send + Unpin>,
        /// Its output.
        output: Box<dyn AsyncRead + Send + Unpin>,
    },
    /// By requests, as streamable HTTP.
    Requests(Arc<dyn RequestHandler>),
}

/// The body of a response. Its error is [`std::io::ErrorKind::BrokenPipe`] if the server ended
/// before the body did.
pub type ResponseBody = Box<dyn AsyncRead + Send + Unpin>;

/// Answers HTTP requests.
pub trait RequestHandler: Send + Sync {
    /// Sends a request, which waits its turn when this returns. Dropping the future, or the body of
    /// the response, gives the request up.
    fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, RequestFault>>;
}

/// Why a request has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// The server has ended.
    Ended,
    /// The server gave none, for this reason, as a clause.
    Unanswered(Reason),
}

/// Counts the calls of a server that runs in the sandbox, so that it is not ended meanwhile.
pub trait ServerControl: Send + Sync {
    /// Begins a call. Returns false if the server has ended.
    fn begin_call(&self) -> bool;

    /// Ends a call, and returns what the server did since the last one ended. A server that is stuck
    /// in a call that was given up ends with it.
    fn end_call(&self, is_answered: bool) -> (Accounting, Vec<AuditEntry>);

    /// Returns whether it has ended, or ends now.
    fn has_ended(&self) -> bool;

    /// Waits a moment for the end of a server whose output has ended; returns how it ended, as a
    /// clause.
    fn ended(&self) -> BoxFuture<'_, Option<String>>;

    /// Returns how it ended, as a clause, without waiting.
    fn ended_so_far(&self) -> Option<String>;
}

/// A call that a server in the sandbox answers. Dropping it ends the call.
pub(crate) struct SandboxedCall(Option<Arc<dyn ServerControl>>);

impl SandboxedCall {
    /// Begins a call; `None` if the server has ended.
    pub(crate) fn begin(control: &Arc<dyn ServerControl>) -> Option<Self> {
        let control = Arc::clone(control);
        control.begin_call().then_some(Self(Some(control)))
    }

    /// Ends the call, and returns what the server did.
    pub(crate) fn end(mut self, is_answered: bool) -> (Accounting, Vec<AuditEntry>) {
        let control = self.0.take();
        control.map_or_else(Default::default, |control| control.end_call(is_answered))
    }
}

impl Drop for SandboxedCall {
    fn drop(&mut self) {
        if let Some(control) = self.0.take() {
            control.end_call(false);
        }
    }
}
