//! Notifications: what became of a firing, sent to its receiver as Standard Webhooks has it. Each
//! attempt has the same id.

use super::{
    Trigger, TriggerError,
    signature::{ID, SIGNATURE, TIMESTAMP, key, sign},
    watch::SeenEnd,
};
use crate::Service;
use agent_host_app::config::{NotifyConfig, NotifyTarget};
use agent_host_engine::session::now_ms;
use agent_host_http_client::{Reachable, Url};
use agent_host_journal::Firing;
use agent_host_types::{
    continuation::Continuation,
    id::{Digest, SessionId},
    reason::Reason,
    turn::TurnEnd,
};
use http::header::CONTENT_TYPE;
use reqwest::Client;
use ring::hmac::Key;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use std::{error::Error as _, sync::Arc, time::Duration};

/// The time limit of one attempt.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The pauses before the attempts after the first one, in milliseconds: about 10 h together.
const PAUSES_MS: [u64; 7] = [
    1_000,
    5_000,
    60_000,
    5 * 60_000,
    30 * 60_000,
    2 * 3_600_000,
    8 * 3_600_000,
];

/// The longest answer that is sent, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// A receiver of notifications.
#[derive(Debug)]
pub(super) struct Receiver {
    url: Url,
    key: Key,
    client: Client,
}

impl Receiver {
    /// Reads the key of a receiver. The networks that it may be in are those that its name leads to
    /// now: a name that leads elsewhere later is not followed there.
    pub(super) async fn open(config: &NotifyConfig, by: &str) -> Result<Self, TriggerError> {
        let NotifyTarget {
            url,
            key: bytes,
            proxy,
        } = config.open().await?;
        let reachable = Reachable::for_server(&url, &proxy).await;
        let unusable = |why: String| TriggerError::Receiver {
            by: by.to_owned(),
            origin: url.origin().ascii_serialization(),
            why,
        };
        reachable
            .check(&url)
            .map_err(|why| unusable(format!("it {why}")))?;
        let client = proxy.client(&url, |client| {
            client.timeout(TIMEOUT).dns_resolver(Arc::new(reachable))
        });
        let client = client.map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            key: key(bytes.expose_secret()),
            url,
            client,
        })
    }

    /// Sends a message, and returns why it was not taken.
    async fn send(&self, id: &str, body: &Value) -> Result<(), Reason> {
        let body = body.to_string();
        let timestamp = now_ms() / 1000;
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ID, id)
            .header(TIMESTAMP, timestamp)
            .header(SIGNATURE, sign(&self.key, id, timestamp, body.as_bytes()))
            .body(body);
        match request.send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => Err(format!("the receiver answered {}", response.status()).into()),
            // The address may have a key in it.
            Err(error) => {
                let error = error.without_url();
                let source = error.source().map(ToString::to_string).unwrap_or_default();
                Err(format!("{error}: {source}").into())
            }
        }
    }
}

/// The outcome of an attempt to notify a receiver.
pub(super) enum Told {
    /// Nothing is left to do: it was notified, there is none, or all attempts failed.
    Now,
    /// The firing with the time of the next attempt.
    Later(Firing),
}

/// Notifies the receiver of a firing's end, if there is one.
pub(super) async fn tell(
    service: &Service,
    trigger: &Trigger,
    firing: &Firing,
    seen: &SeenEnd,
) -> Told {
    let (by, session) = (&trigger.by, firing.session);
    if let (Some(open), 0) = (seen.end.continuation(), firing.attempts) {
        let expires_at = open.first_expiry_ms().map(time);
        tracing::warn!(by, %session, expires_at, "the run is {}", seen.status);
    }
    let Some(receiver) = &trigger.receiver else {
        return Told::Now;
    };
    let body = body(service, trigger, firing, seen);
    let why = match receiver.send(&id(firing, seen.seq), &body).await {
        Ok(()) => {
            tracing::info!(by, %session, "the receiver was notified");
            return Told::Now;
        }
        Err(why) => why,
    };
    tracing::warn!(by, %session, "the receiver was not notified: {why}");
    let pause = usize::try_from(firing.attempts).ok();
    match pause.and_then(|attempt| PAUSES_MS.get(attempt)) {
        Some(pause) => Told::Later(Firing {
            attempts: firing.attempts.saturating_add(1),
            due_ms: Some(now_ms().saturating_add(*pause)),
            ..firing.clone()
        }),
        None => {
            tracing::error!(by, %session, "the receiver is not notified: all attempts failed");
            Told::Now
        }
    }
}

/// Returns the id of a message, which all its attempts share.
fn id(firing: &Firing, seq: u64) -> String {
    let form = json!([firing.trigger, firing.key, firing.session, seq]).to_string();
    let mut hex = Digest::of(form.as_bytes()).hex();
    hex.truncate(32);
    format!("msg_{hex}")
}

fn body(service: &Service, trigger: &Trigger, firing: &Firing, seen: &SeenEnd) -> Value {
    let answer = match &seen.end {
        TurnEnd::Done { text, .. } | TurnEnd::Refusal { text } => Some(text.as_str()),
        TurnEnd::Halted { message } => Some(message.as_str()),
        _ => None,
    };
    let open = seen.end.continuation();
    json!({
        "type": if open.is_some() { "run.waiting" } else { "run.ended" },
        "timestamp": time(now_ms()),
        "data": {
            "trigger": trigger.by,
            "session": firing.session,
            "outcome": seen.end.kind(),
            "status": seen.status,
            "expires_at": open.and_then(Continuation::first_expiry_ms).map(time),
            "answer": answer.map(shortened),
            "link": link(service, firing.session),
        },
    })
}

/// Formats a time in milliseconds since 1970, as RFC 3339 has it.
fn time(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.to_string()
}

/// Returns the address of a session on the page.
fn link(service: &Service, session: SessionId) -> String {
    format!("{}/#/s/{session}", service.triggers.page)
}

/// Cuts a text that is too long.
fn shortened(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_ANSWER_BYTES);
    match text.get(..end) {
        Some(cut) if cut.len() < text.len() => format!("{cut}..."),
        _ => text.to_owned(),
    }
}
