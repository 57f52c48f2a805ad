//! The queue of a claimed session: what was appended and is not known to be stored.
//!
//! After a failed write nothing later of the session is written, so that its stored events have no
//! gap, until [`Queue::retry`]: then the next batch has everything again that is not known to be
//! stored. The store checks that it is the next part of the session, so an attempt that was stored
//! although it was reported as failed is detected.

use crate::{error::StoreError, ownership::Ownership, row::EventRow};
use agent_host_engine::journal::JournalError;
use agent_host_types::{event::EventRecord, id::Digest, output::Blob};
use std::{collections::VecDeque, sync::Arc};

/// Why a batch was not written.
#[derive(Clone, Debug)]
pub(crate) struct WriteFailure {
    error: Arc<StoreError>,
    /// True if no retry can succeed. A retry after a full disk, for instance, can.
    is_final: bool,
}

impl From<StoreError> for WriteFailure {
    fn from(error: StoreError) -> Self {
        let is_final = matches!(
            error,
            StoreError::OutOfOrder { .. }
                | StoreError::LeaseLost { .. }
                | StoreError::Unstorable { .. }
                | StoreError::WriterStopped
        );
        let error = Arc::new(error);
        Self { error, is_final }
    }
}

impl From<WriteFailure> for JournalError {
    fn from(failure: WriteFailure) -> Self {
        Self::Storage(failure.error)
    }
}

/// Everything that was appended and is not known to be durable.
#[derive(Default)]
pub(crate) struct Queue {
    /// Oldest first; the first `rows_sent` are being written.
    rows: VecDeque<Arc<EventRow>>,
    blobs: VecDeque<Arc<Blob>>,
    rows_sent: usize,
    blobs_sent: usize,
    /// The size of what is not being written, in bytes of events and blobs.
    unsent_bytes: usize,
    /// The size of everything that was ever appended.
    appended_bytes: u64,
    /// Why nothing further is written.
    failure: Option<WriteFailure>,
    /// Grows with each retry; batches of an earlier attempt are not written.
    attempt: u64,
    /// The owner of a new session, until its first event is appended.
    ownership: Option<Ownership>,
}

impl Queue {
    /// Creates the queue of a new session.
    pub(crate) fn owned_by(ownership: Option<Ownership>) -> Self {
        Self {
            ownership,
            ..Self::default()
        }
    }

    /// Adds to the queue.
    pub(crate) fn append(&mut self, records: &[EventRecord], blobs: Vec<Blob>) {
        // Nothing is written after a final failure, so nothing is queued either; the next barrier
        // fails.
        if self
            .failure
            .as_ref()
            .is_some_and(|failure| failure.is_final)
        {
            return;
        }
        for record in records {
            match EventRow::encode(record) {
                Ok(row) => {
                    self.count(row.json.len());
                    let row = row.owned_by(&mut self.ownership);
                    self.rows.push_back(Arc::new(row));
                }
                Err(error) => {
                    self.failure = Some(error.into());
                    return;
                }
            }
        }
        for blob in blobs {
            self.count(blob.bytes.len());
            self.blobs.push_back(Arc::new(blob));
        }
    }

    fn count(&mut self, bytes: usize) {
        self.unsent_bytes += bytes;
        self.appended_bytes += bytes as u64;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.blobs.is_empty()
    }

    pub(crate) fn unsent_bytes(&self) -> usize {
        self.unsent_bytes
    }

    pub(crate) fn appended_bytes(&self) -> u64 {
        self.appended_bytes
    }

    pub(crate) fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Returns the failure after which nothing is written.
    pub(crate) fn check(&self) -> Result<(), WriteFailure> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Records a failure; the first one stays.
    pub(crate) fn fail(&mut self, error: StoreError) {
        self.failure.get_or_insert(error.into());
    }

    /// Has everything written again that is not known to be stored. Returns false if that cannot
    /// succeed.
    pub(crate) fn retry(&mut self) -> bool {
        match &self.failure {
            None => true,
            Some(failure) if failure.is_final => false,
            Some(_) => {
                self.failure = None;
                self.attempt += 1;
                self.rows_sent = 0;
                self.blobs_sent = 0;
                let rows: usize = self.rows.iter().map(|row| row.json.len()).sum();
                let blobs: usize = self.blobs.iter().map(|blob| blob.bytes.len()).sum();
                self.unsent_bytes = rows + blobs;
                true
            }
        }
    }

    /// Returns what is not being written yet, and counts it as sent.
    pub(crate) fn take_unsent(&mut self) -> (Vec<Arc<EventRow>>, Vec<Arc<Blob>>) {
        let rows = self.rows.iter().skip(self.rows_sent).cloned().collect();
        let blobs = self.blobs.iter().skip(self.blobs_sent).cloned().collect();
        self.rows_sent = self.rows.len();
        self.blobs_sent = self.blobs.len();
        self.unsent_bytes = 0;
        (rows, blobs)
    }

    /// Records the result of writing the oldest `rows` and `blobs` that were sent.
    pub(crate) fn complete(
        &mut self,
        rows: usize,
        blobs: usize,
        result: Result<(), WriteFailure>,
    ) -> Result<(), WriteFailure> {
        match &result {
            Ok(()) => {
                self.rows.drain(..rows);
                self.blobs.drain(..blobs);
                self.rows_sent -= rows;
                self.blobs_sent -= blobs;
            }
            Err(failure) => self.failure = Some(failure.clone()),
        }
        result
    }

    /// Returns the queued events from number `from` on.
    pub(crate) fn rows_from(&self, from: u64) -> Vec<Arc<EventRow>> {
        let is_next = |row: &&Arc<EventRow>| u64::try_from(row.seq).is_ok_and(|seq| seq >= from);
        self.rows.iter().filter(is_next).cloned().collect()
    }

    /// Returns the bytes of a queued blob.
    pub(crate) fn blob(&self, digest: Digest) -> Option<Vec<u8>> {
        let blob = self.blobs.iter().find(|blob| blob.digest == digest)?;
        Some(blob.bytes.clone())
    }
}
