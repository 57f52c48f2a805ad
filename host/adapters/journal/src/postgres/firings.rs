//! The firings of triggers.

use super::{
    database::{Database, Parameters},
    read::{positive, signed},
};
use crate::{
    firing::{Firing, FiringState, MAX_FIRINGS},
    signature::RowKey,
    store::TAKEN_FIRINGS,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use tokio_postgres::{Row, types::ToSql};

pub(super) const COLUMNS: &str =
    "trigger_name, key, session, at_ms, state, message, due_ms, notified, attempts, signature";

/// The columns of a list, in which messages are left out.
const LISTED: &str =
    "trigger_name, key, session, at_ms, state, NULL::text, due_ms, notified, attempts, signature";

/// A firing as it is stored, with its signature.
pub(super) type StoredFiring = (Firing, Option<Vec<u8>>);

/// Replaces a firing that has this key and this signature.
const REPLACE: &str = "UPDATE firings SET session = $3, at_ms = $4, state = $5, message = $6,
        due_ms = $7, notified = $8, attempts = $9, signature = $10
    WHERE trigger_name = $1 AND key = $2 AND signature IS NOT DISTINCT FROM $11 RETURNING key";

/// Sets when firings are due, with their signatures.
const POSTPONE: &str = "UPDATE firings SET due_ms = v.due_ms, signature = v.signature
    FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[])
        AS v (trigger_name, key, due_ms, signature)
    WHERE firings.trigger_name = v.trigger_name AND firings.key = v.key";

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
    signature: Vec<u8>,
}

impl Columns {
    fn new(firing: &Firing, key: &RowKey) -> Self {
        let message = firing.message.as_deref();
        let message = message.map(|text| text.replace('\0', "\u{fffd}"));
        let signature = key.sign_firing(&Firing {
            message: message.clone(),
            ..firing.clone()
        });
        Self {
            session: firing.session.to_string(),
            at_ms: signed(firing.at_ms),
            state: firing.state.as_str(),
            message,
            due_ms: firing.due_ms.map(signed),
            notified: firing.notified.map(signed),
            attempts: i64::from(firing.attempts),
            signature,
        }
    }
}

impl Database {
    pub(super) async fn record_firing(
        &self,
        firing: Firing,
    ) -> Result<Option<Firing>, JournalError> {
        let (trigger, key, rows_key) = (&firing.trigger, &firing.key, self.rows_key()?);
        let insert = format!(
            "INSERT INTO firings ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
             ON CONFLICT DO NOTHING RETURNING key"
        );
        let to = Columns::new(&firing, rows_key);
        let values: [&(dyn ToSql + Sync); 10] = [
            trigger,
            key,
            &to.session,
            &to.at_ms,
            &to.state,
            &to.message,
            &to.due_ms,
            &to.notified,
            &to.attempts,
            &to.signature,
        ];
        while self.change(&insert, &values).await?.is_empty() {
            let query =
                format!("SELECT {COLUMNS} FROM firings WHERE trigger_name = $1 AND key = $2");
            let known = self.read(&query, &[trigger, key]).await?;
            let Some((known, signature)) = known.first().map(read) else {
                // It was removed meanwhile.
                continue;
            };
            if rows_key.is_firing(&known, true, signature.as_deref()) {
                return Ok(Some(known));
            }
            tracing::warn!("replaced by a new firing: {}", known.unsigned(None));
            let mut replaced = values.to_vec();
            replaced.push(&signature);
            if !self.change(REPLACE, &replaced).await?.is_empty() {
                break;
            }
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
        let (now, limit) = (signed(now_ms), i64::from(TAKEN_FIRINGS));
        // Most of the time there is none, and nothing is locked.
        let any = "SELECT 1 FROM firings WHERE due_ms <= $1 AND trigger_name = ANY ($2) LIMIT 1";
        if self.read(any, &[&now, &triggers]).await?.is_empty() {
            return Ok(Vec::new());
        }
        let due = format!(
            "SELECT {COLUMNS} FROM firings WHERE due_ms <= $1 AND trigger_name = ANY ($2)
             ORDER BY at_ms LIMIT $3 FOR UPDATE SKIP LOCKED"
        );
        let failed = self.failed("take over the firings");
        let mut client = self.client().await?;
        loop {
            let tx = client.transaction().await.map_err(failed)?;
            let due = tx.query(&due, &[&now, &triggers, &limit]).await;
            let due = due.map_err(failed)?;
            let taken = self.postponed(&due, until_ms)?;
            let (names, keys, times, signatures) = columns(&taken);
            let values: Parameters<'_> = &[&names, &keys, &times, &signatures];
            tx.execute(POSTPONE, values).await.map_err(failed)?;
            tx.commit().await.map_err(failed)?;
            let valid = taken.into_iter().map(|(firing, _)| firing);
            let valid: Vec<Firing> = valid.filter(|firing| firing.due_ms.is_some()).collect();
            // Those without a valid signature are due no more, and hold up no other.
            if due.is_empty() || !valid.is_empty() {
                return Ok(valid);
            }
        }
    }

    /// Returns firings as they are due next: without a valid signature never.
    fn postponed(&self, due: &[Row], until_ms: u64) -> Result<Vec<StoredFiring>, JournalError> {
        let rows_key = self.rows_key()?;
        let postponed = due.iter().map(read).map(|(mut firing, signature)| {
            let is_valid = rows_key.is_firing(&firing, true, signature.as_deref());
            firing.due_ms = is_valid.then_some(until_ms);
            if !is_valid {
                tracing::warn!("not started: {}", firing.unsigned(None));
                return (firing, signature);
            }
            let signature = rows_key.sign_firing(&firing);
            (firing, Some(signature))
        });
        Ok(postponed.collect())
    }

    pub(super) async fn update_firing(
        &self,
        taken: &Firing,
        to: &Firing,
    ) -> Result<bool, JournalError> {
        let update = "UPDATE firings SET session = $4, state = $5, message = $6, due_ms = $7,
             notified = $8, attempts = $9, signature = $10
             WHERE trigger_name = $1 AND key = $2 AND due_ms IS NOT DISTINCT FROM $3
             RETURNING key";
        let to = Firing {
            trigger: taken.trigger.clone(),
            key: taken.key.clone(),
            at_ms: taken.at_ms,
            ..to.clone()
        };
        let to = Columns::new(&to, self.rows_key()?);
        let due_ms = taken.due_ms.map(signed);
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
            &to.signature,
        ];
        Ok(!self.change(update, values).await?.is_empty())
    }

    pub(super) async fn firings(
        &self,
        trigger: &str,
        limit: u32,
    ) -> Result<Vec<Firing>, JournalError> {
        let rows_key = self.rows_key()?;
        let query = format!(
            "SELECT {LISTED} FROM firings WHERE trigger_name = $1
             ORDER BY at_ms DESC, key DESC LIMIT $2 OFFSET $3"
        );
        let (mut found, mut offset) = (Vec::new(), 0_i64);
        loop {
            let page = i64::from(limit);
            let rows = self.read(&query, &[&trigger, &page, &offset]).await?;
            let valid = rows.iter().map(read).filter(|(firing, signature)| {
                rows_key.is_firing(firing, false, signature.as_deref())
            });
            found.extend(valid.map(|(firing, _)| firing));
            found.truncate(limit as usize);
            offset = offset.saturating_add(page);
            if found.len() == limit as usize || (rows.len() as u64) < u64::from(limit) {
                return Ok(found);
            }
        }
    }
}

/// The columns of firings that [`POSTPONE`] takes.
type PostponeColumns<'a> = (
    Vec<&'a str>,
    Vec<&'a str>,
    Vec<Option<i64>>,
    Vec<Option<&'a [u8]>>,
);

fn columns(firings: &[StoredFiring]) -> PostponeColumns<'_> {
    let (mut names, mut keys, mut times, mut signatures) = PostponeColumns::default();
    for (firing, signature) in firings {
        names.push(firing.trigger.as_str());
        keys.push(firing.key.as_str());
        times.push(firing.due_ms.map(signed));
        signatures.push(signature.as_deref());
    }
    (names, keys, times, signatures)
}

/// Reads [`COLUMNS`] or [`LISTED`].
pub(super) fn read(row: &Row) -> StoredFiring {
    let session: &str = row.get(2);
    let firing = Firing {
        trigger: row.get(0),
        key: row.get(1),
        // No signature is that of a new id.
        session: session.parse().unwrap_or_else(|_| SessionId::new()),
        at_ms: positive(row.get(3)),
        state: FiringState::from_stored(row.get(4)),
        message: row.get(5),
        due_ms: row.get::<_, Option<i64>>(6).map(positive),
        notified: row.get::<_, Option<i64>>(7).map(positive),
        attempts: u32::try_from(row.get::<_, i64>(8)).unwrap_or(u32::MAX),
    };
    (firing, row.get(9))
}
