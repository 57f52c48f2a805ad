//! The points at which a process can fail, and the wrappers around journal, tools and model that
//! pass them.

use agent_host_engine::{
    BoxFuture,
    agents::Journals,
    journal::{Journal, JournalError},
    model::{DeltaSink, Model},
    tool::{Invocation, ProgressSink, RunEnd, ToolHandler},
    tool_set::{ToolEntry, ToolSet},
};
use agent_host_types::{
    event::EventRecord,
    failure::ToolFailure,
    id::{Digest, SessionId},
    limits::Limits,
    model::{ModelError, ModelReply, ModelRequest, Provenance},
    output::Blob,
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_process, setrlimit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

/// The fault at a point.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Fault {
    /// The process is killed.
    Kill,
    /// During the barrier that begins there the journal's log may grow by this many bytes; writes
    /// beyond fail.
    LogLimit(u64),
}

/// The points that this process has passed.
pub(crate) struct Points {
    fault: Option<(usize, Fault)>,
    log: PathBuf,
    passed: Mutex<Vec<String>>,
    /// The kind of the last appended event.
    last: Mutex<String>,
}

impl Points {
    /// `fault` happens at the point with its number, from 0; `log` is the write-ahead log of the
    /// journal.
    pub(crate) fn new(fault: Option<(usize, Fault)>, log: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            fault,
            log,
            passed: Mutex::default(),
            last: Mutex::default(),
        })
    }

    /// The names of the points so far.
    pub(crate) fn passed(&self) -> Vec<String> {
        self.passed.lock().unwrap().clone()
    }

    /// Passes a point; returns the bound if a fault other than a kill happens there.
    fn pass(&self, name: String) -> Option<u64> {
        let mut passed = self.passed.lock().unwrap();
        let number = passed.len();
        passed.push(name);
        match self.fault {
            Some((at, Fault::Kill)) if at == number => die(),
            Some((at, Fault::LogLimit(bytes))) if at == number => Some(bytes),
            Some(_) | None => None,
        }
    }

    fn at_barrier(&self, what: &str) -> Option<u64> {
        let last = self.last.lock().unwrap().clone();
        self.pass(format!("{last}: {what}"))
    }
}

fn die() -> ! {
    kill_process(getpid(), Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

/// A bound on the size of files while this value lives. Writes beyond it fail as on a full disk
/// (`EFBIG` instead of `ENOSPC`).
struct Bound(Rlimit);

impl Bound {
    fn set(bytes: u64) -> Self {
        let before = getrlimit(Resource::Fsize);
        let bound = Rlimit {
            current: Some(bytes),
            ..before
        };
        setrlimit(Resource::Fsize, bound).unwrap();
        Self(before)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        setrlimit(Resource::Fsize, self.0).unwrap();
    }
}

/// A journal with a point after each appended event, and three around each barrier.
pub(crate) struct WatchedJournal {
    pub(crate) inner: Arc<dyn Journal>,
    pub(crate) points: Arc<Points>,
}

impl Journal for WatchedJournal {
    fn session(&self) -> SessionId {
        self.inner.session()
    }

    fn append(&self, records: &[EventRecord], blobs: Vec<Blob>) {
        self.inner.append(records, blobs);
        for record in records {
            let kind = json!(record.event)["kind"].as_str().unwrap().to_owned();
            self.points.last.lock().unwrap().clone_from(&kind);
            self.points.pass(format!("{kind}: appended"));
        }
    }

    fn barrier(&self) -> BoxFuture<'_, Result<(), JournalError>> {
        let room = self.points.at_barrier("before the barrier");
        let bound = room.map(|room| {
            let size = self.points.log.metadata().map_or(0, |log| log.len());
            Bound::set(size + room)
        });
        let barrier = self.inner.barrier();
        self.points.at_barrier("in the barrier");
        Box::pin(async move {
            let result = barrier.await;
            drop(bound);
            self.points.at_barrier("after the barrier");
            result
        })
    }

    fn records(&self, from: u64) -> BoxFuture<'_, Result<Vec<EventRecord>, JournalError>> {
        self.inner.records(from)
    }

    fn blob(&self, digest: Digest) -> BoxFuture<'_, Result<Vec<u8>, JournalError>> {
        self.inner.blob(digest)
    }
}

/// Journals of agents, each with the points of [`WatchedJournal`].
pub(crate) struct WatchedJournals {
    pub(crate) inner: Arc<dyn Journals>,
    pub(crate) points: Arc<Points>,
}

impl Journals for WatchedJournals {
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Arc<dyn Journal>, JournalError>> {
        Box::pin(async move {
            let journal: Arc<dyn Journal> = Arc::new(WatchedJournal {
                inner: self.inner.open(session).await?,
                points: self.points.clone(),
            });
            Ok(journal)
        })
    }
}

/// A model with a point before and after each reply.
pub(crate) struct WatchedModel {
    pub(crate) inner: Arc<dyn Model>,
    pub(crate) points: Arc<Points>,
}

impl Model for WatchedModel {
    fn provenance(&self) -> Provenance {
        self.inner.provenance()
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            self.points.pass("the model is asked".to_owned());
            let reply = self.inner.respond(request, deltas).await;
            self.points.pass("the model has answered".to_owned());
            reply
        })
    }
}

/// A tool with a point before and after each run.
struct WatchedTool {
    inner: Arc<dyn ToolHandler>,
    points: Arc<Points>,
}

/// The tool that runs outside.
pub(crate) const OUTSIDE: &str = "outside";

/// Returns the tools with these points, and one more that runs outside.
pub(crate) fn watched_tools(tools: &ToolSet, points: &Arc<Points>) -> Arc<ToolSet> {
    let outside = RegisteredTool {
        definition: Arc::new(ToolDefinition {
            name: OUTSIDE.to_owned(),
            title: None,
            description: "Runs elsewhere.".to_owned(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            effect: Effect::Effectful,
        }),
        effect: Effect::Effectful,
        approval: Approval::Never,
        decisions: DecisionKind::ALL.into(),
        runtime: ToolRuntime::External,
        component: None,
        destination: None,
        summary: None,
    };
    let watched = tools.entries().map(|entry| ToolEntry {
        handler: entry.handler.clone().map(|inner| {
            let points = Arc::clone(points);
            Arc::new(WatchedTool { inner, points }) as Arc<dyn ToolHandler>
        }),
        ..entry.clone()
    });
    let outside = ToolEntry::new(outside, None).unwrap();
    Arc::new(watched.chain([outside]).collect())
}

impl ToolHandler for WatchedTool {
    fn limits(&self) -> Option<&Limits> {
        self.inner.limits()
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.inner.check(input)
    }

    fn run<'a>(
        &'a self,
        invocation: Invocation,
        progress: ProgressSink<'a>,
    ) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let tool = invocation.tool.clone();
            self.points.pass(format!("{tool} begins"));
            let end = self.inner.run(invocation, progress).await;
            self.points.pass(format!("{tool} has ended"));
            end
        })
    }
}
