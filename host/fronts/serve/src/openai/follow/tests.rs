//! The lines of a session that become part of a response, and the end of one that fails.

use super::{FeedLine, Follow, RunId};
use crate::{
    Service,
    access::{Caller, ServerAccess},
    runs::FeedItem,
    tokens::TokenFile,
    triggers::tests::Project,
};
use agent_host_engine::stream::StreamLine;
use agent_host_http::Token;
use agent_host_types::{
    event::{EVENT_VERSION, Event, EventRecord},
    id::SessionId,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

async fn serving() -> (Project, Service, Caller) {
    let project = Project::new("");
    let service = project.host().await;
    let own = Token::generate().unwrap().0;
    let access = ServerAccess::new(own.clone(), TokenFile::in_state_dir(&project.path()));
    let caller = access.caller(own).await.unwrap();
    (project, service, caller)
}

#[tokio::test]
async fn line_is_told_ignored_or_taken_as_lost() {
    let (_project, service, caller) = serving().await;
    let session = SessionId::new();
    let record = json!(EventRecord {
        v: EVENT_VERSION,
        session,
        seq: 0,
        at_ms: 5,
        event: Event::NodeSkipped { node: "n".into() },
    });
    let mut of_an_agent = record.clone();
    of_an_agent["path"] = json!(["a"]);
    let text = |text: &str| json!({"live": "text", "text": text});
    let lines = [
        (text("hi"), true),
        (
            json!({"live": "text", "text": "of an agent", "path": ["a"]}),
            false,
        ),
        (of_an_agent, false),
        (json!({"live": "restarted"}), true),
        // That may have been text, so that more of it is only told after the next event.
        (json!({"live": "text", "text": 7}), false),
        (text("behind it"), false),
        (json!({"live": "restarted"}), false),
        (record, true),
        (text("again"), true),
    ];
    let feed = service.runs.watch(session);
    for (line, _) in &lines {
        let json: Arc<str> = line.to_string().into();
        let item = match StreamLine::from_json(Arc::clone(&json)) {
            Ok(line) => FeedItem::Line(Arc::new(line)),
            Err(_) => FeedItem::Unknown(json),
        };
        service.runs.feed(session).send(item);
    }
    let run = RunId { session, seq: 0 };
    let mut follow = Follow::of_feed(&service, run, feed, caller, None);
    let expected = lines
        .into_iter()
        .filter_map(|(line, is_told)| is_told.then_some(line));
    for line in expected {
        let Some(FeedLine::Known(told)) = follow.next().await else {
            panic!("{line}");
        };
        let told: Value = serde_json::from_str(told.json()).unwrap();
        assert_eq!(told, line);
    }
}

#[tokio::test]
async fn unreadable_event_breaks_the_response_off_with_a_reason() {
    let (_project, service, caller) = serving().await;
    let run = RunId {
        session: SessionId::new(),
        seq: 1,
    };
    let mut follow = Follow::of_journal(&service, run, caller);
    let update = follow.next().await;
    let Some(FeedLine::Failed(error)) = update else {
        panic!("{update:?}");
    };
    let reason = error.to_string();
    assert!(reason.contains(&run.session.to_string()), "{reason}");
}
