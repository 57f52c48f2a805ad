//! Links that expired, and the bound on their number.

use super::{HOUR_MS, LinkError, LinkFile, MAX_LINKS, now_ms};
use crate::{
    access::{Caller, ServerAccess},
    tokens::TokenFile,
};
use agent_host_http::Token;
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use tempfile::TempDir;

async fn own(state: &TempDir) -> Caller {
    let token = Token::generate().unwrap().0;
    let access = ServerAccess::new(token.clone(), TokenFile::in_state_dir(state.path()));
    access.caller(token).await.unwrap()
}

/// An expired link shows nothing, is not listed, and makes room for another one.
#[tokio::test]
async fn link_that_expired_shows_nothing() {
    let state = tempfile::tempdir().unwrap();
    let (links, caller) = (LinkFile::in_state_dir(state.path()), own(&state).await);
    let session = SessionId::new();
    let (_, text) = links.create(session, &caller, 1, false).unwrap();
    let token = Token::new(&text).unwrap();
    let found = links.find(&token, &[]).unwrap().unwrap();
    assert!(found.expires_at_ms - now_ms() <= HOUR_MS);
    let (over, text) = links.create(session, &caller, 0, false).unwrap();
    let token = Token::new(&text).unwrap();
    assert_eq!(links.find(&token, &[]).unwrap(), None);
    assert_eq!(links.of_session(session, &[]).unwrap(), [found]);
    assert!(matches!(
        links.revoke(SessionId::new(), &over.id),
        Err(LinkError::Unknown)
    ));
}

#[tokio::test]
async fn number_of_links_is_bounded() {
    let state = tempfile::tempdir().unwrap();
    let (links, caller) = (LinkFile::in_state_dir(state.path()), own(&state).await);
    let session = SessionId::new();
    let (first, _) = links.create(session, &caller, 1, false).unwrap();
    links
        .file
        .change(|known| {
            for number in 1..MAX_LINKS {
                let mut link = first.clone();
                link.id = number.to_string();
                known.believed.push(link);
            }
            Ok::<(), LinkError>(())
        })
        .unwrap();
    let refused = links.create(session, &caller, 1, false);
    assert!(matches!(refused, Err(LinkError::TooMany)));
    links.revoke(session, "7").unwrap();
    links.create(session, &caller, 1, false).unwrap();
}
