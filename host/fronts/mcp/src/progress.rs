//! Progress notifications. Reports that the client does not read in time are dropped: a call never
//! waits for its client.

#[cfg(test)]
mod tests;

use agent_host_engine::{
    observer::{Live, Observer},
    text::escape_line,
};
use agent_host_types::{event::EventRecord, id::CallId};
use rmcp::{
    RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::Peer,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Reports that may wait to be sent.
const MAX_REPORTS: usize = 16;

/// A tool's message, and the done part of 1 if the tool knows it.
type ToolProgress = (String, Option<f64>);

/// An observer of one call that queues its progress reports.
#[derive(Clone, Debug)]
pub(crate) struct ProgressReports(mpsc::Sender<ToolProgress>);

/// The same of an agent that the call started: its calls are the progress, too.
struct AgentReports {
    reports: ProgressReports,
    agent: String,
}

/// Returns an observer of a call and its reports, which end when the observer is dropped.
pub(crate) fn reports() -> (ProgressReports, mpsc::Receiver<ToolProgress>) {
    let (sender, receiver) = mpsc::channel(MAX_REPORTS);
    (ProgressReports(sender), receiver)
}

impl ProgressReports {
    fn report(&self, message: &str, fraction: Option<f64>) {
        // A full queue means that the client is slower than the call.
        let _ = self.0.try_send((escape_line(message), fraction));
    }

    fn of_agent(&self, agent: String) -> Option<Box<dyn Observer>> {
        let reports = self.clone();
        Some(Box::new(AgentReports { reports, agent }))
    }
}

impl Observer for ProgressReports {
    fn recorded(&self, _record: &Arc<EventRecord>) {}

    fn live(&self, live: Live<'_>) {
        if let Live::CallProgress {
            message, fraction, ..
        } = live
        {
            self.report(message, fraction);
        }
    }

    fn child<'a>(&'a self, _: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        self.of_agent(agent.to_owned())
    }
}

impl Observer for AgentReports {
    fn recorded(&self, _record: &Arc<EventRecord>) {}

    fn live(&self, live: Live<'_>) {
        let message = match live {
            Live::CallStarted { tool, .. } => tool,
            Live::CallProgress { message, .. } => message,
            _ => return,
        };
        self.reports
            .report(&format!("{}: {message}", self.agent), None);
    }

    fn child<'a>(&'a self, _: &'a CallId, agent: &'a str) -> Option<Box<dyn Observer + 'a>> {
        self.reports.of_agent(format!("{}, {agent}", self.agent))
    }
}

/// Sends the reports of a call until they end.
pub(crate) async fn forward(
    mut reports: mpsc::Receiver<ToolProgress>,
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

/// Turns any reports into a number that grows with each, as the protocol demands: the done part of
/// 1 if the tool reports it, otherwise the number of reports.
#[derive(Debug, Default)]
struct Scale {
    last: Option<f64>,
    has_fraction: bool,
}

impl Scale {
    /// Returns the progress and its total.
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
