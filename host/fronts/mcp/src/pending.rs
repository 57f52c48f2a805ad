//! Calls of the stateless lifecycle that wait for input: the client gets a key for the call and
//! repeats its request with the input under that key. A key cannot be guessed and is valid once.

#[cfg(test)]
mod tests;

use crate::{call::SuspendableCall, elicitation::AwaitedInput};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rmcp::ErrorData;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The most calls that wait.
const MAX_PENDING: usize = 64;

/// How long a call waits for input, in either lifecycle.
pub(crate) const INPUT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Random bytes of a key.
const KEY_BYTES: usize = 32;

/// The calls that wait.
#[derive(Debug)]
pub(crate) struct PendingCalls<T = SuspendedCall> {
    calls: Mutex<HashMap<String, PendingCall<T>>>,
}

/// A call and the input that it waits for.
#[derive(Debug)]
pub(crate) struct SuspendedCall {
    pub(crate) call: SuspendableCall,
    pub(crate) prompt: AwaitedInput,
}

#[derive(Debug)]
struct PendingCall<T> {
    tool: String,
    call: T,
    expires: Instant,
}

impl<T> Default for PendingCalls<T> {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
        }
    }
}

impl<T> PendingCalls<T> {
    /// Keeps a call of `tool` and returns its key.
    ///
    /// # Errors
    /// Returns the call when as many of its tool wait as are free, as for calls in flight, or the
    /// system has no random bytes for a key.
    pub(crate) fn insert(&self, tool: &str, call: T, now: Instant) -> Result<String, T> {
        let mut key = [0; KEY_BYTES];
        let mut calls = self.lock();
        let used = calls.values().filter(|entry| entry.tool == tool).count();
        if used >= MAX_PENDING.saturating_sub(calls.len()) || getrandom::fill(&mut key).is_err() {
            return Err(call);
        }
        let key = URL_SAFE_NO_PAD.encode(key);
        let expires = now + INPUT_TIMEOUT;
        let entry = PendingCall {
            tool: tool.to_owned(),
            call,
            expires,
        };
        calls.insert(key.clone(), entry);
        Ok(key)
    }

    /// Removes and returns the call with this key if `check` accepts it; otherwise it stays.
    ///
    /// # Errors
    /// Returns `-32602` when no call has the key, or the error of `check`.
    pub(crate) fn take<U>(
        &self,
        key: &str,
        now: Instant,
        check: impl FnOnce(&T) -> Result<U, ErrorData>,
    ) -> Result<(T, U), ErrorData> {
        let mut calls = self.lock();
        let entry = calls.get(key).filter(|entry| now < entry.expires);
        let checked = check(&entry.ok_or_else(unknown_key)?.call)?;
        let entry = calls.remove(key).ok_or_else(unknown_key)?;
        Ok((entry.call, checked))
    }

    /// Removes and returns the calls that have waited too long at `now`; without it, all calls.
    pub(crate) fn drain(&self, now: Option<Instant>) -> Vec<T> {
        let mut calls = self.lock();
        let drained = calls.extract_if(|_, entry| now.is_none_or(|now| entry.expires <= now));
        drained.map(|(_, entry)| entry.call).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, PendingCall<T>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown_key() -> ErrorData {
    ErrorData::invalid_params(
        "no call is waiting under this requestState: it was answered, or no one answered in time; call the tool \
         again without it",
        None,
    )
}
