//! Demands of the model, session, context and sandbox sections of an untrusted file.

use super::{Danger, Review, quoted};
use crate::config::{
    hosts::RawHosts,
    network::RawNetwork,
    raw::{RawArtifacts, RawContext, RawKeep, RawProvider, RawSandbox, RawSession},
    settings::RawSettings,
    store::RawStore,
    telemetry::RawTelemetry,
};
use agent_host_engine::{artifact::DEFAULT_QUOTA_BYTES, policy::ArtifactAccess};
use agent_host_journal::SqliteOptions;
use agent_host_models::{Effort, RetryPolicy, Timeouts};
use agent_host_sandbox::{CompileLimits, SandboxConfig};
use agent_host_types::context::ContextLimits;
use std::{collections::BTreeMap, num::NonZeroU64, time::Duration};

impl Review<'_> {
    /// Demands what the section of a provider asks for; `name` is the section in words.
    pub(super) fn provider(&mut self, name: &str, raw: &RawProvider) {
        let RawProvider {
            name: _,
            // A service has its own address and its own key, as where a model is chosen.
            kind: _,
            base_url,
            api_key,
            key_header,
            headers,
            query,
            // Capabilities of the models. A wrong one leads to a request that the provider refuses.
            vision: _,
            documents: _,
            audio: _,
            files_in_results: _,
            parallel_calls: _,
            denied_is_error: _,
            send: _,
            max_output_tokens,
            connect_timeout_seconds,
            first_chunk_timeout_seconds,
            idle_chunk_timeout_seconds,
            total_timeout_seconds,
            retries,
        } = raw;
        if let Some(url) = base_url {
            self.demand(
                Danger::Network,
                format!(
                    "sends the conversations of {name}, and the key where one is set, to {}",
                    quoted(url)
                ),
            );
        }
        if let Some(source) = api_key {
            self.demand(
                Danger::reading(source, Danger::Private),
                format!("takes the key of {name} from {}", quoted(source)),
            );
        }
        if let Some(header) = key_header {
            let header = quoted(header);
            self.demand(
                Danger::Private,
                format!("sends the key of {name} in the header {header}"),
            );
        }
        self.request_parts(name, headers, query);
        if let Some(tokens) = max_output_tokens {
            self.demand(
                Danger::Other,
                format!("lets a reply of {name} have {tokens} tokens"),
            );
        }
        let default = Timeouts::default();
        let mut timeout = |which, seconds: Option<NonZeroU64>, default: Duration| {
            let key = format!("{which}-timeout-seconds of {name}");
            self.at_most(&key, seconds.map(NonZeroU64::get), default.as_secs());
        };
        timeout("connect", *connect_timeout_seconds, default.connect);
        timeout(
            "first-chunk",
            *first_chunk_timeout_seconds,
            default.first_chunk,
        );
        timeout(
            "idle-chunk",
            *idle_chunk_timeout_seconds,
            default.idle_chunk,
        );
        timeout("total", *total_timeout_seconds, default.total);
        let key = format!("retries of {name}");
        self.at_most(&key, *retries, RetryPolicy::default().retries);
    }

    /// Demands the headers and the query that a provider adds to its requests.
    fn request_parts(
        &mut self,
        name: &str,
        headers: &BTreeMap<String, String>,
        query: &BTreeMap<String, String>,
    ) {
        for (header, value) in headers {
            let danger = Danger::reading(value, Danger::Network);
            let (header, value) = (quoted(header), quoted(value));
            self.demand(
                danger,
                format!("sends the header {header} of {name}: {value}"),
            );
        }
        for (parameter, value) in query {
            let danger = Danger::reading(value, Danger::Network);
            let (parameter, value) = (quoted(parameter), quoted(value));
            self.demand(
                danger,
                format!("adds {parameter} to the query of {name}: {value}"),
            );
        }
    }

    pub(super) fn network(&mut self, raw: &RawNetwork) {
        let RawNetwork { proxy, no_proxy } = raw;
        if let Some(proxy) = proxy {
            let except = match no_proxy.as_slice() {
                [] => String::new(),
                hosts => format!(", except to {}", quoted(&hosts.join(", "))),
            };
            self.demand(
                Danger::Network,
                format!(
                    "sends requests to models and MCP servers through the proxy {}{except}",
                    quoted(proxy)
                ),
            );
        }
    }

    pub(super) fn store(&mut self, raw: &RawStore) {
        let RawStore {
            url,
            ca,
            key,
            connections,
        } = raw;
        if let Some(url) = url {
            self.demand(
                Danger::reading(url, Danger::Network),
                format!("keeps sessions in the database {}", quoted(url)),
            );
        }
        if let Some(file) = ca {
            let file = quoted(&file.to_string_lossy());
            self.demand(
                Danger::Unchecked,
                format!("trusts a database by the authorities in {file}"),
            );
        }
        if let Some(key) = key {
            self.demand(
                Danger::reading(key, Danger::Private),
                format!("seals secrets with the key from {}", quoted(key)),
            );
        }
        if let Some(count) = connections {
            self.demand(
                Danger::Other,
                format!("opens up to {count} connections to the database"),
            );
        }
    }

    pub(super) fn shared_hosts(&mut self, raw: &RawHosts) {
        let RawHosts {
            machine,
            shared_directories,
            lease_seconds,
            max_runs,
            max_memory_bytes,
        } = raw;
        for directory in shared_directories {
            self.demand(
                Danger::Other,
                format!(
                    "lets any host continue sessions that reach {}",
                    quoted(directory)
                ),
            );
        }
        if let Some(machine) = machine {
            self.demand(
                Danger::Other,
                format!("calls this machine {}", quoted(machine)),
            );
        }
        if lease_seconds.is_some() || max_runs.is_some() || max_memory_bytes.is_some() {
            self.demand(
                Danger::Other,
                "sets how many sessions run here, and when other hosts continue them",
            );
        }
    }

    pub(super) fn telemetry(&mut self, raw: &RawTelemetry) {
        let RawTelemetry { endpoint, content } = raw;
        if let Some(endpoint) = endpoint {
            self.demand(
                Danger::Network,
                format!("sends traces of sessions to {}", quoted(endpoint)),
            );
        }
        if *content {
            self.demand(
                Danger::Network,
                "puts messages, arguments and results into traces (content = true in [telemetry])",
            );
        }
    }

    /// Demands settings that cost more or go around the other keys. Those of single models are
    /// demanded by the caller.
    pub(super) fn model_settings(&mut self, of: &str, raw: &RawSettings) {
        let RawSettings {
            effort,
            // They change answers, as the system prompt does. Thoughts count as tokens of the
            // reply.
            thinking: _,
            reasoning_summary: _,
            reasoning_tags: _,
            temperature: _,
            top_p: _,
            seed: _,
            stop: _,
            // A call passes the policy whether the model was made to make it or not.
            tool_choice: _,
            verbosity: _,
            service_tier,
            cache_lifetime,
            prompt_cache_key,
            extra_body,
            headers,
            models: _,
        } = raw;
        if let Some(effort) = effort.filter(|effort| *effort > Effort::High) {
            self.demand(
                Danger::Other,
                format!("raises the effort of {of} to \"{}\"", effort.name()),
            );
        }
        if let Some(tier) = service_tier {
            let tier = tier.name();
            self.demand(
                Danger::Other,
                format!("buys the service tier \"{tier}\" for {of}"),
            );
        }
        if let Some(lifetime) = cache_lifetime {
            let lifetime = lifetime.name();
            self.demand(
                Danger::Other,
                format!("has prompts of {of} cached for \"{lifetime}\""),
            );
        }
        if let Some(key) = prompt_cache_key {
            self.demand(
                Danger::Other,
                format!("shares cached prompts of {of} by {}", quoted(key)),
            );
        }
        if !extra_body.is_empty() {
            let names: Vec<&str> = extra_body.keys().map(String::as_str).collect();
            let names = quoted(&names.join(", "));
            self.demand(
                Danger::Other,
                format!("adds the fields {names} to the requests of {of}"),
            );
        }
        for (name, value) in headers {
            let danger = Danger::reading(value, Danger::Network);
            let (name, value) = (quoted(name), quoted(value));
            self.demand(
                danger,
                format!("sends the header {name} with the requests of {of}: {value}"),
            );
        }
    }

    /// Demands the artifacts of the session for `who`.
    pub(super) fn artifacts(&mut self, who: &str, raw: Option<RawArtifacts>) {
        let (danger, can) = match raw.and_then(RawArtifacts::access) {
            None => return,
            Some(ArtifactAccess::ReadOnly) => (Danger::Private, "read"),
            Some(ArtifactAccess::ReadWrite) => (Danger::Writes, "read, store and delete"),
        };
        self.demand(danger, format!(
            "lets {who} {can} the artifacts of the session, which hold the results of every tool"
        ));
    }

    pub(super) fn session(&mut self, raw: RawSession) {
        let RawSession {
            keep,
            lock_timeout_ms,
            artifact_bytes,
            undo_bytes,
            durability: _,
        } = raw;
        if let Some(RawKeep { days, bytes }) = keep {
            let default = || "the default".to_owned();
            self.demand(
                Danger::Writes,
                format!(
                    "decides which of your sessions are removed: days = {}, bytes = {}",
                    days.map_or_else(default, |days| days.to_string()),
                    bytes.map_or_else(default, |bytes| bytes.to_string())
                ),
            );
        }
        let default = SqliteOptions::default().lock_timeout.as_millis();
        self.at_most("lock-timeout-ms", lock_timeout_ms.map(u128::from), default);
        self.at_most("artifact-bytes", artifact_bytes, DEFAULT_QUOTA_BYTES);
        if let Some(bytes) = undo_bytes {
            self.demand(Danger::Other, format!(
                "decides how much of the files that tools change is kept for undoing: undo-bytes = {bytes}"
            ));
        }
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
            result_memory_bytes,
            guest_threads,
            // Without a pool, calls are slower and as limited as with it.
            pooling: _,
            compile_memory_bytes,
            compile_cpu_seconds,
            compile_deadline_ms,
        } = raw;
        let default = SandboxConfig::default();
        self.at_most(
            "concurrent-calls",
            concurrent_calls,
            default.concurrent_calls,
        );
        self.at_most("queued-calls", queued_calls, default.queued_calls);
        // Half of all is the default.
        let half = default.concurrent_calls / 2;
        self.at_most("concurrent-calls-per-tool", concurrent_calls_per_tool, half);
        let half = default.queued_calls / 2;
        self.at_most("queued-calls-per-tool", queued_calls_per_tool, half);
        self.at_most(
            "result-memory-bytes",
            result_memory_bytes,
            default.result_memory_bytes,
        );
        self.at_most("guest-threads", guest_threads, default.guest_threads);
        let CompileLimits {
            memory_bytes,
            cpu_seconds,
            deadline_ms,
        } = default.compile_limits;
        self.at_most("compile-memory-bytes", compile_memory_bytes, memory_bytes);
        self.at_most("compile-cpu-seconds", compile_cpu_seconds, cpu_seconds);
        self.at_most("compile-deadline-ms", compile_deadline_ms, deadline_ms);
    }
}
