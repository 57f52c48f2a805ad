//! Schedules: `[[schedule]]`.

use super::{
    ConfigError,
    lists::{check_name, check_unique},
    paths::Scope,
    problem::{config_error, resolve_all, resolve_steps},
    review::{Danger, Review, quoted},
    section::{Section as _, section, values},
    triggers::{self, RawNotify, TriggerRun, TriggerSession},
};
use crate::timetable::Timetable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The zone of a schedule without one.
const DEFAULT_ZONE: &str = "UTC";

/// The age up to which a missed firing is made up, in seconds, by default: 1 h.
const DEFAULT_CATCH_UP: u64 = 60 * 60;

/// The greatest one: 24 h. A store keeps the firings of more than that.
const MAX_CATCH_UP: u64 = 24 * 60 * 60;

section! {
    /// `[[schedule]]`.
    #[derive(Eq)]
    pub(super) struct RawSchedule {
        /// The name, in records and in messages.
        name: String => together;
        /// The times, as a cron expression: minute, hour, day of the month, month, day of the week.
        cron: Option<String> => together;
        /// The only time, such as `2026-12-01T09:00`.
        at: Option<String> => together;
        /// The time zone, by its IANA name [default: UTC].
        zone: Option<String> => together;
        /// The agent; absent for the default agent.
        agent: Option<String> => pinned;
        /// The prompt.
        prompt: String => together;
        /// The session of a firing.
        #[serde(default)]
        session: TriggerSession => pinned;
        /// The handling of a firing while the previous one is running.
        #[serde(default)]
        overlap: Overlap => pinned;
        /// The age up to which the latest missed firing is caught up [default: 1 h].
        catch_up_seconds: Option<u64>, in seconds, within(0, MAX_CATCH_UP) => pinned;
        /// The receiver that is notified when a run ends or waits.
        notify: Option<RawNotify> => by(triggers::demand);
    }
}

values!(Overlap);

/// Demands a schedule, which runs an agent without the user.
pub(super) fn demand(raw: &RawSchedule, _: &str, review: &mut Review<'_>) {
    let who = format!("the schedule {}", quoted(&raw.name));
    let times = [&raw.cron, &raw.at, &raw.zone].into_iter().flatten();
    let times: Vec<String> = times.map(|time| quoted(time)).collect();
    let (times, prompt) = (times.join(" "), quoted(&raw.prompt));
    let text = format!("runs {who} automatically at {times}: {prompt}");
    review.demand(Danger::Unchecked, text);
    raw.demand_keys(&who, review);
}

/// The handling of a firing while the previous one is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overlap {
    /// It is left out.
    #[default]
    Skip,
    /// It waits, unless another one waits already.
    Queue,
}

/// A schedule.
#[derive(Clone, Debug)]
pub struct ScheduleConfig {
    /// The name, in records and in messages.
    pub name: String,
    /// Its instants.
    pub timetable: Timetable,
    /// The run that it starts.
    pub run: TriggerRun,
    /// The handling of a firing while the previous one is running.
    pub overlap: Overlap,
    /// The age up to which the latest missed firing is made up, in milliseconds.
    pub catch_up_ms: u64,
}

/// Resolves the schedules, in the order of the file. `agents` are the names of those that there
/// are.
///
/// # Errors
/// The schedules that cannot be used as they are configured.
pub(super) fn resolve(
    raw: Vec<RawSchedule>,
    agents: &[&str],
    scope: Scope<'_>,
) -> Result<Vec<ScheduleConfig>, ConfigError> {
    triggers::check_count("schedule", raw.len())?;
    let mut names = HashSet::new();
    resolve_all("schedule", raw, |raw| {
        let name = raw.name;
        check_name(&name, "the schedule name `", "`", "[[schedule]]")?;
        check_unique(&mut names, &name, "schedules", "the journal")?;
        let of = format!("the schedule `{name}`");
        resolve_steps! {
            timetable = timetable(&of, raw.cron, raw.at, raw.zone.as_deref());
            agent = triggers::agent(raw.agent, agents, &of);
            prompt = triggers::prompt(raw.prompt, &of);
            notify = triggers::notify(raw.notify, &of, scope);
        }
        Ok(ScheduleConfig {
            name,
            timetable,
            run: TriggerRun {
                agent,
                prompt,
                session: raw.session,
                notify,
            },
            overlap: raw.overlap,
            catch_up_ms: raw
                .catch_up_seconds
                .unwrap_or(DEFAULT_CATCH_UP)
                .saturating_mul(1000),
        })
    })
}

fn timetable(
    of: &str,
    cron: Option<String>,
    at: Option<String>,
    zone: Option<&str>,
) -> Result<Timetable, ConfigError> {
    let zone = zone.unwrap_or(DEFAULT_ZONE);
    let (key, text, timetable) = match (cron, at) {
        (Some(text), None) => ("cron", text.clone(), Timetable::cron(&text, zone)),
        (None, Some(text)) => ("at", text.clone(), Timetable::once(&text, zone)),
        (Some(_), Some(_)) | (None, None) => {
            return Err(config_error!(
                "",
                "{of} needs exactly one of `cron` and `at`",
                "write `cron = \"0 9 * * MON-FRI\"`, or `at = \"2026-12-01T09:00\"`"
            ));
        }
    };
    timetable.map_err(|why| {
        let shown = text.escape_debug();
        config_error!(
            key,
            "invalid `{key} = \"{shown}\"` of {of}: {why}",
            "write `cron = \"0 9 * * MON-FRI\"`, or `at = \"2026-12-01T09:00\"`, with `zone = \"Europe/Berlin\"`"
        )
        .with_value(&text)
    })
}
