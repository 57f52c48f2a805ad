//! The skills of a registry: those of the configuration, and those in components.

use super::Registry;
use crate::{
    components::ComponentEntry,
    error::HostError,
    skill::{MAX_SKILLS, Skill, SkillError},
};
use agent_host_types::reason::Reason;
use std::sync::Arc;

impl Registry {
    /// Adds the skill of a component. One that cannot be used is left out, as a tool would be.
    pub(super) fn add_skill(&mut self, entry: &ComponentEntry) {
        let archive = entry.component.skill();
        match archive.map(|archive| Skill::in_component(&entry.name, archive)) {
            None => {}
            Some(Ok(skill)) => self.skills.push(Arc::new(skill)),
            Some(Err(error)) => {
                let name = &entry.name;
                tracing::warn!("the skill of the component `{name}` is left out: {error}");
            }
        }
    }

    /// Puts the skills of the configuration before those of components. Beyond [`MAX_SKILLS`] the
    /// last are left out.
    pub(super) fn add_configured_skills(&mut self, skills: &[Arc<Skill>]) {
        self.skills.splice(..0, skills.iter().cloned());
        let left_out = self.skills.split_off(self.skills.len().min(MAX_SKILLS));
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.iter().map(|skill| skill.name.as_str()).collect();
            let names = names.join(", ");
            tracing::warn!(
                "there are more than {MAX_SKILLS} skills, and these are left out: {names}"
            );
        }
    }
}

/// Reads a skill of the configuration again.
pub(super) async fn reread(skill: &Arc<Skill>) -> Result<Arc<Skill>, HostError> {
    let directory = skill.directory.clone().unwrap_or_default();
    let read = tokio::task::spawn_blocking(move || Skill::read(&directory)).await;
    match read.unwrap_or_else(|error| Err(SkillError::new(error.to_string(), "try again"))) {
        Ok(read) => Ok(Arc::new(read)),
        Err(why) => {
            let name = &skill.name;
            Err(Reason::from(format!("cannot use the skill `{name}`: {why}")).into())
        }
    }
}
