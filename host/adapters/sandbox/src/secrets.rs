//! Which secrets the texts of one call are searched for.

#[cfg(test)]
pub(crate) mod tests;

use agent_host_engine::secrets::Secrets;
use std::sync::Arc;

/// The secrets that one call's texts are redacted of.
#[derive(Clone, Default)]
pub(crate) struct Redactors {
    /// The secrets of all tools: for texts that only users, the journal and the model read.
    pub(crate) all: Arc<Secrets>,
    /// The secrets granted to the tool: for texts that guests receive or can read back, which must
    /// not depend on other secrets.
    pub(crate) granted: Arc<Secrets>,
}
