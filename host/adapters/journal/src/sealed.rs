//! Sealed sessions: an exported session, encrypted and authenticated with a key that the hosts of
//! one operator share. A host without a journal of its own keeps a session in it between two turns,
//! and any other host with the key continues it.

#[cfg(test)]
mod tests;

use crate::{
    copy::TrialSink,
    error::{Location, StoreError},
    ownership::Ownership,
    store::{JournalStore, blocking},
    transfer::{self, ImportAs, ImportSource},
};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::{
    fmt,
    io::{self, Cursor, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The beginning of a sealed session, which also authenticates the version of the form.
const PREFIX: &str = "agent-host-session.1.";

/// The largest exported session that is sealed, in bytes: it is held in memory several times, and
/// travels in a request.
pub const MAX_SEALED_BYTES: usize = 16 * 1024 * 1024;

/// The length of a key, in bytes.
const KEY_BYTES: usize = 32;

/// The key of sealed sessions. Its holder can write and read any session of the hosts that take it.
#[derive(Clone)]
pub struct SealKey([u8; KEY_BYTES]);

/// A session that cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The text is not a key.
    #[error("a key has 64 hexadecimal digits; create one with `openssl rand -hex 32`")]
    Key,
    /// The session is too large.
    #[error(
        "the session has more than {MAX_SEALED_BYTES} bytes, the maximum for sealing; export it without a key, or \
         let both hosts use one journal"
    )]
    TooLarge,
    /// The text is not a sealed session.
    #[error("it is not a sealed session of this version of agent-host")]
    Form,
    /// The seal is of another key, or the text was changed.
    #[error("the seal does not match: it was made with another key, or the file was changed")]
    Seal,
    /// The system provides no random bytes.
    #[error("the system cannot provide random bytes")]
    Random,
    /// The session cannot be read or stored.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl dyn JournalStore + '_ {
    /// Exports a session sealed, with what waits in it and was approved in it. Where it is
    /// imported, it continues; here it must not be continued meanwhile, since neither host knows of
    /// the other.
    ///
    /// # Errors
    /// [`SealError::TooLarge`], those of [`JournalStore::export`], or the session waits for something
    /// that cannot move with it.
    pub async fn export_sealed(
        &self,
        session: SessionId,
        key: &SealKey,
    ) -> Result<String, SealError> {
        // First, so that no file leaves of which the store does not know.
        self.remember_sealed(session).await?;
        let buffer = Buffer::default();
        let written = self.export(session, Box::new(buffer.clone())).await;
        let exported = std::mem::take(&mut *buffer.lock());
        if exported.len() > MAX_SEALED_BYTES {
            return Err(SealError::TooLarge);
        }
        written?;
        // Refuses here what every other host would refuse.
        let file = ImportSource::File(Box::new(Cursor::new(exported.clone())));
        blocking(|| transfer::import(file, ImportAs::Moved, &mut TrialSink)).await?;
        key.seal(exported)
    }

    /// Imports a sealed session with what waits in it and was approved in it, and returns its id.
    /// The file does not say whose it is here.
    ///
    /// # Errors
    /// The seal does not fit; those of [`JournalStore::import`], [`JournalError::Exists`] among them:
    /// a host takes a session once. One that was here already, continued beyond what this file has,
    /// and was removed is refused, too: what came after it would happen again.
    pub async fn import_sealed(
        &self,
        sealed: &str,
        key: &SealKey,
        ownership: Option<Ownership>,
    ) -> Result<SessionId, SealError> {
        let file = ImportSource::File(Box::new(Cursor::new(key.open(sealed)?)));
        Ok(self.import_owned(file, ImportAs::Sealed, ownership).await?)
    }
}

/// The most sealed sessions that a store remembers. Beyond it, the oldest quarter is forgotten, and
/// with it the sealed files of sessions that are as old: they are refused from then on.
pub(crate) const MAX_SEALED_SESSIONS: u32 = if cfg!(test) { 64 } else { 65_536 };

/// A session that leaves a store sealed, or comes sealed, and how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedSession {
    pub(crate) session: SessionId,
    /// The number of its events.
    pub(crate) events: u64,
    /// The time of its last event, in milliseconds since 1970 (UTC).
    pub(crate) last_ms: u64,
}

/// The part of a store's memory of sealed sessions that concerns one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealMemory {
    /// It left or came sealed, and has had this number of events here.
    Known(u64),
    /// Nothing, and sessions whose last event is not younger than this were forgotten; 0 if none
    /// were.
    ForgottenUntil(u64),
}

impl SealedSession {
    /// Refuses a session that was continued here further than its file goes, or may have been.
    pub(crate) fn check(self, memory: SealMemory, location: &Location) -> Result<(), StoreError> {
        let session = self.session;
        match memory {
            SealMemory::Known(events) if self.events < events => {
                Err(StoreError::SealUsed { session, events })
            }
            SealMemory::ForgottenUntil(ms) if ms > 0 && self.last_ms <= ms => {
                let location = Arc::clone(location);
                Err(StoreError::SealForgotten { session, location })
            }
            SealMemory::Known(_) | SealMemory::ForgottenUntil(_) => Ok(()),
        }
    }
}

/// A file in memory that takes little more than is sealed.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.lock();
        if written.len() > MAX_SEALED_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SealKey {
    /// Parses a key: 64 hexadecimal digits, white space around them ignored.
    ///
    /// # Errors
    /// [`SealError::Key`].
    pub fn parse(text: &str) -> Result<Self, SealError> {
        let digits = text.trim().as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != KEY_BYTES || !rest.is_empty() {
            return Err(SealError::Key);
        }
        let digit = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let mut key = [0; KEY_BYTES];
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            let (Some(high), Some(low)) = (digit(*high), digit(*low)) else {
                return Err(SealError::Key);
            };
            *byte = high << 4 | low;
        }
        Ok(Self(key))
    }

    /// Seals an exported session.
    ///
    /// # Errors
    /// It is larger than [`MAX_SEALED_BYTES`], or the system has no random bytes.
    pub fn seal(&self, mut exported: Vec<u8>) -> Result<String, SealError> {
        if exported.len() > MAX_SEALED_BYTES {
            return Err(SealError::TooLarge);
        }
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::Random)?;
        self.cipher()?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(PREFIX),
                &mut exported,
            )
            .map_err(|_| SealError::Seal)?;
        let sealed = [nonce.as_slice(), &exported].concat();
        Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Opens a sealed session, and returns the exported one.
    ///
    /// # Errors
    /// It is no sealed session, or not of this key.
    pub fn open(&self, sealed: &str) -> Result<Vec<u8>, SealError> {
        let encoded = sealed.trim().strip_prefix(PREFIX).ok_or(SealError::Form)?;
        let bytes = URL_SAFE_NO_PAD
            .decode(encoded)
            .map_err(|_| SealError::Form)?;
        let (nonce, text) = bytes.split_first_chunk().ok_or(SealError::Form)?;
        let mut text = text.to_vec();
        let opened = self.cipher()?.open_in_place(
            Nonce::assume_unique_for_key(*nonce),
            Aad::from(PREFIX),
            &mut text,
        );
        let length = opened.map_err(|_| SealError::Seal)?.len();
        text.truncate(length);
        Ok(text)
    }

    pub(crate) fn cipher(&self) -> Result<LessSafeKey, SealError> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &self.0).map_err(|_| SealError::Key)?;
        Ok(LessSafeKey::new(key))
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(..)")
    }
}
