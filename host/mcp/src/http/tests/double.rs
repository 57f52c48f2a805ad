//! A server whose tools do what a test tells them.

use crate::http::{HttpLimits, HttpOptions, Token, listen, serve};
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
    io,
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

/// What every request of a test shows, if the test does not say otherwise.
pub(super) const TOKEN: &str = "a-token-of-16-bytes-or-more";

/// The bytes of one message of `flood`, and how many there are: far more than all buffers between a server and a client hold.
pub(super) const FLOOD_BYTES: usize = 64 * 1024;
pub(super) const FLOOD_MESSAGES: usize = 1024;

/// What a test and the handlers share.
#[derive(Debug)]
pub(super) struct Stage {
    /// A call of `wait` takes one to end.
    pub(super) go: Semaphore,
    /// Hears the name of each call that begins.
    began: mpsc::UnboundedSender<String>,
    /// Hears the name of each call that ended, and of each that was dropped or cancelled with `!` before it.
    ended: mpsc::UnboundedSender<String>,
    /// The handlers that were made.
    pub(super) handlers: AtomicUsize,
}

/// A handler of one session.
#[derive(Clone, Debug)]
pub(super) struct Double(Arc<Stage>);

/// Says that a call ended, however it did.
struct Ends<'a> {
    stage: &'a Stage,
    name: String,
}

impl Drop for Ends<'_> {
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
        let mut ends = Ends {
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
            // Says what a handler sees of the request's head.
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
        let told = ProgressNotificationParam::new(token, f64::from(u32::try_from(number).unwrap()))
            .with_message(message);
        let _ = context.peer.notify_progress(told).await;
    }
}

/// A server that runs, until it is dropped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    pub(super) stage: Arc<Stage>,
    pub(super) began: mpsc::UnboundedReceiver<String>,
    pub(super) ended: mpsc::UnboundedReceiver<String>,
    pub(super) shutdown: CancellationToken,
    pub(super) task: JoinHandle<io::Result<()>>,
}

impl Running {
    /// Starts a server with these options, which are those of a server without any.
    pub(super) async fn start(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let mut options = HttpOptions {
            token: Token::new(TOKEN).unwrap(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            limits: HttpLimits::default(),
        };
        change(&mut options);
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
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
        let task = tokio::spawn(serve(listener, options, handler, shutdown.clone()));
        Self {
            address,
            stage,
            began: began_by,
            ended: ended_by,
            shutdown,
            task,
        }
    }

    /// Starts one with the default options and these limits.
    pub(super) async fn bounded(change: impl FnOnce(&mut HttpLimits)) -> Self {
        Self::start(|options| change(&mut options.limits)).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
