//! The list of schedules: when each fires next, and what became of its last firing.

use super::schedule::Schedule;
use crate::{Service, access::Caller, problem::Problem};
use agent_host_engine::session::now_ms;
use agent_host_journal::{FiringState, SessionScope};
use agent_host_types::id::SessionId;
use axum::{Json, extract::State};
use schemars::JsonSchema;
use serde::Serialize;

/// The number of next instants.
const NEXT: usize = 3;

/// The number of the newest firings among which the last one is looked for.
const READ: u32 = 8;

/// The schedules.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduleList {
    /// The schedules, in the order of the configuration.
    schedules: Vec<ScheduleRow>,
}

/// A schedule.
#[derive(Debug, Serialize, JsonSchema)]
struct ScheduleRow {
    /// The name.
    name: String,
    /// Its times, with their zone: `0 9 * * MON-FRI (Europe/Berlin)`.
    times: String,
    /// The agent; absent for that of the file's top level.
    agent: Option<String>,
    /// The next times, at most 3, in milliseconds since 1970 (UTC).
    next_ms: Vec<u64>,
    /// The last firing; absent before the first one, and for a token that does not see its session.
    last: Option<LastFiring>,
}

/// The last firing of a schedule.
#[derive(Debug, Serialize, JsonSchema)]
struct LastFiring {
    /// Its time, in milliseconds since 1970 (UTC).
    at_ms: u64,
    /// Its state.
    state: FiringState,
    /// The session that it started or continued.
    session: SessionId,
}

/// Lists the schedules.
pub(crate) async fn list(
    State(service): State<Service>,
    caller: Caller,
) -> Result<Json<ScheduleList>, Problem> {
    let (mut schedules, scope) = (Vec::new(), service.scope(&caller));
    for schedule in &service.triggers.schedules {
        schedules.push(row(&service, schedule, &scope).await?);
    }
    Ok(Json(ScheduleList { schedules }))
}

async fn row(
    service: &Service,
    schedule: &Schedule,
    scope: &SessionScope,
) -> Result<ScheduleRow, Problem> {
    let store = service.store();
    let newest = store.firings(schedule.trigger.id.clone(), READ).await?;
    let mut newest = newest.into_iter();
    let mut last = newest.find(|firing| firing.state != FiringState::Counted);
    // Its session may not exist yet, which hides nothing from those who see the whole project.
    if let (Some(_), Some(firing)) = (scope.owner(), &last)
        && !store.is_within(firing.session, scope.clone()).await?
    {
        last = None;
    }
    let timetable = &schedule.config.timetable;
    let next = |after: &u64| timetable.next(*after);
    Ok(ScheduleRow {
        name: schedule.config.name.clone(),
        times: timetable.to_string(),
        agent: schedule.config.run.agent.clone(),
        next_ms: std::iter::successors(timetable.next(now_ms()), next)
            .take(NEXT)
            .collect(),
        last: last.map(|firing| LastFiring {
            at_ms: firing.at_ms,
            state: firing.state,
            session: firing.session,
        }),
    })
}
