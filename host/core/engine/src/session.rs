//! A session: its journal, and the state derived from the records. Everything here can be rebuilt
//! from them.

mod artifacts;
pub(crate) mod client;
mod copy;
mod files;
mod folded;
mod history;
mod restored;
mod spent;
mod state;
#[cfg(test)]
mod tests;

use crate::{
    flow::RunFiles,
    journal::{Journal, JournalError},
    observer::Observer,
    policy::Ruling,
    program::RunningProgram,
};
use agent_host_types::{
    approval::ApprovalRule,
    custom_context::CustomContext,
    event::{EVENT_VERSION, Event, EventRecord, ParentCall},
    facts::CallFacts,
    id::{CallId, Digest, SessionId},
    message::Message,
    output::Blob,
    run::{MAX_RUN_ARGUMENTS_BYTES, RunArguments},
    turn::{AgentInput, TurnError},
};
pub use client::ClientSession;
pub(crate) use copy::ended_children;
pub use copy::{CopiedSession, SessionCopy, referenced_blobs};
pub use folded::FoldedSession;
pub use spent::Spent;
pub(crate) use state::Snapshot;
pub use state::{BatchCall, OpenNode, SessionState, WorkflowProgress};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The position of the shared state that an agent's session begins with, if it has any.
pub(crate) const FIRST_MERGE: u64 = 1;

/// The first record of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStart {
    /// The version of the program.
    pub program: String,
    /// The system prompt.
    pub system: Option<String>,
    /// The working directory, shown in lists of sessions.
    pub directory: Option<String>,
    /// The name and version of the client that drives the loop; `None` if this program does.
    pub client: Option<String>,
    /// The call whose agent it is.
    pub parent: Option<ParentCall>,
    /// The untrusted sources of a conversation that it continues.
    pub labels: Vec<String>,
}

/// A session that this process writes to.
///
/// ```
/// use agent_host_engine::{
///     journal::MemoryJournal,
///     session::{Session, SessionStart},
/// };
/// use agent_host_types::id::SessionId;
/// use std::sync::Arc;
///
/// let journal = Arc::new(MemoryJournal::new(SessionId::new()));
/// let session = Session::start(journal, SessionStart::default());
/// assert_eq!(session.state().turns(), 0);
/// ```
pub struct Session {
    journal: Arc<dyn Journal>,
    /// All records so far, those included that are not durable.
    folded: FoldedSession,
    /// Records that are appended and not yet durable; the barrier reports them to the observer.
    undurable: Vec<EventRecord>,
    /// The inputs of agents of the open batch, by their calls.
    child_inputs: HashMap<CallId, AgentInput>,
    /// The program that runs in place of the model; none before it started, and after a pause.
    pub(crate) program: Option<RunningProgram>,
    /// The policy's decisions in this turn about calls of the batch that have not run.
    pub(crate) rulings: HashMap<CallId, Ruling>,
    /// The recorded facts of the decisions in this turn about calls that have not ended.
    pub(crate) facts: HashMap<CallId, CallFacts>,
    /// The setup of the loop that is recorded before the next event, so that a refused input
    /// records nothing.
    new_setup: Option<(Event, Blob)>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id())
            .field("next_seq", &self.folded.next_seq())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session in an empty journal. Its first event becomes durable with the first turn.
    #[must_use]
    pub fn start(journal: Arc<dyn Journal>, start: SessionStart) -> Self {
        Self::begin(journal, start, RunFiles::default())
    }

    fn begin(journal: Arc<dyn Journal>, start: SessionStart, run: RunFiles) -> Self {
        let folded = FoldedSession::new(journal.session(), run);
        let mut session = Self::of(journal, folded);
        let started = Event::SessionStarted {
            program: start.program,
            system: start.system,
            directory: start.directory,
            client: start.client,
            parent: start.parent,
            labels: start.labels,
        };
        session.record(started, Vec::new());
        session
    }

    fn of(journal: Arc<dyn Journal>, folded: FoldedSession) -> Self {
        Self {
            journal,
            folded,
            undurable: Vec::new(),
            child_inputs: HashMap::new(),
            program: None,
            rulings: HashMap::new(),
            facts: HashMap::new(),
            new_setup: None,
        }
    }

    /// Reopens a session: reads its records and replays them to its last state.
    ///
    /// # Errors
    /// When the journal cannot be read, holds no session, or holds records that this program cannot
    /// replay.
    pub async fn resume(journal: Arc<dyn Journal>) -> Result<Self, JournalError> {
        Self::follow(journal, RunFiles::default()).await
    }

    async fn follow(journal: Arc<dyn Journal>, run: RunFiles) -> Result<Self, JournalError> {
        let mut folded = FoldedSession::new(journal.session(), run);
        folded.follow(journal.as_ref()).await?;
        Ok(Self::of(journal, folded))
    }

    /// Reopens the session of an agent, or starts it, in the run of the session that called it.
    pub(crate) async fn of_agent(
        journal: Arc<dyn Journal>,
        start: SessionStart,
        run: RunFiles,
    ) -> Result<Self, JournalError> {
        match Self::follow(Arc::clone(&journal), run.clone()).await {
            Err(JournalError::NotFound(_)) => Ok(Self::begin(journal, start, run)),
            opened => opened,
        }
    }

    /// Reopens a session of which this process has the records up to some of the last ones, and
    /// reads only those that follow.
    ///
    /// # Errors
    /// As for [`Self::resume`].
    pub async fn resume_from(
        journal: Arc<dyn Journal>,
        mut folded: FoldedSession,
    ) -> Result<Self, JournalError> {
        if !folded.is_of(journal.as_ref()).await? {
            return Self::resume(journal).await;
        }
        folded.follow(journal.as_ref()).await?;
        Ok(Self::of(journal, folded))
    }

    /// Gives the session up, and returns its records in their folded form; `None` if some of them
    /// are not durable, so that the journal may lack them.
    pub async fn into_folded(self) -> Option<FoldedSession> {
        if !self.undurable.is_empty() {
            return None;
        }
        let Self {
            journal,
            mut folded,
            ..
        } = self;
        let is_read = folded.read_last(journal.as_ref()).await;
        is_read.then_some(folded)
    }

    /// Returns the session's id.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.journal.session()
    }

    /// Returns the state derived from the records so far.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        self.folded.state()
    }

    /// Returns the number of its records, those included that are not durable yet.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        self.folded.next_seq()
    }

    /// Sets the custom context, which the calls that start from now on see. It becomes durable with
    /// the next turn.
    pub fn set_context(&mut self, context: CustomContext) {
        if **self.folded.state().context() != context {
            self.record(Event::ContextSet { context }, Vec::new());
        }
    }

    /// Records the arguments of a run, unless they are those of the last one. The record becomes
    /// durable with the first turn.
    ///
    /// # Errors
    /// They are larger than [`MAX_RUN_ARGUMENTS_BYTES`].
    pub fn configure_run(&mut self, arguments: RunArguments) -> Result<(), TurnError> {
        let size = serde_json::json!(arguments).to_string().len();
        if size > MAX_RUN_ARGUMENTS_BYTES {
            return Err(TurnError::Input {
                message: format!(
                    "the arguments of the run have {size} bytes, and the maximum is {MAX_RUN_ARGUMENTS_BYTES}; move \
                     some of them to a configuration file"
                ),
            });
        }
        let known = self.folded.state().run_arguments();
        let original = self.folded.state().original_arguments();
        let both_empty = arguments.is_empty() && known.is_empty();
        let replaces = original.is_some_and(|original| !original.is_empty());
        if replaces || (!both_empty && arguments != known) {
            self.record(Event::RunConfigured { arguments }, Vec::new());
        }
        Ok(())
    }

    /// Records the machine and the configuration of a run, unless they are those of the last one.
    /// The record becomes durable with the first turn.
    pub fn place_run(&mut self, machine: &str, configuration: &BTreeMap<String, Digest>) {
        let known = self.folded.state().placed();
        if known.is_none_or(|(at, with)| at != machine || with != configuration) {
            let event = Event::RunPlaced {
                machine: machine.to_owned(),
                configuration: configuration.clone(),
            };
            self.record(event, Vec::new());
        }
    }

    /// Takes the setup of the loop ([`crate::setup::LoopSetup`]) and the approvals from outside of
    /// the session for the next turns. They are recorded before the next event, unless they are
    /// those of the turns before.
    pub fn configure_loop(&mut self, setup: &Blob, approvals: &[ApprovalRule]) {
        let known = self.folded.state().loop_setup();
        let is_known =
            known.is_some_and(|(digest, with)| *digest == setup.digest && with == approvals);
        self.new_setup = (!is_known).then(|| {
            let event = Event::LoopConfigured {
                setup: setup.reference(),
                approvals: approvals.to_vec(),
            };
            (event, setup.clone())
        });
    }

    /// Records that the user had files restored that calls had changed, by their paths as the tools
    /// see them, and makes that durable.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn record_restored(
        &mut self,
        mut paths: Vec<String>,
        by: Option<String>,
        observer: &dyn Observer,
    ) -> Result<(), JournalError> {
        if paths.is_empty() {
            return Ok(());
        }
        paths.truncate(restored::MAX_PATHS);
        self.record(Event::FilesRestored { paths, by }, Vec::new());
        self.barrier(observer).await
    }

    /// Revokes an approval remembered in this session.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn revoke_approval(
        &mut self,
        rule: &ApprovalRule,
        observer: &dyn Observer,
    ) -> Result<(), JournalError> {
        let rule = rule.clone();
        self.record(Event::ApprovalRevoked { rule }, Vec::new());
        self.barrier(observer).await
    }

    /// Returns the journal, which a turn watches beside what it does with the session.
    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal)
    }

    /// Returns the milliseconds since 1970, by the clock of the journal.
    pub(crate) fn now_ms(&self) -> u64 {
        self.journal.clock().now_ms()
    }

    /// Returns the time since an instant, by the clock of the journal.
    pub(crate) fn elapsed(&self, since: Instant) -> Duration {
        self.journal.clock().elapsed(since)
    }

    /// Keeps the facts of the next decision about a call, and records them unless they are those of
    /// the last one. Its time stays that of the last one then.
    pub(crate) fn know_facts(&mut self, call_id: &CallId, facts: CallFacts) {
        let at_ms = facts.at_ms;
        let known = self.facts.get(call_id);
        let is_known = known.is_some_and(|known| {
            CallFacts {
                at_ms,
                ..known.clone()
            } == facts
        });
        if !is_known {
            self.facts.insert(call_id.clone(), facts.clone());
            let call_id = call_id.clone();
            self.record(Event::FactsRead { call_id, facts }, Vec::new());
        }
    }

    /// Whether a record other than facts is not durable.
    pub(crate) fn has_undurable_calls(&self) -> bool {
        let mut records = self.undurable.iter();
        records.any(|record| !matches!(record.event, Event::FactsRead { .. }))
    }

    /// Whether no record of it is durable.
    pub(crate) fn is_unstored(&self) -> bool {
        self.undurable() as u64 == self.record_count()
    }

    /// Adds an event and the blobs that it refers to. The next barrier makes them durable.
    pub(crate) fn record(&mut self, event: Event, blobs: Vec<Blob>) {
        self.record_all(vec![event], blobs);
    }

    /// Adds events that become durable together or not at all.
    pub(crate) fn record_all(&mut self, mut events: Vec<Event>, mut blobs: Vec<Blob>) {
        if let Some((event, setup)) = self.new_setup.take() {
            events.insert(0, event);
            blobs.push(setup);
        }
        let first = self.undurable.len();
        for event in events {
            let mut record = EventRecord {
                v: EVENT_VERSION,
                session: self.id(),
                seq: self.folded.next_seq(),
                at_ms: self.now_ms(),
                event,
            };
            self.journal.clock().stamp(&mut record);
            self.folded.add(&record);
            self.undurable.push(record);
        }
        let new = self.undurable.get(first..).unwrap_or_default();
        self.journal.append(new, blobs);
    }

    /// Makes all records durable, then reports them to the observer.
    pub(crate) async fn barrier(&mut self, observer: &dyn Observer) -> Result<(), JournalError> {
        let began = Instant::now();
        self.journal.barrier().await?;
        observer.durable_after(began.elapsed());
        for record in self.undurable.drain(..) {
            observer.recorded(&Arc::new(record));
        }
        Ok(())
    }

    /// Removes and returns the records before this position, which became durable.
    pub(crate) fn durable(&mut self, before: u64) -> Vec<EventRecord> {
        let count = self.undurable.partition_point(|record| record.seq < before);
        self.undurable.drain(..count).collect()
    }

    /// Returns the number of records that are not durable yet.
    pub(crate) fn undurable(&self) -> usize {
        self.undurable.len()
    }

    /// Returns the position of the next record.
    pub(crate) fn next_seq(&self) -> u64 {
        self.folded.next_seq() + u64::from(self.new_setup.is_some())
    }

    /// Whether a record is not durable yet that has to be before anything runs: the use of a
    /// continuation, which allows it, or an interruption, which bounds how often it runs again.
    pub(crate) fn must_be_durable_to_run(&self) -> bool {
        self.undurable.iter().any(|record| {
            matches!(
                record.event,
                Event::DecisionRecorded { .. }
                    | Event::AnswerReceived { .. }
                    | Event::TurnInterrupted { .. }
            )
        })
    }

    /// Returns the conversation as the model is shown it, with files as blob references.
    pub(crate) fn conversation(&self) -> Result<Vec<Message>, JournalError> {
        self.folded.state().all_messages().map_err(|error| {
            JournalError::corrupt(format!(
                "cannot read the conversation of session {} again: {error}; resume it with the program that wrote it",
                self.id()
            ))
        })
    }

    /// Keeps what agents are resumed with until they run.
    pub(crate) fn hand_down(&mut self, inputs: impl IntoIterator<Item = (CallId, AgentInput)>) {
        self.child_inputs.extend(inputs);
    }

    /// Removes and returns what the agent of a call is resumed with.
    pub(crate) fn child_input(&mut self, call_id: &CallId) -> Option<AgentInput> {
        self.child_inputs.remove(call_id)
    }

    /// Returns the time of the first record, in milliseconds since 1970.
    pub(crate) fn started_ms(&self) -> u64 {
        self.folded.started_ms()
    }

    /// Returns the position of the start of the last workflow.
    pub(crate) fn workflow_start(&self) -> u64 {
        self.folded.workflow_start()
    }

    /// Returns a page of records from a position on, those included that are not durable yet; an
    /// empty one after the last.
    pub(crate) async fn records(&self, from: u64) -> Result<Vec<EventRecord>, JournalError> {
        self.journal.records(from).await
    }

    /// Returns the bytes of a blob.
    pub(crate) async fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        self.journal.blob(digest).await
    }
}

/// Returns the milliseconds since 1970; 0 if the clock is before that. Time is for display only;
/// `seq` orders.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
