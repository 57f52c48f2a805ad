//! The check of references: the node exists and is before the one that refers to it, `loop.*` is in
//! an iteration, and a key of the shared state has a reducer.

use super::{Fault, Place};
use crate::{
    definition::WorkflowDefinition,
    reference::{Field, LoopField, Reference},
    workflow::{InputPlan, Node, NodeIndex},
};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Fills in the nodes whose values and files the input needs.
pub(super) fn resolve(this: NodeIndex, node: &mut Node, indices: &HashMap<Arc<str>, NodeIndex>) {
    let (mut values, mut files) = (BTreeSet::new(), Vec::new());
    let is_message = !matches!(node.input, InputPlan::Object(_));
    for (place, reference) in input_references(node) {
        let Reference::Node {
            node: id, field, ..
        } = reference
        else {
            continue;
        };
        let Some(&index) = indices.get(id.as_str()) else {
            continue;
        };
        if !matches!(field, Field::Error | Field::Items) && index != this {
            values.insert(index);
        }
        let has_files = matches!(field, Field::Text | Field::Output) && place != Place::Foreach;
        if has_files && is_message && !files.contains(&index) {
            files.push(index);
        }
    }
    node.values_of = values.into_iter().collect();
    node.files_of = files;
}

/// Returns the references of a node, besides those of its edges.
fn input_references(node: &Node) -> Vec<(Place, &Reference)> {
    let mut found: Vec<(Place, &Reference)> = Vec::new();
    match &node.input {
        InputPlan::Initial | InputPlan::Item => {}
        InputPlan::Message(value) => {
            found.extend(
                value
                    .reference()
                    .map(|reference| (Place::Message, reference)),
            );
        }
        InputPlan::Sections(sections) => {
            let sections = sections.iter().filter_map(|(key, value)| {
                let reference = value.reference()?;
                Some((Place::Inputs(key.clone()), reference))
            });
            found.extend(sections);
        }
        InputPlan::Object(template) => {
            let references = template.references().into_iter();
            let place = |reference: &Reference| Place::Input(reference.to_string());
            found.extend(references.map(|reference| (place(reference), reference)));
        }
    }
    if let Some(foreach) = &node.foreach {
        found.push((Place::Foreach, &foreach.over));
    }
    found
}

/// The check of the references of all nodes.
struct Check<'a> {
    definition: &'a WorkflowDefinition,
    indices: &'a HashMap<Arc<str>, NodeIndex>,
    ancestors: Vec<Bits>,
}

/// Checks every reference.
pub(super) fn check(
    definition: &WorkflowDefinition,
    nodes: &[Node],
    indices: &HashMap<Arc<str>, NodeIndex>,
    faults: &mut Vec<Fault>,
) {
    let check = Check {
        definition,
        indices,
        ancestors: ancestors(nodes),
    };
    for (index, node) in (0..).zip(nodes) {
        for (place, reference) in input_references(node) {
            faults.extend(check.fault(index, node, &place, reference, false));
        }
        for edge in &node.edges {
            let Some(when) = &edge.when else { continue };
            let to = nodes.get(edge.to as usize).map(|node| node.id.to_string());
            let place = Place::When(to.unwrap_or_default());
            for reference in when.references() {
                faults.extend(check.fault(index, node, &place, reference, true));
            }
        }
    }
}

impl Check<'_> {
    /// Returns the fault of a reference. A condition may also refer to its own node.
    fn fault(
        &self,
        index: NodeIndex,
        node: &Node,
        place: &Place,
        reference: &Reference,
        is_condition: bool,
    ) -> Option<Fault> {
        let why = match reference {
            Reference::Message => return None,
            Reference::State { path } => {
                let key = path.first()?;
                if self.definition.reduce.contains_key(key) {
                    return None;
                }
                format!(
                    "`state.{key}`, but `reduce` has no key `{key}`; add it to `reduce` of the workflow"
                )
            }
            Reference::Loop { field, .. } => {
                let is_outside = matches!(place, Place::Foreach | Place::When(_));
                match &node.foreach {
                    Some(foreach) if !is_outside => {
                        if !foreach.is_parallel || *field != LoopField::PriorResults {
                            return None;
                        }
                        "`loop.prior_results`, which depends on timing with `mode = \"parallel\"`; make the `foreach` \
                         sequential"
                            .to_owned()
                    }
                    Some(_) | None => {
                        let hint = match is_outside {
                            true => "refer to the output of a node",
                            false => "add `foreach` to the node",
                        };
                        format!("`{reference}` outside of the iterations of a `foreach`; {hint}")
                    }
                }
            }
            Reference::Node { node: other, .. } => {
                let shown = other.escape_debug();
                let Some(&to) = self.indices.get(other.as_str()) else {
                    let why = format!(
                        ": {place} refers to `{reference}`, but no node has the id `{shown}`; use the id of an earlier \
                         node"
                    );
                    return Some(Fault::of_node(&node.id, &why));
                };
                let is_before = self
                    .ancestors
                    .get(index as usize)
                    .is_none_or(|before| before.contains(to));
                if is_before || (is_condition && to == index) {
                    return None;
                }
                format!("`{reference}`, but no path of `next` leads from `{shown}` to it; add one")
            }
        };
        Some(Fault::of_node(
            &node.id,
            &format!(": {place} refers to {why}"),
        ))
    }
}

/// A set of nodes, as one bit for each.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn contains(&self, node: NodeIndex) -> bool {
        let word = self.0.get(node as usize / 64);
        word.is_some_and(|word| word & (1 << (node % 64)) != 0)
    }

    fn insert(&mut self, node: NodeIndex) {
        if let Some(word) = self.0.get_mut(node as usize / 64) {
            *word |= 1 << (node % 64);
        }
    }
}

/// Returns the ancestors of each node, at most 12.5 MB for the most nodes; none at all if no node
/// refers to another one, or if there is a cycle, which is a fault of its own.
fn ancestors(nodes: &[Node]) -> Vec<Bits> {
    let refers = nodes.iter().any(|node| {
        let edges = node.edges.iter().any(|edge| edge.when.is_some());
        edges || !input_references(node).is_empty()
    });
    let Some(order) = refers.then(|| order(nodes)).flatten() else {
        return Vec::new();
    };
    let mut ancestors = vec![Bits(vec![0; nodes.len().div_ceil(64)]); nodes.len()];
    for index in order {
        let Some(node) = nodes.get(index as usize) else {
            continue;
        };
        let Some(slot) = ancestors.get_mut(index as usize) else {
            continue;
        };
        let mut set = std::mem::replace(slot, Bits(Vec::new()));
        for &before in &node.predecessors {
            set.insert(before);
            if let Some(theirs) = ancestors.get(before as usize) {
                for (word, their) in set.0.iter_mut().zip(&theirs.0) {
                    *word |= their;
                }
            }
        }
        if let Some(slot) = ancestors.get_mut(index as usize) {
            *slot = set;
        }
    }
    ancestors
}

/// Returns the nodes, each after those before it; `None` if there is a cycle.
fn order(nodes: &[Node]) -> Option<Vec<NodeIndex>> {
    let mut degrees: Vec<u32> = nodes.iter().map(|node| node.in_degree).collect();
    let indexed = (0..).zip(nodes);
    let mut order: Vec<NodeIndex> = indexed
        .filter_map(|(index, node)| node.is_entry().then_some(index))
        .collect();
    let mut next = 0;
    while let Some(&index) = order.get(next) {
        next += 1;
        for edge in &nodes.get(index as usize)?.edges {
            let degree = degrees.get_mut(edge.to as usize)?;
            *degree = degree.saturating_sub(1);
            if *degree == 0 {
                order.push(edge.to);
            }
        }
    }
    (order.len() == nodes.len()).then_some(order)
}
