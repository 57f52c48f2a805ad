//! Tells the waiting user that a large component is compiled, and how long it took.

#[cfg(test)]
mod tests;

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The size from which compiling is told, in bytes. Smaller components take less than a second.
const MIN_BYTES: u64 = 2 * 1024 * 1024;

/// The bytes of a megabyte, as file managers and registries count.
const MEGABYTE: u64 = 1_000_000;

/// The report of one load. Nothing is told of a component from the cache.
pub(crate) struct CompileReport<'a> {
    name: &'a str,
    /// Receives the lines; absent for the log.
    tell: Option<fn(&str)>,
    started: OnceLock<Instant>,
}

impl<'a> CompileReport<'a> {
    pub(crate) fn new(name: &'a str, tell: Option<fn(&str)>) -> Self {
        Self {
            name,
            tell,
            started: OnceLock::new(),
        }
    }

    /// Tells that a component of this size is compiled now.
    pub(crate) fn begin(&self, size_bytes: u64) {
        if size_bytes >= MIN_BYTES && self.started.set(Instant::now()).is_ok() {
            self.say(&begun(self.name, size_bytes));
        }
    }

    /// Tells how long it took, unless it failed.
    pub(crate) fn end(&self, is_loaded: bool) {
        if let Some(started) = self.started.get()
            && is_loaded
        {
            self.say(&ended(self.name, started.elapsed()));
        }
    }

    fn say(&self, line: &str) {
        match self.tell {
            Some(tell) => tell(line),
            None => tracing::info!("{line}"),
        }
    }
}

fn begun(name: &str, size_bytes: u64) -> String {
    let tenths = size_bytes.saturating_mul(10) / MEGABYTE;
    format!(
        "compiling the component `{name}` ({}.{} MB) and saving it for later runs ...",
        tenths / 10,
        tenths % 10
    )
}

fn ended(name: &str, took: Duration) -> String {
    format!("compiled `{name}` in {:.1} s", took.as_secs_f64())
}
