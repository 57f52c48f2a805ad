//! Reviews configuration that came with a directory: an `agent.toml` that was found in the working
//! directory and not named with `--config`, and the case files of `agent-host test`.
//!
//! Such a file may be from a repository, an archive or another user. Every field of its form is in
//! one of three classes:
//!
//! - **harmless**: it is taken as it is (the system prompt, the names of models, stricter approvals);
//! - **clamped**: a limit or budget is taken up to its default; a higher one is a demand;
//! - **authority-bearing**: whatever it says is a demand, unless the default would grant the same.
//!
//! A file without demands is used at once. One with demands is used if the user trusts it: trust is
//! bound to [`Untrusted::digest`] of the serialized file, which skips harmless fields alone (see
//! `raw.rs`), so that no other one changes unnoticed. It covers no bytes of other files: neither
//! component files, which `agent.lock` pins, nor that lock, nor programs of a command line. To
//! trust a directory is to trust those that come with it.
//!
//! Structs are destructured without `..`, so a new field does not compile before it is classified
//! here.

mod danger;
mod demands;
mod grant_demands;
mod hook_demands;
mod left_out;
pub(super) mod replaced;
mod server_demands;
mod settings;
mod trigger_demands;

pub(super) use left_out::check;
pub use left_out::{LeftOut, OnUntrusted, UnusableFile};

use super::{
    ConfigError, Environment, GrantsSection, LimitsSection, SecretSection,
    layers::Layers,
    parse::ConfigFile,
    paths::{Scope, canonical},
    problem::config_error,
    raw::{RawBudgets, RawConfig, RawTiming},
    resolve::{DEFAULT_AGENT_DEPTH, SEARCH_TOOLS_FROM},
    skills,
};
use agent_host_engine::program::DEFAULT_MAX_CALLS;
use agent_host_models::Provider;
use agent_host_sandbox::SandboxConfig;
use agent_host_types::{
    budget::Budgets,
    id::{Digest, json_digest},
};
use danger::{Danger, Demand};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Display,
    path::{Component, Path, PathBuf},
};

/// The holder of the grants of `[grants]`, in words.
const EVERY_TOOL: &str = "every tool";

/// The maximum length of quoted text in a demand, in characters.
const MAX_QUOTED: usize = 100;
/// The most characters of a demand in the error of a use without trust.
const MAX_REFUSED: usize = 240;

/// Configuration that came with a directory and asks for more than an untrusted one gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// The file, or the directory of the case files, without links.
    pub path: PathBuf,
    /// The digest of its clamped and authority-bearing fields in normal form, which is independent
    /// of the order of keys and of the layout.
    pub digest: Digest,
    /// The demands, the most dangerous first, each as the end of a sentence that begins with "it".
    /// Text of the file is quoted and escaped.
    pub demands: Vec<String>,
    /// The skills inside the directory, each with the count of its files. Like its other texts they
    /// need no trust, and the digest does not cover them: `agent.lock` pins them at their first
    /// use.
    pub skills: Vec<(String, usize)>,
}

impl Untrusted {
    /// Reviews the `agent.toml` of the working directory; none where there is no such file, or it
    /// has no demands.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the form of a configuration.
    pub fn found(environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let below = Layers::below_project(environment)?;
        Self::found_above(&below, environment)
    }

    /// Reviews that file above layers that were read.
    fn found_above(below: &Layers, environment: &Environment) -> Result<Option<Self>, ConfigError> {
        let Some(found) = ConfigFile::find(None, &environment.cwd)? else {
            return Ok(None);
        };
        let untrusted = review(&found, below, environment)?;
        Ok(untrusted.map(|untrusted| Self {
            skills: skills_inside(&found, environment),
            ..untrusted
        }))
    }

    /// Returns the error of a use without trust. `trust` is the command that trusts it, and
    /// `name_it` the argument that names the file.
    #[must_use]
    pub fn refusal(&self, trust: &str, name_it: &str) -> ConfigError {
        let first = self.demands.first();
        let first = first.map_or("asks for nothing", String::as_str);
        let first = match first.char_indices().nth(MAX_REFUSED) {
            None => first.to_owned(),
            Some((end, _)) => format!("{}…", first.get(..end).unwrap_or_default()),
        };
        let more = match self.demands.len() {
            0 | 1 => String::new(),
            all => format!(" (and asks for {} more)", all - 1),
        };
        let path = self.path.display();
        config_error!(
            "--config",
            "{path} came with its directory and is not trusted, and it {first}{more}",
            "look at it, then run `{trust}`, or pass `--trust` for this run, or name it: {name_it}"
        )
    }
}

fn review(
    found: &ConfigFile,
    below: &Layers,
    environment: &Environment,
) -> Result<Option<Untrusted>, ConfigError> {
    let base = found.path.parent().unwrap_or(&environment.cwd);
    let mut review = Review::of_configuration(base, environment);
    review.configuration(&found.raw);
    let replaced = replaced::replaced(&found.table()?, below);
    let authority = match replaced.is_empty() {
        true => json!(found.raw),
        // Trust in a file covers what it replaces now, and nothing that the user writes later.
        false => json!([found.raw, replaced]),
    };
    replaced
        .into_iter()
        .for_each(|replaced| review.demand(replaced.danger, replaced.text));
    Ok(review.finish(found.path.clone(), &authority))
}

/// Returns the skills that the file names inside of its directory; none if they cannot be used,
/// which is an error when the file is.
fn skills_inside(found: &ConfigFile, environment: &Environment) -> Vec<(String, usize)> {
    let base = canonical(found.path.parent().unwrap_or(&environment.cwd));
    let scope = Scope {
        base: &base,
        environment,
    };
    let is_inside = |path: &&String| {
        let path = scope.resolve_path("", path);
        path.is_ok_and(|path| canonical(&path).starts_with(&base))
    };
    let inside: Vec<String> = found.raw.skills.iter().filter(is_inside).cloned().collect();
    let skills = skills::resolve(&inside, &BTreeSet::new(), scope).unwrap_or_default();
    skills
        .iter()
        .map(|skill| (skill.name.clone(), skill.files.len()))
        .collect()
}

/// A review of one file, or of several that belong together.
#[derive(Debug)]
pub struct Review<'a> {
    /// The directory of the file, where relative paths begin.
    base: PathBuf,
    /// The directory that the file came with, without links.
    directory: PathBuf,
    environment: &'a Environment,
    use_of: UseOf,
    demands: Vec<Demand>,
    /// The real paths outside of the directory: a link that leads elsewhere changes the digest.
    outside: BTreeSet<String>,
}

/// The use of the file.
#[derive(Clone, Copy, Debug)]
enum UseOf {
    /// The configuration of an agent.
    Configuration,
    /// Cases of `agent-host test`, which write to copies, and reach no server unless they are
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

    /// Starts a review of the case files of the project in `directory`. `recorded` is true if their
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

    /// Reviews the sections of a case file, or of one of its cases, and returns them for the
    /// digest.
    pub fn cases(
        &mut self,
        file: &Path,
        limits: Option<&LimitsSection>,
        grants: Option<&GrantsSection>,
        secrets: &[SecretSection],
    ) -> Value {
        // Paths begin at the real directory of the file, as in `Config::resolve`.
        let file = canonical(&self.environment.cwd.join(file));
        self.base = file.parent().map_or_else(PathBuf::new, Path::to_owned);
        if let Some(limits) = limits {
            self.limits("", limits);
        }
        if let Some(grants) = grants {
            self.grants(EVERY_TOOL, grants);
        }
        secrets.iter().for_each(|secret| self.secret(secret));
        json!([format!("{file:?}"), limits, grants, secrets])
    }

    /// Ends the review; none where there are no demands.
    #[must_use]
    pub fn finish(self, path: PathBuf, authority: &Value) -> Option<Untrusted> {
        let digest = json_digest(&json!([authority, self.outside]));
        let mut demands = self.demands;
        demands.sort_by_key(|demand| demand.danger);
        (!demands.is_empty()).then_some(Untrusted {
            path,
            digest,
            demands: demands.into_iter().map(|demand| demand.text).collect(),
            skills: Vec::new(),
        })
    }

    /// Demands what a configuration asks for.
    #[expect(
        clippy::too_many_lines,
        reason = "each key of the file is named, also those that ask for nothing"
    )]
    fn configuration(&mut self, raw: &RawConfig) {
        let RawConfig {
            model,
            fallback,
            // The system prompt. Files are read from the directory alone.
            system: _,
            instructions,
            skills,
            state_dir,
            cache_dir,
            cache_bytes,
            max_turns,
            // To ask, which is the default, or to deny without asking.
            permission_prompts: _,
            // They reach no tool.
            keys: _,
            approval_timing,
            // A late approval is a denial. Without it they never expire.
            approval_expires_seconds: _,
            search_tools_from,
            // It changes the session alone.
            todo_list: _,
            // A program has the tools of its agent, and every call of it passes the policy.
            code: _,
            code_calls,
            // None has a default, so that each one is a bound where there was none. Those of the
            // command line apply in any case.
            budgets:
                RawBudgets {
                    tokens: _,
                    usd: _,
                    wall_clock_seconds: _,
                    tool_calls: _,
                    identical_repeats: _,
                },
            prices,
            settings,
            network,
            store,
            hosts,
            telemetry,
            context,
            session,
            // Those of `RawConfig::provider_section`.
            anthropic: _,
            openai: _,
            openai_compat: _,
            gemini: _,
            ollama: _,
            provider,
            tool,
            external_tool,
            mcp,
            // Those that it can start; each is defined below.
            agents: _,
            agent_depth,
            agent,
            workflow,
            hook,
            rule,
            schedule,
            webhook,
            publisher,
            grants,
            secret,
            limits,
            sandbox,
        } = raw;
        let models = model.iter().chain(fallback);
        models.for_each(|model| self.model(model));
        for file in instructions.iter().chain(skills) {
            self.instructions(file);
        }
        if let Some(directory) = state_dir {
            self.reach(directory);
            self.demand(
                Danger::Writes,
                format!("keeps sessions in {}", quoted(directory)),
            );
        }
        if let Some(directory) = cache_dir {
            self.reach(directory);
            self.demand(
                Danger::Writes,
                format!("takes compiled code from {}", quoted(directory)),
            );
        }
        let default = SandboxConfig::default().cache_bytes;
        self.at_most("cache-bytes", *cache_bytes, default);
        self.at_most("max-turns", *max_turns, Budgets::default().turns);
        self.at_most("code-calls", *code_calls, DEFAULT_MAX_CALLS);
        self.at_most("agent-depth", *agent_depth, DEFAULT_AGENT_DEPTH);
        // Each request to the model has the definitions of all tools that it is offered.
        self.at_most("search-tools-from", *search_tools_from, SEARCH_TOOLS_FROM);
        if *search_tools_from == Some(0) {
            self.demand(Danger::Other, "offers the model all tools at once, however many there are (search-tools-from = 0)",
            );
        }
        if *approval_timing == RawTiming::InOrder {
            self.demand(
                Danger::Unchecked,
                "runs calls that need no approval before the other calls of a reply are decided \
                 (approval-timing = \"in-order\")",
            );
        }
        prices.iter().for_each(|price| self.price(price));
        self.model_settings("[settings]", settings);
        self.network(network);
        self.store(store);
        self.shared_hosts(hosts);
        self.telemetry(telemetry);
        for (model, settings) in &settings.models {
            self.model_settings(&format!("the model {}", quoted(model)), settings);
        }
        context.iter().for_each(|context| self.context(*context));
        self.session(*session);
        for provider in Provider::ALL {
            if let Some(raw) = raw.provider_section(provider) {
                self.provider(&format!("[{}]", provider.name()), raw);
            }
        }
        for raw in provider {
            let name = quoted(raw.name.as_deref().unwrap_or_default());
            self.provider(&format!("the [[provider]] {name}"), raw);
        }
        tool.iter().flatten().for_each(|tool| self.tool(tool));
        external_tool
            .iter()
            .for_each(|tool| self.external_tool(tool));
        mcp.iter().for_each(|server| self.server(server));
        agent.iter().for_each(|agent| self.agent(agent));
        workflow.iter().for_each(|workflow| self.workflow(workflow));
        hook.iter().for_each(|hook| self.hook(hook));
        rule.iter().for_each(|rule| self.rule(rule));
        schedule.iter().for_each(|schedule| self.schedule(schedule));
        webhook.iter().for_each(|webhook| self.webhook(webhook));
        publisher
            .iter()
            .for_each(|publisher| self.publisher(publisher));
        grants
            .iter()
            .for_each(|grants| self.grants(EVERY_TOOL, grants));
        secret.iter().for_each(|secret| self.secret(secret));
        self.limits("", limits);
        self.sandbox(*sandbox);
    }

    fn demand(&mut self, danger: Danger, text: impl Into<String>) {
        let text = text.into();
        self.demands.push(Demand { danger, text });
    }

    /// Demands a limit that is above its default.
    fn at_most<N: Copy + PartialOrd + Display>(&mut self, key: &str, value: Option<N>, default: N) {
        if let Some(value) = value.filter(|value| *value > default) {
            self.demand(
                Danger::Other,
                format!("raises {key} to {value} (the default is {default})"),
            );
        }
    }

    /// Returns the real path of a path of the file; absent where it is inside of the directory. A
    /// path that cannot be resolved is refused later, with the reason.
    fn reach(&mut self, path: &str) -> Option<PathBuf> {
        let real = canonical(&self.scope().resolve_path("", path).ok()?);
        let climbs = real.components().any(|part| part == Component::ParentDir);
        if real.starts_with(&self.directory) && !climbs {
            return None;
        }
        // Not every path is UTF-8; this form is unique.
        self.outside.insert(format!("{real:?}"));
        Some(real)
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            base: &self.base,
            environment: self.environment,
        }
    }

    /// Returns the path relative to the directory, without links; absent where it is the directory
    /// itself, or outside.
    fn path_inside(&self, path: &str) -> Option<String> {
        let real = canonical(&self.scope().resolve_path("", path).ok()?);
        let inside = real.strip_prefix(&self.directory).ok()?;
        let inside = inside.to_string_lossy().into_owned();
        (!inside.is_empty()).then_some(inside)
    }
}

/// Quotes text of the file for a question: on one line, bounded, and with each deceptive or
/// invisible character written out. A command is not cut: what its end does could be hidden.
fn quoted(text: &str) -> String {
    if text.starts_with("cmd:") {
        let command = in_full(text);
        return format!("{command} (a command, which runs outside of the sandbox)");
    }
    let mut chars = text.chars();
    let shown: String = chars.by_ref().take(MAX_QUOTED).collect();
    let cut = match chars.next() {
        Some(_) => format!("... ({} bytes)", text.len()),
        None => String::new(),
    };
    format!("\"{}\"{cut}", shown.escape_debug())
}

/// Quotes text of the file as [`quoted`] does, however long it is.
fn in_full(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}
