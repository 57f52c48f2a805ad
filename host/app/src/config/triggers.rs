//! The part that schedules and webhooks share: what they start, and who is notified of its end.

use super::{
    ConfigError, lists,
    network::NetworkConfig,
    paths::Scope,
    problem::config_error,
    review::{Danger, Review, quoted},
    section::{section, values},
    source::{Purpose, ValueSource},
};
use agent_host_http_client::{ProxySetting, Url};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretSlice};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The maximum of schedules, and of webhooks.
pub(super) const MAX_TRIGGERS: usize = 100;

/// The beginning of a key of Standard Webhooks
/// (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>).
const STANDARD_PREFIX: &str = "whsec_";

/// The least bytes of a key of Standard Webhooks, by its specification.
const STANDARD_BYTES: usize = 24;

/// The least bytes of another key: a shorter one can be guessed from a delivery.
const LEAST_BYTES: usize = 16;

section! {
    /// `notify` of a schedule or a webhook.
    #[derive(Eq)]
    pub(super) struct RawNotify {
        /// The address to notify when a run ends or waits.
        url: String => together;
        /// The source of the key that signs it, as in `api-key`.
        secret [Source]: String => together;
    }
}

values!(TriggerSession, SignatureScheme);

/// Demands the receiver of the messages of `who`.
pub(super) fn demand(raw: &Option<RawNotify>, who: &str, review: &mut Review<'_>) {
    if let Some(RawNotify { url, secret }) = raw {
        let danger = Danger::reading(secret, Danger::Network);
        let (url, secret) = (quoted(url), quoted(secret));
        review.demand(
            danger,
            format!("sends the answers of {who} to {url}, signed with the key from {secret}"),
        );
    }
}

/// `session` of a schedule or a webhook: the session of a firing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TriggerSession {
    /// A new session for each.
    #[default]
    Each,
    /// One session, which each continues.
    One,
}

/// The kind of a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// A schedule.
    Schedule,
    /// A webhook.
    Webhook,
}

impl TriggerKind {
    /// Returns the sender of the messages of a trigger, for the journal. No token has such a name.
    #[must_use]
    pub fn sender(self, name: &str) -> String {
        format!("{}{name}", self.prefix())
    }

    /// Whether a sender of messages is a trigger.
    #[must_use]
    pub fn is_sender(sender: &str) -> bool {
        let prefixes = [Self::Schedule, Self::Webhook].map(Self::prefix);
        prefixes.iter().any(|prefix| sender.starts_with(prefix))
    }

    /// Returns the source of text in a message from others, by its sender: a webhook, such as
    /// `webhook:issues`. The message of a schedule is the operator's.
    #[must_use]
    pub fn source(sender: &str) -> Option<String> {
        let name = sender.strip_prefix(Self::Webhook.prefix())?;
        Some(format!("webhook:{name}"))
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Schedule => "schedule ",
            Self::Webhook => "webhook ",
        }
    }
}

/// The way in which deliveries are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureScheme {
    /// Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    #[default]
    Standard,
    /// GitHub's `X-Hub-Signature-256`, which covers the body alone.
    Github,
}

/// The run that a trigger starts.
#[derive(Clone, Debug)]
pub struct TriggerRun {
    /// The agent; absent for the default agent.
    pub agent: Option<String>,
    /// The prompt.
    pub prompt: String,
    /// The session of a firing.
    pub session: TriggerSession,
    /// The receiver that is notified when a run ends or waits.
    pub notify: Option<NotifyConfig>,
}

/// A receiver of notifications.
#[derive(Clone, Debug)]
pub struct NotifyConfig {
    /// The address.
    pub url: Url,
    secret: WebhookSecret,
    network: NetworkConfig,
}

/// A receiver of notifications, with what is needed to send some.
#[derive(Debug)]
pub struct NotifyTarget {
    /// The address.
    pub url: Url,
    /// The key that signs them.
    pub key: SecretSlice<u8>,
    /// The proxy.
    pub proxy: ProxySetting,
}

impl NotifyConfig {
    /// Reads the key, and the address of the proxy.
    ///
    /// # Errors
    /// One of them is not where it should be, or cannot be used.
    pub async fn open(&self) -> Result<NotifyTarget, ConfigError> {
        Ok(NotifyTarget {
            url: self.url.clone(),
            key: self.secret.read().await?,
            proxy: self.network.open().await?,
        })
    }

    /// Returns the file with the key, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        self.secret.file()
    }
}

/// A key for signatures, which is not read yet.
#[derive(Clone, Debug)]
pub struct WebhookSecret {
    source: ValueSource,
    scheme: SignatureScheme,
}

impl WebhookSecret {
    pub(super) fn parse(
        text: &str,
        key: &str,
        of: String,
        scheme: SignatureScheme,
        scope: Scope<'_>,
    ) -> Result<Self, ConfigError> {
        let purpose = Purpose::new("the key for signatures", "secret", of);
        let source = ValueSource::parse(text, key, purpose, scope)?;
        Ok(Self { source, scheme })
    }

    /// Reads the key.
    ///
    /// # Errors
    /// It is not where it should be, is too short, or has another form.
    pub async fn read(&self) -> Result<SecretSlice<u8>, ConfigError> {
        let text = self.source.read().await?;
        let text = text.expose_secret();
        let key = match self.scheme {
            SignatureScheme::Github if text.len() >= LEAST_BYTES => Ok(text.as_bytes().to_vec()),
            SignatureScheme::Github => Err("it has fewer than 16 characters"),
            SignatureScheme::Standard => {
                let encoded = text.strip_prefix(STANDARD_PREFIX).unwrap_or(text);
                let decoded = STANDARD_NO_PAD.decode(encoded.trim_end_matches('=')).ok();
                decoded
                    .filter(|key| key.len() >= STANDARD_BYTES)
                    .ok_or("it is not `whsec_` and at least 24 bytes in base64")
            }
        };
        let key = key.map_err(|why| self.source.unusable(&why))?;
        Ok(key.into())
    }

    /// Returns the file with the key, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        self.source.file()
    }
}

/// Resolves `notify`; `of` names the trigger in messages.
pub(super) fn notify(
    raw: Option<RawNotify>,
    of: &str,
    scope: Scope<'_>,
) -> Result<Option<NotifyConfig>, ConfigError> {
    let Some(raw) = raw else { return Ok(None) };
    let usable = Url::parse(&raw.url).ok().filter(|url| {
        let is_http = matches!(url.scheme(), "http" | "https");
        is_http && url.has_host() && url.username().is_empty() && url.password().is_none()
    });
    let url = usable.ok_or_else(|| {
        config_error!(
            "notify.url",
            "invalid `url` in `notify` of {of}",
            "write it like `https://hooks.example.com/agent`, without a user name"
        )
        .with_value(&raw.url)
    })?;
    let (key, of) = ("notify.secret", format!("in `notify` of {of}"));
    let scheme = SignatureScheme::Standard;
    Ok(Some(NotifyConfig {
        url,
        secret: WebhookSecret::parse(&raw.secret, key, of, scheme, scope)?,
        network: scope.network.clone(),
    }))
}

/// Checks the prompt of a trigger; `of` names the trigger in messages.
pub(super) fn prompt(text: String, of: &str) -> Result<String, ConfigError> {
    match text.trim().is_empty() {
        false => Ok(text),
        true => Err(config_error!(
            "prompt",
            "the prompt of {of} is empty, so the model would have nothing to do",
            "say what it should do"
        )),
    }
}

/// Checks that the agent of a trigger is configured; `of` names the trigger in messages.
pub(super) fn agent(
    name: Option<String>,
    known: &[&str],
    of: &str,
) -> Result<Option<String>, ConfigError> {
    let unknown = name.as_deref().filter(|name| !known.contains(name));
    let Some(unknown) = unknown else {
        return Ok(name);
    };
    let shown = unknown.escape_debug();
    let fix = super::hints::advice(unknown, known, "the agents are");
    Err(config_error!(
        "agent",
        "{of} is for the agent `{shown}`, but there is no [[agent]] with this name",
        "{fix}"
    )
    .with_value(unknown))
}

/// Refuses more triggers than are used.
pub(super) fn check_count(key: &str, count: usize) -> Result<(), ConfigError> {
    let items = format!("of [[{key}]]");
    lists::check_count(key, &items, count, MAX_TRIGGERS, "combine some of them")
}
