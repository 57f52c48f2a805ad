//! Reviews configuration that came with a directory: an `agent.toml` that was found in the working
//! directory and not named with `--config`, and the case files of `agent-host test`.
//!
//! Such a file may be from a repository, an archive or another user. The declaration of each of its
//! keys says how much trust it needs (see [`section!`](super::section::section)).
//!
//! A file without demands is used at once. One with demands is used if the user trusts it: trust is
//! bound to [`Untrusted::digest`] of the serialized file, which skips harmless keys alone, so that no
//! other one changes unnoticed. It covers no bytes of other files: neither
//! component files, which `agent.lock` pins, nor that lock, nor programs of a command line. To
//! trust a directory is to trust those that come with it.

mod left_out;
pub(super) mod replaced;

pub(super) use left_out::check;
pub use left_out::{LeftOut, UnusableFile};

use super::{
    ConfigError, Environment, GrantsSection, LimitsSection, SecretSection,
    layers::Layers,
    network::NetworkConfig,
    parse::ConfigFile,
    paths::{Scope, canonical},
    problem::config_error,
    review::{Review, UseOf},
    secrets,
    section::Section as _,
    skills,
};
use agent_host_types::id::{Digest, json_digest};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The holder of the grants of a file of cases, in words.
const EVERY_TOOL: &str = "every tool";

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
            "{path} is not trusted, and it {first}{more}",
            "review it, then run `{trust}`, or pass `--trust` for this run, or name the file: {name_it}"
        )
    }
}

/// Reviews a file above the layers of the user and the machine; none where it has no demands.
pub(super) fn review(
    found: &ConfigFile,
    below: &Layers,
    environment: &Environment,
) -> Result<Option<Untrusted>, ConfigError> {
    let base = found.path.parent().unwrap_or(&environment.cwd);
    let mut review = Review::of_configuration(base, environment);
    found.raw.demand_keys("", &mut review);
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
        network: &NetworkConfig::Environment,
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
            limits.demand("", self);
        }
        if let Some(grants) = grants {
            grants.demand_keys(EVERY_TOOL, self);
        }
        secrets
            .iter()
            .for_each(|secret| secrets::demand(secret, "", self));
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
}
