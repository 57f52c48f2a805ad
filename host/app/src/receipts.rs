//! Receipts of a session: a line of JSON for each settled call and each decision, chained by
//! digests and signed, and a closing line. A file of receipts is verified with the public key
//! alone, also after contents were removed from it. `docs/reference/receipts.md` has the format.

mod entry;
mod line;
#[cfg(test)]
mod tests;
mod verify;

pub use line::ReceiptError;
pub use verify::{FaultKind, ReceiptFault, VerifiedReceipts, verify_receipts};

use agent_host_journal::JournalStore;
use agent_host_registry::SigningKey;
use agent_host_types::id::SessionId;
use entry::{EntryReader, SessionOutline};
use line::ReceiptWriter;
use std::io::Write;

/// Writes the receipts of a session, and returns their number. The session is read twice, in the
/// memory of one page, of its open calls and of the names of the tools of its setups. Of a copied
/// session, the copied events have none: their receipts are those of the original.
///
/// # Errors
/// The session cannot be read, `out` cannot be written, the system has no randomness, or the key is
/// not one of Ed25519.
pub async fn export_receipts(
    store: &dyn JournalStore,
    session: SessionId,
    key: &SigningKey,
    redact: bool,
    out: &mut (dyn Write + Send),
) -> Result<u64, ReceiptError> {
    let mut writer = ReceiptWriter::new(out, key, session, redact)?;
    let mut outline = SessionOutline::default();
    store
        .for_each_record(session, |record| outline.add(&record))
        .await?;
    let mut entries = EntryReader::new(store, outline).await;
    let mut written = Ok(());
    let write = |record| {
        for entry in entries.read(&record) {
            if written.is_ok() {
                written = writer.add(&entry);
            }
        }
    };
    store.for_each_record(session, write).await?;
    written?;
    writer.close()
}
