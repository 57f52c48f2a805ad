//! The signatures of all rows of a state directory: made once when the file gets them, and checked
//! for `agent-host store check`.

use super::{
    approvals, database::Database, firings, links, memory_items, owners, read::ENDS, tallies,
};
use crate::{
    error::StoreError,
    link::unsigned,
    signature::{RowKey, SessionEnd, SignedTable, UnsignedRow},
    stored_approval::StoredApproval,
};
use agent_host_engine::journal::JournalError;
use rusqlite::{Connection, ToSql, Transaction, params};

/// Returns the statement that removes a row of a table, as long as it has its signature. The values
/// of its primary key come first.
fn removal(table: SignedTable) -> Option<&'static str> {
    match table {
        SignedTable::Approvals => {
            Some("DELETE FROM approvals WHERE project = ?1 AND rule = ?2 AND signature IS ?3")
        }
        SignedTable::Firings => {
            Some("DELETE FROM firings WHERE trigger_name = ?1 AND key = ?2 AND signature IS ?3")
        }
        SignedTable::Links => Some("DELETE FROM links WHERE id = ?1 AND signature IS ?2"),
        SignedTable::Memory => Some("DELETE FROM memory WHERE id = ?1 AND signature IS ?2"),
        SignedTable::Tallies => Some(
            "DELETE FROM tallies WHERE project = ?1 AND owner = ?2 AND tool = ?3
             AND number = CAST(?4 AS INTEGER) AND signature IS ?5",
        ),
        SignedTable::Owners
        | SignedTable::Runs
        | SignedTable::Sessions
        | SignedTable::Tokens
        | SignedTable::Trust => None,
    }
}

/// Signs every row.
pub(super) fn sign_all(tx: &Transaction<'_>, key: &RowKey) -> Result<(), rusqlite::Error> {
    for mut approval in approvals::stored(tx, None)? {
        approval.sign(key);
        tx.execute(
            "UPDATE approvals SET signature = ?3 WHERE project = ?1 AND rule = ?2",
            params![approval.project, approval.rule, approval.signature],
        )?;
    }
    for (firing, _) in firings::all(tx)? {
        firings::set_signature(tx, &firing, key)?;
    }
    owners::sign_all(tx, key)?;
    let mut sign = tx.prepare("UPDATE sessions SET signature = ?2 WHERE id = ?1")?;
    for (id, events, digest, _) in ends(tx)? {
        let (id, digest) = (id.as_str(), digest.as_slice());
        let end = SessionEnd { id, events, digest };
        sign.execute(params![id, key.sign_session(end)])?;
    }
    Ok(())
}

/// A session, the number of its events, the digest of the last one, and the signature.
type End = (String, i64, Vec<u8>, Option<Vec<u8>>);

fn ends(db: &Connection) -> Result<Vec<End>, rusqlite::Error> {
    let mut query = db.prepare(&format!("{ENDS} ORDER BY id"))?;
    let rows = query.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    rows.collect()
}

impl Database {
    /// Removes rows without a valid signature, and returns their number.
    pub(super) fn remove_unsigned(&self, rows: &[UnsignedRow]) -> Result<u64, JournalError> {
        let failed = StoreError::sqlite(self.location(), "remove rows without a valid signature");
        self.transact(|tx| {
            let mut removed = 0;
            for row in rows {
                if let Some(statement) = removal(row.table) {
                    let key = row.key.iter().map(|value| value as &dyn ToSql);
                    let values: Vec<&dyn ToSql> = key.chain([&row.signature as _]).collect();
                    removed += tx.execute(statement, values.as_slice()).map_err(failed)? as u64;
                }
            }
            Ok(removed)
        })
    }

    /// Returns the rows without a valid signature.
    pub(super) fn unsigned(&self) -> Result<Vec<UnsignedRow>, JournalError> {
        let failed = StoreError::sqlite(self.location(), "check the journal");
        let key = self.rows_key();
        let read = |db: &Connection| {
            let (approvals, firings) = (approvals::stored(db, None)?, firings::all(db)?);
            let links = links::stored(db, "?1", [true])?;
            let mut others = owners::unsigned(db, key)?;
            let items = memory_items::stored(db)?.into_iter();
            others.extend(items.filter_map(|item| item.unsigned(key)));
            let counted = tallies::stored(db)?.into_iter();
            others.extend(counted.filter_map(|row| row.unsigned(key)));
            Ok((approvals, firings, links, others, ends(db)?))
        };
        let read = self.reader().query(read).map_err(failed)?;
        let (approvals, firings, links, others, ends) = read;
        let approvals = approvals.iter().filter(|stored| !stored.is_valid(key));
        let mut found: Vec<UnsignedRow> = approvals.map(StoredApproval::unsigned).collect();
        let invalid = firings
            .iter()
            .filter(|(firing, signature)| !key.is_firing(firing, true, signature.as_deref()));
        found.extend(invalid.map(|(firing, signature)| firing.unsigned(signature.clone())));
        found.extend(unsigned(links, key));
        found.extend(others);
        let invalid = ends.into_iter().filter(|(id, events, digest, signature)| {
            let (events, digest) = (*events, digest.as_slice());
            !key.is_session(SessionEnd { id, events, digest }, signature.as_deref())
        });
        let session =
            |(id, _, _, signature): End| UnsignedRow::new(SignedTable::Sessions, id, signature);
        found.extend(invalid.map(session));
        Ok(found)
    }
}
