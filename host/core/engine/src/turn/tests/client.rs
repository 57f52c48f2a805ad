//! Calls of an external client: the same policy and records, concurrently in one session.

mod shared;

use super::harness::*;
use crate::{
    session::{ClientSession, Session, SessionStart, client::MAX_UNDURABLE},
    tool::{CallReport, Invocation, RunEnd, SessionChange},
    turn::{Actors, Agent, ClientCall, ClientCallEnd, ClientCallError, Prompts, TurnContext},
};
use agent_host_types::{
    accounting::Accounting,
    approval::Decision,
    continuation::PendingCall,
    event::Event,
    id::{CallId, SessionId},
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, AnsweredQuestion, PendingQuestion, Question},
    tool::{Approval, DecisionKind, Effect},
    turn::TurnError,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::sync::{Arc, atomic::Ordering};
use tokio_util::sync::CancellationToken;

/// A client over the test doubles.
struct Client {
    agent: Agent,
    session: ClientSession,
    journal: Arc<TestJournal>,
    ran: Arc<Ran>,
    observer: Arc<Recorder>,
    cancel: CancellationToken,
}

impl Client {
    fn new(tools: Vec<Tool>) -> Self {
        let bench = Bench::with(Vec::new(), tools);
        Self {
            agent: bench.agent,
            session: ClientSession::new(bench.session),
            journal: bench.journal,
            ran: bench.ran,
            observer: bench.observer,
            cancel: bench.cancel,
        }
    }

    fn call(&self, tool: &str) -> ClientCall {
        self.agent
            .client_call(&self.session, tool.into(), Map::new(), 0)
    }

    async fn run(&self, call: &mut ClientCall) -> ClientCallEnd {
        self.try_run(call).await.unwrap()
    }

    async fn try_run(&self, call: &mut ClientCall) -> Result<ClientCallEnd, ClientCallError> {
        let cx = TurnContext {
            observer: &*self.observer,
            approvals: &[],
            cancel: &self.cancel,
            drain: &CancellationToken::new(),
            actors: Actors::default(),
        };
        self.agent.run_client_call(&self.session, call, &cx).await
    }

    /// The kinds of all records, in the groups in which they were appended.
    async fn recorded(&self) -> Vec<Vec<String>> {
        self.session.flush(&*self.observer).await.unwrap();
        self.journal.kinds_together()
    }
}

fn output(end: ClientCallEnd) -> ToolResultOutput {
    match end {
        ClientCallEnd::Settled { output, .. } => output,
        other => panic!("the call is not settled: {other:?}"),
    }
}

fn pending(end: ClientCallEnd) -> PendingCall {
    match end {
        ClientCallEnd::Confirm(pending) => *pending,
        other => panic!("the call does not wait for a decision: {other:?}"),
    }
}

fn kinds(groups: &[&[&str]]) -> Vec<Vec<String>> {
    let own = |group: &&[&str]| group.iter().map(|kind| (*kind).to_owned()).collect();
    groups.iter().map(own).collect()
}

fn refused(result: Result<(), TurnError>) -> String {
    match result {
        Err(TurnError::Input { message }) => message,
        other => panic!("nothing was refused: {other:?}"),
    }
}

const STARTED: &[&str] = &["session-started"];

/// A read-only call waits for no barrier; any other for one before it runs and one before its
/// result is returned.
#[tokio::test]
async fn client_call_records_and_barriers() {
    let cases: [(&str, ToolResultOutput, u64, &[&[&str]]); 5] = [
        (
            "look",
            text("look {}"),
            0,
            &[STARTED, &["call-intended"], &["call-settled"]],
        ),
        (
            "act",
            text("act {}"),
            2,
            &[STARTED, &["call-intended"], &["call-settled"]],
        ),
        (
            "put",
            text("put {}"),
            2,
            &[STARTED, &["call-intended"], &["call-settled"]],
        ),
        (
            "missing",
            failure(
                "unknown-tool",
                "There is no tool `missing`. The tools are: look, peek, put, act, send, pay.",
            ),
            0,
            &[STARTED, &["call-received"], &["call-settled"]],
        ),
        (
            "pay",
            failure(
                "tool-unavailable",
                "This tool runs outside of the host, in the program that drives the agent loop; it cannot be called from here.",
            ),
            0,
            &[STARTED, &["call-received"], &["call-settled"]],
        ),
    ];
    for (tool_name, expected, barriers, records) in cases {
        let mut tools = standard();
        tools.push(tool("pay", Effect::ReadOnly, Approval::Never).outside());
        let client = Client::new(tools);
        let mut call = client.call(tool_name);
        assert_eq!(output(client.run(&mut call).await), expected);
        assert_eq!(client.journal.barriers(), barriers, "{tool_name}");
        assert_eq!(client.recorded().await, kinds(records), "{tool_name}");
        assert_eq!(*client.ran.premature.lock().unwrap(), Vec::new());
        assert_eq!(
            *client.observer.premature.lock().unwrap(),
            Vec::<u64>::new()
        );
    }
}

/// Arguments are checked against the schema, and the denial of a call names the rule.
#[tokio::test]
async fn client_call_that_must_not_run_is_answered() {
    let client = Client::new(standard());
    let input = Map::from_iter([("n".to_owned(), json!("one"))]);
    let mut call = client
        .agent
        .client_call(&client.session, "look".into(), input, 0);
    let ToolResultOutput::ErrorJson(error) = output(client.run(&mut call).await) else {
        panic!("the arguments were taken");
    };
    assert_eq!(error.to_value()["code"], "invalid-input");

    let mut client = Client::new(standard());
    client.agent.settings.prompts = Prompts::Deny;
    let mut call = client.call("send");
    assert_eq!(
        output(client.run(&mut call).await),
        denied(
            "This call needs the user's approval (rule effect.effectful), and no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml."
        )
    );
    assert_eq!(
        client.recorded().await,
        kinds(&[STARTED, &["call-received"], &["call-settled"]])
    );
    assert_eq!(*client.ran.log.lock().unwrap(), Vec::<String>::new());
}

/// The user decides on one call, once, and only as its tool allows.
#[tokio::test]
async fn client_call_runs_after_approval() {
    let approve = |call: &ClientCall| Decision::approve(call.id().clone());
    let reject = |call: &ClientCall| Decision::Reject {
        call_id: call.id().clone(),
        reason: Some("not today".into()),
    };
    let decided: &[&str] = &["approval-requested", "decision-recorded"];
    type Decide<'a> = &'a dyn Fn(&ClientCall) -> Decision;
    let cases: [(Decide<'_>, ToolResultOutput, &[&[&str]]); 2] = [
        (
            &approve,
            text("send {}"),
            &[STARTED, decided, &["call-intended"], &["call-settled"]],
        ),
        (
            &reject,
            denied("not today"),
            &[STARTED, decided, &["call-settled"]],
        ),
    ];
    for (decision, expected, records) in cases {
        let client = Client::new(standard());
        let mut call = client.call("send");
        let pending = pending(client.run(&mut call).await);
        assert_eq!(pending.rule, "effect.effectful");
        let decision = decision(&call);
        client
            .agent
            .decide_client_call(&client.session, &mut call, pending, decision)
            .unwrap();
        assert_eq!(output(client.run(&mut call).await), expected);
        assert_eq!(client.recorded().await, kinds(records));
        assert_eq!(*client.ran.premature.lock().unwrap(), Vec::new());
    }
}

#[tokio::test]
async fn client_call_refuses_an_unfit_decision() {
    let only = [DecisionKind::Reject, DecisionKind::Respond];
    let client = Client::new(vec![
        tool("send", Effect::Effectful, Approval::Always).allowing(&only),
    ]);
    let mut call = client.call("send");
    let mut other = client.call("send");
    let waits = pending(client.run(&mut call).await);
    let approve = Decision::approve(call.id().clone());
    let decide = |call: &mut ClientCall| {
        client
            .agent
            .decide_client_call(&client.session, call, waits.clone(), approve.clone())
    };
    assert_eq!(
        refused(decide(&mut call)),
        "the decision about call client-1 cannot be `approve`; its tool allows reject, respond"
    );
    assert_eq!(
        refused(decide(&mut other)),
        "the question came from call client-1, and this is call client-2"
    );
    assert_eq!(pending(client.run(&mut call).await), waits);
    assert_eq!(client.recorded().await, kinds(&[STARTED]));
}

fn asks(answered_by: AnsweredBy) -> impl Fn(Invocation) -> RunEnd + Send + Sync + 'static {
    move |invocation| {
        let Some(AnsweredQuestion { answer, .. }) = invocation.answers.first() else {
            return RunEnd::Asked(PendingQuestion {
                question: Question {
                    prompt: "Which?".into(),
                    choices: vec!["red".into(), "blue".into()],
                    free_text: false,
                    multiple: false,
                    form: None,
                },
                answered_by,
                accounting: Accounting::default(),
                audit: Vec::new(),
            });
        };
        let told = json!([answer, invocation.shared.get("seen")]);
        CallReport::of(ToolResultOutput::json(told)).into()
    }
}

/// The answer reaches the call in another run under the same key, or is its result.
#[tokio::test]
async fn client_call_runs_again_with_the_answer() {
    let asked: &[&str] = &["question-asked", "answer-received"];
    let cases: [(AnsweredBy, ToolResultOutput, &[&[&str]]); 2] = [
        (
            AnsweredBy::Rerun,
            ToolResultOutput::json(json!([{"type": "choice", "index": 1}, null])),
            &[
                STARTED,
                &["call-intended"],
                asked,
                &["call-intended"],
                &["call-settled"],
            ],
        ),
        (
            AnsweredBy::Result,
            text("blue"),
            &[STARTED, &["call-intended"], asked, &["call-settled"]],
        ),
    ];
    for (answered_by, expected, records) in cases {
        let client = Client::new(vec![
            tool("look", Effect::ReadOnly, Approval::ByEffect).ends(asks(answered_by)),
        ]);
        let mut call = client.call("look");
        let nothing = client.agent.answer_client_call(
            &client.session,
            &mut call,
            Answer::Choice { index: 0 },
        );
        assert_eq!(refused(nothing), "call client-1 has not asked a question");
        let ClientCallEnd::Question(question) = client.run(&mut call).await else {
            panic!("the call asked nothing");
        };
        assert_eq!(question.prompt, "Which?");
        let mut answer = |answer| {
            client
                .agent
                .answer_client_call(&client.session, &mut call, answer)
        };
        assert_eq!(
            refused(answer(Answer::Choice { index: 2 })),
            "invalid answer: invalid choice 2; the question has 2 choices, counted from 0"
        );
        answer(Answer::Choice { index: 1 }).unwrap();
        assert_eq!(output(client.run(&mut call).await), expected);
        assert_eq!(client.recorded().await, kinds(records));
        let keys: Vec<String> = {
            let invocations = client.ran.invocations.lock().unwrap();
            let key = |invocation: &Invocation| invocation.idempotency_key.clone();
            invocations.iter().map(key).collect()
        };
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    }
}

/// Calls of one client run concurrently, also those that are not read-only.
#[tokio::test]
async fn client_calls_run_concurrently() {
    let client = Client::new(standard());
    let mut calls = [client.call("act"), client.call("look"), client.call("act")];
    let [first, second, third] = &mut calls;
    let ends = tokio::join!(client.run(first), client.run(second), client.run(third));
    assert_eq!(
        [ends.0, ends.1, ends.2].map(output),
        [text("act {}"), text("look {}"), text("act {}")]
    );
    assert_eq!(client.ran.peak.load(Ordering::SeqCst), 3);
    let ids = calls.each_ref().map(|call| call.id().clone());
    assert_eq!(
        ids,
        ["client-1", "client-2", "client-3"].map(|id| CallId(id.into()))
    );
}

/// A call first makes all earlier records durable, and does not run after a failed barrier.
#[tokio::test]
async fn failed_barrier_stops_every_client_call() {
    let client = Client::new(standard());
    client.journal.fails_from.store(1, Ordering::SeqCst);
    let mut look = client.call("look");
    assert_eq!(output(client.run(&mut look).await), text("look {}"));
    let mut act = client.call("act");
    assert_eq!(
        client.try_run(&mut act).await.unwrap_err().to_string(),
        "a call did not run: the disk is full"
    );
    let mut look = client.call("look");
    assert_eq!(
        client.try_run(&mut look).await.unwrap_err().to_string(),
        "a call did not run: the disk is full"
    );
    let log = client.ran.log.lock().unwrap().clone();
    assert_eq!(log, ["+client-1", "-client-1"]);
    // Calls run again once the journal can be written.
    client.journal.fails_from.store(0, Ordering::SeqCst);
    assert_eq!(output(client.run(&mut look).await), text("look {}"));
    // The journal has the end of the call that did not run.
    assert_eq!(
        client.recorded().await,
        kinds(&[
            STARTED,
            &["call-intended"],
            &["call-settled"],
            &["call-intended"],
            &["call-settled"],
            &["call-intended"],
            &["call-settled"],
        ])
    );
}

/// A call that ran reports it, and its result is stored as soon as possible.
#[tokio::test]
async fn client_call_result_is_stored_after_a_failed_barrier() {
    let client = Client::new(standard());
    client.journal.fails_from.store(2, Ordering::SeqCst);
    let mut act = client.call("act");
    assert_eq!(
        client.try_run(&mut act).await.unwrap_err().to_string(),
        "a call ran, but its result is not stored yet: the disk is full"
    );
    client.journal.fails_from.store(0, Ordering::SeqCst);
    let mut next = client.call("look");
    assert_eq!(output(client.run(&mut next).await), text("look {}"));
    let log = client.ran.log.lock().unwrap().clone();
    assert_eq!(log, ["+client-1", "-client-1", "+client-2", "-client-2"]);
    let durable = client.journal.durable();
    let settled = durable.iter().find_map(|record| match &record.event {
        Event::CallSettled { output, .. } => Some(output.clone()),
        _ => None,
    });
    assert_eq!(settled, Some(text("act {}")));
}

/// The records without a barrier are bounded: a call in between makes them durable.
#[tokio::test]
async fn client_records_without_a_barrier_are_bounded() {
    let client = Client::new(standard());
    // The session's start and two records of each call.
    let waits_for_none = MAX_UNDURABLE / 2;
    for number in 0..waits_for_none {
        assert_eq!(client.session.is_flush_due(), number >= 512);
        let mut call = client.call("look");
        client.run(&mut call).await;
    }
    assert_eq!(client.journal.barriers(), 0);
    client.run(&mut client.call("look")).await;
    assert_eq!(client.journal.barriers(), 1);
    assert!(!client.session.is_flush_due());
}

#[tokio::test]
async fn cancelled_client_call_is_stopped_and_recorded() {
    let client = Client::new(vec![
        tool("look", Effect::ReadOnly, Approval::ByEffect).body(|_| std::future::pending()),
    ]);
    let mut call = client.call("look");
    let cancel = client.cancel.clone();
    let (end, ()) = tokio::join!(client.run(&mut call), async move {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(
        output(end),
        failure("cancelled", "The call was stopped before it ended.")
    );
    assert_eq!(
        client.recorded().await,
        kinds(&[STARTED, &["call-intended"], &["call-settled"]])
    );
}

/// The loop of a client is its own: a call ends nothing there, and leaves no record of it.
#[tokio::test]
async fn client_call_halts_nothing() {
    let stop = super::halt::stopper(Effect::Effectful, Approval::Never, text("stopped"));
    let client = Client::new(vec![stop]);
    assert_eq!(
        output(client.run(&mut client.call("stop")).await),
        text("stopped")
    );
    let records = client.journal.durable();
    let halts = records
        .iter()
        .filter(|record| matches!(record.event, Event::RunHalted { .. }));
    assert_eq!(halts.count(), 0);
}
