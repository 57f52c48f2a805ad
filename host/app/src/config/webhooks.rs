//! Webhooks: `[[webhook]]`.

use super::{
    ConfigError,
    lists::{check_name, check_unique},
    paths::Scope,
    problem::{resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    section::{Section as _, section},
    triggers::{self, RawNotify, SignatureScheme, TriggerRun, TriggerSession, WebhookSecret},
};
use std::{collections::HashSet, num::NonZeroU32, path::Path};

/// The longest body of a delivery, in bytes, by default: 1 MiB.
const DEFAULT_BODY_BYTES: usize = 1024 * 1024;

/// The longest that can be configured: 16 MiB.
const MAX_BODY_BYTES: u64 = 16 * 1024 * 1024;

/// The deliveries of a minute that are taken, by default.
const DEFAULT_PER_MINUTE: u32 = 60;

section! {
    /// `[[webhook]]`.
    #[derive(Eq)]
    pub(super) struct RawWebhook {
        /// The name, in its address `/webhooks/NAME`, in records and in messages.
        name: String => together;
        /// The source of the key that signs deliveries, as in `api-key`.
        secret [Source]: String => together;
        /// The format of the signatures.
        #[serde(default)]
        signature: SignatureScheme => pinned;
        /// The agent; absent for the default agent.
        agent: Option<String> => pinned;
        /// The prompt, followed by the body as data from outside.
        prompt: String => together;
        /// The session of a delivery.
        #[serde(default)]
        session: TriggerSession => pinned;
        /// The maximum size of a body [default: 1 MiB].
        max_body_bytes: Option<usize>, in bytes, within(0, MAX_BODY_BYTES) => pinned;
        /// The maximum number of deliveries per minute [default: 60].
        max_per_minute: Option<NonZeroU32> => pinned;
        /// The receiver that is notified when a run ends or waits.
        notify: Option<RawNotify> => by(triggers::demand);
    }
}

/// Demands a webhook, which runs an agent without the user.
pub(super) fn demand(raw: &RawWebhook, _: &str, review: &mut Review<'_>) {
    let who = format!("the webhook {}", quoted(&raw.name));
    let (secret, prompt) = (quoted(&raw.secret), quoted(&raw.prompt));
    review.demand(
        Danger::reading(&raw.secret, Danger::Network),
        format!("lets senders with the key from {secret} run {who}: {prompt}"),
    );
    raw.demand_keys(&who, review);
}

/// A webhook.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    /// The name, in its address, in records and in messages.
    pub name: String,
    /// The key that signs deliveries.
    pub secret: WebhookSecret,
    /// The format of the signatures.
    pub signature: SignatureScheme,
    /// The run that it starts.
    pub run: TriggerRun,
    /// The longest body, in bytes.
    pub max_body_bytes: usize,
    /// The deliveries of a minute that are taken.
    pub max_per_minute: NonZeroU32,
}

impl WebhookConfig {
    /// Returns the file with the key, which no guest may see.
    pub(super) fn file(&self) -> Option<&Path> {
        self.secret.file()
    }
}

/// Resolves the webhooks, in the order of the file. `agents` are the names of those that there are.
///
/// # Errors
/// The webhooks that cannot be used as they are configured.
pub(super) fn resolve(
    raw: Vec<RawWebhook>,
    agents: &[&str],
    scope: Scope<'_>,
) -> Result<Vec<WebhookConfig>, ConfigError> {
    triggers::check_count("webhook", raw.len())?;
    let mut names = HashSet::new();
    resolve_all("webhook", raw, |raw| {
        let (name, scheme) = (raw.name, raw.signature);
        check_name(&name, "the webhook name `", "`", "[[webhook]]")?;
        check_unique(&mut names, &name, "webhooks", "their senders")?;
        let of = format!("the webhook `{name}`");
        resolve_steps! {
            secret = WebhookSecret::parse(&raw.secret, "secret", format!("of {of}"), scheme, scope);
            agent = triggers::agent(raw.agent, agents, &of);
            prompt = triggers::prompt(raw.prompt, &of);
            notify = triggers::notify(raw.notify, &of, scope);
        }
        let default = NonZeroU32::new(DEFAULT_PER_MINUTE).unwrap_or(NonZeroU32::MIN);
        Ok(WebhookConfig {
            name,
            secret,
            signature: scheme,
            run: TriggerRun {
                agent,
                prompt,
                session: raw.session,
                notify,
            },
            max_body_bytes: raw.max_body_bytes.unwrap_or(DEFAULT_BODY_BYTES),
            max_per_minute: raw.max_per_minute.unwrap_or(default),
        })
    })
}
