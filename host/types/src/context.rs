//! The limits of a model's window, and what a compaction of the conversation leaves behind.

use crate::{
    id::CallId,
    output::{BlobRef, ToolResultOutput},
};
use serde::{Deserialize, Serialize};

/// The window of a model of which nothing is known, in tokens: what most hosted models have at least.
pub const DEFAULT_WINDOW_TOKENS: u64 = 128_000;

/// How the conversation is kept within the model's window. What a provider has cached is the beginning of a conversation, so the
/// old part changes seldom and by much: not before `compact_at`, and then down to `compact_to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLimits {
    /// The model's window, in tokens.
    pub window_tokens: u64,
    /// Whether it is known to be that, so that nobody is asked what does not fit. Else the provider decides.
    pub is_known: bool,
    /// From which size on a request is made smaller, in percent of the window. The rest is for the reply.
    pub compact_at: u64,
    /// How large it may be then, in percent of the window.
    pub compact_to: u64,
    /// How many of the newest messages with results are left as they are.
    pub keep_results: usize,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            window_tokens: DEFAULT_WINDOW_TOKENS,
            is_known: false,
            compact_at: 80,
            compact_to: 50,
            keep_results: 3,
        }
    }
}

impl ContextLimits {
    /// From how many tokens on a request is made smaller.
    #[must_use]
    pub fn threshold(&self) -> u64 {
        self.percent(self.compact_at)
    }

    /// How many tokens it may have then.
    #[must_use]
    pub fn goal(&self) -> u64 {
        self.percent(self.compact_to)
    }

    /// The most tokens of a summary, and the least that a change of the old part has to save: a sixteenth of the window. A
    /// summary that a person would still read has a few thousand.
    #[must_use]
    pub fn allowance(&self) -> u64 {
        (self.window_tokens / 16).min(4096)
    }

    fn percent(&self, percent: u64) -> u64 {
        let tokens = u128::from(self.window_tokens) * u128::from(percent) / 100;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

/// An old result of which the model is shown a reference from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReferencedResult {
    /// The call that it answers.
    pub call_id: CallId,
    /// What stands in its place. It names the blob with the whole result; a failure is still one.
    pub output: ToolResultOutput,
    /// That blob.
    pub blob: BlobRef,
}

/// The sizes of a request before and after a change, in estimated tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionStats {
    /// Before.
    pub before_tokens: u64,
    /// After.
    pub after_tokens: u64,
}
