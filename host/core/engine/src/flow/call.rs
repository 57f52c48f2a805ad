//! The flow of text through one call, as its gate sees it while the call runs.

use super::{
    FlowPolicy,
    audience::Audience,
    files::{RunFiles, Table, add, as_recorded, bounded_table},
    sources::source_of,
};
use crate::policy::Ruling;
use agent_host_types::{
    audit::{ArtifactOp, AuditRequest, FileAction},
    flow::LabelledFile,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Where a call may hand text, and which files the text reaches. Copies are of the same call.
#[derive(Clone, Debug, Default)]
pub struct CallFlow {
    pub(crate) audience: Audience,
    /// Absent for a call that changes no file, or whose sources are not recorded.
    changes: Option<Arc<Mutex<FileChanges>>>,
    /// The sources of the artifacts that the call may read, by their names.
    artifacts: Arc<BTreeMap<String, Vec<String>>>,
}

/// The files that a call changes, and the sources of what it can write there. Others may read a file
/// while the call still runs, so each is labelled before it changes, and again when the call reads
/// more.
#[derive(Debug)]
struct FileChanges {
    policy: Arc<FlowPolicy>,
    run: RunFiles,
    /// The sources of the arguments, and of all that the call has read so far.
    sources: BTreeSet<String>,
    /// The sources of the shared state.
    shared: Vec<String>,
    changed: Table,
    /// Whether it gave text from sources that count another path.
    has_moved: bool,
}

impl From<Audience> for CallFlow {
    fn from(audience: Audience) -> Self {
        Self {
            audience,
            ..Self::default()
        }
    }
}

impl CallFlow {
    /// Names the sources of artifacts.
    pub(crate) fn with_artifacts(mut self, artifacts: BTreeMap<String, Vec<String>>) -> Self {
        self.artifacts = Arc::new(artifacts);
        self
    }

    /// Labels the files of a run that the call changes with the sources of its arguments and of what
    /// it reads; `shared` are those of the shared state.
    #[must_use]
    pub fn with_files(
        mut self,
        policy: &Arc<FlowPolicy>,
        run: RunFiles,
        sources: &[String],
        shared: Vec<String>,
    ) -> Self {
        let changes = FileChanges {
            policy: Arc::clone(policy),
            run,
            sources: sources.iter().cloned().collect(),
            shared,
            changed: Table::new(),
            has_moved: false,
        };
        self.changes = Some(Arc::new(Mutex::new(changes)));
        self
    }

    /// Returns whether the gate of the call has to ask it about each request.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.audience.is_limited() || self.changes.is_some()
    }

    /// Takes in a request that the grants allow, before it is made, or returns its denial.
    pub fn admit(&mut self, request: &AuditRequest) -> Option<Ruling> {
        let artifacts = self.sources_of_artifacts(request);
        let denial = self.audience.admit(request, &artifacts);
        if denial.is_none()
            && let Some(mut changes) = self.changes()
        {
            changes.admit(request, artifacts);
        }
        denial
    }

    /// Takes in that what is at a path is moved or gets another name, or returns its denial.
    pub fn admit_move(&mut self, path: &str) -> Option<Ruling> {
        let denial = self.audience.admit_move(path);
        if denial.is_none()
            && let Some(mut changes) = self.changes()
        {
            changes.moves(path);
        }
        denial
    }

    /// Returns whether the files that it changed have sources which its requests do not show.
    pub(crate) fn has_moved(&self) -> bool {
        self.changes().is_some_and(|changes| changes.has_moved)
    }

    /// Takes in that the call reads the shared state of the session.
    pub fn read_state(&self) {
        if let Some(mut changes) = self.changes() {
            let shared = std::mem::take(&mut changes.shared);
            changes.read(shared);
        }
    }

    /// Returns the sources with an audience that the call read itself.
    #[must_use]
    pub fn read(&self) -> Vec<String> {
        self.audience.read()
    }

    /// Returns the files that the call has changed so far, with the sources of its arguments and of
    /// what it read; none if it has no sources that count.
    #[must_use]
    pub fn changed(&self) -> Vec<LabelledFile> {
        let changes = self.changes();
        let changes = changes.filter(|changes| !changes.sources.is_empty());
        changes.map_or_else(Vec::new, |changes| changes.labelled())
    }

    fn changes(&self) -> Option<MutexGuard<'_, FileChanges>> {
        let changes = self.changes.as_ref()?;
        Some(changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the sources of the artifacts that a request reads. Tools choose the names in a list.
    fn sources_of_artifacts(&self, request: &AuditRequest) -> Vec<String> {
        match request {
            AuditRequest::Artifact {
                action: ArtifactOp::ListArtifacts,
                ..
            } => self.artifacts.values().flatten().cloned().collect(),
            AuditRequest::Artifact {
                action: ArtifactOp::ReadArtifact,
                name,
            } => self.artifacts.get(name).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

impl FileChanges {
    fn admit(&mut self, request: &AuditRequest, artifacts: Vec<String>) {
        let own = source_of(request).filter(|source| self.policy.counts(source));
        self.read(artifacts.into_iter().chain(own));
        let AuditRequest::File { action, path, to } = request else {
            return;
        };
        let carries = matches!(action, FileAction::Move | FileAction::Link) || !action.changes();
        if carries {
            self.read(self.run.sources_of(path));
        }
        if action.changes() {
            for path in iter::once(path).chain(to) {
                let path = path.trim_end_matches('/');
                self.label(path);
                self.changed.entry(path.to_owned()).or_default();
            }
            bounded_table(&mut self.changed);
        }
    }

    /// Takes in that what is at a path, and below it, gets another path: it has the sources of the
    /// files there, and of the directory itself.
    fn moves(&mut self, path: &str) {
        let mut sources = self.run.sources_of(path);
        sources.extend(self.policy.untrusted_below(path));
        self.has_moved |= !sources.is_empty();
        self.read(sources);
    }

    /// Takes in sources of what the call reads, and so of what it wrote and may still write.
    fn read(&mut self, sources: impl IntoIterator<Item = String>) {
        let before = self.sources.len();
        self.sources.extend(sources);
        if self.sources.len() > before {
            self.changed.keys().for_each(|path| self.label(path));
        }
    }

    fn label(&self, path: &str) {
        if !self.sources.is_empty() {
            self.run.label(path, &self.sources);
        }
    }

    fn labelled(&self) -> Vec<LabelledFile> {
        let mut table = Table::new();
        for path in self.changed.keys() {
            add(&mut table, path.clone(), &self.sources);
        }
        as_recorded(table)
    }
}
