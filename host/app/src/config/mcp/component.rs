//! The component of a server that runs in the sandbox.

use super::{
    General,
    raw::{IDLE_SECONDS, LIFETIME_SECONDS, RawMcp},
};
use crate::config::{
    ComponentSource, ConfigError, GrantsSection, LimitsSection, dir_grants, grants,
    paths::Scope,
    problem::{config_error, resolve_steps},
    tools,
};
use agent_host_engine::policy::Grants;
use agent_host_registry::Remote;
use agent_host_types::limits::Limits;
use std::{num::NonZeroU64, path::PathBuf, sync::Arc, time::Duration};

/// A server that runs in the sandbox.
#[derive(Clone, Debug)]
pub struct ComponentServer {
    /// Where its component is: a file.
    pub source: ComponentSource,
    /// Its grants.
    pub grants: Arc<Grants>,
    /// The limits of an instance. The deadline is that of a call.
    pub limits: Limits,
    /// The time without a call and without a message after which it ends.
    pub idle: Duration,
    /// The age at which it ends between two calls.
    pub lifetime: Duration,
}

impl ComponentServer {
    /// Returns the directories that the server is told to work in: those that it is granted.
    pub(in crate::config) fn roots(&self) -> Vec<PathBuf> {
        let dirs = self.grants.dirs.iter();
        dirs.map(|dir| PathBuf::from(&dir.guest)).collect()
    }
}

/// The keys of a component.
pub(super) struct RawComponent {
    component: String,
    grants: GrantsSection,
    limits: LimitsSection,
    idle: Duration,
    lifetime: Duration,
}

/// Takes the keys of a component; `None` for other servers.
pub(super) fn take(raw: &mut RawMcp) -> Option<RawComponent> {
    let seconds = |key: Option<NonZeroU64>, default| {
        Duration::from_secs(key.map_or(default, NonZeroU64::get))
    };
    Some(RawComponent {
        component: raw.component.take()?,
        grants: raw.grants.take().unwrap_or_default(),
        limits: raw.limits.take().unwrap_or_default(),
        idle: seconds(raw.idle_seconds, IDLE_SECONDS),
        lifetime: seconds(raw.lifetime_seconds, LIFETIME_SECONDS),
    })
}

impl RawComponent {
    /// Resolves the component of the server `name`, whose calls have this deadline.
    pub(super) fn resolve(
        self,
        name: &str,
        deadline_ms: u64,
        general: &General<'_>,
        scope: Scope<'_>,
    ) -> Result<ComponentServer, ConfigError> {
        if Remote::is_meant(&self.component) || self.component.starts_with("builtin:") {
            return Err(config_error!(
                "component",
                "`component` of the MCP server `{name}` is not a file",
                "download it, and write the path of the file"
            )
            .with_value(self.component.as_str()));
        }
        let place = format!("`secrets` of `{name}`");
        resolve_steps! {
            path = scope.resolve_path("component", &self.component);
            limits = tools::limits(self.limits, general.limits, &format!("[mcp.limits] of `{name}`"));
            grants = grants::of_lists(self.grants, general.grants, general.secrets, &place, scope)
                .map_err(|error| error.within("grants"));
        }
        dir_grants::check_apart("grants.dir", &grants.dirs)?;
        Ok(ComponentServer {
            source: ComponentSource::File(path),
            grants: Arc::new(Grants {
                // It runs outside of sessions.
                artifacts: None,
                ..grants
            }),
            limits: Limits {
                deadline_ms,
                ..limits
            },
            idle: self.idle,
            lifetime: self.lifetime,
        })
    }
}
