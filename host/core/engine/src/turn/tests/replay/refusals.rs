//! Sessions that cannot be replayed, each for its own reason.

use super::*;
use agent_host_types::{
    event::{Event, ParentCall},
    id::{CallId, Digest, SessionId},
};
use pretty_assertions::assert_eq;

#[tokio::test]
async fn unreplayable_session_is_refused_with_the_reason() {
    let mut bench = Bench::new(vec![says("done")]);
    bench.say("go").await;
    let recording = recorded(&bench).await.unwrap();
    let parent = SessionId::new();
    let blob = recording.missing_blobs();
    assert!(blob.is_empty(), "{blob:?}");
    let started = |change: fn(&mut Event, SessionId)| {
        let mut recording = recording.clone();
        let root = recording.session();
        change(
            &mut recording.sessions.get_mut(&root).unwrap()[0].event,
            parent,
        );
        recording
    };
    let table = [
        (
            Recording::new(SessionId::new(), Vec::new()),
            "it has no events".to_owned(),
        ),
        (
            started(|event, _| {
                if let Event::SessionStarted { client, .. } = event {
                    *client = Some("editor\u{1b} 1".into());
                }
            }),
            "its loop belongs to the client `editor\\u{1b} 1`, and only this program's loop can be replayed".to_owned(),
        ),
        (
            started(|event, session| {
                if let Event::SessionStarted { parent, .. } = event {
                    let call_id = CallId("c".into());
                    *parent = Some(ParentCall { session, call_id });
                }
            }),
            format!(
                "it belongs to an agent, whose limits come from its caller; replay session {parent}, which started it"
            ),
        ),
        (
            Recording {
                assumed: [].into(),
                ..recording.clone()
            },
            "the turn at event 1 was recorded without the setup of its loop, by an older version or another program; \
             only sessions from this version on can be replayed"
                .to_owned(),
        ),
        (
            Recording {
                blobs: [].into(),
                ..recording.clone()
            },
            format!(
                "blob {}, which event 2 refers to, is missing; restore it from a backup",
                Digest::of(b"Be brief.")
            ),
        ),
    ];
    for (recording, expected) in table {
        let error = replay(&recording).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
