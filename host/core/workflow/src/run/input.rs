//! The inputs of nodes: messages with sections, and objects of tools. A failed value is a marked
//! section, and never ordinary text.

use super::{
    Phase, Run,
    active::ReferenceValues,
    shared,
    start::{Input, Iteration},
};
use crate::{
    reference::{Expression, Field, LoopField, Reference},
    value::Resolved,
    workflow::{InputPlan, Node, NodeIndex},
};
use agent_host_types::{
    output::{ContentPart, FilePart, ToolResultOutput},
    workflow::NodeFailure,
};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeSet, fmt::Write as _, sync::Arc};

/// The part of a run that a node may see: the nodes before it, and its iteration.
pub(super) struct View<'a> {
    run: &'a Run,
    node: NodeIndex,
    /// Whether the node itself has settled, for the conditions of its edges.
    is_after: bool,
    iteration: Option<&'a Iteration>,
    /// The values that were searched once for all iterations.
    parts: &'a [(Reference, Resolved<'static>)],
}

/// The value of an expression, or why it has none.
enum PartialValue<'a> {
    Value(Resolved<'a>),
    Failed(&'a str, &'a NodeFailure, Resolved<'a>),
    Skipped(&'a str),
}

impl Run {
    /// Returns the view of a node that is to start.
    pub(super) fn view(&self, node: NodeIndex) -> View<'_> {
        View {
            run: self,
            node,
            is_after: false,
            iteration: None,
            parts: &[],
        }
    }

    /// Returns the view of the edges of a node that has settled.
    pub(super) fn view_after(&self, node: NodeIndex) -> View<'_> {
        View {
            is_after: true,
            ..self.view(node)
        }
    }

    /// Builds the input of a node or of an iteration.
    pub(super) fn input(
        &self,
        index: NodeIndex,
        node: &Node,
        key: u32,
    ) -> (Input, Option<Iteration>) {
        let active = match self.record(index).map(|record| &record.phase) {
            Some(Phase::Active(active)) => Some(active),
            Some(Phase::Pending | Phase::Settled { .. } | Phase::Skipped) | None => None,
        };
        let each = active.and_then(|active| active.each.as_ref());
        let iteration = each.and_then(|each| each.iteration(key));
        let files = active.map(|active| Arc::clone(&active.files));
        let view = View {
            iteration: iteration.as_ref(),
            parts: active.map_or(&[], |active| &active.parts),
            ..self.view(index)
        };
        let text = match &node.input {
            InputPlan::Object(template) => {
                let built = template.build(&|reference| view.resolve(reference).into_value());
                let object = match built {
                    Value::Object(object) => object,
                    _ => serde_json::Map::new(),
                };
                return (Input::Object(object), iteration);
            }
            InputPlan::Initial => self.message.to_string(),
            InputPlan::Item => match &iteration {
                Some(iteration) => Resolved::of_json(iteration.item.clone())
                    .as_text()
                    .to_owned(),
                None => String::new(),
            },
            InputPlan::Message(value) => view.message(value),
            InputPlan::Sections(sections) => view.sections(sections),
        };
        let files = files.unwrap_or_default();
        (Input::Message { text, files }, iteration)
    }

    /// Returns the values that all iterations of a node have in common and that take a search. A
    /// search in each of them would take time by the square of the list that they run over.
    pub(super) fn input_parts(&self, index: NodeIndex, node: &Node) -> ReferenceValues {
        let takes_search = |reference: &&Reference| match reference {
            Reference::Node { path, .. } => !path.is_empty(),
            Reference::State { .. } => true,
            Reference::Loop { .. } | Reference::Message => false,
        };
        let references = node.input.references().into_iter().filter(takes_search);
        let value = |reference| self.view(index).resolve(reference).into_owned();
        references
            .map(|reference| (reference.clone(), value(reference)))
            .collect()
    }

    /// Returns the files of the initial message and of the outputs that a message has.
    pub(super) fn input_files(&self, node: &Node) -> Arc<[FilePart]> {
        let has_message = match &node.input {
            InputPlan::Initial => true,
            InputPlan::Item | InputPlan::Object(_) => false,
            InputPlan::Message(value) => value.reference() == Some(&Reference::Message),
            InputPlan::Sections(sections) => sections
                .iter()
                .any(|(_, value)| value.reference() == Some(&Reference::Message)),
        };
        if node.files_of.is_empty() && has_message {
            return Arc::clone(&self.files);
        }
        let initial = if has_message { &*self.files } else { &[] };
        let outputs = node
            .files_of
            .iter()
            .filter_map(|&node| self.output_at(node));
        let outputs = outputs.filter(|output| output.is_success());
        let parts = outputs.flat_map(|output| match &output.output {
            Some(ToolResultOutput::Content(parts)) => parts.as_slice(),
            _ => &[],
        });
        let files = parts.filter_map(ContentPart::file);
        initial.iter().chain(files).cloned().collect()
    }
}

impl Run {
    fn is_foreach(&self, node: &str) -> bool {
        let index = self.workflow.index(node);
        let node = index.and_then(|index| self.workflow.at(index));
        node.is_some_and(|node| node.is_foreach())
    }
}

impl View<'_> {
    fn part<'s>(&'s self, expression: &'s Expression) -> PartialValue<'s> {
        let reference = match expression {
            Expression::Literal(text) => {
                return PartialValue::Value(Resolved::Text(Cow::Borrowed(text)));
            }
            Expression::Reference(reference) => reference,
        };
        let value = self.resolve(reference);
        let Reference::Node { node, field, .. } = reference else {
            return PartialValue::Value(value);
        };
        match self.run.output(node).map(|output| &output.error) {
            None => PartialValue::Skipped(node),
            Some(Some(error)) if !matches!(field, Field::Error | Field::Items) => {
                let has_part = *field == Field::Artifacts || self.run.is_foreach(node);
                let part = if has_part { value } else { Resolved::Null };
                PartialValue::Failed(node, error, part)
            }
            Some(_) => PartialValue::Value(value),
        }
    }

    /// Returns the text of a whole message.
    fn message(&self, expression: &Expression) -> String {
        match self.part(expression) {
            PartialValue::Value(value) => value.as_text().to_owned(),
            PartialValue::Failed(node, error, value) => {
                let mut text = format!("[{node}: failed]\n{error}");
                add_partial(&mut text, &value);
                text
            }
            PartialValue::Skipped(node) => format!("[{node}: skipped]"),
        }
    }

    /// Returns `[key]` and the value of each section, with an empty line between.
    fn sections(&self, sections: &[(String, Expression)]) -> String {
        let mut text = String::new();
        for (key, expression) in sections {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            // Writing to a string does not fail.
            let _ = match self.part(expression) {
                PartialValue::Value(value) => write!(text, "[{key}]\n{}", value.as_text()),
                PartialValue::Failed(_, error, value) => {
                    let written = write!(text, "[{key}: failed]\n{error}");
                    add_partial(&mut text, &value);
                    written
                }
                PartialValue::Skipped(_) => write!(text, "[{key}: skipped]"),
            };
        }
        text
    }

    /// Returns the value of a reference; null for an unknown one.
    pub(super) fn resolve(&self, reference: &Reference) -> Resolved<'_> {
        let mut parts = self.parts.iter();
        if let Some((_, value)) = parts.find(|(known, _)| known == reference) {
            return value.borrowed();
        }
        match reference {
            Reference::Message => Resolved::Text(Cow::Borrowed(&self.run.message)),
            Reference::Node { node, field, path } => match self.run.output(node) {
                Some(output) => Resolved::field(output, *field, path),
                None => Resolved::Null,
            },
            Reference::Loop { field, path } => match self.iteration {
                Some(iteration) => of_iteration(iteration, *field, path),
                None => Resolved::Null,
            },
            Reference::State { path } => self.state(path),
        }
    }

    /// Returns a part of the shared state as the nodes before this one left it, which does not
    /// depend on timing.
    fn state(&self, path: &[String]) -> Resolved<'_> {
        let Some((key, rest)) = path.split_first() else {
            return Resolved::Null;
        };
        let Some(&reducer) = self.run.workflow.definition.reduce.get(key) else {
            return Resolved::Null;
        };
        let (mut before, mut next) = (BTreeSet::new(), vec![self.node]);
        if self.is_after {
            before.insert(self.node);
        }
        while let Some(node) = next.pop() {
            let predecessors = self.run.workflow.at(node).map(|node| &node.predecessors);
            for &predecessor in predecessors.into_iter().flatten() {
                if before.insert(predecessor) {
                    next.push(predecessor);
                }
            }
        }
        let values = self.run.values_of(key, before.into_iter());
        match shared::reduce(reducer, values) {
            Some(value) => Resolved::from_value(&value).into_part(rest),
            None => Resolved::Null,
        }
    }
}

/// Adds what a failed node has of a value: artifacts, and the ends of the items of a loop.
fn add_partial(text: &mut String, value: &Resolved<'_>) {
    if *value != Resolved::Null {
        text.push('\n');
        text.push_str(value.as_text());
    }
}

fn of_iteration<'a>(iteration: &'a Iteration, field: LoopField, path: &[String]) -> Resolved<'a> {
    match field {
        LoopField::Item => Resolved::part(&iteration.item, path),
        LoopField::Index => Resolved::from_value(&iteration.index),
        LoopField::Total => Resolved::from_value(&iteration.total),
        LoopField::PriorResults => match path.split_first() {
            None => {
                let results: Vec<_> = iteration.prior_results.iter().collect();
                Resolved::from_value(&results)
            }
            Some((index, rest)) => {
                let index: Option<usize> = index.parse().ok();
                let result = index.and_then(|index| iteration.prior_results.get(index));
                result.map_or(Resolved::Null, |result| Resolved::part(result, rest))
            }
        },
    }
}
