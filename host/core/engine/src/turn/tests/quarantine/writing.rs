//! Files that are read while the call that writes them runs, or of which no one knows how far it came.

use super::{
    super::{children::Family, harness::*},
    allowed, flow, from, tools,
};
use crate::{
    BoxFuture,
    flow::CallFlow,
    tool::{Invocation, RunEnd},
    turn::{Actors, TurnContext},
};
use agent_host_types::{
    accounting::Accounting,
    audit::{AuditRequest, FileAction},
    event::{Event, EventRecord},
    flow::{FlowMode, LabelledFile},
    model::ModelReply,
    question::{AnsweredBy, PendingQuestion, Question},
    tool::{Approval, Effect},
    turn::AgentInput,
};
use futures_util::poll;
use pretty_assertions::assert_eq;
use std::{future::pending, pin::pin, sync::Arc};
use tokio::{sync::Semaphore, task::yield_now};

fn file(action: FileAction) -> AuditRequest {
    AuditRequest::file(action, "/workspace/a.md".to_owned())
}

/// Does as a gate when a call begins to write.
fn begins_to_write(mut flow: CallFlow) {
    assert!(flow.admit(&file(FileAction::Write)).is_none());
}

fn news() -> Vec<String> {
    vec!["http:news.example:8443".to_owned()]
}

fn fetch() -> ModelReply {
    calls(&[("f", "fetch", "")])
}

fn bench(replies: Vec<ModelReply>, tools: Vec<Tool>) -> Bench {
    let mut bench = Bench::with(replies, tools);
    flow(&mut bench.agent, FlowMode::Observe);
    bench
}

/// The labels of the results of `read`.
fn read_labels(records: Vec<EventRecord>) -> Vec<Vec<String>> {
    let settled = records.into_iter().filter_map(|record| match record.event {
        Event::CallSettled { tool, labels, .. } if tool == "read" => Some(labels),
        _ => None,
    });
    settled.collect()
}

/// The files that events name.
fn files(bench: &Bench) -> Vec<LabelledFile> {
    let records = bench.journal.durable().into_iter();
    let files = records.filter_map(|record| match record.event {
        Event::FilesLabelled { files, .. } => Some(files),
        _ => None,
    });
    files.flatten().collect()
}

fn labelled(path: &str) -> LabelledFile {
    LabelledFile {
        path: path.to_owned(),
        sources: news(),
    }
}

/// One agent reads what another one is still writing.
#[tokio::test]
async fn file_is_untrusted_as_soon_as_its_call_writes() {
    let (begun, done) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (has_begun, is_done) = (Arc::clone(&begun), Arc::clone(&done));
    let mut of_child = tools();
    of_child.truncate(2);
    of_child.push(
        tool("write", Effect::Idempotent, Approval::Never).stopping(move |call| {
            begins_to_write(call.flow);
            has_begun.add_permits(1);
            let is_done = Arc::clone(&is_done);
            Box::pin(async move {
                drop(is_done.acquire().await);
                from(file(FileAction::Write), text("written"))
            })
        }),
    );
    of_child.push(
        tool("read", Effect::ReadOnly, Approval::Never).stopping(move |_| {
            let begun = Arc::clone(&begun);
            Box::pin(async move {
                drop(begun.acquire().await);
                from(file(FileAction::Read), text("half of it"))
            })
        }),
    );
    let helpers = ["p", "q"].map(|call| (call, "agent_helper", r#"{"instructions": "go on"}"#));
    let parent = bench(vec![fetch(), calls(&helpers), says("done")], tools());
    let child = ["write", "read"].map(|tool| calls(&[(tool, tool, "")]));
    let child = child.into_iter().chain([says("a"), says("b")]).collect();
    let mut family = Family::with(parent, Arc::default(), child, of_child, |agent| {
        flow(agent, FlowMode::Observe);
    });
    family.parent.is_unreplayable = true;
    family.parent.say("go").await;
    let reads = || {
        let journals = family.journals.all();
        let records = journals.iter().map(|journal| journal.durable());
        records.flat_map(read_labels).collect::<Vec<_>>()
    };
    {
        let cx = TurnContext {
            observer: family.parent.observer.as_ref(),
            approvals: &[],
            cancel: &family.parent.cancel,
            drain: &family.parent.drain,
            actors: Actors::default(),
        };
        let (agent, session) = (&family.parent.agent, &mut family.parent.session);
        let mut turn = pin!(agent.run_turn(session, AgentInput::Continue, &cx));
        while reads().is_empty() {
            assert!(poll!(&mut turn).is_pending());
            yield_now().await;
        }
        done.add_permits(1);
        turn.await;
    }
    assert_eq!(reads(), [news()]);
}

/// The tools, with another `act` that may write to the workspace.
fn with_act(act: impl FnOnce(Tool) -> Tool) -> Vec<Tool> {
    let mut all = tools();
    let may_write = tool("act", Effect::Effectful, Approval::Never).writes("/workspace");
    all[1] = act(may_write);
    all
}

/// Runs the next turn until nothing more happens in it, and drops it, as the end of the process does.
async fn dies(bench: &mut Bench) {
    let cx = TurnContext {
        observer: bench.observer.as_ref(),
        approvals: &[],
        cancel: &bench.cancel,
        drain: &bench.drain,
        actors: Actors::default(),
    };
    let turn = bench
        .agent
        .run_turn(&mut bench.session, AgentInput::Continue, &cx);
    let mut turn = pin!(turn);
    for _ in 0..64 {
        assert!(poll!(&mut turn).is_pending());
        yield_now().await;
    }
}

/// The host stops while a call writes: all that it may have written is untrusted.
#[tokio::test]
async fn files_of_an_interrupted_call_are_untrusted() {
    let act = calls(&[("w", "act", "")]);
    let mut before = bench(vec![fetch(), act], with_act(|act| act.body(|_| pending())));
    before.say("go").await;
    dies(&mut before).await;
    for input in [AgentInput::Continue, AgentInput::Text("Read it.".into())] {
        let replies = vec![calls(&[("r", "read", "")]), says("done")];
        let mut after = Bench::resume(&before.journal, replies, with_act(|act| act)).await;
        flow(&mut after.agent, FlowMode::Observe);
        after.turn(input).await;
        after.turn(AgentInput::Continue).await;
        assert_eq!(files(&after), [labelled("/workspace")]);
        assert_eq!(read_labels(after.journal.durable()), [news()]);
    }
}

/// Nothing untrusted was read before, and the call fetches nothing.
#[tokio::test]
async fn files_of_an_interrupted_call_without_sources_are_trusted() {
    let act = calls(&[("w", "act", "")]);
    let none = calls(&[("r", "read", "")]);
    let mut before = bench(vec![none, act], with_act(|act| act.body(|_| pending())));
    before.say("go").await;
    dies(&mut before).await;
    let mut after = Bench::resume(&before.journal, vec![], with_act(|act| act)).await;
    flow(&mut after.agent, FlowMode::Observe);
    after.turn(AgentInput::Continue).await;
    assert_eq!(files(&after), []);
}

/// A call that does not report its requests in time after it was cancelled.
#[tokio::test]
async fn files_of_a_call_without_a_report_are_untrusted() {
    let writes = |call: Invocation| -> BoxFuture<'static, RunEnd> {
        begins_to_write(call.flow);
        Box::pin(pending())
    };
    let tools = with_act(|act| act.stopping(writes));
    let replies = vec![fetch(), calls(&[("w", "act", "")])];
    let mut bench = bench(replies, tools);
    bench.say("go").await;
    let cancel = bench.cancel.clone();
    let log = Arc::clone(&bench.ran);
    let cancels = async {
        while !log.log.lock().unwrap().contains(&"+w".to_owned()) {
            yield_now().await;
        }
        cancel.cancel();
    };
    tokio::join!(bench.turn(AgentInput::Continue), cancels);
    assert_eq!(files(&bench), [labelled("/workspace/a.md")]);
}

/// A call that fetches and writes, and then asks the user, who says something else.
#[tokio::test]
async fn files_of_a_call_that_asked_are_untrusted() {
    let asks = |_| {
        let fetched = AuditRequest::http("GET", "https://news.example:8443/b");
        let question = Question {
            prompt: "Sure?".into(),
            choices: Vec::new(),
            free_text: true,
            multiple: false,
            form: None,
        };
        RunEnd::Asked(PendingQuestion {
            question,
            answered_by: AnsweredBy::Rerun,
            accounting: Accounting::default(),
            audit: vec![allowed(fetched), allowed(file(FileAction::Write))],
        })
    };
    let replies = vec![calls(&[("w", "act", "")]), calls(&[("r", "read", "")])];
    let mut bench = bench(replies, with_act(|act| act.ends(asks)));
    bench.say("go").await;
    bench.say("Read it.").await;
    assert_eq!(read_labels(bench.journal.durable()), [news()]);
}
