//! One login: the authorization code with PKCE, over a redirection to this machine or with the
//! redirected address pasted (<https://www.rfc-editor.org/rfc/rfc8252#section-7.3>).

use super::{OAuth, ServerLogin};
use crate::{config::Endpoint, headers};
use agent_host_engine::{BoxFuture, text};
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    AuthorizationMetadataSource, OAuthClientConfig,
};
use secrecy::ExposeSecret as _;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// The path of the redirection.
const CALLBACK_PATH: &str = "/callback";

/// The maximum length of the line of a request to this machine, in bytes, and the time for it.
const MAX_REQUEST_BYTES: usize = 8 * 1024;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum of bytes shown of an answer of an authorization server.
const SHOWN_BYTES: usize = 500;

/// The name under which this client registers.
const CLIENT_NAME: &str = "agent-host";

/// A login that did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The server has a token or an `Authorization` header, or is a program.
    #[error(
        "it needs no login: it is a local program, or has a `token` or an `Authorization` header"
    )]
    NotNeeded,
    /// The server does not say where to log in.
    #[error("it does not say where to log in; set `token` under [[mcp]] if it requires one")]
    NoServer,
    /// The authorization server registers no clients.
    #[error(
        "its authorization server does not register clients automatically; register one there by hand, with the \
         redirect URI http://127.0.0.1:PORT/callback, and set `client-id` and `redirect-port` under [mcp.oauth]"
    )]
    NoRegistration,
    /// The authorization server does not say that it checks the proof of who began the login, and
    /// [the specification][spec] has clients refuse then.
    ///
    /// [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#authorization-code-protection
    #[error(
        "its authorization server does not say that it supports PKCE (its metadata has no \
         `code_challenge_methods_supported`), and without PKCE a stolen code is enough to log in; ask its operator \
         to list `S256` there, or, if you know that it checks PKCE, set `assume-pkce = true` under [mcp.oauth] of \
         this server"
    )]
    NoPkce,
    /// The authorization server names methods of PKCE, but not S256.
    #[error(
        "its authorization server supports PKCE without the method `S256` (its metadata lists: {0}), the only one \
         that makes a stolen code useless; ask its operator to add it"
    )]
    OtherPkce(String),
    /// The pasted address is not the one of this login.
    #[error("this is not the address that the browser was redirected to")]
    OtherAddress,
    /// The authorization server or the user refused.
    #[error("the authorization server refused: {0}")]
    Refused(String),
    /// Another step failed.
    #[error("{0}")]
    Failed(String),
}

fn failed(why: impl std::fmt::Display) -> LoginError {
    LoginError::Failed(text::sanitize(&why.to_string(), SHOWN_BYTES))
}

/// A login that waits for the user.
pub struct Login {
    manager: AuthorizationManager,
    login: ServerLogin,
    client_secret: Option<String>,
    url: String,
    state: String,
    scopes: Vec<String>,
    redirect: Url,
    listener: TcpListener,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Login {
    /// Finds out where to log in to a server and as which client, and registers one if needed.
    ///
    /// # Errors
    /// One of them is not known.
    pub fn begin(endpoint: &Endpoint) -> BoxFuture<'_, Result<Self, LoginError>> {
        Box::pin(async move {
            let oauth = endpoint.oauth.as_ref().ok_or(LoginError::NotNeeded)?;
            let login = ServerLogin::new(endpoint, oauth);
            let mut manager = login.manager().await.map_err(failed)?;
            let challenge = challenge(endpoint).await?;
            let found = manager.resolve_metadata_from_challenge(challenge.as_deref());
            let found = found.await.map_err(failed)?;
            if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
                return Err(LoginError::NoServer);
            }
            check_pkce(&found.metadata, oauth)?;
            // Both are of the authorization server, as `rmcp` reads them.
            let takes_document = found
                .metadata
                .additional_fields
                .get("client_id_metadata_document_supported")
                .and_then(serde_json::Value::as_bool)
                == Some(true);
            let registers = found.metadata.registration_endpoint.is_some();
            manager.set_metadata(found.metadata);
            let port = oauth.redirect_port.unwrap_or(0);
            let listener = TcpListener::bind(("127.0.0.1", port)).await;
            let listener = listener.map_err(|error| {
                failed(format_args!("cannot listen at 127.0.0.1:{port}: {error}"))
            })?;
            let address = listener.local_addr().map_err(failed)?;
            let redirect = format!("http://{address}{CALLBACK_PATH}");
            let scopes = scopes(&manager, oauth, &login).await?;
            let asked: Vec<&str> = scopes.iter().map(String::as_str).collect();
            let client = if let Some(id) = &oauth.client_id {
                let client = OAuthClientConfig::new(id, &redirect);
                match &oauth.client_secret {
                    Some(secret) => client.with_client_secret(secret.expose_secret()),
                    None => client,
                }
            } else if let Some(document) = oauth
                .client_metadata_url
                .as_ref()
                .filter(|_| takes_document)
            {
                OAuthClientConfig::new(document, &redirect)
            } else if registers {
                let registered = manager.register_client(CLIENT_NAME, &redirect, &asked);
                registered.await.map_err(failed)?
            } else {
                return Err(LoginError::NoRegistration);
            };
            // A secret of the configuration is not copied.
            let is_registered = oauth.client_id.is_none();
            let client_secret = client.client_secret.clone().filter(|_| is_registered);
            manager.configure_client(client).map_err(failed)?;
            let url = manager.get_authorization_url(&asked).await;
            let url = url.map_err(failed)?;
            let parsed: Url = url.parse().map_err(failed)?;
            if !matches!(parsed.scheme(), "http" | "https") {
                return Err(failed("the login address is not an http or https URL"));
            }
            let state = parsed.query_pairs().find(|(key, _)| key == "state");
            let state = state.map(|(_, state)| state.into_owned());
            Ok(Self {
                manager,
                login,
                client_secret,
                state: state.unwrap_or_default(),
                url,
                scopes,
                redirect: redirect.parse().map_err(failed)?,
                listener,
            })
        })
    }

    /// Returns the address at which the user logs in.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the scopes that are asked for.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Waits until the browser is redirected to this machine, and returns the address of that.
    /// Other requests are refused.
    ///
    /// # Errors
    /// No connection can be accepted.
    pub async fn redirected(&self) -> Result<String, LoginError> {
        loop {
            let (mut connection, _) = self.listener.accept().await.map_err(failed)?;
            let address = timeout(REQUEST_TIMEOUT, self.read(&mut connection)).await;
            let address = address.ok().flatten();
            let (status, body) = match address {
                Some(_) => (
                    "200 OK",
                    "You can close this window and return to agent-host.\n",
                ),
                None => ("404 Not Found", "Not found.\n"),
            };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            // The browser may be gone.
            let _ = timeout(REQUEST_TIMEOUT, connection.write_all(answer.as_bytes())).await;
            if let Some(address) = address {
                return Ok(address);
            }
        }
    }

    /// Reads a request, and returns its address if it is the redirection of this login.
    async fn read(&self, connection: &mut TcpStream) -> Option<String> {
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = connection.read(&mut chunk).await.ok()?;
            request.extend_from_slice(chunk.get(..count)?);
            if count == 0 || request.len() > MAX_REQUEST_BYTES {
                return None;
            }
        }
        let request = String::from_utf8(request).ok()?;
        let target = request.strip_prefix("GET ")?.split(' ').next()?;
        let address = self.redirect.join(target).ok()?;
        self.is_redirection(&address).then(|| address.into())
    }

    fn is_redirection(&self, address: &Url) -> bool {
        let mut query = address.query_pairs();
        address.origin() == self.redirect.origin()
            && address.path() == CALLBACK_PATH
            && query.any(|(key, value)| key == "state" && value == self.state.as_str())
    }

    /// Exchanges the code in the address that the browser was redirected to, and stores the login.
    ///
    /// # Errors
    /// The address is another one, the authorization server refused, or the login cannot be stored.
    pub fn finish<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), LoginError>> {
        Box::pin(async move {
            let url: Url = address
                .trim()
                .parse()
                .map_err(|_| LoginError::OtherAddress)?;
            if !self.is_redirection(&url) {
                return Err(LoginError::OtherAddress);
            }
            let field = |name: &str| {
                let mut query = url.query_pairs();
                let found = query.find(|(key, _)| key == name);
                found.map(|(_, value)| text::sanitize(&value, SHOWN_BYTES))
            };
            if let Some(error) = field("error") {
                let detail = field("error_description").map(|detail| format!(" ({detail})"));
                return Err(LoginError::Refused(error + &detail.unwrap_or_default()));
            }
            let callback =
                AuthorizationCallback::from_redirect_url(url.as_str()).map_err(failed)?;
            let exchanged = self.manager.exchange_code_for_token_with_issuer(
                &callback.code,
                &callback.csrf_token,
                callback.issuer.as_deref(),
            );
            exchanged.await.map_err(|error| match error {
                AuthError::TokenExchangeFailed(why) => {
                    LoginError::Refused(text::sanitize(&why, SHOWN_BYTES))
                }
                error => failed(error),
            })?;
            let stored = self.login.update(|stored| {
                stored.client_secret.clone_from(&self.client_secret);
                stored.wanted_scopes.clear();
            });
            stored.map_err(|error| failed(format_args!("cannot store the login: {error}")))
        })
    }
}

/// Checks that the authorization server ties a code to this login. `rmcp` continues where it names no
/// methods.
fn check_pkce(metadata: &AuthorizationMetadata, oauth: &OAuth) -> Result<(), LoginError> {
    match &metadata.code_challenge_methods_supported {
        None if oauth.assume_pkce => Ok(()),
        None => Err(LoginError::NoPkce),
        Some(methods) if methods.iter().any(|method| method == "S256") => Ok(()),
        Some(methods) => {
            let named = text::sanitize(&text::escape_line(&methods.join(", ")), SHOWN_BYTES);
            Err(LoginError::OtherPkce(named))
        }
    }
}

/// Returns the scopes to ask for: the configured ones, else those that the server names, those of
/// the present login, and those that the server wanted of a call.
async fn scopes(
    manager: &AuthorizationManager,
    oauth: &OAuth,
    login: &ServerLogin,
) -> Result<Vec<String>, LoginError> {
    let stored = login.load();
    let stored = stored.map_err(|error| failed(format_args!("cannot read the login: {error}")))?;
    let configured: Vec<&str> = oauth.scopes.iter().map(String::as_str).collect();
    let mut scopes = if configured.is_empty() {
        manager.select_initial_scopes(&[]).await
    } else {
        oauth.scopes.clone()
    };
    let granted = stored
        .credentials
        .map(|credentials| credentials.granted_scopes);
    for scope in granted.into_iter().flatten().chain(stored.wanted_scopes) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes.truncate(super::MAX_SCOPES);
    Ok(scopes)
}

/// Returns the challenge with which the server answers a request without a token, if it does.
async fn challenge(endpoint: &Endpoint) -> Result<Option<String>, LoginError> {
    let url: Url = endpoint.url.parse().map_err(failed)?;
    let client = crate::http::client(&url, &endpoint.proxy).map_err(failed)?;
    let mut request = client
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
    for (name, value) in headers::sent(&endpoint.headers).map_err(failed)? {
        request = request.header(name, value);
    }
    let answer = timeout(REQUEST_TIMEOUT, request.send()).await;
    let answer = answer.map_err(|_| failed("its server does not answer"))?;
    let answer = answer.map_err(|error| failed(error.without_url()))?;
    let challenge = answer.headers().get("www-authenticate");
    let challenge = challenge.and_then(|challenge| challenge.to_str().ok());
    Ok(challenge.map(str::to_owned))
}
