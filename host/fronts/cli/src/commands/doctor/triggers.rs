//! The schedules and webhooks of the configuration: when each fires next, and whether its keys can
//! be read.

use super::Finding;
use agent_host_app::config::{Config, ConfigError, ScheduleConfig, SignatureScheme, WebhookConfig};
use agent_host_engine::session::now_ms;

/// Returns a line for each.
pub(super) async fn findings(config: &Config) -> Vec<(&'static str, Finding)> {
    let mut findings = Vec::new();
    for one in &config.schedules {
        findings.push(("schedule", finding(schedule(one).await)));
    }
    for one in &config.webhooks {
        findings.push(("webhook", finding(webhook(one).await)));
    }
    findings
}

fn finding(checked: Result<String, ConfigError>) -> Finding {
    Finding::of(checked.map_err(Into::into))
}

async fn schedule(schedule: &ScheduleConfig) -> Result<String, ConfigError> {
    if let Some(notify) = &schedule.run.notify {
        notify.open().await?;
    }
    let timetable = &schedule.timetable;
    let next = match timetable.next(now_ms()) {
        Some(next) => format!("next at {}", timetable.show(next)),
        None => "it will not fire again".to_owned(),
    };
    Ok(format!("{}: {timetable}; {next}", schedule.name))
}

async fn webhook(webhook: &WebhookConfig) -> Result<String, ConfigError> {
    webhook.secret.read().await?;
    if let Some(notify) = &webhook.run.notify {
        notify.open().await?;
    }
    let signed = match webhook.signature {
        SignatureScheme::Standard => "in the Standard Webhooks format",
        SignatureScheme::Github => "in GitHub's format",
    };
    let name = &webhook.name;
    Ok(format!("{name}: POST /webhooks/{name}, signed {signed}"))
}
