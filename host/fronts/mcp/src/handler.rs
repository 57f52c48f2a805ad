//! The protocol's requests on one connection. Calls are run by `call.rs`.

#![expect(
    deprecated,
    reason = "later versions of the protocol have no logging; those that clients speak today do"
)]

use crate::{
    call::CallRunner, connection::Connection, listeners::Listeners, log, prompts,
    reload::CatalogChanges, resources, result::Structured,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
        Implementation, InitializeRequestParams, InitializeResult, JsonObject,
        ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities,
        ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscriptionFilter, Tool,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext, SubscriptionSendError},
};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The server's instructions for the client's model.
const INSTRUCTIONS: &str = "These tools run as sandboxed WebAssembly components. Each can access only what the \
    operator granted; a denied call says which rule denied it, and repeating it changes nothing.";

/// The request methods of this server. `rmcp` reports one with malformed parameters as a custom
/// request.
const METHODS: [&str; 13] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
];

/// The methods that the stateless lifecycle does not have.
const HANDSHAKE_METHODS: [&str; 3] = ["initialize", "ping", "logging/setLevel"];

/// Serves one connection.
#[derive(Clone, Debug)]
pub struct Handler {
    pub(crate) calls: Arc<CallRunner>,
    pub(crate) listeners: Arc<Listeners>,
    /// This connection.
    pub(crate) own: Arc<Connection>,
    /// The connection of all requests of the stateless lifecycle.
    pub(crate) stateless: Arc<Connection>,
    /// Cancelled at the end of the client's input, if the transport has one. Ends subscriptions,
    /// which would otherwise last until the connection is closed.
    pub(crate) end: CancellationToken,
}

impl Handler {
    /// Returns the connection that a request belongs to.
    fn connection(&self, context: &RequestContext<RoleServer>) -> &Connection {
        if is_stateless(context) {
            &self.stateless
        } else {
            &self.own
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        if resources::has_resources(&self.calls.catalog.get().registry) {
            capabilities.resources = Some(ResourcesCapability::default());
            capabilities.completions = Some(JsonObject::new());
        }
        if !self.calls.catalog.get().registry.skills().is_empty() {
            let prompts = capabilities.prompts.get_or_insert_default();
            prompts.list_changed = Some(true);
        }
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
            let why = "the connection is already initialized; open another one to start over";
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
        let structured = Structured::for_version(context.protocol_version().as_ref());
        let catalog = self.calls.catalog.get();
        catalog.listing.page(cursor.as_deref(), structured)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.calls.catalog.get().listing.find(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let connection = self.connection(&context);
        // rmcp moves the future of a request several times, and this is the largest one.
        Box::pin(self.calls.call(connection, request, context)).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(&context) {
            // There each request has its own level.
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
        match self.calls.catalog.get().registry.skills() {
            [] => Err(ErrorData::method_not_found::<ListPromptsRequestMethod>()),
            skills => Ok(prompts::list(skills)),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let catalog = self.calls.catalog.get();
        let (skills, arguments) = (catalog.registry.skills(), request.arguments.as_ref());
        prompts::get(skills, &request.name, arguments).map(GetPromptResponse::from)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let connection = self.connection(&context);
        Box::pin(
            self.calls
                .resources(connection, cursor.as_deref(), &context),
        )
        .await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates(&self.calls.catalog.get().registry))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let connection = self.connection(&context);
        let read = self.calls.read_resource(connection, &request.uri, &context);
        Box::pin(read).await.map(ReadResourceResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let connection = self.connection(&context);
        Box::pin(self.calls.complete(connection, request, &context)).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.listeners.add(context.peer, Arc::clone(&self.own));
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let all = SubscriptionFilter::builder().tools_list_changed();
        Some(all.prompts_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut catalogs = self.calls.catalog.subscribe();
        let mut served = self.calls.catalog.get();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.calls.stop.cancelled() => return Ok(()),
                () = self.end.cancelled() => return Ok(()),
                changed = catalogs.changed() => {
                    let now = Arc::clone(&catalogs.borrow_and_update());
                    let changes = CatalogChanges::between(&served.registry, &now.registry);
                    served = now;
                    if changed.is_err() || notify(&context, &changes).await.is_err() {
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
        let is_gone = is_stateless(&context) && HANDSHAKE_METHODS.contains(&method.as_str());
        if METHODS.contains(&method.as_str()) && !is_gone {
            return Err(ErrorData::invalid_params(
                format!("invalid parameters for {method}"),
                None,
            ));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

/// Sends the notifications that a subscription asked for.
async fn notify(
    context: &SubscriptionContext,
    changes: &CatalogChanges,
) -> Result<(), SubscriptionSendError> {
    let (sink, accepted) = (context.sink(), context.sink().accepted());
    if !changes.components.is_empty() && accepted.tools_list_changed == Some(true) {
        sink.notify_tool_list_changed().await?;
    }
    if !changes.skills.is_empty() && accepted.prompts_list_changed == Some(true) {
        sink.notify_prompt_list_changed().await?;
    }
    Ok(())
}

/// Returns true for a request of the lifecycle without a handshake.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| !version.has_initialize())
}
