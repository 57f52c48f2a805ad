//! The demands of `[[schedule]]` and `[[webhook]]`: each runs an agent without the user.

use super::{Danger, Review, quoted};
use crate::config::{schedules::RawSchedule, triggers::RawNotify, webhooks::RawWebhook};

impl Review<'_> {
    /// Demands a schedule.
    pub(super) fn schedule(&mut self, raw: &RawSchedule) {
        let RawSchedule {
            name,
            cron,
            at,
            zone,
            agent: _,
            prompt,
            // They decide when it runs less.
            session: _,
            overlap: _,
            catch_up_seconds: _,
            notify,
        } = raw;
        let who = format!("the schedule {}", quoted(name));
        let times = [cron, at, zone].into_iter().flatten();
        let times: Vec<String> = times.map(|time| quoted(time)).collect();
        let (times, prompt) = (times.join(" "), quoted(prompt));
        self.demand(
            Danger::Unchecked,
            format!("runs {who} at {times} by itself: {prompt}"),
        );
        self.notify(&who, notify.as_ref());
    }

    /// Demands a webhook.
    pub(super) fn webhook(&mut self, raw: &RawWebhook) {
        let RawWebhook {
            name,
            secret,
            signature: _,
            agent: _,
            prompt,
            session: _,
            max_body_bytes: _,
            max_per_minute: _,
            notify,
        } = raw;
        let who = format!("the webhook {}", quoted(name));
        let danger = Danger::reading(secret, Danger::Network);
        let (secret, prompt) = (quoted(secret), quoted(prompt));
        self.demand(
            danger,
            format!("lets senders with the key from {secret} run {who}: {prompt}"),
        );
        self.notify(&who, notify.as_ref());
    }

    fn notify(&mut self, who: &str, raw: Option<&RawNotify>) {
        let Some(RawNotify { url, secret }) = raw else {
            return;
        };
        let danger = Danger::reading(secret, Danger::Network);
        let (url, secret) = (quoted(url), quoted(secret));
        self.demand(
            danger,
            format!("sends the answers of {who} to {url}, signed with the key from {secret}"),
        );
    }
}
