//! The check of a definition: all faults at once, before anything runs or is recorded. Agents,
//! tools and handlers are looked up through [`Catalog`].

mod cycle;
mod expressions;
mod fault;
mod nodes;
mod references;
#[cfg(test)]
mod tests;

pub use fault::{Fault, Place};

use crate::{
    definition::{NodeDefinition, WorkflowDefinition},
    workflow::{Edge, Node, NodeIndex, Workflow},
};
use agent_host_types::{id::Digest, reason::Reason, tool::Effect};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The most nodes of a workflow.
pub const MAX_NODES: usize = 10_000;

/// The most edges of a workflow.
pub const MAX_EDGES: usize = 100_000;

/// The most iterations at once of one `foreach`.
pub const MAX_AT_ONCE: u32 = 1_000;

/// The maximum number of attempts after the first.
pub const MAX_RETRIES: u32 = 100;

/// The agents, tools and handlers that a workflow may name. Implemented by the driver of runs; in
/// tests, by tables.
pub trait Catalog {
    /// Returns the strongest effect among the tools of an agent; `None` if there is no such agent.
    fn agent(&self, name: &str) -> Option<Effect>;

    /// Returns the effect of a tool; `None` if there is no such tool.
    fn tool(&self, name: &str) -> Option<Effect>;

    /// Returns the effect of a registered handler; `None` if there is no such handler.
    fn handler(&self, name: &str) -> Option<Effect>;

    /// Checks an input without references against the schema of a tool that exists.
    ///
    /// # Errors
    /// The reason, as a lowercase fragment.
    fn check_tool_input(&self, name: &str, input: &Map<String, Value>) -> Result<(), Reason>;
}

/// Checks a definition.
///
/// ```
/// use agent_host_workflow::{check::{Catalog, check}, definition::WorkflowDefinition};
/// # use agent_host_types::{reason::Reason, tool::Effect};
/// # use serde_json::{Map, Value};
/// # struct Agents;
/// # impl Catalog for Agents {
/// #     fn agent(&self, name: &str) -> Option<Effect> {
/// #         (name == "writer").then_some(Effect::ReadOnly)
/// #     }
/// #     fn tool(&self, _: &str) -> Option<Effect> { None }
/// #     fn handler(&self, _: &str) -> Option<Effect> { None }
/// #     fn check_tool_input(&self, _: &str, _: &Map<String, Value>) -> Result<(), Reason> { Ok(()) }
/// # }
/// let definition: WorkflowDefinition = toml::from_str(
///     "name = 'w'\n[[node]]\nid = 'a'\nagent = 'writer'\nnext = 'b'",
/// )?;
/// let faults = check(&definition, &Agents).unwrap_err();
/// assert_eq!(
///     faults[0].to_string(),
///     "node `a`: `next` names `b`, which is not a node; add the node, or remove it from `next`"
/// );
/// # Ok::<(), toml::de::Error>(())
/// ```
///
/// # Errors
/// All faults, in the order of the definition.
pub fn check(
    definition: &WorkflowDefinition,
    catalog: &impl Catalog,
) -> Result<Workflow, Vec<Fault>> {
    let mut faults = Vec::new();
    check_size(definition, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    nodes::check_ids(definition, &mut faults);
    let (sorted, indices) = index(definition);
    let mut nodes: Vec<Node> = sorted
        .iter()
        .map(|node| nodes::node(node, catalog, &mut faults))
        .collect();
    link(&sorted, &indices, &mut nodes, &mut faults);
    for ((node, checked), definition) in (0..).zip(&mut nodes).zip(&sorted) {
        nodes::check_input(definition, checked, &mut faults);
        references::resolve(node, checked, &indices);
    }
    cycle::check(&nodes, &mut faults);
    references::check(definition, &nodes, &indices, &mut faults);
    // Only a definition without a JSON form has no digest; this one has one.
    match Digest::of_json(definition) {
        Ok(digest) if faults.is_empty() => Ok(Workflow {
            definition: definition.clone(),
            digest,
            nodes: nodes.into_iter().map(Arc::new).collect(),
            indices,
        }),
        Ok(_) | Err(_) => {
            let positions: HashMap<&str, usize> = definition
                .node
                .iter()
                .enumerate()
                .rev()
                .map(|(position, node)| (node.id.as_str(), position + 1))
                .collect();
            // Faults of the whole come first.
            faults.sort_by_key(|fault| {
                let position = fault.node().and_then(|id| positions.get(id));
                position.copied().unwrap_or_default()
            });
            Err(faults)
        }
    }
}

fn check_size(definition: &WorkflowDefinition, faults: &mut Vec<Fault>) {
    let workflow = definition.name.escape_debug();
    let edges: usize = definition.node.iter().map(|node| node.next.0.len()).sum();
    if definition.name.trim().is_empty() {
        faults.push(Fault::of_workflow(
            "a workflow has no name; set `name`".to_owned(),
        ));
    }
    if definition.node.is_empty() {
        let why = format!("workflow `{workflow}` has no nodes; add a `[[workflow.node]]`");
        faults.push(Fault::of_workflow(why));
    }
    for (count, most, what) in [
        (definition.node.len(), MAX_NODES, "nodes"),
        (edges, MAX_EDGES, "edges"),
    ] {
        if count > most {
            faults.push(Fault::of_workflow(format!(
                "workflow `{workflow}` has {count} {what}, and the maximum is {most}; split it into several workflows"
            )));
        }
    }
}

/// Sorts the nodes by id. Of two with one id, which is a fault, both stay.
fn index(definition: &WorkflowDefinition) -> (Vec<&NodeDefinition>, HashMap<Arc<str>, NodeIndex>) {
    let mut sorted: Vec<&NodeDefinition> = definition.node.iter().collect();
    sorted.sort_by(|left, right| left.id.cmp(&right.id));
    let indices = (0..).zip(&sorted);
    let indices = indices.map(|(index, node)| (Arc::from(node.id.as_str()), index));
    let indices = indices.collect();
    (sorted, indices)
}

/// Adds the edges and the predecessors.
fn link(
    sorted: &[&NodeDefinition],
    indices: &HashMap<Arc<str>, NodeIndex>,
    nodes: &mut [Node],
    faults: &mut Vec<Fault>,
) {
    let mut incoming: Vec<(u32, BTreeSet<NodeIndex>)> = vec![Default::default(); nodes.len()];
    for ((from, node), definition) in (0..).zip(nodes.iter_mut()).zip(sorted) {
        for edge in &definition.next.0 {
            let Some(&to) = indices.get(edge.to.as_str()) else {
                let next = edge.to.escape_debug();
                let why = format!(
                    ": `next` names `{next}`, which is not a node; add the node, or remove it from `next`"
                );
                faults.push(Fault::of_node(&definition.id, &why));
                continue;
            };
            let when = edge.when.as_ref().and_then(|text| {
                let place = Place::When(edge.to.clone());
                expressions::parse(&definition.id, &place, text, faults)
            });
            node.edges.push(Edge { to, when });
            if let Some((degree, predecessors)) = incoming.get_mut(to as usize) {
                *degree += 1;
                predecessors.insert(from);
            }
        }
    }
    for (node, (degree, predecessors)) in nodes.iter_mut().zip(incoming) {
        node.in_degree = degree;
        node.predecessors = predecessors.into_iter().collect();
    }
}
