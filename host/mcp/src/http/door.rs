//! The door: who may come in, and how much at once. Behind it is the protocol.

use super::{
    allowed::{AllowedHost, AllowedOrigin, Host, Page},
    body::{self, Message},
    cors::{self, SESSION_ID},
    limits::HttpLimits,
    reply::{Reply, busy, refused, with},
    sessions::Sessions,
    token::{Shown, Token},
};
use bytes::Bytes;
use http::{
    HeaderValue, Method, Request, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
    request::Parts,
};
use http_body::Body;
use http_body_util::Full;
use rmcp::{
    ServerHandler,
    model::{ClientJsonRpcMessage, ClientRequest, RequestId},
    transport::streamable_http_server::StreamableHttpService,
};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where the protocol is served.
pub const PATH: &str = "/mcp";

/// A request that runs. It is with the request, so it goes when the handler is done with that, whoever still listens.
#[derive(Clone)]
struct InFlight {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// See the module.
pub(super) struct Door<H> {
    /// The names of the server.
    pub(super) hosts: Vec<AllowedHost>,
    pub(super) origins: Vec<AllowedOrigin>,
    pub(super) token: Token,
    /// The requests that run at once.
    pub(super) requests: Arc<Semaphore>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) limits: HttpLimits,
    /// What is behind the door.
    pub(super) protocol: StreamableHttpService<H, Sessions>,
}

impl<H: ServerHandler + Send + 'static> Door<H> {
    /// Answers a request.
    pub(super) async fn answer<B>(&self, request: Request<B>) -> Reply
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let host = match Host::of(&parts.uri, &parts.headers, &self.hosts) {
            Host::Ours(host) => host,
            Host::Foreign => {
                return refused(
                    StatusCode::FORBIDDEN,
                    "the server is not to be called by this Host; its operator can allow it with --allow-host",
                );
            }
            Host::Unreadable => {
                return refused(
                    StatusCode::BAD_REQUEST,
                    "the request needs one Host field with a name or an address",
                );
            }
        };
        match Page::of(&parts.headers, &host, &self.origins) {
            Page::None => self.enter(parts, body).await,
            Page::Allowed => {
                let headers = parts.headers.clone();
                cors::readable(self.enter(parts, body).await, &headers)
            }
            Page::Foreign => refused(
                StatusCode::FORBIDDEN,
                "pages of this Origin may not use the server; its operator can allow them with --allow-origin",
            ),
        }
    }

    /// Lets a request in that came by a right name and from no wrong page.
    async fn enter<B>(&self, mut parts: Parts, body: B) -> Reply
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        // Before the token: clients that get no 404 elsewhere go looking for a way to log in.
        if parts.uri.path() != PATH {
            return refused(StatusCode::NOT_FOUND, "there is nothing but /mcp here");
        }
        if cors::is_question(&parts.method, &parts.headers) {
            return cors::answer(&parts.headers);
        }
        if let Some(refusal) = unauthorized(self.token.is_shown(&parts.headers)) {
            return refusal;
        }
        // No handler has to know it, and what is not there cannot be written down.
        parts.headers.remove(AUTHORIZATION);
        let bytes = if parts.method == Method::POST {
            if body.size_hint().lower() > self.limits.body_bytes as u64 {
                return body::too_long();
            }
            let Message { bytes, message } = match body::read(body, &self.limits).await {
                Ok(read) => read,
                Err(refusal) => return refusal,
            };
            if let ClientJsonRpcMessage::Request(request) = message
                && let Err(refusal) = self.admit(&mut parts, &request.request, request.id)
            {
                return *refusal;
            }
            bytes
        } else {
            Bytes::new()
        };
        self.protocol
            .handle(Request::from_parts(parts, Full::new(bytes)))
            .await
    }

    /// Admits a request of the protocol, if it is not one too many.
    fn admit(
        &self,
        parts: &mut Parts,
        request: &ClientRequest,
        id: RequestId,
    ) -> Result<(), Box<Reply>> {
        let Ok(permit) = Arc::clone(&self.requests).try_acquire_owned() else {
            return Err(Box::new(busy("too many requests run; ask again", id)));
        };
        let is_new = matches!(request, ClientRequest::InitializeRequest(_));
        if is_new && !parts.headers.contains_key(SESSION_ID) {
            let Some(slot) = self.sessions.reserve() else {
                let why = "too many sessions are open; end one with DELETE, or ask again";
                return Err(Box::new(busy(why, id)));
            };
            parts.extensions.insert(slot);
        }
        parts.extensions.insert(InFlight {
            _permit: Arc::new(permit),
        });
        Ok(())
    }
}

/// The refusal of a request that does not show the token.
fn unauthorized(shown: Shown) -> Option<Reply> {
    let (challenge, why) = match shown {
        Shown::Right => return None,
        Shown::Nothing => (
            "Bearer",
            "the request needs the server's token: Authorization: Bearer TOKEN",
        ),
        Shown::Wrong => (
            "Bearer error=\"invalid_token\"",
            "the token is not the server's; ask its operator for it",
        ),
    };
    let refusal = refused(StatusCode::UNAUTHORIZED, why);
    Some(with(
        refusal,
        WWW_AUTHENTICATE,
        HeaderValue::from_static(challenge),
    ))
}
