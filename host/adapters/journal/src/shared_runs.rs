//! The runs that the hosts of one store continue for each other, and the messages between them.

use crate::{ownership::SessionScope, store::StoreFuture};
use agent_host_engine::journal::Journal;
use agent_host_types::id::{Digest, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Debug, sync::Arc};
use tokio::sync::broadcast;

/// The claims of a run in a row in which its session got no new event, after which no host
/// continues it by itself: what ended those hosts may be the run. As many as the engine resumes a
/// turn without progress.
pub const CLAIMS_WITHOUT_PROGRESS: u8 = 5;

/// The part of a store that several hosts share. A run is listed while a host runs it; if the host
/// ends without an end of the run, another one claims it.
///
/// Messages are hints: one may be lost, so that what matters is also read again from time to time.
pub trait SharedRuns: Debug + Send + Sync {
    /// Returns the id of this host, which is a new one for each process.
    fn host(&self) -> &HostId;

    /// Lists the run of a session that this process has claimed.
    ///
    /// # Errors
    /// The claim is lost.
    fn list_run(&self, session: SessionId, run: RunListing) -> StoreFuture<'_, RunClaim>;

    /// Removes a run that has ended, unless another host has claimed it.
    fn end_run(&self, run: RunClaim) -> StoreFuture<'_, ()>;

    /// Has another host continue a run, unless one has it already. One that has begun is continued
    /// before those that have only been accepted. The journal of its session must have been
    /// dropped.
    fn hand_over(&self, run: RunClaim, has_begun: bool) -> StoreFuture<'_, ()>;

    /// Ends the attempts to continue a run; its session can be resumed by the user. `reason` is a
    /// sentence.
    fn stop_run(&self, run: RunClaim, reason: String) -> StoreFuture<'_, ()>;

    /// Claims the next run that this host may continue: those of hosts that ended before those that
    /// wait to begin, and of these one of the sender or agent of which this host runs the fewest.
    /// Returns `None` if there is none.
    fn claim_run(&self, claimant: Claimant) -> StoreFuture<'_, Option<ClaimedRun>>;

    /// Returns the runs of sessions that have one, in no order.
    fn runs_of(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<SharedRun>>;

    /// Returns the sessions among these that a host has claimed, with the host, in no order: those
    /// of runs and those of their agents.
    fn claims_of(&self, sessions: Vec<SessionId>) -> StoreFuture<'_, Vec<(SessionId, HostId)>>;

    /// Returns the number of runs of a scope that wait to begin or to be continued, counted up to
    /// `most`.
    fn waiting_runs(&self, most: u32, scope: SessionScope) -> StoreFuture<'_, u32>;

    /// Asks the host that has claimed a session to do something, and returns whether there is one.
    /// It learns of it at once, or when it next renews its claim.
    fn ask_host(&self, session: SessionId, request: RunRequest) -> StoreFuture<'_, bool>;

    /// Returns what other hosts ask for the sessions that this one has claimed; each once.
    fn requests(&self) -> StoreFuture<'_, Vec<(SessionId, RunRequest)>>;

    /// Says what this host is and does; and has runs continued that have no claim although they did
    /// not end.
    fn report_host(&self, status: HostStatus) -> StoreFuture<'_, ()>;

    /// Says that this host ends.
    fn leave(&self) -> StoreFuture<'_, ()>;

    /// Returns the hosts that reported in the last 30 s, the oldest first.
    fn hosts(&self) -> StoreFuture<'_, Vec<HostReport>>;

    /// Sends a message to one host, or to all.
    fn send(&self, to: Option<HostId>, message: HostMessage) -> StoreFuture<'_, ()>;

    /// Returns the messages of other hosts from now on.
    fn messages(&self) -> broadcast::Receiver<HostMessage>;
}

/// The id of a host: 16 hexadecimal digits at random.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct HostId(pub String);

/// A run, as it is listed for other hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunListing {
    /// The agent and the sender. Hosts are fair between keys.
    pub fairness_key: String,
    /// The hosts that may continue it.
    pub placement: Placement,
}

/// The hosts that may continue a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The digest of what the host must run: components, grants, rules and agents.
    pub configuration: Digest,
    /// The name of the machine with the directories that the run may reach; absent if it reaches
    /// none that only one machine has.
    pub machine: Option<String>,
}

/// The claim of a host on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunClaim {
    /// The session.
    pub session: SessionId,
    /// The fencing token of the claim on the session.
    pub epoch: i64,
}

/// A host that looks for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// The digest of what it runs.
    pub configuration: Digest,
    /// The name of its machine.
    pub machine: String,
    /// The numbers of its runs by their keys of fairness.
    pub running: Vec<(String, u32)>,
}

/// A run that this host has claimed.
pub struct ClaimedRun {
    /// The claim.
    pub claim: RunClaim,
    /// The key of fairness.
    pub fairness_key: String,
    /// The journal of its session.
    pub journal: Arc<dyn Journal>,
}

impl Debug for ClaimedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimedRun")
            .field("claim", &self.claim)
            .finish_non_exhaustive()
    }
}

/// A run as the hosts see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SharedRun {
    /// The session.
    #[serde(skip)]
    pub session: SessionId,
    /// The state.
    pub state: RunState,
    /// The id of the host that runs it, or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostId>,
    /// The digest of what a host must run to continue it.
    pub configuration: Digest,
    /// The name of the one machine that may continue it, if it must be a certain one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Why no host continues it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The state of a run that hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It waits for a host.
    Waiting,
    /// A host runs it.
    Running,
    /// The host that ran it does not answer; another one continues it.
    Interrupted,
    /// It is not continued by itself.
    Stopped,
}

/// A request to the host that runs a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RunRequest {
    /// Cancel the run.
    Cancel {
        /// The one who asks, as the front end names them.
        by: String,
    },
    /// End the run where nothing is lost.
    Drain,
}

/// The state of a host, as it reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct HostStatus {
    /// The name of its machine.
    pub machine: String,
    /// The version of the program.
    pub version: String,
    /// The digest of what it runs.
    pub configuration: Digest,
    /// The digests of the parts of it by their names.
    pub parts: BTreeMap<String, Digest>,
    /// The number of its runs.
    pub runs: u32,
    /// The most runs that it takes.
    pub max_runs: u32,
}

/// A host that reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HostReport {
    /// The id.
    pub host: HostId,
    /// The state.
    #[serde(flatten)]
    pub status: HostStatus,
}

/// A message from one host to others. One that is not understood is of a newer version, and
/// ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HostMessage {
    /// A run waits for a host.
    RunWaits,
    /// A host runs a session from now on.
    RunClaimed {
        /// The session.
        session: SessionId,
        /// The host.
        host: HostId,
    },
    /// There is a request for a session of this host.
    RunRequested,
    /// A host wants to be told what happens in a session.
    Watch {
        /// The session.
        session: SessionId,
        /// The host that wants it.
        host: HostId,
    },
    /// Something happened in a session.
    Lines {
        /// The session.
        session: SessionId,
        /// The lines, in order.
        lines: Vec<HostLine>,
    },
}

/// A line about a session that another host runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HostLine {
    /// The number of an event, which is read from the journal.
    Event(u64),
    /// The JSON of something that is not in the journal of this session.
    Live(Arc<str>),
}
