//! The demands of `[[hook]]`.

use super::{Danger, Review, quoted};
use crate::config::hooks::{OnHookError, RawHook};
use agent_host_registry::Remote;

impl Review<'_> {
    /// Demands a hook: it sees the conversation, and decides what is run and shown.
    pub(super) fn hook(&mut self, raw: &RawHook) {
        let RawHook {
            name,
            component,
            points,
            // Fewer tools are less of a demand.
            tools: _,
            on_error,
            limits,
            dir,
            http,
            env,
            secrets,
        } = raw;
        let who = quoted(name);
        if !Remote::is_meant(component) {
            self.reach(component);
        }
        let points: Vec<&str> = points.iter().map(|point| point.as_str()).collect();
        self.demand(
            Danger::Component,
            format!(
                "runs the component {} as the hook {who} ({})",
                quoted(component),
                points.join(", ")
            ),
        );
        if *on_error == OnHookError::Pass {
            self.demand(
                Danger::Unchecked,
                format!("continues where the hook {who} gives no verdict (on-error = \"pass\")"),
            );
        }
        self.limits(&format!(" for {who}"), limits);
        dir.iter().flatten().for_each(|dir| self.dir(&who, dir));
        self.hosts(&who, http.iter().flatten());
        self.variables(&who, env.iter().flatten());
        self.secret_names(&who, secrets.iter().flatten());
    }
}
