//! The check of one node: its id, its kind, its input and its bounds.

use super::{Catalog, Fault, MAX_AT_ONCE, MAX_RETRIES, Place, expressions};
use crate::{
    definition::{DEFAULT_AT_ONCE, ForeachMode, NodeDefinition, WorkflowDefinition},
    reference::RESERVED_IDS,
    syntax::is_id_char,
    workflow::{Foreach, InputPlan, Node, NodeKind, Template},
};
use agent_host_types::{json::is_object_too_deep, tool::Effect};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The longest id, in bytes.
const MAX_ID_BYTES: usize = 64;

/// Checks the ids of all nodes.
pub(super) fn check_ids(definition: &WorkflowDefinition, faults: &mut Vec<Fault>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in &definition.node {
        let (id, count) = (node.id.as_str(), counts.entry(&node.id).or_default());
        *count += 1;
        if *count > 1 {
            continue;
        }
        let is_valid = (1..=MAX_ID_BYTES).contains(&id.len()) && id.chars().all(is_id_char);
        if !is_valid {
            let why = ": an id has at most 64 letters, digits, `_` and `-`; rename it";
            faults.push(Fault::of_node(id, why));
        } else if RESERVED_IDS.contains(&id) {
            let why = ": the id is reserved for references such as `loop.item`, `run.message` and `state.KEY`; rename \
                it";
            faults.push(Fault::of_node(id, why));
        }
    }
    for (id, count) in counts.into_iter().filter(|(_, count)| *count > 1) {
        let why = format!(": {count} nodes have this id; rename all but one");
        faults.push(Fault::of_node(id, &why));
    }
}

/// Checks one node and parses its expressions; edges come later.
pub(super) fn node(
    definition: &NodeDefinition,
    catalog: &impl Catalog,
    faults: &mut Vec<Fault>,
) -> Node {
    let (kind, effect) = kind(definition, catalog, faults);
    let id = definition.id.as_str();
    let retry = definition.retry;
    if let Some(retry) = retry {
        if effect == Some(Effect::Effectful) {
            let why = ": `retry` would repeat a node that is effectful, but only read-only and idempotent nodes can \
                be repeated; remove `retry`";
            faults.push(Fault::of_node(id, why));
        }
        check_bound(id, "retry.times", retry.times.get(), MAX_RETRIES, faults);
    }
    let input = input(definition, &kind, faults);
    if let (NodeKind::Tool(tool), InputPlan::Object(template)) = (&kind, &input)
        && effect.is_some()
        && template.references().is_empty()
        && let Value::Object(literal) = template.build(&|_| Value::Null)
        && let Err(reason) = catalog.check_tool_input(tool, &literal)
    {
        faults.push(tool_input(id, tool, reason.as_str()));
    }
    Node {
        id: id.into(),
        kind,
        mode: definition.mode,
        effect: effect.unwrap_or(Effect::Effectful),
        on_error: definition.on_error,
        timeout_ms: definition.timeout_ms,
        retry,
        needs: definition.needs,
        input,
        foreach: foreach(definition, faults),
        edges: Vec::new(),
        predecessors: Vec::new(),
        in_degree: 0,
        values_of: Vec::new(),
        files_of: Vec::new(),
    }
}

fn tool_input(node: &str, tool: &str, reason: &str) -> Fault {
    let tool = tool.escape_debug();
    let why = format!(": invalid input for the tool `{tool}`: {reason}; change `input`");
    Fault::of_node(node, &why)
}

fn check_bound(node: &str, key: &'static str, value: u32, most: u32, faults: &mut Vec<Fault>) {
    if value > most {
        let why = format!(": `{key}` is {value}, and the maximum is {most}; lower it");
        faults.push(Fault::of_node(node, &why));
    }
}

/// Returns the executor and its effect; no effect for an unknown one.
fn kind(
    definition: &NodeDefinition,
    catalog: &impl Catalog,
    faults: &mut Vec<Fault>,
) -> (NodeKind, Option<Effect>) {
    let NodeDefinition {
        agent,
        tool,
        handler,
        ..
    } = definition;
    let given = [("agent", agent), ("tool", tool), ("handler", handler)];
    let given: Vec<&'static str> = given
        .into_iter()
        .filter_map(|(key, name)| name.is_some().then_some(key))
        .collect();
    let (kind, effect) = match (agent, tool, handler) {
        (Some(name), None, None) => (NodeKind::Agent(name.clone()), catalog.agent(name)),
        (None, Some(name), None) => (NodeKind::Tool(name.clone()), catalog.tool(name)),
        (None, None, Some(name)) => (NodeKind::Handler(name.clone()), catalog.handler(name)),
        _ => {
            let given = match given.as_slice() {
                [] => "no agent, tool or handler".to_owned(),
                given => format!("`{}`", given.join("` and `")),
            };
            let why = format!(" has {given}; set exactly one of `agent`, `tool` and `handler`");
            faults.push(Fault::of_node(&definition.id, &why));
            // The input is checked as that of a handler, which has every form.
            return (NodeKind::Handler(String::new()), None);
        }
    };
    if effect.is_none() {
        let hint = match kind {
            NodeKind::Agent(_) => "name an `[[agent]]`",
            NodeKind::Tool(_) => "name a tool that `agent-host doctor` lists",
            NodeKind::Handler(_) => {
                "register it in the program that embeds agent-host, or use a tool"
            }
        };
        let (name, kind) = (kind.name().escape_debug(), kind.as_str());
        let why = format!(": unknown {kind} `{name}`; {hint}");
        faults.push(Fault::of_node(&definition.id, &why));
    }
    (kind, effect)
}

/// Returns the source of the input. A handler takes what an agent takes, or what a tool takes.
fn input(definition: &NodeDefinition, kind: &NodeKind, faults: &mut Vec<Fault>) -> InputPlan {
    let id = definition.id.as_str();
    let mut wrong = |key| {
        let hint = match kind {
            NodeKind::Tool(_) => {
                "set `input`, a table whose strings are references or quoted literals"
            }
            NodeKind::Agent(_) | NodeKind::Handler(_) => "set `inputs` or `message`",
        };
        let why = format!(": `{key}` is not allowed for {}s; {hint}", kind.as_str());
        faults.push(Fault::of_node(id, &why));
    };
    let is_object = match kind {
        NodeKind::Agent(_) => {
            if definition.input.is_some() {
                wrong("input");
            }
            false
        }
        NodeKind::Tool(_) => true,
        NodeKind::Handler(_) => definition.input.is_some(),
    };
    if is_object {
        if definition.message.is_some() {
            wrong("message");
        }
        if !definition.inputs.0.is_empty() {
            wrong("inputs");
        }
        let empty = Map::new();
        let input = definition.input.as_ref().unwrap_or(&empty);
        if is_object_too_deep(input) {
            let why = "it nests more than 100 levels deep";
            faults.push(tool_input(id, kind.name(), why));
            return InputPlan::Object(Template::Object(Vec::new()));
        }
        return InputPlan::Object(expressions::template(id, input, faults));
    }
    let sections = sections(definition, faults);
    if let Some(message) = &definition.message {
        let message = expressions::parse(id, &Place::Message, message, faults);
        return message.map_or(InputPlan::Initial, InputPlan::Message);
    }
    if !definition.inputs.0.is_empty() {
        return InputPlan::Sections(sections);
    }
    match definition.foreach {
        Some(_) => InputPlan::Item,
        None => InputPlan::Initial,
    }
}

fn sections(
    definition: &NodeDefinition,
    faults: &mut Vec<Fault>,
) -> Vec<(String, crate::reference::Expression)> {
    let (id, mut seen) = (definition.id.as_str(), BTreeSet::new());
    let mut sections = Vec::new();
    for (key, text) in &definition.inputs.0 {
        if let Some(reason) = key_refusal(key, seen.insert(key)) {
            let key = key.escape_debug();
            let why = format!(": invalid key `{key}` in `inputs`: {reason}");
            faults.push(Fault::of_node(id, &why));
        }
        let place = Place::Inputs(key.clone());
        if let Some(value) = expressions::parse(id, &place, text, faults) {
            sections.push((key.clone(), value));
        }
    }
    sections
}

fn key_refusal(key: &str, is_first: bool) -> Option<&'static str> {
    if key == "message" {
        return Some("a whole message belongs in `message` of the node; move it there");
    }
    if key.is_empty() || key.chars().any(|c| c.is_control() || c == '[' || c == ']') {
        return Some("it is empty or contains brackets or control characters; rename it");
    }
    (!is_first).then_some("it occurs twice; rename one")
}

fn foreach(definition: &NodeDefinition, faults: &mut Vec<Fault>) -> Option<Foreach> {
    let foreach = definition.foreach.as_ref()?;
    let id = definition.id.as_str();
    let is_parallel = foreach.mode == ForeachMode::Parallel;
    let at_once = match (is_parallel, foreach.at_once) {
        (true, at_once) => at_once.map_or(DEFAULT_AT_ONCE, std::num::NonZeroU32::get),
        (false, None) => 1,
        (false, Some(_)) => {
            let why =
                ": `at-once` of `foreach` needs `mode = \"parallel\"`; set it, or remove `at-once`";
            faults.push(Fault::of_node(id, why));
            1
        }
    };
    check_bound(id, "foreach.at-once", at_once, MAX_AT_ONCE, faults);
    Some(Foreach {
        over: expressions::parse(id, &Place::Foreach, &foreach.over, faults)?,
        at_once,
        is_parallel,
    })
}

/// Checks that a node after others has an input, once its edges are known.
pub(super) fn check_input(definition: &NodeDefinition, node: &Node, faults: &mut Vec<Fault>) {
    if matches!(node.input, InputPlan::Initial)
        && definition.message.is_none()
        && definition.foreach.is_none()
        && !node.is_entry()
    {
        let why = " follows other nodes but has no input; set `inputs = [{ KEY = REFERENCE }]` or `message`";
        faults.push(Fault::of_node(&definition.id, why));
    }
}
