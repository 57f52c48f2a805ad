//! Notifications: what became of a firing, sent to its receiver as Standard Webhooks has it.
//!
//! The end of a run is read from the journal, and the store has up to which one its receiver was
//! notified. So a notification survives the end of this host, and each attempt has the same id.

use super::{
    Trigger, TriggerError,
    firing::{is_message, message_key},
    signature::{ID, SIGNATURE, TIMESTAMP, key, sign},
};
use crate::Service;
use agent_host_app::config::{NotifyConfig, NotifyTarget};
use agent_host_engine::{journal::JournalError, session::now_ms};
use agent_host_http_client::{Reachable, USER_AGENT, Url, builder, tls_config};
use agent_host_journal::Firing;
use agent_host_types::{
    event::Event,
    id::{Digest, SessionId},
    turn::TurnEnd,
};
use http::header::CONTENT_TYPE;
use reqwest::{Client, ClientBuilder};
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

/// The time after which a run that has not ended is looked at again, in milliseconds.
const LOOK_MS: u64 = 30 * 1000;

/// The age up to which the end of a run is waited for, in milliseconds: 7 days.
const MAX_AGE_MS: u64 = 7 * 24 * 3_600_000;

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
        let reachable = Reachable::of(&url, &proxy).await;
        let unusable = |why: String| TriggerError::Receiver {
            by: by.to_owned(),
            origin: url.origin().ascii_serialization(),
            why,
        };
        reachable
            .check(&url)
            .map_err(|why| unusable(format!("it {why}")))?;
        let tls = tls_config().map_err(|error| unusable(error.to_string()))?;
        let client = builder(tls)
            .timeout(TIMEOUT)
            .user_agent(USER_AGENT)
            .dns_resolver(Arc::new(reachable));
        let client = proxy.apply(client, &url).and_then(ClientBuilder::build);
        let client = client.map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            key: key(bytes.expose_secret()),
            url,
            client,
        })
    }

    /// Sends a message, and returns why it was not taken.
    async fn send(&self, id: &str, body: &Value) -> Result<(), String> {
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
            Ok(response) => Err(format!("the receiver answered {}", response.status())),
            // The address may have a key in it.
            Err(error) => {
                let error = error.without_url();
                let source = error.source().map(ToString::to_string).unwrap_or_default();
                Err(format!("{error}: {source}"))
            }
        }
    }
}

/// Returns the time of the next look at a run that has begun.
pub(super) fn next_look() -> u64 {
    now_ms().saturating_add(LOOK_MS)
}

/// Notifies the receiver of a firing's end, if there is one that it has not heard of.
pub(super) async fn work(
    service: &Service,
    trigger: &Trigger,
    firing: Firing,
) -> Result<(), JournalError> {
    let store = service.host.store();
    let update = |to: Firing| store.update_firing(firing.clone(), to);
    let closed = |firing: &Firing| Firing {
        due_ms: None,
        ..firing.clone()
    };
    let Some(receiver) = &trigger.receiver else {
        return update(closed(&firing)).await.map(drop);
    };
    let end = match end(service, &firing).await {
        Ok(end) => end,
        // It was deleted meanwhile.
        Err(JournalError::NotFound(_)) => return update(closed(&firing)).await.map(drop),
        Err(error) => return Err(error),
    };
    let is_old = now_ms().saturating_sub(firing.at_ms) > MAX_AGE_MS;
    let to = match end {
        Some((seq, end)) if firing.notified.is_none_or(|notified| notified < seq) => {
            let sent = receiver
                .send(&id(&firing, seq), &body(service, trigger, &firing, &end))
                .await;
            after(trigger, &firing, seq, &end, sent)
        }
        // It waits for the user, or has not ended.
        _ if is_old => closed(&firing),
        _ => Firing {
            due_ms: Some(next_look()),
            ..firing.clone()
        },
    };
    update(to).await.map(drop)
}

/// Returns what is left of a firing after an attempt.
fn after(
    trigger: &Trigger,
    firing: &Firing,
    seq: u64,
    end: &TurnEnd,
    sent: Result<(), String>,
) -> Firing {
    let (by, session) = (&trigger.by, firing.session);
    let is_told = match sent {
        Ok(()) => {
            tracing::info!(by, %session, "the receiver was notified");
            true
        }
        Err(why) => {
            tracing::warn!(by, %session, "the receiver was not notified: {why}");
            false
        }
    };
    let pause = usize::try_from(firing.attempts).ok();
    let pause = pause.and_then(|attempt| PAUSES_MS.get(attempt));
    match (is_told, pause) {
        (false, Some(pause)) => Firing {
            attempts: firing.attempts.saturating_add(1),
            due_ms: Some(now_ms().saturating_add(*pause)),
            ..firing.clone()
        },
        (told, _) => {
            if !told {
                tracing::error!(by, %session, "the receiver is not notified: all attempts failed");
            }
            Firing {
                notified: Some(seq),
                attempts: 0,
                due_ms: is_waiting(end).then(next_look),
                ..firing.clone()
            }
        }
    }
}

/// Reads the last end of a firing's run, and the number of its event.
async fn end(service: &Service, firing: &Firing) -> Result<Option<(u64, TurnEnd)>, JournalError> {
    let key = message_key(firing);
    let (mut is_own, mut end) = (false, None);
    let store = service.host.store();
    let read = store.for_each_record(firing.session, |record| match record.event {
        Event::InputReceived { .. } => is_own = is_message(&record.event, &key),
        Event::TurnEnded { outcome, .. } if is_own => {
            end = match outcome.end {
                TurnEnd::NeedsMoreTurns => None,
                other => Some((record.seq, other)),
            };
        }
        _ => {}
    });
    read.await?;
    Ok(end)
}

/// Whether a run continues when it is answered.
fn is_waiting(end: &TurnEnd) -> bool {
    matches!(
        end,
        TurnEnd::AwaitingConfirmation { .. }
            | TurnEnd::AwaitingAnswer { .. }
            | TurnEnd::PendingToolCalls { .. }
            | TurnEnd::AwaitingChildren { .. }
    )
}

/// Returns the id of a message, which all its attempts share.
fn id(firing: &Firing, seq: u64) -> String {
    let form = json!([firing.trigger, firing.key, firing.session, seq]).to_string();
    let mut hex = Digest::of(form.as_bytes()).hex();
    hex.truncate(32);
    format!("msg_{hex}")
}

fn body(service: &Service, trigger: &Trigger, firing: &Firing, end: &TurnEnd) -> Value {
    let answer = match end {
        TurnEnd::Done { text, .. } | TurnEnd::Refusal { text } => Some(text.as_str()),
        TurnEnd::Halted { message } => Some(message.as_str()),
        _ => None,
    };
    let timestamp = i64::try_from(now_ms()).unwrap_or(i64::MAX);
    let timestamp = jiff::Timestamp::from_millisecond(timestamp).unwrap_or_default();
    json!({
        "type": if is_waiting(end) { "run.waiting" } else { "run.ended" },
        "timestamp": timestamp.to_string(),
        "data": {
            "trigger": trigger.by,
            "session": firing.session,
            "outcome": end.kind(),
            "answer": answer.map(shortened),
            "link": link(service, firing.session),
        },
    })
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
