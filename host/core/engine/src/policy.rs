//! The policy: pure decisions over the operator's grants and rules. Every effect of a tool, through
//! whichever interface, is decided here and nowhere else; nothing here reads a clock, a file or a
//! name server.
//!
//! A request that no grant covers is denied. No tool, model or result widens a grant; the effect
//! class of the tool narrows it, and so do the grants of the agent that calls it.

mod address;
mod artifact;
mod call;
mod ceiling;
mod files;
mod grants;
mod http;
mod http_grant;
mod paths;
mod rule;
mod run_later;
mod secret;
#[cfg(test)]
mod tests;
mod toml_text;
mod url_path;

pub use address::{AddressClass, classify, embedded_v4};
pub use artifact::decide_artifact;
pub use call::{decide_call, denied_call};
pub use ceiling::decide_path;
pub use files::{FileOp, decide_file, decide_run_later};
pub use grants::{
    ArtifactAccess, DirGrant, DirMode, DirQuota, EnvGrant, GrantError, Grants, HttpGrant,
    SecretGrant,
};
pub use http::{HttpRequest, decide_address, decide_http, only_reads};
pub use paths::PathRules;
pub(crate) use rule::PATH;
pub use rule::{
    ArgumentGlob, ArgumentPointer, ArgumentTest, CallRequest, CallRule, MAIN_AGENT, MAX_RULES,
    NameGlob, RuleDecision, RuleError, WantedFacts, deciding_rule, main_argument, pattern_fits,
};
pub use run_later::{
    GitConfigContent, GitConfigScan, RepositoryEntry, RunLater, fold as fold_file_name,
    is_repository, repository_entries, repository_marker,
};
pub use secret::{SecretPlace, decide_secret};

/// The decision of the policy about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The request is allowed.
    Allow {
        /// The rule that allows it.
        rule: String,
    },
    /// The request is denied.
    Deny {
        /// The rule that denies it.
        rule: String,
        /// The reason, for the operator and the model.
        reason: String,
        /// The smallest grant that would allow it, as lines of `agent.toml`; absent if no grant
        /// would.
        grant: Option<String>,
    },
    /// The user decides.
    Ask {
        /// The rule that requires approval.
        rule: String,
    },
}

impl Ruling {
    /// Returns the rule that decides.
    #[must_use]
    pub fn rule(&self) -> &str {
        let (Self::Allow { rule } | Self::Deny { rule, .. } | Self::Ask { rule }) = self;
        rule
    }

    fn allow(rule: impl Into<String>) -> Self {
        Self::Allow { rule: rule.into() }
    }

    fn ask(rule: impl Into<String>) -> Self {
        Self::Ask { rule: rule.into() }
    }

    /// Denies a request that no grant would allow.
    pub(crate) fn deny(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Deny {
            rule: rule.into(),
            reason: reason.into(),
            grant: None,
        }
    }
}

/// The name of the rule for requests that no grant covers.
pub const DEFAULT_DENY: &str = "default-deny";
