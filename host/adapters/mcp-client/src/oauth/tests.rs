use super::{LoginStore, LoginTokens, OAuth, ServerLogin, want_scopes};
use crate::config::Endpoint;
use agent_host_http_client::ProxySetting;
use pretty_assertions::assert_eq;
use rmcp::transport::auth::{CredentialStore as _, StoredCredentials};
use secrecy::SecretString;
use std::{
    any::Any,
    io,
    sync::{Arc, Mutex},
};

#[derive(Debug, Default)]
struct Memory(Mutex<Option<SecretString>>);

impl LoginStore for Memory {
    fn load(&self) -> io::Result<Option<SecretString>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn save(&self, text: &SecretString) -> io::Result<()> {
        *self.0.lock().unwrap() = Some(text.clone());
        Ok(())
    }

    fn clear(&self) -> io::Result<()> {
        *self.0.lock().unwrap() = None;
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn Any + Send>> {
        Ok(Box::new(()))
    }
}

fn endpoint(url: &str, store: &Arc<Memory>) -> Endpoint {
    Endpoint {
        proxy: ProxySetting::default(),
        url: url.to_owned(),
        token: None,
        headers: Vec::new(),
        oauth: Some(Arc::new(OAuth {
            client_id: None,
            client_secret: None,
            client_metadata_url: None,
            scopes: Vec::new(),
            redirect_port: None,
            assume_pkce: false,
            store: store.clone(),
            tokens: LoginTokens::default(),
        })),
    }
}

fn login(endpoint: &Endpoint) -> ServerLogin {
    ServerLogin::new(endpoint, endpoint.oauth.as_ref().unwrap())
}

#[tokio::test]
async fn login_of_another_address_is_not_used() {
    let store = Arc::<Memory>::default();
    let own = endpoint("https://a.example/mcp", &store);
    let credentials = StoredCredentials::new("client".to_owned(), None, Vec::new(), None);
    login(&own).save(credentials).await.unwrap();
    let client = async |endpoint: &Endpoint| {
        let stored = rmcp::transport::auth::CredentialStore::load(&login(endpoint)).await;
        stored.unwrap().map(|stored| stored.client_id)
    };
    assert_eq!(client(&own).await.as_deref(), Some("client"));
    for url in [
        "https://b.example/mcp",
        "http://a.example/mcp",
        "https://a.example/",
    ] {
        assert_eq!(client(&endpoint(url, &store)).await, None, "{url}");
    }
}

#[test]
fn wanted_scopes_are_scopes_and_bounded() {
    let store = Arc::<Memory>::default();
    let endpoint = endpoint("https://a.example/mcp", &store);
    let wanted = || {
        let stored = login(&endpoint).load().unwrap();
        stored.wanted_scopes.into_iter().collect::<Vec<_>>()
    };
    want_scopes(&endpoint, "write read \u{1b}[2J a\"b").unwrap();
    want_scopes(&endpoint, &"x".repeat(257)).unwrap();
    want_scopes(&endpoint, "write admin:all").unwrap();
    assert_eq!(wanted(), ["admin:all", "read", "write"]);
    let many: Vec<String> = (0..100).map(|index| format!("a{index:03}")).collect();
    want_scopes(&endpoint, &many.join(" ")).unwrap();
    assert_eq!(wanted().len(), 64);
}

#[test]
fn damaged_login_is_an_error_that_does_not_quote_it() {
    let store = Arc::<Memory>::default();
    store.save(&"{\"token\": \"hunter2".into()).unwrap();
    let endpoint = endpoint("https://a.example/mcp", &store);
    let error = login(&endpoint).load().map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "it is not a stored login");
}
