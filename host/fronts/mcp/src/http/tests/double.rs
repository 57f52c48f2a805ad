//! A server whose tools do what a test tells them.

use crate::http::{SESSION_ID, SessionLimits, serve_handlers};
use agent_host_http::{HttpLimits, HttpOptions, HttpServer, Token};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequestParams,
        ElicitationSchema, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::json;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// The token of every request, unless a test says otherwise.
pub(super) const TOKEN: &str = "a-token-of-16-bytes-or-more";

/// Bytes of one message of `flood`, and how many there are: far more than all buffers between a
/// server and a client hold.
pub(super) const FLOOD_BYTES: usize = 64 * 1024;
pub(super) const FLOOD_MESSAGES: usize = 1024;

/// State shared by a test and the handlers.
#[derive(Debug)]
pub(super) struct Stage {
    /// A call of `wait` takes one permit to end.
    pub(super) go: Semaphore,
    /// Gets the name of each call that starts.
    began: mpsc::UnboundedSender<String>,
    /// Gets the name of each call that ended, with `!` before it if it was dropped or cancelled.
    ended: mpsc::UnboundedSender<String>,
    /// The number of handlers made.
    pub(super) handlers: AtomicUsize,
}

/// The handler of one session.
#[derive(Clone, Debug)]
pub(super) struct Double(Arc<Stage>);

/// Reports the end of a call when dropped.
struct EndReport<'a> {
    stage: &'a Stage,
    name: String,
}

impl Drop for EndReport<'_> {
    fn drop(&mut self) {
        let _ = self.stage.ended.send(self.name.clone());
    }
}

impl ServerHandler for Double {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object"});
        let schema = Arc::new(schema.as_object().unwrap().clone());
        let tool = |name: &'static str| Tool::new(name, "", Arc::clone(&schema));
        Ok(ListToolsResult::with_all_items(vec![
            tool("ask"),
            tool("flood"),
            tool("tell"),
            tool("wait"),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut ends = EndReport {
            stage: &self.0,
            name: format!("!{}", request.name),
        };
        let _ = self.0.began.send(request.name.to_string());
        let text = tokio::select! {
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            text = self.run(&request.name, &context) => text,
        };
        ends.name = request.name.to_string();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

impl Double {
    async fn run(&self, name: &str, context: &RequestContext<RoleServer>) -> String {
        match name {
            "ask" => {
                let asked =
                    context
                        .peer
                        .create_elicitation(ElicitRequestParams::FormElicitationParams {
                            meta: None,
                            message: "May I?".to_owned(),
                            requested_schema: ElicitationSchema::builder().build().unwrap(),
                        });
                let answer = asked.await.unwrap();
                format!("{:?} {}", answer.action, answer.content.unwrap())
            }
            "flood" => {
                let message = "x".repeat(FLOOD_BYTES);
                for number in 1..=FLOOD_MESSAGES {
                    progress(context, number, &message).await;
                }
                "flooded".to_owned()
            }
            "tell" => {
                progress(context, 1, "half").await;
                "told".to_owned()
            }
            "wait" => {
                self.0.go.acquire().await.unwrap().forget();
                "waited".to_owned()
            }
            // Reports what a handler sees of the request's head.
            _ => {
                let parts = context.extensions.get::<http::request::Parts>().unwrap();
                let has_token = parts.headers.contains_key("authorization");
                format!("{name}, token: {has_token}")
            }
        }
    }
}

/// Reports progress, if the client wants it.
async fn progress(context: &RequestContext<RoleServer>, number: usize, message: &str) {
    if let Some(token) = context.meta.get_progress_token() {
        let param =
            ProgressNotificationParam::new(token, f64::from(u32::try_from(number).unwrap()))
                .with_message(message);
        let _ = context.peer.notify_progress(param).await;
    }
}

/// A running server, aborted when dropped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) stage: Arc<Stage>,
    pub(super) began: mpsc::UnboundedReceiver<String>,
    pub(super) ended: mpsc::UnboundedReceiver<String>,
    pub(super) shutdown: CancellationToken,
    pub(super) task: JoinHandle<()>,
}

impl Running {
    /// Starts a server with changed options.
    pub(super) async fn start(change: impl FnOnce(&mut HttpOptions)) -> Self {
        Self::launch(change, SessionLimits::default())
    }

    /// Starts a server with changed limits of the front.
    pub(super) async fn bounded(change: impl FnOnce(&mut HttpLimits)) -> Self {
        Self::start(|options| change(&mut options.limits)).await
    }

    /// Starts a server with changed limits of the protocol.
    pub(super) async fn with_sessions(change: impl FnOnce(&mut SessionLimits)) -> Self {
        let mut limits = SessionLimits::default();
        change(&mut limits);
        Self::launch(|_| {}, limits)
    }

    fn launch(change: impl FnOnce(&mut HttpOptions), limits: SessionLimits) -> Self {
        let mut options = HttpOptions::new(Token::new(TOKEN).unwrap());
        options.exposed_headers = vec![SESSION_ID];
        change(&mut options);
        let server = HttpServer::bind(SocketAddr::from(([127, 0, 0, 1], 0)), options).unwrap();
        let address = server.address();
        let (began, began_by) = mpsc::unbounded_channel();
        let (ended, ended_by) = mpsc::unbounded_channel();
        let stage = Arc::new(Stage {
            go: Semaphore::new(0),
            began,
            ended,
            handlers: AtomicUsize::new(0),
        });
        let shutdown = CancellationToken::new();
        let made = Arc::clone(&stage);
        let handler = move || {
            made.handlers.fetch_add(1, Ordering::Relaxed);
            Double(Arc::clone(&made))
        };
        let task = tokio::spawn(serve_handlers(server, limits, handler, shutdown.clone()));
        Self {
            address,
            stage,
            began: began_by,
            ended: ended_by,
            shutdown,
            task,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
