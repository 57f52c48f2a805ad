//! The sources of the results of a session: a part of the fold over its events.

use super::{
    FlowPolicy,
    files::{LabelledFiles, RunFiles},
    reference::references,
    sources::{MAX_SOURCES, bounded, is_allowed, source_of},
};
use crate::artifact::Artifacts;
use agent_host_types::{
    accounting::AuditEntry,
    audit::AuditRequest,
    event::Event,
    flow::ArgumentSources,
    id::{CallId, SessionId},
    output::{BlobRef, ToolResultOutput},
    tool::ToolCall,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
};

/// The most sources that a session hands to its successor.
const MAX_SEEN: usize = 64;

/// The source of everything in the run of a workflow.
const WORKFLOW: &str = "workflow";

/// The sources of a session's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FlowState {
    /// The sources of what the model has seen, as the results name them. Which of them are
    /// untrusted, the policy says as it is now.
    seen: BTreeSet<String>,
    /// The hosts and servers of results that the model has seen: trusted ones, and all of those from
    /// before flows were recorded.
    unlabelled: BTreeSet<String>,
    /// The sources that results name, by call. Most calls have none.
    calls: HashMap<CallId, Vec<String>>,
    /// The results that the model has references to, by their names.
    references: BTreeMap<String, QuarantinedResult>,
    /// The files that calls wrote which depend on such text.
    pub(crate) files: LabelledFiles,
    /// The untrusted sources of the shared state.
    shared: BTreeSet<String>,
    /// Whether it continues a conversation, which may have references of other sessions.
    is_continued: bool,
}

/// A result that the model has a reference to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuarantinedResult {
    /// The call.
    pub(crate) call_id: CallId,
    /// An output of the result's variant, without its content.
    pub(crate) preview: ToolResultOutput,
    /// The whole result.
    pub(crate) blob: BlobRef,
}

impl FlowState {
    /// Creates the state of a session without events, in a run.
    pub(crate) fn within(run: RunFiles) -> Self {
        Self {
            files: LabelledFiles::of(run),
            ..Self::default()
        }
    }

    /// Returns the sources of what the model has seen that count by the policy as it is now.
    pub(crate) fn seen(&self, policy: &FlowPolicy) -> Vec<String> {
        let unlabelled = self.unlabelled.iter();
        let all = self.seen.iter().chain(unlabelled);
        policy.bounded(
            all.filter(|source| policy.counts(source))
                .cloned()
                .collect(),
        )
    }

    /// Returns the sources of what the model has seen, whether they count now or not.
    pub(crate) fn all_seen(&self) -> Vec<String> {
        let all = self.seen.iter().chain(&self.unlabelled).cloned();
        bounded(all.collect(), MAX_SEEN)
    }

    /// Returns the sources of what the caller has seen: a model, or a workflow, whose nodes
    /// hand on what they read.
    pub(crate) fn seen_by(&self, policy: &FlowPolicy, is_workflow: bool) -> Vec<String> {
        let mut seen = self.seen(policy);
        let counts = is_workflow && policy.counts(WORKFLOW);
        if counts && !seen.iter().any(|source| source == WORKFLOW) {
            seen.push(WORKFLOW.to_owned());
        }
        seen
    }

    /// Returns the arguments of a call that its model has not seen.
    pub(crate) fn arguments_of(&self, call: &ToolCall) -> Vec<ArgumentSources> {
        let found = references(call).into_iter();
        let found = found.map(|found| ArgumentSources {
            pointer: found.pointer,
            sources: self.sources_of(&found.reference).to_vec(),
            reference: Some(found.reference),
        });
        found
            .filter(|argument| !argument.sources.is_empty())
            .collect()
    }

    /// Returns the sources of all results, those included that the model has not seen.
    pub(crate) fn all(&self, policy: &FlowPolicy) -> Vec<String> {
        let results = self.calls.values().flatten().cloned();
        policy.bounded(results.chain(self.seen(policy)).collect())
    }

    /// Returns a result by the name of its reference.
    pub(crate) fn result(&self, reference: &str) -> Option<&QuarantinedResult> {
        self.references.get(reference)
    }

    /// Returns the name of the next reference. In a conversation that continues another one it
    /// begins with a number of this session: an old reference would else name another result here.
    pub(crate) fn next_reference(&self, session: SessionId) -> String {
        let number = self.references.len() + 1;
        match self.is_continued {
            true => {
                let hash = blake3::hash(session.to_string().as_bytes());
                let [low, middle, high, ..] = *hash.as_bytes();
                let own = u32::from_le_bytes([low, middle, high, 1]);
                format!("@r{own}{number:03}")
            }
            false => format!("@r{number}"),
        }
    }

    pub(crate) fn sources_of(&self, reference: &str) -> &[String] {
        let result = self.references.get(reference);
        result.map_or(&[], |result| self.sources_of_call(&result.call_id))
    }

    pub(crate) fn sources_of_call(&self, call: &CallId) -> &[String] {
        self.calls.get(call).map_or(&[], Vec::as_slice)
    }

    /// Returns the sources of the shared state.
    pub(crate) fn sources_of_shared(&self) -> impl Iterator<Item = &String> {
        self.shared.iter()
    }

    /// Whether the model may see the shared state: it has seen text from each of its sources.
    pub(crate) fn has_seen_shared(&self) -> bool {
        self.shared.is_subset(&self.seen)
    }

    /// Returns the sources of what a call may read without that its arguments say so. A file that
    /// has an audience itself is left to the gate.
    pub(crate) fn stored(&self, policy: &FlowPolicy) -> BTreeSet<String> {
        let is_left = |path: &str| policy.has_audience(&format!("dir:{path}"));
        let mut sources = self.files.sources_unless(is_left);
        sources.extend(self.shared.iter().cloned());
        sources
    }

    /// Returns the sources of the artifacts that name some.
    pub(crate) fn sources_of_artifacts(
        &self,
        artifacts: &Artifacts,
    ) -> BTreeMap<String, Vec<String>> {
        if self.calls.is_empty() {
            return BTreeMap::new();
        }
        let kept = artifacts.kept.iter();
        let sources = kept.filter_map(|(name, artifact)| {
            let sources = self.sources_of_call(artifact.call_id.as_ref()?);
            (!sources.is_empty()).then(|| (name.to_string(), sources.to_vec()))
        });
        sources.collect()
    }

    /// Takes in an event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::SessionStarted { labels, .. } => {
                self.is_continued = !labels.is_empty();
                self.seen.extend(labels.iter().cloned());
            }
            Event::InputReceived { labels, .. } => self.seen.extend(labels.iter().cloned()),
            Event::CallSettled {
                call_id,
                output,
                whole,
                labels,
                reference,
                audit,
                ..
            } => {
                match (reference, whole) {
                    (Some(reference), Some(blob)) => {
                        let result = QuarantinedResult {
                            call_id: call_id.clone(),
                            preview: output.clone(),
                            blob: blob.clone(),
                        };
                        self.references.insert(reference.clone(), result);
                    }
                    _ => {
                        self.seen.extend(labels.iter().cloned());
                        self.passed(audit);
                    }
                }
                self.labelled(call_id, labels, audit);
            }
            Event::NodeSettled {
                call_id,
                labels,
                audit,
                ..
            } => {
                self.seen.extend(labels.iter().cloned());
                self.passed(audit);
                self.labelled(call_id, labels, audit);
            }
            Event::FilesLabelled { files, .. } => {
                for file in files {
                    self.files.label(&file.path, &file.sources);
                }
            }
            // What it read until then is in what it wrote; which sources count is asked when the
            // files are read.
            Event::QuestionAsked { audit, .. } | Event::NodeRetried { audit, .. } => {
                let read = audit.iter().filter(|entry| is_allowed(entry));
                let read = read.filter(|entry| !matches!(entry.request, AuditRequest::File { .. }));
                let read: Vec<String> =
                    read.filter_map(|entry| source_of(&entry.request)).collect();
                self.wrote(&read, audit);
            }
            Event::StateMerged {
                call_id, labels, ..
            } => {
                let sources = self.sources_of_call(call_id).to_vec();
                self.shared.extend(sources);
                self.shared.extend(labels.iter().cloned());
                self.shared.extend(self.seen.iter().cloned());
            }
            _ => {}
        }
    }

    /// Notes the sources of the result of a call.
    fn labelled(&mut self, call_id: &CallId, labels: &[String], audit: &[AuditEntry]) {
        if !labels.is_empty() {
            self.calls.insert(call_id.clone(), labels.to_vec());
        }
        self.wrote(labels, audit);
    }

    /// Notes where a result that the model sees is from: also sources that count by no policy so far.
    /// Files are not noted: a session may read any number of them.
    fn passed(&mut self, audit: &[AuditEntry]) {
        for entry in audit.iter().filter(|entry| is_allowed(entry)) {
            if let AuditRequest::Http { .. } | AuditRequest::McpCall { .. } = &entry.request {
                let source = source_of(&entry.request);
                self.unlabelled.extend(source);
            }
        }
        self.unlabelled = bounded(mem::take(&mut self.unlabelled), MAX_SOURCES)
            .into_iter()
            .collect();
    }

    /// Notes the files that a call wrote, if untrusted text can be in them: of what the model has
    /// seen, of the result, or of a file that the call moved or linked.
    fn wrote(&mut self, labels: &[String], audit: &[AuditEntry]) {
        if self.files.count() == 0 && self.seen.is_empty() && labels.is_empty() {
            return;
        }
        let written = audit.iter().filter(|entry| is_allowed(entry));
        let written = written.filter_map(|entry| match &entry.request {
            AuditRequest::File { action, path, to } if action.changes() => Some((path, to)),
            _ => None,
        });
        let written: Vec<&String> = written
            .flat_map(|(path, to)| [path].into_iter().chain(to))
            .collect();
        let moved = written.iter().flat_map(|path| self.files.sources_of(path));
        let sources: BTreeSet<String> = labels.iter().chain(&self.seen).cloned().collect();
        let sources: Vec<String> = sources.into_iter().chain(moved).collect();
        if !sources.is_empty() {
            let written: Vec<String> = written.into_iter().cloned().collect();
            for path in written {
                self.files.label(&path, &sources);
            }
        }
    }
}
