//! The links to sessions.

use super::{Backend, prune::session_at, session_of};
use crate::{JournalStore, MAX_LINKS, Retention, SessionLink};
use agent_host_engine::journal::JournalError;
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use std::time::Duration;
use tokio::task::JoinSet;

fn link(id: &str, session: SessionId, expires_at_ms: u64) -> SessionLink {
    SessionLink {
        id: id.to_owned(),
        session,
        hash: format!("hash of {id}"),
        owner: (id == "b").then(|| "ann/1".to_owned()),
        by: "ann".to_owned(),
        created_at_ms: 3,
        expires_at_ms,
        single_use: id == "b",
        is_opened: false,
    }
}

async fn session(store: &dyn JournalStore) -> SessionId {
    session_of(store, 1).await.0.session()
}

async fn find(store: &dyn JournalStore, hash: &str) -> Option<SessionLink> {
    store.find_link(hash.to_owned()).await.unwrap()
}

pub(super) async fn link_is_found_and_removed_by_every_host(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let (here, there) = (session(&*store).await, session(&*store).await);
    let all = [link("a", here, 9), link("b", here, 8), link("c", there, 9)];
    for link in &all {
        assert!(store.add_link(link.clone(), 0).await.unwrap());
    }
    for link in &all {
        assert_eq!(find(&*other, &link.hash).await.as_ref(), Some(link));
    }
    assert_eq!(find(&*other, "hash of d").await, None);
    let [a, b, _] = all;
    assert_eq!(other.links(here).await.unwrap(), [b, a.clone()]);
    for (session, id, is_there) in [(there, "b", false), (here, "b", true), (here, "b", false)] {
        let removed = other.remove_link(session, id.to_owned()).await.unwrap();
        assert_eq!(removed, is_there, "{id}");
    }
    assert_eq!(store.links(here).await.unwrap(), [a]);
    assert_eq!(find(&*store, "hash of b").await, None);
    let absent = store.add_link(link("d", SessionId::new(), 9), 0).await;
    assert!(matches!(absent, Err(JournalError::NotFound(_))));
}

pub(super) async fn link_is_opened_by_one_of_many_hosts(backend: &impl Backend) {
    let store = backend.open().await;
    let session = session(&*store).await;
    let link = link("b", session, 9);
    assert!(store.add_link(link.clone(), 0).await.unwrap());
    let mut hosts = JoinSet::new();
    for host in 0..8 {
        let (store, link) = (backend.open().await, link.clone());
        hosts.spawn(async move {
            let hash = format!("opened by {host}");
            let is_opened = store.open_link(link, hash.clone()).await.unwrap();
            is_opened.then_some(hash)
        });
    }
    let opened: Vec<String> = hosts.join_all().await.into_iter().flatten().collect();
    let [hash] = opened.as_slice() else {
        panic!("{opened:?}");
    };
    let expected = SessionLink {
        hash: hash.clone(),
        is_opened: true,
        ..link.clone()
    };
    let listed = store.links(session).await.unwrap();
    assert_eq!(listed, std::slice::from_ref(&expected));
    assert_eq!(find(&*store, hash).await, Some(expected));
    assert_eq!(find(&*store, &link.hash).await, None);
}

pub(super) async fn links_are_bounded_until_they_expire(backend: &impl Backend) {
    let store = backend.open().await;
    let session = session(&*store).await;
    for number in 0..MAX_LINKS {
        let expires_at_ms = if number == 7 { 5 } else { 9 };
        let link = link(&number.to_string(), session, expires_at_ms);
        assert!(store.add_link(link, 4).await.unwrap());
    }
    let more = link("more", session, 9);
    assert!(!store.add_link(more.clone(), 4).await.unwrap());
    assert_eq!(find(&*store, &more.hash).await, None);
    assert!(store.add_link(more, 5).await.unwrap());
    assert_eq!(find(&*store, "hash of 7").await, None);
    assert_eq!(
        store.links(session).await.unwrap().len(),
        MAX_LINKS as usize
    );
}

pub(super) async fn link_goes_with_its_session(backend: &impl Backend) {
    let store = backend.open().await;
    let mut sessions = Vec::new();
    for (id, at_ms) in [("a", 0), ("b", 0), ("c", 1_800_000_000_000)] {
        let session = session_at(&*store, at_ms, Vec::new()).await.session();
        assert!(store.add_link(link(id, session, 9), 0).await.unwrap());
        sessions.push(session);
    }
    store.delete(sessions[0]).await.unwrap();
    backend.age(&sessions[1..2]).await;
    let retention = Retention {
        age: Some(Duration::from_secs(24 * 60 * 60)),
        bytes: None,
    };
    let removed = store.prune(retention).await.unwrap().removed;
    assert_eq!(removed, sessions[1..2]);
    let mut left = Vec::new();
    for id in ["a", "b", "c"] {
        left.extend(find(&*store, &format!("hash of {id}")).await);
    }
    assert_eq!(left, [link("c", sessions[2], 9)]);
}
