use super::{Followed, Follower};
use crate::{
    runs::{FeedItem, Runs},
    test_host,
};
use agent_host_engine::stream::{LiveLine, StreamContent, StreamLine};
use pretty_assertions::assert_eq;
use std::sync::Arc;

fn text(text: &str) -> Arc<StreamLine> {
    let line = LiveLine::Text { text: text.into() };
    Arc::new(StreamLine::new(StreamContent::Live(line), Arc::default()))
}

/// Reads a follower until it has to wait: the numbers of events, and texts.
async fn followed(follower: &mut Follower) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(Followed::Line(line)) = follower.queued().await.unwrap() {
        told.push(match &line.content {
            StreamContent::Record(record) => record.seq.to_string(),
            StreamContent::Live(LiveLine::Text { text }) => text.to_string(),
            StreamContent::Live(LiveLine::Restarted) => "restarted".to_owned(),
            other => panic!("{other:?}"),
        });
    }
    told
}

/// A follower gets the reply that arrives behind the events of the journal, and nothing of a reply
/// whose event it has read there already.
#[tokio::test]
async fn reply_that_arrives_is_told_once_and_in_order() {
    let project = tempfile::tempdir().unwrap();
    let host = test_host::open(project.path(), "").await;
    let sessions = host.sessions();
    let mut session = sessions.start(None).await.unwrap();
    test_host::record(&mut session, "a").await;
    let id = session.id();
    let runs = Arc::new(Runs::default());
    let feed = runs.feed(id);

    feed.send(FeedItem::Stored(Some(1)));
    feed.publish(text("The first half"));
    feed.publish(text(", more"));
    let mut late = Follower::new(sessions, &runs, id, 0);
    feed.publish(text(", the rest"));
    let expected = ["0", "1", "restarted", "The first half, more", ", the rest"];
    assert_eq!(followed(&mut late).await, expected);

    // The journal has the event of the reply before the feed does.
    test_host::record(&mut session, "b").await;
    let mut later = Follower::new(sessions, &runs, id, 0);
    feed.publish(text(", its last word"));
    feed.send(FeedItem::Stored(Some(2)));
    feed.publish(text("The next reply"));
    assert_eq!(
        followed(&mut later).await,
        ["0", "1", "2", "The next reply"]
    );
    let mut last = Follower::new(sessions, &runs, id, 3);
    assert_eq!(followed(&mut last).await, ["restarted", "The next reply"]);
    feed.forget_recent();
    let mut none = Follower::new(sessions, &runs, id, 3);
    assert_eq!(followed(&mut none).await, Vec::<String>::new());
}

/// A reply that is too long to be kept is told from there on.
#[tokio::test]
async fn reply_beyond_the_bound_is_not_kept() {
    let runs = Runs::default();
    let session = agent_host_types::id::SessionId::new();
    let feed = runs.feed(session);
    let mebibyte = "ü".repeat(512 * 1024);
    feed.publish(text(&mebibyte));
    let reply = runs.watch(session).recent;
    let pieces = reply.iter().skip(1).map(|line| line.json().len());
    assert!(pieces.clone().count() > 500 && pieces.max() < Some(2_100));
    feed.publish(text("x"));
    assert_eq!(runs.watch(session).recent.len(), 0);
}
