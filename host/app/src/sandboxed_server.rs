//! MCP servers that run in the sandbox: their components, and their instances as the client of MCP
//! servers starts them.

use crate::{
    components::{ComponentKind, load_source},
    config::{ComponentServer, Config},
    error::HostError,
    lock_file::LockFile,
    packages::{Packages, Purpose},
};
use agent_host_engine::BoxFuture;
use agent_host_mcp_client::{
    RequestFault, RequestHandler, ResponseBody, SandboxedServer, ServerComponent, ServerControl,
    ServerIo, StartedServer,
};
use agent_host_sandbox::{
    ProgramControl, ProgramIo, ProgramRequests, ProgramUse, RequestFailure, RunningProgram,
    Sandbox, ToolComponent,
};
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    lock::{LockEntry, LockedServer},
    reason::Reason,
};
use http::{Request, Response};
use std::sync::Arc;

/// Where the servers of a configuration run.
#[derive(Clone, Copy)]
pub(crate) struct Serving<'a> {
    pub(crate) config: &'a Config,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) purpose: Purpose,
}

impl Serving<'_> {
    /// Loads the component of the server `name`. One that is to run has its secrets, and is refused
    /// before it runs if it is not the accepted one.
    ///
    /// # Errors
    /// It cannot be loaded, is not the accepted one, or a secret cannot be read.
    pub(crate) async fn load(
        self,
        name: &str,
        server: &ComponentServer,
    ) -> Result<ServerComponent, HostError> {
        let packages = Packages::new(self.config, self.purpose);
        let kind = ComponentKind::Program;
        let loaded = load_source(self.sandbox, name, &server.source, kind, packages).await?;
        let component = loaded.component;
        let digest = component.digest();
        let secrets = match self.purpose {
            Purpose::Run => {
                self.check_lock(name, digest.to_string())?;
                let granted = server.grants.secrets.iter();
                let names = granted.map(|grant| grant.name.as_str()).collect();
                Arc::new(self.config.read_secrets(&names).await?)
            }
            Purpose::Inspect | Purpose::Accept => Arc::default(),
        };
        let using = ProgramUse {
            name: name.to_owned(),
            grants: Arc::clone(&server.grants),
            secrets: Arc::clone(&secrets),
            limits: server.limits.clone(),
            idle: server.idle,
            lifetime: server.lifetime,
        };
        Ok(ServerComponent {
            digest,
            form: component.program_form().unwrap_or_default(),
            secrets,
            sandbox: Arc::new(LoadedServer { component, using }),
        })
    }

    /// Compares the address, the command line or the component of a server that is to run with the
    /// accepted one, before it starts. Its tools are compared when they are known.
    pub(crate) fn check_lock(self, name: &str, server: String) -> Result<(), HostError> {
        if self.purpose != Purpose::Run {
            return Ok(());
        }
        let Some(mut lock) = LockFile::open(self.config)? else {
            return Ok(());
        };
        if let Some(accepted) = lock.lock.mcp.get(name) {
            let tools = accepted.tools.clone();
            lock.admit(name, LockEntry::Server(LockedServer { server, tools }))?;
        }
        Ok(())
    }
}

/// A server that is ready to start.
#[derive(Debug)]
struct LoadedServer {
    component: ToolComponent,
    using: ProgramUse,
}

impl SandboxedServer for LoadedServer {
    fn start(&self) -> Result<StartedServer, Reason> {
        let started = self.component.serve(self.using.clone());
        let RunningProgram { io, control } =
            started.map_err(|failure| failure.message().to_owned())?;
        Ok(StartedServer {
            io: match io {
                ProgramIo::Streams(input, output) => ServerIo::Streams {
                    input: Box::new(input),
                    output: Box::new(output),
                },
                ProgramIo::Requests(requests) => ServerIo::Requests(Arc::new(Handler(requests))),
            },
            control: Arc::new(RunningServer(control)),
        })
    }
}

struct Handler(ProgramRequests);

impl RequestHandler for Handler {
    fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, RequestFault>> {
        let response = self.0.send(request);
        Box::pin(async move {
            response.await.map_err(|failure| match failure {
                RequestFailure::Ended => RequestFault::Ended,
                RequestFailure::Unanswered(why) => RequestFault::Unanswered(why.into()),
            })
        })
    }
}

struct RunningServer(ProgramControl);

impl ServerControl for RunningServer {
    fn begin_call(&self) -> bool {
        self.0.begin_call()
    }

    fn end_call(&self, is_answered: bool) -> (Accounting, Vec<AuditEntry>) {
        self.0.end_call(is_answered)
    }

    fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    fn ended(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.0.ended())
    }

    fn ended_so_far(&self) -> Option<String> {
        self.0.ended_so_far()
    }
}
