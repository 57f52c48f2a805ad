//! The loop that fires schedules, and works on what is due.

use super::{firing, schedule::Schedule};
use crate::Service;
use agent_host_engine::session::now_ms;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The longest pause between two looks: the clock may have jumped meanwhile, and another host
/// ended.
const PAUSE: Duration = Duration::from_secs(5);

/// Fires schedules and works on firings until `shutdown` is cancelled.
pub(crate) async fn run(service: Service, shutdown: CancellationToken) {
    if service.triggers.is_empty() {
        return;
    }
    loop {
        let now_ms = now_ms();
        for schedule in &service.triggers.schedules {
            fire(&service, schedule, now_ms).await;
        }
        work_on_due(&service, now_ms).await;
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = service.triggers.wake.notified() => {}
            () = sleep(pause(&service)) => {}
        }
    }
}

/// Fires a schedule if one of its instants has come.
async fn fire(service: &Service, schedule: &Schedule, now_ms: u64) {
    match schedule.fire(service, now_ms).await {
        Ok(None) => {}
        Ok(Some(fired)) => {
            let (service, trigger) = (service.clone(), Arc::clone(&schedule.trigger));
            tokio::spawn(async move { firing::work(&service, &trigger, fired).await });
        }
        Err(error) => {
            let by = &schedule.trigger.by;
            tracing::error!(by, "its times will be checked again in 5 s: {error}");
        }
    }
}

/// Takes over the firings that are due, and works on them.
async fn work_on_due(service: &Service, now_ms: u64) {
    let triggers = &service.triggers;
    let until_ms = now_ms.saturating_add(firing::LEASE_MS);
    let store = service.store();
    let taken = match store.take_firings(triggers.ids(), now_ms, until_ms).await {
        Ok(taken) => taken,
        Err(error) => {
            tracing::error!("due firings will be checked again in 5 s: {error}");
            return;
        }
    };
    for one in taken {
        if let Some(trigger) = triggers.of_id(&one.trigger) {
            let (service, trigger) = (service.clone(), Arc::clone(trigger));
            tokio::spawn(async move { firing::work(&service, &trigger, one).await });
        }
    }
}

/// Returns the time until the next instant of a schedule, at most [`PAUSE`].
fn pause(service: &Service) -> Duration {
    let now_ms = now_ms();
    let schedules = service.triggers.schedules.iter();
    let next = schedules.filter_map(|schedule| schedule.config.timetable.next(now_ms));
    let next = next.min().unwrap_or(u64::MAX);
    PAUSE.min(Duration::from_millis(next.saturating_sub(now_ms)))
}
