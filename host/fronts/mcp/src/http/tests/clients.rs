//! `rmcp`'s own client as an oracle, in both lifecycles.

use super::double::{Running, TOKEN};
use pretty_assertions::assert_eq;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
        ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, NotificationContext,
        RequestContext, RunningService,
    },
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// A client that records progress and accepts every elicitation.
#[derive(Clone, Debug, Default)]
struct Client {
    heard: Arc<Mutex<Vec<Option<String>>>>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("oracle", "1"))
    }

    async fn on_progress(
        &self,
        param: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.heard.lock().unwrap().push(param.message);
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"sure": true})))
    }
}

impl Client {
    async fn connect(
        self,
        server: &Running,
        token: &str,
        lifecycle: ClientLifecycleMode,
    ) -> Result<RunningService<RoleClient, Self>, ClientInitializeError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .build()
            .unwrap();
        let config =
            StreamableHttpClientTransportConfig::with_uri(format!("http://{}/mcp", server.address));
        let transport = StreamableHttpClientTransport::with_client(http, config.auth_header(token));
        self.serve_with_lifecycle(transport, lifecycle).await
    }
}

/// Calls a tool and returns its text.
async fn call(client: &RunningService<RoleClient, Client>, tool: &'static str) -> String {
    let result = client
        .call_tool(CallToolRequestParams::new(tool))
        .await
        .unwrap();
    result.content[0].as_text().unwrap().text.clone()
}

#[tokio::test]
async fn handshake_client_lists_calls_and_elicits() {
    let server = Running::start(|_| {}).await;
    let client = Client::default();
    let heard = Arc::clone(&client.heard);
    let client = client
        .connect(&server, TOKEN, ClientLifecycleMode::Initialize)
        .await
        .unwrap();
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["ask", "flood", "tell", "wait"]);
    assert_eq!(call(&client, "tell").await, "told");
    assert_eq!(call(&client, "ask").await, "Accept {\"sure\":true}");
    assert_eq!(call(&client, "head").await, "head, token: false");
    client.cancel().await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [Some("half".to_owned())]);
}

#[tokio::test]
async fn stateless_client_lists_and_calls() {
    let server = Running::start(|_| {}).await;
    let client = Client::default();
    let heard = Arc::clone(&client.heard);
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    let client = client.connect(&server, TOKEN, lifecycle).await.unwrap();
    assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
    assert_eq!(call(&client, "tell").await, "told");
    assert_eq!(call(&client, "head").await, "head, token: false");
    client.cancel().await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [Some("half".to_owned())]);
}

#[tokio::test]
async fn client_with_a_wrong_token_is_refused() {
    let server = Running::start(|_| {}).await;
    let refused = Client::default()
        .connect(
            &server,
            "a-token-of-another-server",
            ClientLifecycleMode::Initialize,
        )
        .await;
    assert!(refused.unwrap_err().is_authorization_required());
}
