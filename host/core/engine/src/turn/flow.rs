//! The sources of results and arguments in a turn, and the results in place of references.

use super::{Agent, TurnContext, TurnError};
use crate::{
    agents::SubAgent,
    flow::{
        Audience, CallFlow, FlowRequest, Input,
        reader::{READ_QUARANTINED, answer_schema, reader},
        reference::{
            as_text, invalid, quarantined, references, references_in_text, replaced, unknown,
            value_at, with_references,
        },
        sources::Origin,
    },
    policy::Ruling,
    session::{BatchCall, Session},
    spill::{INLINE_TEXT_BYTES, SpilledOutput},
    tool::CallReport,
};
use agent_host_types::{
    approval::Decision,
    failure::ToolFailure,
    flow::{ArgumentSources, FlowMode, LabelledFile},
    id::CallId,
    message::ToolResult,
    output::ToolResultOutput,
    tool::{Effect, RegisteredTool, ToolCall, ToolDefinition},
    turn::TurnEnd,
    workflow::NodeOutput,
};
use serde_json::{Map, Value};
use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, hash_map::Entry},
};

impl Agent {
    /// Whether untrusted results are kept from its model. A program and a workflow have none: they
    /// hold the values, and their results are kept from the model that started them.
    pub(super) fn quarantines(&self) -> bool {
        self.settings.flow.mode == FlowMode::Quarantine
            && self.program.is_none()
            && self.workflow.is_none()
            && !self.tools.is_empty()
    }

    /// Returns the definitions that the model is offered.
    pub(super) fn offered_definitions(&self, session: &Session) -> Vec<ToolDefinition> {
        let offered = self.offered(session).cloned();
        if !self.quarantines() {
            return offered.collect();
        }
        let with_references = |tool: ToolDefinition| ToolDefinition {
            input_schema: with_references(&tool.input_schema),
            ..tool
        };
        offered.map(with_references).collect()
    }

    /// Whether a call that the model made has references in its arguments. The user's own arguments
    /// are taken as they are.
    pub(super) fn has_references(&self, entry: &BatchCall) -> bool {
        let is_edited = matches!(entry.decision, Some(Decision::Edit { .. }));
        self.quarantines() && !is_edited && !references(&entry.call).is_empty()
    }

    /// Returns the arguments of a call with values in place of its references, or why there are
    /// none; `None` if it has no references or is reviewed.
    pub(super) async fn resolve_references(
        &self,
        session: &Session,
        entry: &BatchCall,
    ) -> Result<Option<Result<Input, ToolFailure>>, TurnError> {
        if entry.review.is_some() || !self.has_references(entry) {
            return Ok(None);
        }
        let Some(input) = &entry.call.input else {
            return Ok(None);
        };
        let mut outputs: HashMap<String, ToolResultOutput> = HashMap::new();
        for found in references(&entry.call) {
            if let Entry::Vacant(place) = outputs.entry(found.reference) {
                match quarantined_result(session, place.key()).await? {
                    Some(output) => drop(place.insert(output)),
                    None => return Ok(Some(Err(unknown(place.key())))),
                }
            }
        }
        let mut value = |name: &str, path: &str| match outputs.get(name) {
            Some(output) => value_at(output, name, path),
            None => Err(unknown(name)),
        };
        Ok(Some(replaced(input, &mut value)))
    }

    /// Returns the arguments of a call that its model has not seen.
    pub(super) fn references(&self, session: &Session, entry: &BatchCall) -> Vec<ArgumentSources> {
        match self.settings.flow.is_off() {
            true => Vec::new(),
            false => session.state().flow.arguments_of(&entry.call),
        }
    }

    /// Returns the report of a call that did not run, whose text may quote the values of its
    /// references.
    pub(super) fn quoting(
        &self,
        session: &Session,
        entry: &BatchCall,
        report: impl Into<CallReport>,
    ) -> CallReport {
        let references = self.references(session, entry);
        CallReport {
            sources: merged(references),
            ..report.into()
        }
    }

    /// Returns the untrusted sources of the arguments of a call, for the user who decides on it.
    pub(super) fn untrusted_arguments(
        &self,
        session: &Session,
        entry: &BatchCall,
    ) -> Vec<ArgumentSources> {
        let mut arguments = self.argument_sources(session, entry);
        let policy = &self.settings.flow;
        for argument in &mut arguments {
            argument
                .sources
                .retain(|source| policy.is_untrusted(source));
        }
        arguments.retain(|argument| !argument.sources.is_empty());
        arguments
    }

    /// Returns the sources of the arguments of a call that are untrusted or have an audience.
    fn argument_sources(&self, session: &Session, entry: &BatchCall) -> Vec<ArgumentSources> {
        let mut arguments = self.references(session, entry);
        let seen = self.seen_sources(session);
        if !seen.is_empty() {
            arguments.push(ArgumentSources {
                pointer: String::new(),
                reference: None,
                sources: seen,
            });
        }
        arguments
    }

    /// Returns the sources of what the model of a session has seen that are untrusted or have an
    /// audience.
    pub(super) fn seen_sources(&self, session: &Session) -> Vec<String> {
        if self.settings.flow.is_off() {
            return Vec::new();
        }
        let flow = &session.state().flow;
        flow.seen_by(&self.settings.flow, self.workflow.is_some())
    }

    /// Returns the sources of the arguments of a call that are untrusted or have an audience, once.
    pub(super) fn input_sources(&self, session: &Session, entry: &BatchCall) -> Vec<String> {
        merged(self.argument_sources(session, entry))
    }

    /// Returns where a call may hand text: that of its arguments, and of the state and the files that
    /// it may read.
    pub(super) fn audience(&self, session: &Session, entry: &BatchCall) -> Audience {
        let policy = &self.settings.flow;
        if policy.audiences.is_empty() {
            return Audience::default();
        }
        let stored = session.state().flow.stored(policy);
        let sources = self.input_sources(session, entry).into_iter();
        let sources: Vec<String> = sources.chain(stored).collect();
        policy.audience(&sources)
    }

    /// Returns what the gate of a call that runs needs to know of the text that it gets.
    pub(super) fn call_flow(
        &self,
        session: &Session,
        entry: &BatchCall,
        effect: Effect,
    ) -> CallFlow {
        let policy = &self.settings.flow;
        if policy.is_off() {
            return CallFlow::default();
        }
        let state = session.state();
        let mut flow = CallFlow::from(self.audience(session, entry));
        if effect != Effect::ReadOnly {
            let shared = state.flow.sources_of_shared().cloned().collect();
            let sources = self.input_sources(session, entry);
            flow = flow.with_files(policy, state.flow.files.run(), &sources, shared);
        }
        match flow.is_watched() {
            true => flow.with_artifacts(state.flow.sources_of_artifacts(state.artifacts())),
            false => flow,
        }
    }

    /// Returns where a call may have written text from sources that count, if the host stopped while
    /// it ran: anywhere where it may write, since no one knows. `sources` are those of its arguments.
    pub(super) fn possibly_written(
        &self,
        session: &Session,
        call_id: &CallId,
        tool: &str,
        sources: impl IntoIterator<Item = String>,
    ) -> Vec<LabelledFile> {
        let policy = &self.settings.flow;
        if policy.is_off() {
            return Vec::new();
        }
        let mut read = session.state().flow.stored(policy);
        read.extend(sources);
        let mut files = self.tools.possibly_written(session.id(), call_id, tool);
        for LabelledFile { sources, .. } in &mut files {
            let all: BTreeSet<String> = sources.drain(..).chain(read.iter().cloned()).collect();
            let counting = all.into_iter().filter(|source| policy.counts(source));
            *sources = policy.bounded(counting.collect());
        }
        files.retain(|file| !file.sources.is_empty());
        files
    }

    /// Returns the end of a turn with values in place of the references in the answer, for the user.
    /// The model keeps the references. A reference to nothing, or to more than stays inline of a
    /// result, is left as it is.
    pub(super) async fn with_opened_references(&self, session: &Session, end: TurnEnd) -> TurnEnd {
        let TurnEnd::Done {
            mut text,
            output: None,
            result: None,
        } = end
        else {
            return end;
        };
        if self.quarantines() {
            let mut left = INLINE_TEXT_BYTES;
            // From the last one on, so that the places of the others stay.
            for (place, name, path) in references_in_text(&text).into_iter().rev() {
                let Ok(Some(output)) = quarantined_result(session, &name).await else {
                    continue;
                };
                let value = value_at(&output, &name, &path).map(as_text);
                if let Ok(value) = value
                    && let Some(rest) = left.checked_sub(value.len())
                {
                    left = rest;
                    text.replace_range(place, &value);
                }
            }
        }
        TurnEnd::Done {
            text,
            output: None,
            result: None,
        }
    }

    /// Returns the sources of what an agent of this policy hands to its caller: of its
    /// answer what its model has seen, and of results and changes that it passes on all.
    pub(super) fn sources_of_child(&self, session: &Session, report: &CallReport) -> Vec<String> {
        let (policy, flow) = (&self.settings.flow, &session.state().flow);
        let last = session.state().last_report().map(|report| &report.end);
        let passes_on = match last {
            // References in its answer were opened.
            Some(TurnEnd::Done { text, result, .. }) => {
                result.is_some() || text != session.state().last_assistant_text()
            }
            _ => false,
        };
        match policy.is_off() {
            true => Vec::new(),
            false if passes_on || !report.changes.is_empty() => flow.all(policy),
            false => flow.seen(policy),
        }
    }

    /// Returns the sources of the input of a turn that are untrusted or have an audience.
    pub(super) fn input_labels(&self, cx: &TurnContext<'_>) -> Vec<String> {
        let flow = &self.settings.flow;
        let sources = cx.actors.sources.iter().filter(|_| !flow.is_off());
        let labels = sources.filter(|source| flow.counts(source));
        labels.cloned().collect()
    }

    /// Returns the decision about a call, by what the policy decided and what flows into it: the
    /// stricter one.
    pub(super) fn after_flow(
        &self,
        session: &Session,
        entry: &BatchCall,
        tool: &RegisteredTool,
        ruling: Ruling,
    ) -> Ruling {
        let references = self.references(session, entry);
        let destination = tool.goes_to();
        let request = FlowRequest {
            tool: &entry.call.name,
            effect: tool.effect,
            destination: destination.as_deref(),
            seen: &self.seen_sources(session),
            references: &references,
        };
        self.settings.flow.after(ruling, &request)
    }

    /// Returns the sources of the result of a call that ran which are untrusted or have an audience:
    /// a closed answer about untrusted text is trusted, and says something of it.
    pub(super) fn labels(
        &self,
        session: &Session,
        call: &ToolCall,
        report: &CallReport,
    ) -> Vec<String> {
        let policy = &self.settings.flow;
        if policy.is_off() {
            return Vec::new();
        }
        let state = session.state();
        let origin = Origin {
            policy,
            state: &state.flow,
            artifacts: state.artifacts(),
            call,
            runtime: self.tool(&call.name).map(|tool| tool.runtime),
            audit: &report.audit,
            known: &report.sources,
        };
        let mut labels = origin.labels();
        if self.is_closed_answer(call, &report.output) {
            labels.retain(|source| policy.has_audience(source));
        }
        labels
    }

    /// Returns the sources of the output of a node that are untrusted or have an audience.
    pub(super) fn node_labels(
        &self,
        session: &Session,
        call_id: &CallId,
        tool: &str,
        report: &CallReport<NodeOutput>,
    ) -> Vec<String> {
        let policy = &self.settings.flow;
        if policy.is_off() {
            return Vec::new();
        }
        let state = session.state();
        let open = state.open_workflow().and_then(|run| run.open.get(call_id));
        let call = ToolCall {
            input: open.and_then(|open| open.input.clone()),
            ..ToolCall::parse(call_id.clone(), tool.to_owned(), String::new())
        };
        let origin = Origin {
            policy,
            state: &state.flow,
            artifacts: state.artifacts(),
            call: &call,
            runtime: self.tool(tool).map(|tool| tool.runtime),
            audit: &report.audit,
            known: &report.sources,
        };
        origin.labels()
    }

    /// Whether a result is an answer that can say nothing but what its schema allows.
    fn is_closed_answer(&self, call: &ToolCall, output: &ToolResultOutput) -> bool {
        let schema = call.input.as_ref().map(|input| answer_schema(input));
        call.name == READ_QUARANTINED
            && self.quarantines()
            && matches!(output, ToolResultOutput::Json(_))
            && matches!(schema, Some(Ok(schema)) if schema.is_shown(&self.settings.flow.withheld))
    }

    /// Returns a result as the model sees it, if it is kept from it, with the name of the reference.
    pub(super) fn quarantine(
        &self,
        session: &Session,
        output: &ToolResultOutput,
        labels: &[String],
    ) -> Option<(SpilledOutput, String)> {
        let policy = &self.settings.flow;
        if !self.quarantines() || !labels.iter().any(|source| policy.is_untrusted(source)) {
            return None;
        }
        let reference = session.state().flow.next_reference(session.id());
        let from = policy.shown(labels);
        Some((quarantined(output, &reference, &from)?, reference))
    }

    /// Returns the agent that a call starts.
    pub(super) fn sub_agent(
        &self,
        tool: &str,
        input: &Map<String, Value>,
    ) -> Option<Cow<'_, SubAgent>> {
        if tool == READ_QUARANTINED {
            return reader(self, input).map(Cow::Owned);
        }
        self.agents.as_ref()?.of_tool(tool).map(Cow::Borrowed)
    }
}

/// Returns the sources of arguments, each once.
fn merged(arguments: Vec<ArgumentSources>) -> Vec<String> {
    let sources = arguments.into_iter().flat_map(|argument| argument.sources);
    let sources: BTreeSet<String> = sources.collect();
    sources.into_iter().collect()
}

/// Returns the failure of a call whose arguments do not fit with the values of its references. It
/// quotes none of them, as an error about the arguments would.
pub(super) fn misfit(call: &ToolCall) -> ToolFailure {
    let places = references(call).into_iter();
    let places: Vec<String> = places.map(|found| format!("`{}`", found.pointer)).collect();
    let places = places.join(", ");
    invalid(format!(
        "With the values of the references at {places}, the arguments do not fit the tool's schema; the tool did not \
         run. Use a reference or a `path` of the type that the schema wants."
    ))
}

/// Returns why a question about a value cannot be answered. What the reader is asked, and what its
/// answer can be, are in the model's own words: a schema from a result would let the result choose
/// what the model sees.
pub(super) fn unanswerable(call: &ToolCall, input: &Map<String, Value>) -> Option<ToolFailure> {
    if call.name != READ_QUARANTINED {
        return None;
    }
    let is_in_value = |pointer: &str| pointer == "/value" || pointer.starts_with("/value/");
    let mut found = references(call).into_iter();
    match found.find(|found| !is_in_value(&found.pointer)) {
        Some(found) => Some(invalid(format!(
            "`{}` cannot be a reference; only `value` can.",
            found.pointer
        ))),
        None => answer_schema(input).err(),
    }
}

/// Returns the result that a reference names; `None` if it names none.
async fn quarantined_result(
    session: &Session,
    reference: &str,
) -> Result<Option<ToolResultOutput>, TurnError> {
    let Some(result) = session.state().flow.result(reference) else {
        return Ok(None);
    };
    let result = ToolResult {
        call_id: result.call_id.clone(),
        name: String::new(),
        output: result.preview.clone(),
        whole: Some(result.blob.clone()),
    };
    Ok(Some(session.whole_result(result).await?.output))
}
