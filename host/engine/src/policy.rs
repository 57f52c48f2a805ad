//! The policy: pure decisions over what the operator granted. Every effect of a tool, whichever interface it comes through,
//! is decided here and nowhere else; nothing here reads a clock, a file or a name server.
//!
//! Deny by default: a request that no grant covers is denied. A grant is never widened by a tool, a model or a result; the
//! effect class of the tool only narrows it.

mod address;
mod call;
mod files;
mod grants;
mod http;
mod http_grant;
mod paths;
mod run_later;
mod secret;
#[cfg(test)]
mod tests;
mod toml_text;
mod url_path;

pub use address::{AddressClass, classify, embedded_v4};
pub use call::decide_call;
pub use files::{FileOp, decide_file};
pub use grants::{
    DirGrant, DirMode, DirQuota, EnvGrant, GrantError, Grants, HttpGrant, SecretGrant,
};
pub use http::{HttpRequest, decide_address, decide_http};
pub use paths::PathRules;
pub use secret::{SecretPlace, decide_secret};

/// What the policy says to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may go ahead.
    Allow {
        /// The rule that allows it.
        rule: String,
    },
    /// It may not.
    Deny {
        /// The rule that denies it.
        rule: String,
        /// Why, in words for the operator and the model.
        reason: String,
        /// The smallest grant that would allow it, as lines of `agent.toml`; absent where no grant would.
        grant: Option<String>,
    },
    /// A person decides.
    Ask {
        /// The rule that asks.
        rule: String,
    },
}

/// The rule's name when nothing was granted.
pub const DEFAULT_DENY: &str = "default-deny";
