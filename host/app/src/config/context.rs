//! `[context]`: the limits of a conversation within the model's window.

use super::{ConfigError, model::Chosen, prices::Prices, problem::config_error, section::section};
use agent_host_types::context::ContextLimits;

/// The smallest usable window, in tokens.
const LEAST_WINDOW_TOKENS: u64 = 1_000;

section! {
    /// `[context]`.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    pub(super) struct RawContext {
        /// The model's window.
        window_tokens: Option<u64>, within(LEAST_WINDOW_TOKENS)
            => at_most(ContextLimits::default().window_tokens);
        /// The percentage of the window at which the conversation is compacted.
        compact_at: Option<u64> => at_most(ContextLimits::default().compact_at);
        /// The percentage of the window to compact to.
        compact_to: Option<u64> => at_most(ContextLimits::default().compact_to);
        /// The number of newest messages with results that are kept.
        keep_results: Option<usize> => at_most(ContextLimits::default().keep_results);
    }
}

/// Resolves the limits of a conversation with these models, any of which may answer. A script has
/// no window unless it is given one.
pub(super) fn resolve(
    raw: Option<RawContext>,
    models: &Chosen<'_>,
    prices: &Prices,
) -> Result<Option<ContextLimits>, ConfigError> {
    let mut default = ContextLimits::default();
    // The smallest one, if all are known.
    let windows = models.iter().map(|(_, model)| prices.window((*model)?));
    if let Some(windows) = windows.collect::<Option<Vec<u64>>>() {
        default.window_tokens = windows.into_iter().min().unwrap_or(default.window_tokens);
        default.is_known = true;
    }
    let Some(raw) = raw else {
        let scripts = models.iter().all(|(name, _)| name.starts_with("script:"));
        return Ok((!scripts).then_some(default));
    };
    let limits = ContextLimits {
        window_tokens: raw.window_tokens.unwrap_or(default.window_tokens),
        is_known: raw.window_tokens.is_some() || default.is_known,
        compact_at: raw.compact_at.unwrap_or(default.compact_at),
        compact_to: raw.compact_to.unwrap_or(default.compact_to),
        keep_results: raw.keep_results.unwrap_or(default.keep_results),
    };
    let (compact_at, compact_to) = (limits.compact_at, limits.compact_to);
    if compact_at > 100 || compact_to == 0 || compact_to >= compact_at {
        return Err(config_error!(
            "context",
            "`compact-at` is {compact_at} and `compact-to` is {compact_to}; both are percentages of the window, and \
             `compact-to` must be smaller",
            "use values such as 80 and 50, or leave them out"
        ));
    }
    Ok(Some(limits))
}
