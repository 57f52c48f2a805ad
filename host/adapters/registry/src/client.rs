//! The HTTP client of one registry: authentication, redirections, bounded bodies, and errors.

use crate::{
    Reference, RegistryError,
    auth::{Challenge, basic, bearer, realm_is_accepted, refresh_form, token_url},
    credentials::{CredentialSource, Credentials},
    manifest::shown,
};
use agent_host_http_client::{ProxySetting, Reachable};
use bytes::Bytes;
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};
use serde::Deserialize;
use std::{collections::BTreeMap, fmt::Display, sync::Arc, time::Duration};
use tokio::sync::Mutex;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest pause between two pieces of a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The time for one request with its answer, so that a body that drips has an end.
const TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The maximum of redirections of one request.
const MAX_REDIRECTS: usize = 5;

/// The maximum size of an answer of an issuer of tokens, and of an error, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// The type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// The settings of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientConfig {
    /// The proxy of its requests.
    pub proxy: ProxySetting,
    /// Where credentials are looked for.
    pub credentials: CredentialSource,
}

/// A client of the registry of one reference.
pub struct Client {
    http: reqwest::Client,
    reachable: Arc<Reachable>,
    /// The address of the registry, without a path.
    origin: Url,
    /// The registry as users name it.
    pub(crate) registry: String,
    credentials: CredentialSource,
    /// The `Authorization` of requests, by repository and whether it allows to push.
    authorizations: Mutex<BTreeMap<(String, bool), HeaderValue>>,
}

/// A request to the registry.
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// The repository that it is about.
    pub(crate) repository: &'a str,
    /// True if it needs the right to push.
    pub(crate) push: bool,
    /// The accepted types, or nothing.
    pub(crate) accept: &'a str,
    /// The body with its type.
    pub(crate) body: Option<(&'a str, Bytes)>,
    /// The requested thing, for messages.
    pub(crate) what: String,
}

/// The reason for which the credentials for a registry cannot be used.
const IDENTITY_TOKEN_ALONE: &str = "they are an identity token, but the registry requires a name and a password; log \
    in with those";

/// The errors of a registry, by the distribution specification.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Deserialize)]
struct OneError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Client {
    /// Creates a client of the reference's registry. Looks its address up; sends nothing.
    ///
    /// # Errors
    /// TLS or the proxy cannot be set up.
    pub async fn new(reference: &Reference, config: &ClientConfig) -> Result<Self, RegistryError> {
        let registry = reference.registry();
        let origin = reference.origin();
        let origin = origin.parse().map_err(|_| {
            let why = format!("{registry} points to {origin}, which is not an address");
            RegistryError::Refused(why.into())
        })?;
        Self::at(origin, registry, config).await
    }

    /// Creates a client of the server at `origin`, which users name `registry`.
    pub(crate) async fn at(
        origin: Url,
        registry: String,
        config: &ClientConfig,
    ) -> Result<Self, RegistryError> {
        let reachable = Arc::new(Reachable::for_server(&origin, &config.proxy).await);
        let http = config.proxy.client(&origin, |client| {
            let client = client.connect_timeout(CONNECT_TIMEOUT);
            let client = client.read_timeout(READ_TIMEOUT).timeout(TIMEOUT);
            client.dns_resolver(Arc::clone(&reachable))
        })?;
        Ok(Self {
            http,
            reachable,
            origin,
            registry,
            credentials: config.credentials.clone(),
            authorizations: Mutex::default(),
        })
    }

    /// Returns the address of the API itself, which answers whether it lets one in.
    pub(crate) fn api_url(&self) -> Url {
        let mut url = self.origin.clone();
        url.set_path("/v2/");
        url
    }

    /// Returns the address of a part of a repository.
    pub(crate) fn url(&self, repository: &str, rest: &str) -> Url {
        let mut url = self.origin.clone();
        // Names and references have no character that a path would encode.
        url.set_path(&format!("/v2/{repository}/{rest}"));
        url
    }

    /// Returns the address of an answer's `Location`, which has to be on the registry itself.
    pub(crate) fn location(&self, response: &Response) -> Result<Url, RegistryError> {
        let found = response.headers().get(LOCATION);
        let found = found
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let url = response.url().join(found);
        let url = url.map_err(|_| self.answer("its `Location` is not an address"))?;
        if url.origin() != self.origin.origin() {
            return Err(self.address(
                &url,
                "is on a different host from the registry, and nothing is pushed there",
            ));
        }
        Ok(url)
    }

    /// Sends a request, and returns the answer if it succeeded.
    pub(crate) async fn send(&self, request: &ApiRequest<'_>) -> Result<Response, RegistryError> {
        match self.send_optional(request).await? {
            Some(response) => Ok(response),
            None => Err(self.not_found(&request.what)),
        }
    }

    /// Sends a request, and returns the answer if it succeeded; absent for 404.
    pub(crate) async fn send_optional(
        &self,
        request: &ApiRequest<'_>,
    ) -> Result<Option<Response>, RegistryError> {
        let key = (request.repository.to_owned(), request.push);
        let known = self.authorizations.lock().await.get(&key).cloned();
        let mut response = self.send_once(request, known.as_ref()).await?;
        let mut tried = None;
        if response.status() == StatusCode::UNAUTHORIZED {
            let (authorization, found) = self.authorize(request, &response).await?;
            tried = found.map(|found| found.source);
            response = self.send_once(request, Some(&authorization)).await?;
            if response.status().is_success() {
                self.authorizations.lock().await.insert(key, authorization);
            }
        }
        match response.status() {
            status if status.is_success() => Ok(Some(response)),
            StatusCode::NOT_FOUND => Ok(None),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                Err(self.denied(request, tried.as_deref(), status))
            }
            _ => Err(self.failure(request, response).await),
        }
    }

    /// Sends a request and follows redirections of reads. The authorization goes to the registry
    /// alone.
    pub(crate) async fn send_once(
        &self,
        request: &ApiRequest<'_>,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response, RegistryError> {
        let mut url = request.url.clone();
        for _ in 0..=MAX_REDIRECTS {
            self.check(&url)?;
            let mut headers = HeaderMap::new();
            if let Ok(accept) = HeaderValue::from_str(request.accept)
                && !request.accept.is_empty()
            {
                headers.insert(ACCEPT, accept);
            }
            if let Some(value) = authorization
                && url.origin() == self.origin.origin()
            {
                headers.insert(AUTHORIZATION, value.clone());
            }
            let mut sent = self.http.request(request.method.clone(), url.clone());
            if let Some((media_type, body)) = &request.body {
                if let Ok(media_type) = HeaderValue::from_str(media_type) {
                    headers.insert(CONTENT_TYPE, media_type);
                }
                sent = sent.body(body.clone());
            }
            let response = sent.headers(headers).send().await;
            let response = response.map_err(|error| self.unreachable(error))?;
            let is_read = matches!(request.method, Method::GET | Method::HEAD);
            if !(response.status().is_redirection() && is_read) {
                return Ok(response);
            }
            let next = response.headers().get(LOCATION);
            let next = next.and_then(|value| value.to_str().ok());
            let next = next.and_then(|next| url.join(next).ok());
            url = next.ok_or_else(|| self.answer("its redirect has no address"))?;
        }
        Err(self.answer("it redirects in a loop"))
    }

    /// Returns the credentials for the registry; absent if there are none.
    pub(crate) async fn find_credentials(&self) -> Result<Option<Credentials>, RegistryError> {
        let found = self.credentials.find(&self.registry).await;
        found.map_err(|why| self.credentials_error(&why))
    }

    fn credentials_error(&self, why: &dyn Display) -> RegistryError {
        let registry = &self.registry;
        let why = format!("cannot read the credentials for {registry}: {why}");
        RegistryError::Refused(why.into())
    }

    /// Returns the `Authorization` that a challenge asks for, and its credentials.
    pub(crate) async fn authorize(
        &self,
        request: &ApiRequest<'_>,
        refused: &Response,
    ) -> Result<(HeaderValue, Option<Credentials>), RegistryError> {
        let challenges = refused.headers().get_all(WWW_AUTHENTICATE).iter();
        let mut challenges = challenges.filter_map(|value| Challenge::parse(value.to_str().ok()?));
        let challenge = challenges.next();
        let challenge =
            challenge.ok_or_else(|| self.answer("it asks for an unknown kind of credentials"))?;
        // A redirection may have led to another host, which may not ask for anything.
        if refused.url().origin() != self.origin.origin() {
            return Err(self.address(
                refused.url(),
                "asks for credentials and is not the registry",
            ));
        }
        let found = self.find_credentials().await?;
        match challenge {
            Challenge::Basic => {
                let status = StatusCode::UNAUTHORIZED;
                let found = found.ok_or_else(|| self.denied(request, None, status))?;
                if found.is_identity_token {
                    return Err(self.credentials_error(&IDENTITY_TOKEN_ALONE));
                }
                let value = basic(&found.name, &found.secret);
                let value =
                    value.ok_or_else(|| self.answer("the credentials do not fit into a header"))?;
                Ok((value, Some(found)))
            }
            Challenge::Bearer { realm, service } => {
                let token = self.token(request, &realm, service.as_deref(), found.as_ref());
                Ok((token.await?, found))
            }
        }
    }

    async fn token(
        &self,
        request: &ApiRequest<'_>,
        realm: &Url,
        service: Option<&str>,
        credentials: Option<&Credentials>,
    ) -> Result<HeaderValue, RegistryError> {
        self.check(realm)?;
        if credentials.is_some() && !realm_is_accepted(&self.origin, realm) {
            let realm = shown(realm.host_str().unwrap_or_default());
            let registry = &self.registry;
            let why = format!(
                "its tokens are issued by {realm}, but your credentials are sent only to {registry} itself or its \
                 parent domains"
            );
            return Err(self.denied_for(request, &why));
        }
        let url = token_url(realm, service, request.repository, request.push);
        let sent = match credentials {
            Some(found) if found.is_identity_token => {
                let (url, form) = refresh_form(url, &found.secret);
                let sent = self.http.post(url);
                sent.header(CONTENT_TYPE, FORM).body(form)
            }
            Some(found) => {
                let value = basic(&found.name, &found.secret);
                let headers = value.map(|value| (AUTHORIZATION, value)).into_iter();
                self.http.get(url).headers(headers.collect())
            }
            None => self.http.get(url),
        };
        let response = sent.send().await;
        let response = response.map_err(|error| self.unreachable(error))?;
        match response.status() {
            status if status.is_success() => {}
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                let tried = credentials.map(|found| found.source.as_str());
                return Err(self.denied(request, tried, status));
            }
            _ => return Err(self.failure(request, response).await),
        }
        let answer = self.read(response, MAX_ANSWER_BYTES, "the token").await?;
        bearer(&answer).ok_or_else(|| self.answer("the issuer of its tokens did not send one"))
    }

    /// Reads a whole body of at most `max_bytes`.
    pub(crate) async fn read(
        &self,
        response: Response,
        max_bytes: u64,
        what: &str,
    ) -> Result<Vec<u8>, RegistryError> {
        let mut body = Vec::new();
        self.read_chunks(response, max_bytes, what, |chunk| {
            body.extend_from_slice(chunk);
            Ok(())
        })
        .await?;
        Ok(body)
    }

    /// Reads a body of at most `max_bytes` in pieces.
    pub(crate) async fn read_chunks(
        &self,
        mut response: Response,
        max_bytes: u64,
        what: &str,
        mut take: impl FnMut(&[u8]) -> Result<(), RegistryError>,
    ) -> Result<(), RegistryError> {
        let too_long = || {
            let registry = &self.registry;
            let why = format!(
                "{what} of {registry} is longer than {max_bytes} bytes, so it was discarded"
            );
            RegistryError::Content(why.into())
        };
        if response
            .content_length()
            .is_some_and(|length| length > max_bytes)
        {
            return Err(too_long());
        }
        let mut length = 0;
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| self.unreachable(error))?
        {
            length += chunk.len() as u64;
            if length > max_bytes {
                return Err(too_long());
            }
            take(&chunk)?;
        }
        Ok(())
    }

    pub(crate) async fn failure(
        &self,
        request: &ApiRequest<'_>,
        response: Response,
    ) -> RegistryError {
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS {
            let after = response.headers().get(RETRY_AFTER);
            let after = after.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
            let again = match after {
                Some(seconds) => format!("try again in {seconds} s"),
                None => "try again later".to_owned(),
            };
            return self.passing(&format!("is limiting requests (429); {again}"));
        }
        let body = self.read(response, MAX_ANSWER_BYTES, "an error").await;
        let errors = body
            .ok()
            .and_then(|body| serde_json::from_slice::<Errors>(&body).ok());
        let first = errors.and_then(|errors| errors.errors.into_iter().next());
        let message = first.map_or(String::new(), |error| {
            format!(": {} ({})", shown(&error.message), shown(&error.code))
        });
        let (status, what) = (status.as_u16(), &request.what);
        self.passing(&format!(
            "answered {status} to a request for {what}{message}"
        ))
    }

    fn check(&self, url: &Url) -> Result<(), RegistryError> {
        self.reachable
            .check(url)
            .map_err(|reason| self.address(url, reason))
    }

    fn address(&self, url: &Url, reason: &'static str) -> RegistryError {
        // Without the query, which may hold a signed permission.
        let host = url.host_str().unwrap_or_default();
        let address = shown(&format!("{}://{host}", url.scheme()));
        let why = format!("{} points to {address}, which {reason}", self.registry);
        RegistryError::Refused(why.into())
    }

    /// Returns the error of a denial (401 or 403). `tried` is where the refused credentials are
    /// from; absent where there are none.
    pub(crate) fn denied(
        &self,
        request: &ApiRequest<'_>,
        tried: Option<&str>,
        status: StatusCode,
    ) -> RegistryError {
        let (registry, status) = (&self.registry, status.as_u16());
        let why = match tried {
            None => format!(
                "there are no credentials for it; log in with `docker login {registry}` (its configuration is used), \
                 or set `AGENT_HOST_REGISTRY_CREDENTIALS` to `{registry}=NAME:TOKEN`"
            ),
            Some(source) => {
                format!("the credentials of {source} were refused (status {status})")
            }
        };
        self.denied_for(request, &why)
    }

    fn denied_for(&self, request: &ApiRequest<'_>, why: &str) -> RegistryError {
        let action = match (request.repository, request.push) {
            ("", _) => "log in".to_owned(),
            (repository, true) => format!("push to {repository}"),
            (repository, false) => format!("pull {repository}"),
        };
        let why = format!("{} does not allow you to {action}: {why}", self.registry);
        RegistryError::Refused(why.into())
    }

    pub(crate) fn not_found(&self, what: &str) -> RegistryError {
        let why = format!(
            "{} does not have {what}; check the name and the tag (a registry may also hide what you may not read)",
            self.registry
        );
        RegistryError::NotFound(why.into())
    }

    pub(crate) fn answer(&self, reason: &str) -> RegistryError {
        self.passing(&format!("sent an unusable answer: {reason}"))
    }

    /// Returns a failure that may pass; `why` follows the registry.
    fn passing(&self, why: &str) -> RegistryError {
        RegistryError::Passing(format!("{} {why}", self.registry).into())
    }

    fn unreachable(&self, error: reqwest::Error) -> RegistryError {
        let error = error.without_url();
        // The innermost error has the reason, such as "connection refused".
        let mut reason: &dyn std::error::Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        self.passing(&format!(
            "cannot be reached: {}",
            shown(&reason.to_string())
        ))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never prints credentials.
        f.debug_struct("Client")
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}
