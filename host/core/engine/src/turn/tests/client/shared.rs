//! The shared state that calls of a client see and change.

use super::*;
use crate::{
    flow::FlowPolicy,
    observer::{Live, Observer},
};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::{AuditRequest, FileAction},
    event::EventRecord,
    message::{Message, Role},
};
use pretty_assertions::assert_eq;

/// Merges `seen` into the shared state once an intent is durable, as another call may.
struct MergesMeanwhile<'a>(&'a ClientSession);

impl Observer for MergesMeanwhile<'_> {
    fn recorded(&self, record: &Arc<EventRecord>) {
        if let Event::CallIntended { call_id, .. } = &record.event {
            let merged = Event::StateMerged {
                call_id: call_id.clone(),
                delta: Map::from_iter([("seen".to_owned(), json!(true))]),
                labels: Vec::new(),
            };
            self.0.lock().record(merged, Vec::new());
        }
    }

    fn live(&self, _: Live<'_>) {}
}

/// A call that runs again with an answer sees the shared state of its first run, also where
/// another call changed it while the intent became durable.
#[tokio::test]
async fn both_runs_of_a_client_call_see_the_same_state() {
    let asking = tool("act", Effect::Effectful, Approval::Never).ends(asks(AnsweredBy::Rerun));
    let client = Client::new(vec![asking]);
    let mut call = client.call("act");
    let cx = TurnContext {
        observer: &MergesMeanwhile(&client.session),
        approvals: &[],
        cancel: &client.cancel,
        drain: &CancellationToken::new(),
        actors: Actors::default(),
    };
    let (agent, session) = (&client.agent, &client.session);
    let asked = agent.run_client_call(session, &mut call, &cx).await;
    assert!(matches!(asked.unwrap(), ClientCallEnd::Question(_)));
    let answer = Answer::Choice { index: 0 };
    agent
        .answer_client_call(session, &mut call, answer)
        .unwrap();
    agent
        .run_client_call(session, &mut call, &cx)
        .await
        .unwrap();

    assert_eq!(session.lock().state().shared().len(), 1);
    let invocations = client.ran.invocations.lock().unwrap();
    let seen = invocations.iter().map(|run| run.shared.len());
    assert_eq!(seen.collect::<Vec<_>>(), [0, 0]);
}

/// A successor session has the shared state, including later merges of calls that still run in the
/// old session.
/// The successor knows what the client's model has seen, and where the text is.
#[tokio::test]
async fn client_session_successor_keeps_sources() {
    let client = Client::new(vec![
        tool("look", Effect::ReadOnly, Approval::ByEffect).ends(|_| {
            let allowed = |request| AuditEntry {
                request,
                verdict: AuditVerdict::Allowed,
                rule: "grants".to_owned(),
                count: 1,
                grant: None,
                status: None,
            };
            let fetched = AuditRequest::http("GET", "https://news.example/");
            let written = AuditRequest::file(FileAction::Write, "/workspace/a.md".to_owned());
            let delta = Map::from_iter([("key".to_owned(), json!("text"))]);
            RunEnd::Settled(CallReport {
                audit: vec![allowed(fetched), allowed(written)],
                changes: vec![SessionChange::Merge(delta)],
                ..CallReport::of(text("news"))
            })
        }),
    ]);
    client.session.lock().record(
        Event::InputReceived {
            message: Message::text(Role::User, "go"),
            labels: vec!["mcp:mail".to_owned()],
            by: None,
        },
        Vec::new(),
    );
    client.run(&mut client.call("look")).await;
    let labels = client.session.sources();
    assert_eq!(labels, ["http:news.example", "mcp:mail"]);
    let start = SessionStart {
        labels,
        ..SessionStart::default()
    };
    let new = Session::start(TestJournal::new(SessionId::new()), start);
    let new = client.session.continue_in(new);
    let new = new.lock();
    let flow = &new.state().flow;
    assert_eq!(flow.seen(&FlowPolicy::default()), client.session.sources());
    let of_file = flow.files.sources_of("/workspace/a.md");
    assert!(of_file.contains("mcp:mail"), "{of_file:?}");
    let shared: Vec<&String> = flow.sources_of_shared().collect();
    assert_eq!(shared, ["http:news.example", "mcp:mail"]);
}

#[tokio::test]
async fn client_session_successor_takes_over_shared_state() {
    let merge = |key: &'static str| {
        move |_| {
            let delta = Map::from_iter([(key.to_owned(), json!(true))]);
            let report = CallReport::of(text("merged"));
            RunEnd::Settled(CallReport {
                changes: vec![SessionChange::Merge(delta)],
                ..report
            })
        }
    };
    let client = Client::new(vec![
        tool("first", Effect::ReadOnly, Approval::ByEffect).ends(merge("first")),
        tool("second", Effect::ReadOnly, Approval::ByEffect).ends(merge("second")),
    ]);
    client.run(&mut client.call("first")).await;
    let mut began_before = client.call("second");
    let journal = TestJournal::new(SessionId::new());
    let new = Session::start(journal.clone(), SessionStart::default());
    let new = client.session.continue_in(new);
    client.run(&mut began_before).await;
    let shared = new.lock().state().shared().clone();
    assert_eq!(
        *shared,
        *json!({"first": true, "second": true}).as_object().unwrap()
    );
    assert_eq!(
        journal.kinds_together(),
        kinds(&[STARTED, &["state-merged"], &["state-merged"]])
    );
}
