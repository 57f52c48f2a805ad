//! How far a call is, told to a client that wants to know. What the client does not take in time is left out: the call never waits
//! for it.

#[cfg(test)]
mod tests;

use agent_host_engine::observer::{Live, Observer};
use agent_host_types::event::EventRecord;
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// How many reports may wait to be sent.
const MAX_REPORTS: usize = 16;

/// What a call said: its words, and how much of it is done, where it knows.
type Report = (String, Option<f64>);

/// Watches one call.
#[derive(Debug)]
pub(crate) struct Reports(mpsc::Sender<Report>);

/// An observer of a call, and what it hears. The reports end when nobody has the observer any more.
pub(crate) fn reports() -> (Arc<Reports>, mpsc::Receiver<Report>) {
    let (sender, receiver) = mpsc::channel(MAX_REPORTS);
    (Arc::new(Reports(sender)), receiver)
}

impl Observer for Reports {
    fn recorded(&self, _record: &EventRecord) {}

    fn live(&self, live: Live<'_>) {
        if let Live::CallProgress {
            message, fraction, ..
        } = live
        {
            // A full queue means a client that is slower than the call.
            let _ = self.0.try_send((message.to_owned(), fraction));
        }
    }
}

/// Sends the reports of a call until there are no more.
pub(crate) async fn forward(
    mut reports: mpsc::Receiver<Report>,
    peer: &Peer<RoleServer>,
    token: ProgressToken,
) {
    let mut scale = Scale::default();
    while let Some((message, fraction)) = reports.recv().await {
        let (progress, total) = scale.next(fraction);
        let mut param =
            ProgressNotificationParam::new(token.clone(), progress).with_message(message);
        param.total = total;
        if peer.notify_progress(param).await.is_err() {
            return;
        }
    }
}

/// Makes of any reports what the protocol wants: a number that grows with each. It is the done part of 1 where the call knows that,
/// and else counts the reports.
#[derive(Debug, Default)]
struct Scale {
    last: Option<f64>,
    has_fraction: bool,
}

impl Scale {
    /// The progress and its total.
    fn next(&mut self, fraction: Option<f64>) -> (f64, Option<f64>) {
        let fraction = fraction.filter(|fraction| !fraction.is_nan());
        self.has_fraction |= fraction.is_some();
        let wanted = match (fraction, self.last) {
            (Some(fraction), _) => fraction.clamp(0.0, 1.0),
            (None, Some(last)) if self.has_fraction => last,
            (None, last) => last.map_or(1.0, |last| last.floor() + 1.0),
        };
        let progress = match self.last {
            Some(last) if wanted <= last => last.next_up(),
            Some(_) | None => wanted,
        };
        self.last = Some(progress);
        let total = (self.has_fraction && progress <= 1.0).then_some(1.0);
        (progress, total)
    }
}
