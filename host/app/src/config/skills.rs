//! `skills`: directories with skills. They are read once, with the configuration.

use super::{
    ConfigError,
    paths::{Scope, canonical},
    problem::{Problems, config_error},
};
use crate::skill::{MAX_SKILLS, SKILL_FILE, Skill};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Reads the skills. Relative paths begin at the directory of the configuration and stay in it.
/// `others` are the names of components and MCP servers.
pub(super) fn resolve(
    named: &[String],
    others: &BTreeSet<&str>,
    scope: Scope<'_>,
) -> Result<Vec<Arc<Skill>>, ConfigError> {
    let mut problems = Problems::default();
    let mut skills: Vec<Arc<Skill>> = Vec::new();
    for (index, written) in named.iter().enumerate() {
        let key = format!("skills[{index}]");
        let fault = |path: &Path, why: &dyn std::fmt::Display, fix: &str| {
            let path = path.display().to_string();
            let path = path.escape_debug();
            config_error!(&key, "cannot use the skill in {path}: {why}", "{fix}")
                .with_value(written)
        };
        let found = directories(&key, written, scope).map_err(|error| error.with_value(written));
        for directory in problems.take(found).unwrap_or_default() {
            let skill = match Skill::read(&directory) {
                Ok(skill) => skill,
                Err(error) => {
                    problems.take::<()>(Err(fault(&directory, &error.reason, &error.fix)));
                    continue;
                }
            };
            let name = skill.name.as_str();
            if others.contains(name) || skills.iter().any(|other| other.name == name) {
                let why = format!("another skill, a tool or an MCP server is named `{name}`");
                problems.take::<()>(Err(fault(&directory, &why, "rename one of them")));
            } else if skills.len() == MAX_SKILLS {
                let why = format!("there are more than {MAX_SKILLS}");
                problems.take::<()>(Err(fault(
                    &directory,
                    &why,
                    "list only those that are needed",
                )));
                break;
            } else {
                skills.push(Arc::new(skill));
            }
        }
    }
    problems.or(skills)
}

/// Returns the directory of a skill, or those of the skills in a directory, without links in their
/// paths.
fn directories(key: &str, named: &str, scope: Scope<'_>) -> Result<Vec<PathBuf>, ConfigError> {
    let path = scope.resolve_path(key, named)?;
    let shown = named.escape_debug();
    let fault = |why: &str, fix: &str| {
        config_error!(key, "cannot use the skills in `{shown}`: {why}", "{fix}")
    };
    let real = canonical(&path);
    let is_relative = !Path::new(named).is_absolute() && !named.starts_with('~');
    if is_relative && !real.starts_with(canonical(scope.base)) {
        let why = format!(
            "they are in {}, outside of the directory of agent.toml",
            real.display()
        );
        return Err(fault(&why, "write the full path if that is intended"));
    }
    let is_skill = |directory: &Path| directory.join(SKILL_FILE).is_file();
    if is_skill(&real) {
        return Ok(vec![real]);
    }
    let entries = std::fs::read_dir(&real).map_err(|error| {
        fault(
            &error.to_string(),
            "correct `skills`, or create the directory",
        )
    })?;
    let mut directories: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|directory| is_skill(directory))
        .collect();
    directories.sort();
    if directories.is_empty() {
        let why = format!("neither it nor a directory in it contains {SKILL_FILE}");
        return Err(fault(
            &why,
            "name the directory of a skill, or a directory of such directories",
        ));
    }
    Ok(directories)
}
