//! The firings of triggers.

use super::{
    database::{Database, Parameters},
    read::{parsed, positive, signed},
};
use crate::{
    firing::{Firing, FiringState, MAX_FIRINGS},
    store::TAKEN_FIRINGS,
};
use agent_host_engine::journal::JournalError;
use tokio_postgres::Row;

const COLUMNS: &str =
    "trigger_name, key, session, at_ms, state, message, due_ms, notified, attempts";

/// The columns of a list, in which messages are left out.
const LISTED: &str =
    "trigger_name, key, session, at_ms, state, NULL::text, due_ms, notified, attempts";

/// The values of a firing beside its trigger and its key.
struct Columns {
    session: String,
    at_ms: i64,
    state: &'static str,
    /// Without NUL, which PostgreSQL's texts cannot have.
    message: Option<String>,
    due_ms: Option<i64>,
    notified: Option<i64>,
    attempts: i64,
}

impl Columns {
    fn of(firing: &Firing) -> Self {
        let message = firing.message.as_deref();
        Self {
            session: firing.session.to_string(),
            at_ms: signed(firing.at_ms),
            state: firing.state.as_str(),
            message: message.map(|text| text.replace('\0', "\u{fffd}")),
            due_ms: firing.due_ms.map(signed),
            notified: firing.notified.map(signed),
            attempts: i64::from(firing.attempts),
        }
    }
}

impl Database {
    pub(super) async fn record_firing(
        &self,
        firing: Firing,
    ) -> Result<Option<Firing>, JournalError> {
        let (trigger, key) = (&firing.trigger, &firing.key);
        let insert = format!(
            "INSERT INTO firings ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT DO NOTHING RETURNING key"
        );
        let to = Columns::of(&firing);
        let values: Parameters<'_> = &[
            trigger,
            key,
            &to.session,
            &to.at_ms,
            &to.state,
            &to.message,
            &to.due_ms,
            &to.notified,
            &to.attempts,
        ];
        if self.change(&insert, values).await?.is_empty() {
            let query =
                format!("SELECT {COLUMNS} FROM firings WHERE trigger_name = $1 AND key = $2");
            let known = self.read(&query, &[trigger, key]).await?;
            return known.first().map(read).transpose();
        }
        let prune = "DELETE FROM firings WHERE trigger_name = $1 AND due_ms IS NULL
            AND state <> 'counted' AND at_ms <=
            (SELECT at_ms FROM firings WHERE trigger_name = $1 ORDER BY at_ms DESC
             LIMIT 1 OFFSET $2)";
        self.change(prune, &[trigger, &i64::from(MAX_FIRINGS)])
            .await?;
        Ok(None)
    }

    pub(super) async fn take_firings(
        &self,
        triggers: &[String],
        now_ms: u64,
        until_ms: u64,
    ) -> Result<Vec<Firing>, JournalError> {
        let take = format!(
            "UPDATE firings SET due_ms = $3 WHERE (trigger_name, key) IN
             (SELECT trigger_name, key FROM firings
              WHERE due_ms <= $1 AND trigger_name = ANY ($2)
              ORDER BY at_ms LIMIT $4 FOR UPDATE SKIP LOCKED)
             RETURNING {COLUMNS}"
        );
        let (now, until) = (signed(now_ms), signed(until_ms));
        let limit = i64::from(TAKEN_FIRINGS);
        let taken = self
            .change(&take, &[&now, &triggers, &until, &limit])
            .await?;
        let taken: Result<Vec<Firing>, JournalError> = taken.iter().map(read).collect();
        let mut taken = taken?;
        taken.sort_by_key(|firing| firing.at_ms);
        Ok(taken)
    }

    pub(super) async fn update_firing(
        &self,
        taken: &Firing,
        to: &Firing,
    ) -> Result<bool, JournalError> {
        let update = "UPDATE firings SET session = $4, state = $5, message = $6, due_ms = $7,
             notified = $8, attempts = $9
             WHERE trigger_name = $1 AND key = $2 AND due_ms IS NOT DISTINCT FROM $3
             RETURNING key";
        let (due_ms, to) = (taken.due_ms.map(signed), Columns::of(to));
        let values: Parameters<'_> = &[
            &taken.trigger,
            &taken.key,
            &due_ms,
            &to.session,
            &to.state,
            &to.message,
            &to.due_ms,
            &to.notified,
            &to.attempts,
        ];
        Ok(!self.change(update, values).await?.is_empty())
    }

    pub(super) async fn firings(
        &self,
        trigger: &str,
        limit: u32,
    ) -> Result<Vec<Firing>, JournalError> {
        let query = format!(
            "SELECT {LISTED} FROM firings WHERE trigger_name = $1
             ORDER BY at_ms DESC, key DESC LIMIT $2"
        );
        let rows = self.read(&query, &[&trigger, &i64::from(limit)]).await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &Row) -> Result<Firing, JournalError> {
    Ok(Firing {
        trigger: row.get(0),
        key: row.get(1),
        session: parsed(row.get(2))?,
        at_ms: positive(row.get(3)),
        state: FiringState::from_stored(row.get(4)),
        message: row.get(5),
        due_ms: row.get::<_, Option<i64>>(6).map(positive),
        notified: row.get::<_, Option<i64>>(7).map(positive),
        attempts: u32::try_from(row.get::<_, i64>(8)).unwrap_or(u32::MAX),
    })
}
