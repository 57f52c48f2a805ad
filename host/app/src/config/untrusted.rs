//! Decides what configuration may say that came with a directory: an `agent.toml` that was found in
//! the working directory and not named with `--config`, and the case files of `agent-host test`.
//!
//! Such a file may be from a repository, an archive or another person. Every field of its form has
//! one of three standings:
//!
//! - **harmless**: it is taken as it is (the system prompt, the names of models, what makes
//!   approvals stricter);
//! - **clamped**: a limit or budget is taken up to its default; a higher one is a demand;
//! - **authority-bearing**: whatever it says is a demand, unless the default would grant the same.
//!
//! A file without demands is used at once. One with demands is used when the user trusts it:
//! [`Untrusted::digest`] is what the trust is bound to, and covers every field that is clamped or
//! authority-bearing, whatever its value, so that none of them changes unseen. It covers no bytes of
//! other files: neither component files, which `agent.lock` pins, nor that lock, nor programs that a
//! command line names. To trust a directory is to trust those that come with it.
//!
//! Structs are destructured without `..`, so a new field does not compile before somebody decides
//! about it here.

mod demands;

use super::{
    ConfigError, Environment, Overrides, RawBudgets, RawConfig, RawContext, RawGrants, RawKeep,
    RawLimits, RawProvider, RawSandbox, RawSecret, RawSession, RawTiming,
    parse::Found,
    paths::{canonical, place},
};
use crate::trust::TrustFile;
use agent_host_journal::SqliteOptions;
use agent_host_models::{Provider, RetryPolicy, Timeouts};
use agent_host_sandbox::SandboxConfig;
use agent_host_types::{
    budget::Budgets,
    context::ContextLimits,
    id::{Digest, json_digest},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Display,
    path::{Component, Path, PathBuf},
    time::Duration,
};

/// The longest text of a file that a demand repeats, in characters.
const MAX_QUOTED: usize = 100;

/// Configuration that came with a directory and asks for more than an untrusted one gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// The file, or the directory of the case files, without links.
    pub path: PathBuf,
    /// The digest of its authority-bearing fields in normal form: the order of keys and the layout
    /// of the text do not count.
    pub digest: Digest,
    /// What it asks for, each as the end of a sentence that begins with "it". Text of the file in
    /// it is quoted and escaped.
    pub demands: Vec<String>,
}

impl Untrusted {
    /// Reviews the `agent.toml` of the working directory; none where there is no such file, or it
    /// asks for nothing.
    ///
    /// # Errors
    /// When the file cannot be read or does not have the form of a configuration.
    pub fn found(environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let found = RawConfig::find(None, &environment.cwd)?;
        Ok(found.and_then(|found| review(&found, environment)))
    }

    /// The error of a use without trust. `trust` is the command that trusts it, and `name_it` how
    /// the user would name the file.
    #[must_use]
    pub fn refusal(&self, trust: &str, name_it: &str) -> ConfigError {
        let (first, more) = match self.demands.as_slice() {
            [first, rest @ ..] => (first.as_str(), rest.len()),
            [] => ("asks for nothing", 0),
        };
        let more = match more {
            0 => String::new(),
            more => format!(" (and asks for {more} more)"),
        };
        ConfigError::new(format!(
            "{} came with its directory and is not trusted, and it {first}{more}; look at it, then run `{trust}`, or pass `--trust` for this run, or name it: {name_it}",
            self.path.display()
        ))
    }
}

/// Refuses a found configuration that asks for more than an untrusted one gets, unless the user
/// trusts it.
pub(super) fn check(
    found: &Found,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<(), ConfigError> {
    let Some(untrusted) = review(found, environment) else {
        return Ok(());
    };
    if overrides.trust || TrustFile::holds(&untrusted, environment)? {
        return Ok(());
    }
    Err(untrusted.refusal("agent-host trust", "--config agent.toml"))
}

/// What a found configuration asks for.
fn review(found: &Found, environment: &Environment) -> Option<Untrusted> {
    let base = found.path.parent().unwrap_or(&environment.cwd);
    let mut review = Review::of_configuration(base, environment);
    let authority = review.configuration(&found.raw);
    review.finish(found.path.clone(), &authority)
}

/// A review of one file, or of several that belong together.
#[derive(Debug)]
pub struct Review<'a> {
    /// Where relative paths begin.
    base: PathBuf,
    /// The directory that the file came with, without links.
    directory: PathBuf,
    environment: &'a Environment,
    use_of: UseOf,
    demands: Vec<String>,
    /// The real paths of what is outside of the directory: a link that leads elsewhere is another
    /// demand.
    outside: BTreeSet<String>,
}

/// What the file is used for.
#[derive(Clone, Copy, Debug)]
enum UseOf {
    /// It configures an agent.
    Configuration,
    /// It has cases of `agent-host test`: they write to copies, and reach no server unless they are
    /// recorded.
    Cases { recorded: bool },
}

impl<'a> Review<'a> {
    fn of_configuration(base: &Path, environment: &'a Environment) -> Self {
        Self {
            base: base.to_owned(),
            directory: canonical(&environment.cwd),
            environment,
            use_of: UseOf::Configuration,
            demands: Vec::new(),
            outside: BTreeSet::new(),
        }
    }

    /// Begins a review of the case files of the project in `directory`. `recorded` is whether their
    /// HTTP exchanges are recorded, for which servers are asked and secrets are read.
    #[must_use]
    pub fn of_cases(directory: &Path, recorded: bool, environment: &'a Environment) -> Self {
        let directory = canonical(&environment.cwd.join(directory));
        Self {
            use_of: UseOf::Cases { recorded },
            directory: directory.clone(),
            ..Self::of_configuration(&directory, environment)
        }
    }

    /// Reviews what a case file says for all of its cases or for one of them, and returns it for
    /// the digest.
    pub fn cases(
        &mut self,
        file: &Path,
        limits: Option<&RawLimits>,
        grants: Option<&RawGrants>,
        secrets: &[RawSecret],
    ) -> Value {
        // Paths begin where the file really is, as in `Config::resolve`.
        let file = canonical(&self.environment.cwd.join(file));
        self.base = file.parent().map_or_else(PathBuf::new, Path::to_owned);
        self.limits("", limits);
        if let Some(grants) = grants {
            self.grants(grants);
        }
        secrets.iter().for_each(|secret| self.secret(secret));
        json!([format!("{file:?}"), limits, grants, secrets])
    }

    /// Ends the review; none where nothing is asked for.
    #[must_use]
    pub fn finish(self, path: PathBuf, authority: &Value) -> Option<Untrusted> {
        let digest = json_digest(&json!([authority, self.outside]));
        (!self.demands.is_empty()).then_some(Untrusted {
            path,
            digest,
            demands: self.demands,
        })
    }

    /// Reviews a configuration, and returns its clamped and authority-bearing fields.
    fn configuration(&mut self, raw: &RawConfig) -> Value {
        let RawConfig {
            model,
            fallback,
            // What the model is told. Files are read from the directory alone.
            system: _,
            instructions,
            state_dir,
            cache_dir,
            max_turns,
            // To ask, which is the default, or to deny without asking.
            permission_prompts: _,
            approval_timing,
            // Approvals that are not given in time are denied. Without it they wait for ever.
            approval_expires_seconds: _,
            budgets,
            prices,
            context,
            session,
            anthropic,
            openai,
            openai_compat,
            gemini,
            ollama,
            tool,
            external_tool,
            mcp,
            grants,
            secret,
            limits,
            sandbox,
        } = raw;
        for model in model.iter().chain(fallback) {
            self.model(model);
        }
        for file in instructions {
            self.instructions(file.get_ref());
        }
        if let Some(directory) = state_dir {
            self.reach(directory);
            self.demand(format!("keeps sessions in {}", quoted(directory)));
        }
        if let Some(directory) = cache_dir {
            self.reach(directory);
            self.demand(format!("takes compiled code from {}", quoted(directory)));
        }
        self.at_most("max-turns", *max_turns, Budgets::default().turns);
        match approval_timing {
            Some(RawTiming::InOrder) => self.demand(
                "runs calls that need no approval before the other calls of a reply are decided \
                 (approval-timing = \"in-order\")",
            ),
            Some(RawTiming::Batch) | None => {}
        }
        if let Some(budgets) = budgets {
            harmless_budgets(*budgets.get_ref());
        }
        for (model, price) in prices {
            self.price(model, price.get_ref());
        }
        if let Some(context) = context {
            self.context(*context.get_ref());
        }
        if let Some(session) = session {
            self.session(*session.get_ref());
        }
        let providers = [
            (Provider::Anthropic, anthropic),
            (Provider::OpenAi, openai),
            (Provider::OpenAiCompat, openai_compat),
            (Provider::Gemini, gemini),
            (Provider::Ollama, ollama),
        ];
        let providers = providers.map(|(provider, raw)| {
            let raw = raw.as_ref();
            raw.map(|raw| self.provider(provider.name(), raw))
        });
        for tool in tool.iter().flatten() {
            self.tool(tool);
        }
        for tool in external_tool {
            self.external_tool(tool.get_ref());
        }
        for server in mcp {
            self.server(server.get_ref());
        }
        if let Some(grants) = grants {
            self.grants(grants);
        }
        secret.iter().for_each(|secret| self.secret(secret));
        self.limits("", limits.as_ref());
        if let Some(sandbox) = sandbox {
            self.sandbox(*sandbox);
        }
        let files = model.iter().chain(fallback);
        json!({
            "model-files": files.filter(|model| is_file(model)).collect::<Vec<_>>(),
            "state-dir": state_dir,
            "cache-dir": cache_dir,
            "max-turns": max_turns,
            "approval-timing": approval_timing,
            "prices": prices,
            "context": context,
            "session": session,
            "providers": providers,
            "tool": tool,
            "external-tool": external_tool,
            "mcp": mcp,
            "grants": grants,
            "secret": secret,
            "limits": limits,
            "sandbox": sandbox,
        })
    }

    /// Reviews the section of a provider, and returns its clamped and authority-bearing fields.
    fn provider(&mut self, name: &str, raw: &RawProvider) -> Value {
        let RawProvider {
            base_url,
            api_key,
            // What the models take. A wrong word leads to a request that the provider refuses.
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

    fn session(&mut self, raw: RawSession) {
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

    fn context(&mut self, raw: RawContext) {
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

    fn sandbox(&mut self, raw: RawSandbox) {
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

    fn demand(&mut self, text: impl Into<String>) {
        self.demands.push(text.into());
    }

    /// Demands a limit that is above its default.
    fn at_most<N: Copy + PartialOrd + Display>(&mut self, key: &str, value: Option<N>, default: N) {
        if let Some(value) = value.filter(|value| *value > default) {
            self.demand(format!(
                "raises {key} to {value} (the default is {default})"
            ));
        }
    }

    /// Where a path of the file really leads; absent where it is inside of the directory. A path
    /// that cannot be resolved is refused later, with the reason.
    fn reach(&mut self, path: &str) -> Option<PathBuf> {
        let real = canonical(&place(path, &self.base, self.environment).ok()?);
        let climbs = real.components().any(|part| part == Component::ParentDir);
        if real.starts_with(&self.directory) && !climbs {
            return None;
        }
        // Not every path is UTF-8; this form tells all of them apart.
        self.outside.insert(format!("{real:?}"));
        Some(real)
    }

    /// The path relative to the directory, without links; absent where it is the directory itself,
    /// or outside.
    fn path_inside(&self, path: &str) -> Option<String> {
        let real = canonical(&place(path, &self.base, self.environment).ok()?);
        let inside = real.strip_prefix(&self.directory).ok()?;
        let inside = inside.to_string_lossy().into_owned();
        (!inside.is_empty()).then_some(inside)
    }
}

/// Whether a model is a script or a recording in a file, and not the name of one.
fn is_file(model: &str) -> bool {
    match model.split_once(':') {
        Some(("script", name)) => super::model::is_path(name),
        Some((kind, _)) => kind == "replay",
        None => false,
    }
}

/// None of them has a default, so that each one is a bound where there was none; those of the
/// command line hold in any case.
fn harmless_budgets(raw: RawBudgets) {
    let RawBudgets {
        tokens: _,
        usd: _,
        wall_clock_seconds: _,
        tool_calls: _,
        identical_repeats: _,
    } = raw;
}

/// Text of the file as it can be shown in a question: on one line, bounded, and with each character
/// written out that could be taken for another one or is not seen.
fn quoted(text: &str) -> String {
    let mut chars = text.chars();
    let shown: String = chars.by_ref().take(MAX_QUOTED).collect();
    let cut = match chars.next() {
        Some(_) => format!("... ({} bytes)", text.len()),
        None => String::new(),
    };
    format!("\"{}\"{cut}", shown.escape_debug())
}
