//! The limits of a model's window, and the events' values for compaction.

use crate::{
    id::CallId,
    output::{BlobRef, ToolResultOutput},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The window assumed for an unknown model, in tokens; most hosted models have at least this.
pub const DEFAULT_WINDOW_TOKENS: u64 = 128_000;

/// The limits that keep a conversation within the model's window. Providers cache the beginning of
/// a conversation, so it changes seldom and by much: a request that exceeds `compact_at` is
/// compacted down to `compact_to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextLimits {
    /// The model's window, in tokens.
    pub window_tokens: u64,
    /// Whether the window is known, so that a larger request is never sent. Otherwise the provider
    /// decides.
    pub is_known: bool,
    /// The size above which a request is compacted, in percent of the window. The rest is for the
    /// reply.
    pub compact_at: u64,
    /// The target size of a compaction, in percent of the window.
    pub compact_to: u64,
    /// The number of newest messages with results that are never replaced.
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
    /// Returns the size above which a request is compacted, in tokens.
    #[must_use]
    pub fn threshold(&self) -> u64 {
        self.percent(self.compact_at)
    }

    /// Returns the target size of a compaction, in tokens.
    #[must_use]
    pub fn goal(&self) -> u64 {
        self.percent(self.compact_to)
    }

    /// Returns the maximum size of a summary and the minimum saving of a compaction: a sixteenth of
    /// the window, at most 4,096 tokens, which is about as long as a readable summary gets.
    #[must_use]
    pub fn allowance(&self) -> u64 {
        (self.window_tokens / 16).min(4096)
    }

    fn percent(&self, percent: u64) -> u64 {
        let tokens = u128::from(self.window_tokens) * u128::from(percent) / 100;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

/// An old result that is replaced by a reference in later requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferencedResult {
    /// The call that it answers.
    pub call_id: CallId,
    /// The tool of the call.
    #[serde(default)]
    pub tool: String,
    /// The reference, which names the artifact with the whole result; a failure stays a failure.
    pub output: ToolResultOutput,
    /// The blob of the whole result.
    pub blob: BlobRef,
}

/// The size of a request before and after a compaction, in estimated tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionStats {
    /// The size before.
    pub before_tokens: u64,
    /// The size after.
    pub after_tokens: u64,
}
