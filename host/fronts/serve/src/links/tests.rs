//! Links that expired.

use super::{HOUR_MS, LinkError, Links, now_ms};
use crate::{
    access::{Caller, ServerAccess},
    tokens::TokenFile,
};
use agent_host_engine::session::{Session, SessionStart};
use agent_host_http::Token;
use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use std::{path::Path, sync::Arc};

async fn own(state: &Path) -> Caller {
    let token = Token::generate().unwrap().0;
    let access = ServerAccess::new(token.clone(), TokenFile::in_state_dir(state));
    access.caller(token).await.unwrap()
}

/// An expired link shows nothing and is not listed.
#[tokio::test]
async fn link_that_expired_shows_nothing() {
    let state = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(state.path(), SqliteOptions::default());
    let (store, caller) = (store.await.unwrap(), own(state.path()).await);
    let session = SessionId::new();
    let journal = store.create(session).await.unwrap();
    drop(Session::start(
        Arc::clone(&journal),
        SessionStart::default(),
    ));
    journal.barrier().await.unwrap();
    let links = Links::new(Arc::new(store));
    let create = |hours| links.create(session, &caller, hours, false);
    let (_, text) = create(1).await.unwrap();
    let token = Token::new(&text).unwrap();
    let found = links.find(&token, &[]).await.unwrap().unwrap();
    assert!(found.expires_at_ms - now_ms() <= HOUR_MS);
    let (over, text) = create(0).await.unwrap();
    let token = Token::new(&text).unwrap();
    assert_eq!(links.find(&token, &[]).await.unwrap(), None);
    assert_eq!(links.of_session(session, &[]).await.unwrap(), [found]);
    assert!(matches!(
        links.revoke(SessionId::new(), &over.id).await,
        Err(LinkError::Unknown)
    ));
}
