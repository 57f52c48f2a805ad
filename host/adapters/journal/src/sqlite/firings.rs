//! The firings of triggers.

use super::{
    database::Database,
    read::{non_negative, signed},
};
use crate::{
    error::StoreError,
    firing::{Firing, FiringState, MAX_FIRINGS},
    signature::RowKey,
    store::TAKEN_FIRINGS,
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

const COLUMNS: &str =
    "trigger_name, key, session, at_ms, state, message, due_ms, notified, attempts, signature";

/// The columns of a list, in which messages are left out.
const LISTED: &str =
    "trigger_name, key, session, at_ms, state, NULL, due_ms, notified, attempts, signature";

/// A firing as it is stored, with its signature.
type FiringRow = (Firing, Option<Vec<u8>>);

/// Reads all firings.
pub(super) fn all(db: &Connection) -> Result<Vec<FiringRow>, rusqlite::Error> {
    let query = format!("SELECT {COLUMNS} FROM firings ORDER BY trigger_name, key");
    let mut query = db.prepare(&query)?;
    query.query_map([], read)?.collect()
}

/// Signs a firing as it is.
pub(super) fn set_signature(
    tx: &Transaction<'_>,
    firing: &Firing,
    key: &RowKey,
) -> Result<(), rusqlite::Error> {
    let sign = "UPDATE firings SET signature = ?3 WHERE trigger_name = ?1 AND key = ?2";
    tx.execute(
        sign,
        params![firing.trigger, firing.key, key.sign_firing(firing)],
    )
    .map(drop)
}

impl Database {
    pub(crate) fn record_firing(&self, firing: &Firing) -> Result<Option<Firing>, JournalError> {
        self.change_firings(|tx| {
            let (trigger, key) = (&firing.trigger, &firing.key);
            let query =
                format!("SELECT {COLUMNS} FROM firings WHERE trigger_name = ?1 AND key = ?2");
            let known = tx.query_row(&query, [trigger, key], read).optional()?;
            if let Some((known, signature)) = known {
                if self.rows_key().is_firing(&known, true, signature.as_deref()) {
                    return Ok(Some(known));
                }
                tracing::warn!("replaced by a new firing: {}", known.unsigned(None));
                let delete = "DELETE FROM firings WHERE trigger_name = ?1 AND key = ?2";
                tx.execute(delete, [trigger, key])?;
            }
            tx.execute(
                "DELETE FROM firings WHERE trigger_name = ?1 AND due_ms IS NULL
                 AND state <> 'counted' AND at_ms <=
                 (SELECT at_ms FROM firings WHERE trigger_name = ?1 ORDER BY at_ms DESC
                  LIMIT 1 OFFSET ?2)",
                params![trigger, MAX_FIRINGS - 1],
            )?;
            tx.execute(
                &format!(
                    "INSERT INTO firings ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
                ),
                params![
                    trigger,
                    key,
                    firing.session.to_string(),
                    signed(firing.at_ms),
                    firing.state.as_str(),
                    firing.message,
                    firing.due_ms.map(signed),
                    firing.notified.map(signed),
                    firing.attempts,
                    self.rows_key().sign_firing(firing),
                ],
            )?;
            Ok(None)
        })
    }

    pub(crate) fn take_firings(
        &self,
        triggers: &[String],
        now_ms: u64,
        until_ms: u64,
    ) -> Result<Vec<Firing>, JournalError> {
        let due = |db: &Connection| {
            // The list is one parameter, of JSON.
            let query = format!(
                "SELECT {COLUMNS} FROM firings
                 WHERE due_ms <= ?1 AND trigger_name IN (SELECT value FROM json_each(?2))
                 ORDER BY at_ms LIMIT ?3"
            );
            let triggers = serde_json::to_string(triggers).unwrap_or_default();
            let mut query = db.prepare_cached(&query)?;
            let due = query.query_map(params![signed(now_ms), triggers, TAKEN_FIRINGS], read)?;
            due.collect::<Result<Vec<FiringRow>, _>>()
        };
        // Most of the time there is none, and nothing is locked.
        let failed = StoreError::sqlite(self.location(), "read the firings");
        if self.reader().query(due).map_err(failed)?.is_empty() {
            return Ok(Vec::new());
        }
        self.change_firings(|tx| {
            loop {
                let due = due(tx)?;
                if due.is_empty() {
                    return Ok(Vec::new());
                }
                let mut taken = Vec::with_capacity(due.len());
                for (mut firing, signature) in due {
                    let is_valid = self
                        .rows_key()
                        .is_firing(&firing, true, signature.as_deref());
                    let until = is_valid.then_some(until_ms);
                    let due = "UPDATE firings SET due_ms = ?3 WHERE trigger_name = ?1 AND key = ?2";
                    tx.execute(due, params![firing.trigger, firing.key, until.map(signed)])?;
                    firing.due_ms = until;
                    if is_valid {
                        set_signature(tx, &firing, self.rows_key())?;
                        taken.push(firing);
                    } else {
                        // It stays, and is due no more, so that it holds up no other.
                        tracing::warn!("not started: {}", firing.unsigned(None));
                    }
                }
                if !taken.is_empty() {
                    return Ok(taken);
                }
            }
        })
    }

    pub(crate) fn update_firing(&self, taken: &Firing, to: &Firing) -> Result<bool, JournalError> {
        let signature = self.rows_key().sign_firing(&Firing {
            trigger: taken.trigger.clone(),
            key: taken.key.clone(),
            at_ms: taken.at_ms,
            ..to.clone()
        });
        self.change_firings(|tx| {
            let changed = tx.execute(
                "UPDATE firings SET session = ?4, state = ?5, message = ?6, due_ms = ?7,
                 notified = ?8, attempts = ?9, signature = ?10
                 WHERE trigger_name = ?1 AND key = ?2 AND due_ms IS ?3",
                params![
                    taken.trigger,
                    taken.key,
                    taken.due_ms.map(signed),
                    to.session.to_string(),
                    to.state.as_str(),
                    to.message,
                    to.due_ms.map(signed),
                    to.notified.map(signed),
                    to.attempts,
                    signature,
                ],
            )?;
            Ok(changed > 0)
        })
    }

    pub(crate) fn firings(&self, trigger: &str, limit: u32) -> Result<Vec<Firing>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "read the firings");
        let firings = self.reader().query(|db| {
            let query = format!(
                "SELECT {LISTED} FROM firings WHERE trigger_name = ?1
                 ORDER BY at_ms DESC, key DESC"
            );
            let mut query = db.prepare_cached(&query)?;
            let firings = query.query_map(params![trigger], read)?;
            let is_valid = |stored: &Result<FiringRow, _>| {
                stored.as_ref().map_or(true, |(firing, signature)| {
                    self.rows_key()
                        .is_firing(firing, false, signature.as_deref())
                })
            };
            let valid = firings.filter(is_valid).take(limit as usize);
            let valid = valid.map(|stored| Ok(stored?.0));
            valid.collect::<Result<Vec<Firing>, rusqlite::Error>>()
        });
        Ok(firings.map_err(failed)?)
    }

    fn change_firings<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<T, JournalError> {
        let failed = StoreError::sqlite(self.location(), "write the firings");
        let mut db = self.connect_writer()?;
        let tx = db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let changed = change(&tx).map_err(failed)?;
        tx.commit().map_err(failed)?;
        Ok(changed)
    }
}

fn read(row: &Row<'_>) -> Result<FiringRow, rusqlite::Error> {
    let session: String = row.get(2)?;
    let firing = Firing {
        trigger: row.get(0)?,
        key: row.get(1)?,
        // No signature is that of a new id.
        session: session.parse().unwrap_or_else(|_| SessionId::new()),
        at_ms: non_negative(row.get(3)?),
        state: FiringState::from_stored(&row.get::<_, String>(4)?),
        message: row.get(5)?,
        due_ms: row.get::<_, Option<i64>>(6)?.map(non_negative),
        notified: row.get::<_, Option<i64>>(7)?.map(non_negative),
        attempts: u32::try_from(row.get::<_, i64>(8)?).unwrap_or(u32::MAX),
    };
    Ok((firing, row.get(9)?))
}
