//! OAuth 2.1 for web servers, by `rmcp`: stored logins and their refresh. A login belongs to one
//! address of a server and is used for no other. [`login`] makes one.

mod client;
mod login;

pub use login::{Login, LoginError};

use crate::config::Endpoint;
use agent_host_engine::secrets::Secrets;
use agent_host_http_client::ProxySetting;
use agent_host_types::reason::Reason;
use client::OAuthHttp;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use std::{
    any::Any,
    collections::BTreeSet,
    fmt, io,
    sync::{Arc, Mutex, PoisonError},
};

/// The version of the stored text.
const VERSION: u32 = 1;

/// The maximum of scopes that a server may ask for, and the longest, in bytes.
const MAX_SCOPES: usize = 64;
const MAX_SCOPE_BYTES: usize = 256;

/// The text of one server's login, which is a secret.
pub trait LoginStore: fmt::Debug + Send + Sync {
    /// Reads the text; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    fn load(&self) -> io::Result<Option<SecretString>>;

    /// Replaces the text.
    ///
    /// # Errors
    /// It cannot be written.
    fn save(&self, text: &SecretString) -> io::Result<()>;

    /// Removes the text.
    ///
    /// # Errors
    /// It cannot be removed.
    fn clear(&self) -> io::Result<()>;

    /// Waits for other processes that refresh this login, and holds them back until the value is
    /// dropped.
    ///
    /// # Errors
    /// It cannot be locked.
    fn lock(&self) -> io::Result<Box<dyn Any + Send>>;
}

/// How to log in to a server, and where its login is stored.
#[derive(Clone, Debug)]
pub struct OAuth {
    /// The id of a client that is registered at the authorization server already.
    pub client_id: Option<String>,
    /// The secret of that client.
    pub client_secret: Option<SecretString>,
    /// The address of a client ID metadata document, which stands for a registration.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for; those that the server names if empty.
    pub scopes: Vec<String>,
    /// The port of the redirection to this machine; any that is free if absent.
    pub redirect_port: Option<u16>,
    /// Whether to log in where the authorization server's metadata has no
    /// `code_challenge_methods_supported`. One that names methods without S256 is refused in any
    /// case.
    pub assume_pkce: bool,
    /// The store.
    pub store: Arc<dyn LoginStore>,
    /// The tokens in use.
    pub tokens: LoginTokens,
}

/// The tokens of a login, redacted in what the server sends.
#[derive(Clone, Debug, Default)]
pub struct LoginTokens(Arc<Mutex<Arc<Secrets>>>);

impl LoginTokens {
    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&secrets)
    }

    fn set(&self, credentials: &StoredCredentials) {
        // In the form of the wire: the accessors are of a crate that `rmcp` does not pass on.
        let Ok(tokens) = serde_json::to_value(&credentials.token_response) else {
            return;
        };
        let names = [
            ("access_token", "login-token"),
            ("refresh_token", "login-refresh-token"),
        ];
        let values = names.into_iter().filter_map(|(key, name)| {
            let token = tokens.get(key)?.as_str()?;
            Some((name.to_owned(), token.into()))
        });
        // One that is too short to be told from other text is not redacted.
        if let Ok(secrets) = Secrets::new(values.collect()) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(secrets);
        }
    }
}

/// The stored text.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    /// The address of the server, the only one that gets the token.
    url: String,
    /// The secret that the authorization server gave this client.
    client_secret: Option<String>,
    /// The scopes that the server wanted of a call, for the next login.
    #[serde(default)]
    wanted_scopes: BTreeSet<String>,
    credentials: Option<StoredCredentials>,
}

/// The login of one server.
#[derive(Clone)]
struct ServerLogin {
    oauth: Arc<OAuth>,
    url: String,
    proxy: ProxySetting,
}

impl ServerLogin {
    fn new(endpoint: &Endpoint, oauth: &Arc<OAuth>) -> Self {
        Self {
            oauth: Arc::clone(oauth),
            url: endpoint.url.clone(),
            proxy: endpoint.proxy.clone(),
        }
    }

    /// Reads the login; a new one if there is none or it is that of another address.
    fn load(&self) -> io::Result<Stored> {
        let new = || Stored {
            version: VERSION,
            url: self.url.clone(),
            client_secret: None,
            wanted_scopes: BTreeSet::new(),
            credentials: None,
        };
        let Some(text) = self.oauth.store.load()? else {
            return Ok(new());
        };
        // Without the error's text, which may quote the secret.
        let stored: Stored = serde_json::from_str(text.expose_secret())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not a stored login"))?;
        let is_ours = stored.version == VERSION && stored.url == self.url;
        Ok(if is_ours { stored } else { new() })
    }

    fn update(&self, change: impl FnOnce(&mut Stored)) -> io::Result<()> {
        let mut stored = self.load()?;
        change(&mut stored);
        let text = serde_json::to_string(&stored).map_err(io::Error::other)?;
        self.oauth.store.save(&text.into())
    }

    /// Returns the state of OAuth with the store of this login.
    async fn manager(&self) -> Result<AuthorizationManager, Reason> {
        let http = Arc::new(OAuthHttp::new(&self.url, &self.proxy).await?);
        let manager = AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), http);
        let mut manager = manager.await.map_err(|error| error.to_string())?;
        manager.set_credential_store(self.clone());
        Ok(manager)
    }
}

fn store_error(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait::async_trait]
impl CredentialStore for ServerLogin {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let stored = Self::load(self).map_err(|error| store_error(&error))?;
        if let Some(credentials) = &stored.credentials {
            self.oauth.tokens.set(credentials);
        }
        Ok(stored.credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.oauth.tokens.set(&credentials);
        self.update(|stored| stored.credentials = Some(credentials))
            .map_err(|error| store_error(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.oauth
            .store
            .clear()
            .map_err(|error| store_error(&error))
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let store = Arc::clone(&self.oauth.store);
        let locked = tokio::task::spawn_blocking(move || store.lock()).await;
        let locked = locked.map_err(io::Error::other).and_then(|locked| locked);
        let guard = locked.map_err(|error| store_error(&error))?;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}

/// Returns the state of OAuth with the stored login of a server; `None` if there is none.
///
/// # Errors
/// The authorization server cannot be asked, or the login cannot be read, as a fragment.
pub(crate) async fn stored(endpoint: &Endpoint) -> Result<Option<AuthorizationManager>, Reason> {
    let Some(oauth) = &endpoint.oauth else {
        return Ok(None);
    };
    let login = ServerLogin::new(endpoint, oauth);
    let cannot = |error: io::Error| format!("cannot read its login: {error}");
    let stored = login.load().map_err(cannot)?;
    let Some(credentials) = stored.credentials else {
        return Ok(None);
    };
    let mut manager = login.manager().await?;
    let told = |error: AuthError| format!("cannot use its login: {error}");
    // False if the authorization server is another one now.
    if !manager.initialize_from_store().await.map_err(told)? {
        return Ok(None);
    }
    let configured = oauth.client_secret.as_ref();
    let configured = configured.map(|secret| secret.expose_secret().to_owned());
    if let Some(secret) = configured.or(stored.client_secret) {
        // The redirection is no part of a refresh.
        let client = OAuthClientConfig::new(credentials.client_id, endpoint.url.as_str());
        let client = client.with_client_secret(secret);
        manager.configure_client(client).map_err(told)?;
    }
    Ok(Some(manager))
}

/// Stores the scopes that a server wanted of a call, so that the next login asks for them.
///
/// # Errors
/// The login cannot be written.
pub(crate) fn want_scopes(endpoint: &Endpoint, scopes: &str) -> io::Result<()> {
    let Some(oauth) = &endpoint.oauth else {
        return Ok(());
    };
    let scopes: Vec<String> = scopes
        .split_ascii_whitespace()
        .filter(|scope| scope.len() <= MAX_SCOPE_BYTES && scope.bytes().all(is_scope_byte))
        .map(str::to_owned)
        .collect();
    ServerLogin::new(endpoint, oauth).update(|stored| {
        stored.wanted_scopes.extend(scopes);
        while stored.wanted_scopes.len() > MAX_SCOPES {
            stored.wanted_scopes.pop_last();
        }
    })
}

/// The characters of a scope (<https://www.rfc-editor.org/rfc/rfc6749#section-3.3>).
fn is_scope_byte(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)
}

#[cfg(test)]
mod tests;
