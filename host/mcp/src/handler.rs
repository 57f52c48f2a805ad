//! One connection's side of the protocol: requests come in, results go out. What a call does is `call.rs`.

#![expect(
    deprecated,
    reason = "later versions of the protocol have no logging; those that clients speak today do"
)]

use crate::{connection::Connection, log, result::Structured, server::Shared};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
        CompleteResult, CustomRequest, CustomResult, ErrorCode, Implementation,
        InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
        ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
        SetLevelRequestParams, SubscriptionFilter, Tool,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a client's model may be told of the server as a whole.
const INSTRUCTIONS: &str = "These tools run as sandboxed WebAssembly components. What each may reach is what the operator granted; \
                            a denied call says which rule denied it, and repeating it changes nothing.";

/// The methods of requests that this server knows. `rmcp` takes one of them with other parameters for a method of somebody else's.
const METHODS: [&str; 7] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "logging/setLevel",
    "subscriptions/listen",
];

/// Those of them that no request without a handshake has.
const OF_HANDSHAKE: [&str; 3] = ["initialize", "ping", "logging/setLevel"];

/// Serves one connection.
#[derive(Clone, Debug)]
pub struct Handler {
    shared: Arc<Shared>,
    /// This connection.
    own: Arc<Connection>,
    /// That of requests of the stateless lifecycle, which belong to no connection.
    stateless: Arc<Connection>,
    /// Cancelled when the client is gone, where the transport knows that before the requests are called off.
    end: CancellationToken,
}

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>, stateless: Arc<Connection>) -> Self {
        Self {
            shared,
            own: Arc::default(),
            stateless,
            end: CancellationToken::new(),
        }
    }

    /// Ends subscriptions when this is cancelled: they would go on for as long as the connection is given to end.
    #[must_use]
    pub(crate) fn until(self, end: CancellationToken) -> Self {
        Self { end, ..self }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Implementation::new("agent-host", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if !self.own.initialize() {
            let why = "the connection is initialized already; open another one to begin anew";
            return Err(ErrorData::invalid_request(why, None));
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let structured = Structured::of(context.protocol_version().as_ref());
        let served = self.shared.served();
        served.listing.page(cursor.as_deref(), structured)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.served().listing.find(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let connection = if is_stateless(&context) {
            &self.stateless
        } else {
            &self.own
        };
        self.shared.call(connection, request, context).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(&context) {
            // There each request says its level.
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.own.set_level(log::number(request.level));
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.listen(context.peer, Arc::clone(&self.own));
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.shared.stop.cancelled() => return Ok(()),
                () = self.end.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    if changed.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let is_gone = is_stateless(&context) && OF_HANDSHAKE.contains(&method.as_str());
        if METHODS.contains(&method.as_str()) && !is_gone {
            return Err(ErrorData::invalid_params(
                format!("the parameters of {method} are not those that it takes"),
                None,
            ));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

/// Whether a request is of the lifecycle without a handshake.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| !version.has_initialize())
}
