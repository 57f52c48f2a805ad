//! A catalog for tests, and workflows from TOML.

use crate::{
    check::{Catalog, Fault, check},
    workflow::Workflow,
};
use agent_host_types::{reason::Reason, tool::Effect};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Has every name that starts with `ro-`, `idem-` or `eff-`, which is its effect, and those of one
/// letter, which are read-only. Tools refuse an input with the key `refused`.
pub(crate) struct Names;

fn effect(name: &str) -> Option<Effect> {
    match name {
        name if name.starts_with("ro-") || name.len() == 1 => Some(Effect::ReadOnly),
        name if name.starts_with("idem-") => Some(Effect::Idempotent),
        name if name.starts_with("eff-") => Some(Effect::Effectful),
        _ => None,
    }
}

impl Catalog for Names {
    fn agent(&self, name: &str) -> Option<Effect> {
        effect(name)
    }

    fn tool(&self, name: &str) -> Option<Effect> {
        effect(name)
    }

    fn handler(&self, name: &str) -> Option<Effect> {
        effect(name)
    }

    fn check_tool_input(&self, _: &str, input: &Map<String, Value>) -> Result<(), Reason> {
        match input.get("refused") {
            Some(_) => Err("`refused` is not in the schema".into()),
            None => Ok(()),
        }
    }
}

/// Checks a workflow; its name is added.
pub(crate) fn faults_of(toml: &str) -> Result<Workflow, Vec<Fault>> {
    let definition = toml::from_str(&format!("name = 'w'\n{toml}")).unwrap();
    check(&definition, &Names)
}

/// Returns a workflow without faults.
pub(crate) fn workflow(toml: &str) -> Arc<Workflow> {
    let checked = faults_of(toml);
    Arc::new(checked.unwrap_or_else(|faults| panic!("{faults:#?}")))
}

/// Returns the TOML of nodes: each line is the id of an agent, and keys of it after a colon.
pub(crate) fn nodes(lines: &str) -> String {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let node = |line: &str| {
        let (id, keys) = line.split_once(':').unwrap_or((line, ""));
        let executor = ["agent =", "tool =", "handler ="];
        let executor = match executor.iter().any(|key| keys.contains(key)) {
            true => "",
            false => "agent = 'a'\n",
        };
        let keys = keys.replace(';', "\n");
        format!("[[node]]\nid = '{id}'\n{executor}{keys}\n")
    };
    lines.map(node).collect()
}
