//! The spinner: a line of the terminal, which says what is under way, and lines below it.

use super::{live::SHOWN_CHARACTERS, one_line};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::runtime::Handle;

/// The interval between frames of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// The spinner while work is under way; it owns its lines of the terminal, of which there
/// is one.
static SPINNER: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// True while a question is asked during work.
static IS_PAUSED: AtomicBool = AtomicBool::new(false);

/// Removes the spinner, and shows none until the value is dropped.
pub(super) fn pause_spinner() -> SpinnerPause {
    IS_PAUSED.store(true, Ordering::Relaxed);
    stop_spinner();
    SpinnerPause
}

/// The time without a spinner.
pub(super) struct SpinnerPause;

impl Drop for SpinnerPause {
    fn drop(&mut self) {
        IS_PAUSED.store(false, Ordering::Relaxed);
    }
}

/// Shows what the user types during an answer beside the spinner, if there is one.
pub(super) fn show_typed(text: &str) {
    if let Some(spinner) = spinner().as_ref() {
        let text = text.rsplit('\n').next().unwrap_or_default();
        spinner.set_prefix(format!(" > {}", one_line(text, SHOWN_CHARACTERS)));
    }
}

/// Returns the spinner, which keeps others from changing it.
pub(super) fn spinner() -> MutexGuard<'static, Option<ProgressBar>> {
    SPINNER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the spinner, if there is one.
pub(super) fn stop_spinner() {
    if let Some(spinner) = spinner().take() {
        spinner.finish_and_clear();
    }
}

/// `below` has its lines, each behind a line break.
fn spinner_style(until: Option<Instant>, below: String) -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}{clock}{prefix}{below}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .with_key(
            "below",
            move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = out.write_str(&below);
            },
        )
        .with_key(
            "clock",
            move |state: &ProgressState, out: &mut dyn fmt::Write| {
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                let _ = out.write_str(&clock(state.elapsed(), left));
            },
        )
}

/// Formats the time that has passed, or the time that is left, in whole seconds.
fn clock(passed: Duration, left: Option<Duration>) -> String {
    match left {
        Some(Duration::ZERO) => " now".to_owned(),
        Some(left) => format!(" in {} s", left.as_millis().div_ceil(1_000)),
        None if passed < Duration::from_secs(1) => String::new(),
        None => format!(" {} s", passed.as_secs()),
    }
}

fn new_spinner(message: String, style: ProgressStyle) -> ProgressBar {
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_message(message);
    // indicatif's own ticker is a thread, and panics if the system refuses one.
    let shown = spinner.downgrade();
    let clock = async move {
        let mut clock = tokio::time::interval(TICK);
        while let Some(spinner) = shown.upgrade().filter(|spinner| !spinner.is_finished()) {
            spinner.tick();
            drop(spinner);
            clock.tick().await;
        }
    };
    if let Ok(runtime) = Handle::try_current() {
        runtime.spawn(clock);
    }
    spinner
}

/// Shows or updates the spinner, unless a question is asked. Behind the message is the time since
/// it appeared, or the time until `until`; `below` has the lines below it, each behind a line break.
pub(super) fn show_spinner(message: String, until: Option<Instant>, below: String) {
    let mut spinner = spinner();
    // Looked at under the lock, so that a pause that begins now ends the spinner.
    if IS_PAUSED.load(Ordering::Relaxed) {
        return;
    }
    let style = spinner_style(until, below);
    match spinner.as_ref() {
        Some(spinner) => {
            spinner.set_style(style);
            spinner.set_message(message);
        }
        None => *spinner = Some(new_spinner(message, style)),
    }
}

#[cfg(test)]
mod tests {
    use super::clock;
    use pretty_assertions::assert_eq;
    use std::time::Duration;

    #[test]
    fn clock_counts_up_or_down_in_seconds() {
        let millis = Duration::from_millis;
        let cases = [
            (clock(millis(999), None), ""),
            (clock(millis(61_500), None), " 61 s"),
            (clock(millis(5), Some(millis(1_001))), " in 2 s"),
            (clock(millis(5), Some(millis(1))), " in 1 s"),
            (clock(millis(5), Some(Duration::ZERO)), " now"),
        ];
        for (shown, expected) in cases {
            assert_eq!(shown, expected);
        }
    }
}
