//! A parent with one agent, and the journals of both.

use super::super::{counts::Counted, harness::*};
use crate::{
    BoxFuture,
    agents::{Agents, Journals, SubAgent},
    journal::{Journal, JournalError},
    session::Session,
    turn::{Agent, ContinuationKey},
};
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, Continuation, WaitingChild},
    id::{Digest, SessionId},
    model::ModelReply,
    tool::{Approval, DecisionKind},
    turn::{AgentInput, ChildInput, TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// The journals of the children of one parent.
#[derive(Default)]
pub(in crate::turn::tests) struct TestJournals {
    pub(super) opened: Mutex<HashMap<SessionId, Arc<TestJournal>>>,
    /// The barrier from which on those of new journals fail; 0 for none.
    fails_from: AtomicU64,
    /// The calls that are counted in all of them.
    pub(in crate::turn::tests) counted: Counted,
}

impl TestJournals {
    /// The only child's journal.
    pub(in crate::turn::tests) fn only(&self) -> Arc<TestJournal> {
        let opened = self.opened.lock().unwrap();
        assert_eq!(opened.len(), 1);
        opened.values().next().unwrap().clone()
    }

    /// Has the barriers of new journals fail from this one on.
    pub(in crate::turn::tests) fn fail_from(&self, barrier: u64) {
        self.fails_from.store(barrier, Ordering::SeqCst);
    }

    /// Those of all children, in the order of their sessions.
    pub(in crate::turn::tests) fn all(&self) -> Vec<Arc<TestJournal>> {
        let opened = self.opened.lock().unwrap();
        let mut all: Vec<_> = opened.iter().collect();
        all.sort_by_key(|(id, _)| **id);
        all.into_iter()
            .map(|(_, journal)| journal.clone())
            .collect()
    }

    pub(in crate::turn::tests) fn is_empty(&self) -> bool {
        self.opened.lock().unwrap().is_empty()
    }

    /// All of them as a crash leaves them.
    pub(in crate::turn::tests) fn after_crash(&self) -> Arc<Self> {
        let opened = self.opened.lock().unwrap();
        let left = opened
            .iter()
            .map(|(id, journal)| (*id, journal.after_crash()));
        Arc::new(Self {
            opened: Mutex::new(left.collect()),
            fails_from: AtomicU64::new(0),
            counted: self.counted.clone(),
        })
    }
}

impl Journals for TestJournals {
    fn open(&self, session: SessionId) -> BoxFuture<'_, Result<Arc<dyn Journal>, JournalError>> {
        let mut opened = self.opened.lock().unwrap();
        let journal = opened.entry(session).or_insert_with(|| {
            let journal = TestJournal::counting(session, self.counted.clone());
            match self.fails_from.load(Ordering::SeqCst) {
                0 => {}
                barrier => journal.fails_from.store(barrier, Ordering::SeqCst),
            }
            journal
        });
        let journal: Arc<dyn Journal> = journal.clone();
        Box::pin(std::future::ready(Ok(journal)))
    }
}

/// A parent with the agent `helper`, which has the standard tools.
pub(in crate::turn::tests) struct Family {
    pub(in crate::turn::tests) parent: Bench,
    pub(in crate::turn::tests) child: Agent,
    pub(super) model: Arc<QueueModel>,
    pub(super) ran: Arc<Ran>,
    pub(in crate::turn::tests) journals: Arc<TestJournals>,
}

impl Family {
    pub(super) fn new(parent: Vec<ModelReply>, child: Vec<ModelReply>) -> Self {
        Self::with(
            Bench::new(parent),
            Arc::default(),
            child,
            standard(),
            |_| {},
        )
    }

    pub(in crate::turn::tests) fn with(
        mut parent: Bench,
        journals: Arc<TestJournals>,
        child: Vec<ModelReply>,
        tools: Vec<Tool>,
        change: impl FnOnce(&mut Agent),
    ) -> Self {
        let of_child = Bench::with(child, tools);
        let mut agent = of_child.agent.clone();
        // The key of the parent counts.
        agent.key = ContinuationKey::new([8; 32]);
        change(&mut agent);
        parent.adopt(vec![("helper", agent.clone())], journals.clone());
        Self {
            parent,
            child: agent,
            model: of_child.model,
            ran: of_child.ran,
            journals,
        }
    }

    /// The same after the process died, with these replies to come.
    pub(super) async fn resumed(&self, parent: Vec<ModelReply>, child: Vec<ModelReply>) -> Self {
        let bench = Bench::resume(&self.parent.journal, parent, standard()).await;
        let journals = self.journals.after_crash();
        Self::with(bench, journals, child, standard(), |agent| {
            agent.settings = self.child.settings.clone();
        })
    }

    pub(super) fn ran(&self) -> Vec<String> {
        let invocations = self.ran.invocations.lock().unwrap();
        invocations
            .iter()
            .map(|call| call.call_id.0.clone())
            .collect()
    }

    pub(super) async fn child(&self) -> Session {
        Session::resume(self.journals.only().after_crash())
            .await
            .unwrap()
    }
}

impl Bench {
    pub(in crate::turn::tests) fn adopt(
        &mut self,
        agents: Vec<(&str, Agent)>,
        journals: Arc<TestJournals>,
    ) {
        let agents = agents.into_iter().map(|(name, agent)| SubAgent {
            name: name.into(),
            description: "Helps.".into(),
            system: Some("You help.".into()),
            agent: agent.into(),
            approval: Approval::Never,
            decisions: DecisionKind::ALL.into(),
            is_interactive: true,
            price: None,
            definition: Digest::of(name.as_bytes()),
        });
        let agents = Arc::new(Agents::new(agents.collect(), journals));
        let tools = self.agent.tools.as_ref().clone();
        self.agent.tools = Arc::new(tools.behind(agents.tools()));
        self.agent.agents = Some(agents);
    }
}

pub(super) const START: &str = r#"{"instructions": "look around"}"#;

pub(super) fn start() -> ModelReply {
    calls(&[("p", "agent_helper", START)])
}

pub(in crate::turn::tests) fn children(outcome: &TurnReport) -> (Continuation, Vec<WaitingChild>) {
    match &outcome.end {
        TurnEnd::AwaitingChildren { continuation } => match &continuation.awaiting {
            Awaiting::Children { children } => (continuation.clone(), children.clone()),
            other => panic!("{other:?}"),
        },
        other => panic!("no agent waits: {other:?}"),
    }
}

pub(in crate::turn::tests) fn approve(child: &WaitingChild) -> ChildInput {
    let calls = child.continuation.calls().iter();
    ChildInput {
        call_id: child.call_id.clone(),
        input: AgentInput::Resume {
            continuation: child.continuation.clone(),
            decisions: calls
                .map(|call| Decision::approve(call.call_id.clone()))
                .collect(),
        },
    }
}
