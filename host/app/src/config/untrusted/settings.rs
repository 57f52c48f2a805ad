//! Demands of the model, session, context and sandbox sections of an untrusted file.

use super::{Review, quoted};
use crate::config::raw::{RawBudgets, RawContext, RawKeep, RawProvider, RawSandbox, RawSession};
use agent_host_journal::SqliteOptions;
use agent_host_models::{RetryPolicy, Timeouts};
use agent_host_sandbox::SandboxConfig;
use agent_host_types::context::ContextLimits;
use serde_json::{Value, json};
use std::time::Duration;

impl Review<'_> {
    /// Reviews the section of a provider, and returns its clamped and authority-bearing fields.
    pub(super) fn provider(&mut self, name: &str, raw: &RawProvider) -> Value {
        let RawProvider {
            base_url,
            api_key,
            // Capabilities of the models. A wrong one leads to a request that the provider refuses.
            vision: _,
            documents: _,
            files_in_results: _,
            parallel_calls: _,
            denied_is_error: _,
            max_output_tokens,
            connect_timeout_seconds,
            first_chunk_timeout_seconds,
            idle_chunk_timeout_seconds,
            total_timeout_seconds,
            retries,
        } = raw;
        if let Some(url) = base_url {
            self.demand(format!(
                "sends the conversations of [{name}], and the key where one is set, to {}",
                quoted(url)
            ));
        }
        if let Some(source) = api_key {
            self.demand(format!("takes the key of [{name}] from {}", quoted(source)));
        }
        if let Some(tokens) = max_output_tokens {
            self.demand(format!("lets a reply of [{name}] have {tokens} tokens"));
        }
        let default = Timeouts::default();
        let timeouts = [
            ("connect", connect_timeout_seconds, default.connect),
            (
                "first-chunk",
                first_chunk_timeout_seconds,
                default.first_chunk,
            ),
            ("idle-chunk", idle_chunk_timeout_seconds, default.idle_chunk),
            ("total", total_timeout_seconds, default.total),
        ];
        for (which, seconds, default) in timeouts {
            let seconds = seconds.map(|seconds| Duration::from_secs(seconds.get()).as_secs());
            let key = format!("{which}-timeout-seconds of [{name}]");
            self.at_most(&key, seconds, default.as_secs());
        }
        let key = format!("retries of [{name}]");
        self.at_most(&key, *retries, RetryPolicy::default().retries);
        json!([
            name,
            base_url,
            api_key,
            max_output_tokens,
            timeouts.map(|(_, seconds, _)| seconds),
            retries,
        ])
    }

    pub(super) fn session(&mut self, raw: RawSession) {
        let RawSession {
            keep,
            lock_timeout_ms,
        } = raw;
        if let Some(RawKeep { days, bytes }) = keep {
            let default = || "the default".to_owned();
            self.demand(format!(
                "decides which of your sessions are removed: days = {}, bytes = {}",
                days.map_or_else(default, |days| days.to_string()),
                bytes.map_or_else(default, |bytes| bytes.to_string())
            ));
        }
        let default = SqliteOptions::default().lock_timeout.as_millis();
        self.at_most("lock-timeout-ms", lock_timeout_ms.map(u128::from), default);
    }

    pub(super) fn context(&mut self, raw: RawContext) {
        let RawContext {
            window_tokens,
            compact_at,
            compact_to,
            keep_results,
        } = raw;
        let default = ContextLimits::default();
        self.at_most("window-tokens", window_tokens, default.window_tokens);
        self.at_most("compact-at", compact_at, default.compact_at);
        self.at_most("compact-to", compact_to, default.compact_to);
        self.at_most("keep-results", keep_results, default.keep_results);
    }

    pub(super) fn sandbox(&mut self, raw: RawSandbox) {
        let RawSandbox {
            concurrent_calls,
            queued_calls,
            concurrent_calls_per_tool,
            queued_calls_per_tool,
            guest_threads,
            // Without a pool, calls are slower and as limited as with it.
            pooling: _,
            compile_memory_bytes,
            compile_cpu_seconds,
            compile_deadline_ms,
        } = raw;
        let default = SandboxConfig::default();
        let compile = default.compile_limits;
        for (key, value, default) in [
            (
                "concurrent-calls",
                concurrent_calls,
                default.concurrent_calls,
            ),
            ("queued-calls", queued_calls, default.queued_calls),
            // Half of all is the default.
            (
                "concurrent-calls-per-tool",
                concurrent_calls_per_tool,
                default.concurrent_calls / 2,
            ),
            (
                "queued-calls-per-tool",
                queued_calls_per_tool,
                default.queued_calls / 2,
            ),
            ("guest-threads", guest_threads, default.guest_threads),
            (
                "compile-memory-bytes",
                compile_memory_bytes,
                compile.memory_bytes,
            ),
            (
                "compile-cpu-seconds",
                compile_cpu_seconds,
                compile.cpu_seconds,
            ),
            (
                "compile-deadline-ms",
                compile_deadline_ms,
                compile.deadline_ms,
            ),
        ] {
            self.at_most(key, value, default);
        }
    }
}

/// Takes every budget: none has a default, so that each one is a bound where there was none. Those
/// of the command line apply in any case.
pub(super) fn take_budgets(raw: RawBudgets) {
    let RawBudgets {
        tokens: _,
        usd: _,
        wall_clock_seconds: _,
        tool_calls: _,
        identical_repeats: _,
    } = raw;
}
