//! Calls that wait for a person in the lifecycle without connections: the client goes away with a name for the call, and comes back
//! with the answer under it. A name cannot be guessed and is good once.

#[cfg(test)]
mod tests;

use crate::{approve::Asked, call::Call};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::ErrorData;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How many calls may wait.
const MAX_PARKED: usize = 64;

/// How long a call waits. The handshake's lifecycle waits as long for its reply.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The random bytes of a name.
const NAME_BYTES: usize = 32;

/// The calls that wait.
#[derive(Debug)]
pub(crate) struct Parked<T = Waiting> {
    waiting: Mutex<HashMap<String, Entry<T>>>,
}

/// A call and what it waits for.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) call: Call,
    pub(crate) asked: Asked,
}

#[derive(Debug)]
struct Entry<T> {
    waiting: T,
    until: Instant,
}

impl<T> Default for Parked<T> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
        }
    }
}

impl<T> Parked<T> {
    /// Keeps a call, and names it.
    ///
    /// # Errors
    /// The call, when too many wait or the system has no random bytes for a name.
    pub(crate) fn park(&self, waiting: T, now: Instant) -> Result<String, T> {
        let mut name = [0; NAME_BYTES];
        let mut parked = self.lock();
        if parked.len() >= MAX_PARKED || getrandom::fill(&mut name).is_err() {
            return Err(waiting);
        }
        let name = URL_SAFE_NO_PAD.encode(name);
        let until = now + PATIENCE;
        parked.insert(name.clone(), Entry { waiting, until });
        Ok(name)
    }

    /// Takes out the call of this name if `check` has nothing against it; else it stays.
    ///
    /// # Errors
    /// `-32602` when there is none, or what `check` says.
    pub(crate) fn take<U>(
        &self,
        name: &str,
        now: Instant,
        check: impl FnOnce(&T) -> Result<U, ErrorData>,
    ) -> Result<(T, U), ErrorData> {
        let mut parked = self.lock();
        let entry = parked.get(name).filter(|entry| now < entry.until);
        let checked = check(&entry.ok_or_else(unknown)?.waiting)?;
        let entry = parked.remove(name).ok_or_else(unknown)?;
        Ok((entry.waiting, checked))
    }

    /// Takes out the calls that waited too long.
    pub(crate) fn expired(&self, now: Instant) -> Vec<T> {
        let gone = self
            .lock()
            .extract_if(|_, entry| entry.until <= now)
            .collect();
        values(gone)
    }

    /// Takes out all.
    pub(crate) fn all(&self) -> Vec<T> {
        let gone = self.lock().drain().collect();
        values(gone)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry<T>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn values<T>(entries: Vec<(String, Entry<T>)>) -> Vec<T> {
    entries
        .into_iter()
        .map(|(_, entry)| entry.waiting)
        .collect()
}

fn unknown() -> ErrorData {
    ErrorData::invalid_params(
        "no call waits under this requestState: it was answered, or nobody answered in time; call the tool again without it",
        None,
    )
}
