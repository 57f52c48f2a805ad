//! Whose sessions are, and the scopes in which they are listed, counted and found.

use super::{
    Backend,
    families::{replied, spawned, started},
    transfer::exported,
};
use crate::{
    Copier, ImportAs, ImportSource, JournalStore, ListPage, Ownership, SessionName, SessionScope,
    tests::{input, record},
};
use agent_host_types::{event::Event, id::SessionId};
use pretty_assertions::assert_eq;
use std::{collections::BTreeSet, io::Cursor};

fn owned(project: &str, owner: Option<&str>) -> Option<Ownership> {
    Some(Ownership {
        project: project.to_owned(),
        owner: owner.map(str::to_owned),
    })
}

fn in_project(project: &str) -> SessionScope {
    SessionScope::Project(project.to_owned())
}

fn own(project: &str, owner: &str) -> SessionScope {
    SessionScope::Own {
        project: project.to_owned(),
        owner: owner.to_owned(),
    }
}

/// The beginning of a session in a directory.
pub(in crate::tests) fn started_in(directory: &str) -> Event {
    let mut started = started(None);
    if let Event::SessionStarted { directory: at, .. } = &mut started {
        *at = Some(directory.to_owned());
    }
    started
}

pub(in crate::tests) async fn store_owned(
    store: &dyn JournalStore,
    session: SessionId,
    ownership: Option<Ownership>,
    events: Vec<Event>,
) -> SessionId {
    let journal = store.create_owned(session, ownership).await.unwrap();
    let records = (0..)
        .zip(events)
        .map(|(seq, event)| record(session, seq, event));
    journal.append(&records.collect::<Vec<_>>(), Vec::new());
    journal.barrier().await.unwrap();
    session
}

/// Sessions of two projects and two tokens, one of an agent among them.
struct Sessions {
    /// Of the user, in a directory of the first project.
    user: SessionId,
    /// Of a token of the first project, and of its agent.
    token: SessionId,
    agent: SessionId,
    /// Of another token of the first project.
    other: SessionId,
    /// Of a token of the same name in the second project.
    elsewhere: SessionId,
    /// Stored without an owner, in the directory of the first project.
    old: SessionId,
}

impl Sessions {
    async fn make(on: &dyn JournalStore) -> Self {
        let agent = SessionId::from_hash([7; 32]);
        let begun = || vec![started_in("/a/sub"), input("find words")];
        let make = async |ownership| store_owned(on, SessionId::new(), ownership, begun()).await;
        let spawning = vec![started_in("/a"), input("find"), replied(), spawned(agent)];
        let token = store_owned(on, SessionId::new(), owned("/a", Some("ci/1")), spawning).await;
        let of_agent = vec![started(Some(token)), input("go")];
        let old = vec![started_in("/a"), input("find")];
        Self {
            user: make(owned("/a", None)).await,
            token,
            agent: store_owned(on, agent, None, of_agent).await,
            other: make(owned("/a", Some("ci/2"))).await,
            elsewhere: make(owned("/b", Some("ci/1"))).await,
            old: store_owned(on, SessionId::new(), None, old).await,
        }
    }

    fn all(&self) -> [SessionId; 6] {
        let Self {
            user,
            token,
            agent,
            other,
            elsewhere,
            old,
        } = *self;
        [user, token, agent, other, elsewhere, old]
    }
}

async fn listed(store: &dyn JournalStore, scope: SessionScope) -> BTreeSet<SessionId> {
    let listed = store.list_in(scope).await.unwrap().into_iter();
    listed.map(|info| info.id).collect()
}

async fn ownership(store: &dyn JournalStore, session: SessionId) -> Option<Ownership> {
    let [info] = store
        .infos(vec![session])
        .await
        .unwrap()
        .try_into()
        .unwrap();
    info.ownership
}

/// Lists, pages, searches, counts and single sessions have those of the scope and no others.
pub(super) async fn scope_has_its_sessions_alone(backend: &impl Backend) {
    let store = backend.open().await;
    let made = Sessions::make(&*store).await;
    let [user, token, agent, other, elsewhere, old] = made.all();
    let page = async |scope: &SessionScope, search: &str| -> BTreeSet<SessionId> {
        let page = ListPage {
            limit: 9,
            search: Some(search.to_owned()),
            scope: scope.clone(),
            ..ListPage::default()
        };
        let found = store.list_page(page).await.unwrap().into_iter();
        found.map(|info| info.id).collect()
    };
    for (scope, expected, with_words) in [
        (
            SessionScope::All,
            made.all().to_vec(),
            vec![user, other, elsewhere],
        ),
        (
            in_project("/a"),
            vec![user, token, agent, other, old],
            vec![user, other],
        ),
        (own("/a", "ci/1"), vec![token, agent], vec![]),
        (own("/a", "ci/2"), vec![other], vec![other]),
        (in_project("/b"), vec![elsewhere], vec![elsewhere]),
        (own("/b", "ci/2"), vec![], vec![]),
        (in_project("/a/sub"), vec![], vec![]),
    ] {
        let expected = BTreeSet::from_iter(expected);
        assert_eq!(listed(&*store, scope.clone()).await, expected, "{scope:?}");
        for session in made.all() {
            let is_within = store.is_within(session, scope.clone()).await.unwrap();
            assert_eq!(
                is_within,
                expected.contains(&session),
                "{scope:?} {session}"
            );
        }
        let unknown = store.is_within(SessionId::new(), scope.clone());
        assert!(!unknown.await.unwrap(), "{scope:?}");
        let mut shown = expected.clone();
        shown.remove(&agent);
        assert_eq!(page(&scope, "find").await, shown, "{scope:?}");
        assert_eq!(page(&scope, "").await, shown, "{scope:?}");
        let with_words = BTreeSet::from_iter(with_words);
        assert_eq!(page(&scope, "find words").await, with_words, "{scope:?}");
        let counted = store.count_statuses(scope.clone()).await.unwrap();
        assert_eq!(
            counted.values().sum::<u64>(),
            shown.len() as u64,
            "{scope:?}"
        );
    }
}

/// A copy stays in the project, and is owned by the one who asked for it, with its agents.
pub(super) async fn copy_is_owned_by_the_one_who_asked(backend: &impl Backend) {
    let store = backend.open().await;
    let made = Sessions::make(&*store).await;
    for (from, by, expected) in [
        (made.token, None, owned("/a", None)),
        (made.token, Some("ci/3"), owned("/a", Some("ci/3"))),
        (made.old, Some("ci/3"), owned("/a", Some("ci/3"))),
    ] {
        let by = by.map(|owner| Copier {
            name: "ci".to_owned(),
            owner: Some(owner.to_owned()),
        });
        let copy = store.fork(from, None, by).await.unwrap();
        assert_eq!(ownership(&*store, copy).await, expected);
        let family = store.list().await.unwrap().into_iter();
        let agents: Vec<_> = family.filter(|info| info.parent == Some(copy)).collect();
        assert_eq!(agents.len(), usize::from(from == made.token));
        assert!(agents.iter().all(|info| info.ownership == expected));
    }
}

/// An imported file does not say whose it is.
pub(super) async fn import_is_owned_by_the_importer(backend: &impl Backend) {
    let store = backend.open().await;
    let made = Sessions::make(&*store).await;
    let file = exported(&*store, made.token).await;
    for (into, expected) in [
        (owned("/c", Some("ci/9")), owned("/c", Some("ci/9"))),
        (None, owned("/a", None)),
    ] {
        let file = ImportSource::File(Box::new(Cursor::new(file.clone())));
        let imported = store.import_owned(file, ImportAs::NewCopy, into);
        let imported = imported.await.unwrap();
        assert_eq!(ownership(&*store, imported).await, expected);
    }
}

/// Tokens do not learn of each other's names.
pub(super) async fn name_is_taken_among_the_sessions_of_one_owner(backend: &impl Backend) {
    let store = backend.open().await;
    let made = Sessions::make(&*store).await;
    let name = || SessionName::parse("mine").unwrap();
    for session in [made.user, made.other, made.elsewhere] {
        store.name_session(session, name()).await.unwrap();
    }
    let again = vec![started_in("/a/sub"), input("x")];
    let again = store_owned(&*store, SessionId::new(), owned("/a", Some("ci/2")), again).await;
    let taken = store.name_session(again, name()).await.unwrap_err();
    assert!(
        taken.to_string().contains(&made.other.to_string()),
        "{taken}"
    );
}
