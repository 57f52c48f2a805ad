//! A native server as an author would write it with `rmcp`: one tool that does nothing, over stdio,
//! without sandbox, limits, policy and journal. The benchmark's baseline.
//!
//! `mcp-echo` reads and writes through tokio's stdio handles, which use blocking threads; `mcp-echo
//! pipes` does without them and needs pipes on both sides.

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
        ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
        ToolAnnotations,
    },
    service::RequestContext,
    transport::IntoTransport,
};
use serde_json::{Value, json};
use std::{error::Error, future::ready, sync::Arc};
use tokio::net::unix::pipe;

struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> {
        ready(Ok(ListToolsResult::with_all_items(vec![noop()])))
    }

    fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> {
        let text = call
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get("text"));
        ready(match (call.name.as_ref(), text) {
            ("noop", Some(Value::String(_))) => {
                Ok(CallToolResult::success(vec![ContentBlock::text("ok")]).into())
            }
            _ => Err(ErrorData::invalid_params(
                "there is only `noop`, with a text",
                None,
            )),
        })
    }
}

/// The same definition as that of the guest in `mcp-tools`.
fn noop() -> Tool {
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    Tool::new("noop", "Does nothing.", Arc::new(schema))
        .with_annotations(ToolAnnotations::new().read_only(true))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server of its own, which owns its streams"
)]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        None => serve((tokio::io::stdin(), tokio::io::stdout())).await,
        Some("pipes") => {
            // Opened again, so that the flags of the other ends stay unchanged.
            let input = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")?;
            let output = pipe::OpenOptions::new().open_sender("/proc/self/fd/1")?;
            serve((input, output)).await
        }
        Some(_) => Err("say nothing, or `pipes`".into()),
    }
}

/// Serves until the client closes its end.
async fn serve<T, E, A>(transport: T) -> Result<(), Box<dyn Error>>
where
    T: IntoTransport<RoleServer, E, A>,
    E: Error + Send + Sync + 'static,
{
    Echo.serve(transport).await?.waiting().await?;
    Ok(())
}
