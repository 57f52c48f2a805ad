//! Asks a server on this machine once, over HTTP and whatever the wire.

use crate::{Endpoint, HttpModel, Provider, RetryPolicy, Timeouts};
use agent_host_engine::model::Model as _;
use agent_host_types::{
    message::{Message, Role},
    model::{ModelError, ModelReply, ModelRequest},
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

/// The server, which knows what it was asked, and what its answer came to. It answers so at `path` and nowhere else.
pub(crate) async fn ask(
    provider: Provider,
    model: &str,
    path: &str,
    answer: ResponseTemplate,
) -> (MockServer, Result<ModelReply, ModelError>) {
    let server = MockServer::start().await;
    Mock::given(matchers::method("POST"))
        .and(matchers::path(path))
        .respond_with(answer)
        .mount(&server)
        .await;
    let operation = provider.wire().operation(model);
    let operation = operation.split('?').next().unwrap();
    let version = path.strip_suffix(operation).unwrap();
    let endpoint = Endpoint {
        base_url: format!("{}{version}", server.uri()),
        key: Some("sesame".into()),
        key_source: "THE_KEY".to_owned(),
        timeouts: Timeouts::default(),
    };
    let model = HttpModel::new(provider, model, endpoint, provider.capabilities()).unwrap();
    let request = ModelRequest {
        system: None,
        messages: vec![Message::text(Role::User, "hi")],
        tools: vec![],
    };
    let model = model.with_retry(RetryPolicy::NONE);
    let reply = model.respond(&request, &|_| ()).await;
    (server, reply)
}
