//! The firings of triggers.

use super::Backend;
use crate::{Firing, FiringState, MAX_FIRINGS};
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use tokio::task::JoinSet;

fn waiting(trigger: &str, key: &str, at_ms: u64) -> Firing {
    Firing {
        trigger: trigger.to_owned(),
        key: key.to_owned(),
        session: SessionId::new(),
        at_ms,
        state: FiringState::Waiting,
        message: Some("go \u{1f41d}".to_owned()),
        due_ms: Some(at_ms + 10),
        notified: None,
        attempts: 0,
    }
}

/// A firing as it is listed: without its message.
fn listed(firing: &Firing) -> Firing {
    Firing {
        message: None,
        ..firing.clone()
    }
}

pub(super) async fn firing_is_recorded_once_for_its_key(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let first = waiting("schedule a", "1", 7);
    assert_eq!(store.record_firing(first.clone()).await.unwrap(), None);
    let again = waiting("schedule a", "1", 8);
    assert_eq!(
        other.record_firing(again).await.unwrap(),
        Some(first.clone())
    );
    let later = waiting("schedule a", "2", 9);
    let elsewhere = waiting("schedule b", "1", 8);
    for firing in [&later, &elsewhere] {
        assert_eq!(other.record_firing(firing.clone()).await.unwrap(), None);
    }
    let newest = |trigger: &str, limit| store.firings(trigger.to_owned(), limit);
    assert_eq!(
        newest("schedule a", 9).await.unwrap(),
        [listed(&later), listed(&first)]
    );
    assert_eq!(newest("schedule a", 1).await.unwrap(), [listed(&later)]);
    assert_eq!(newest("schedule b", 9).await.unwrap(), [listed(&elsewhere)]);
    assert_eq!(newest("schedule c", 9).await.unwrap(), []);
}

pub(super) async fn firing_by_many_hosts_is_recorded_by_one(backend: &impl Backend) {
    let mut hosts = JoinSet::new();
    for _ in 0..8 {
        let store = backend.open().await;
        let firing = waiting("schedule a", "1", 7);
        hosts.spawn(async move { store.record_firing(firing).await.unwrap() });
    }
    let recorded = hosts.join_all().await;
    let new = recorded.iter().filter(|known| known.is_none());
    assert_eq!(new.count(), 1);
    let store = backend.open().await;
    let kept = store.firings("schedule a".to_owned(), 9).await.unwrap();
    let known: Vec<Firing> = recorded.iter().flatten().map(listed).collect();
    assert_eq!(known, vec![kept[0].clone(); 7]);
    assert_eq!(kept.len(), 1);
}

pub(super) async fn due_firing_is_taken_by_one_host(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let triggers = || vec!["schedule a".to_owned(), "webhook b".to_owned()];
    let of_others = waiting("schedule c", "1", 1);
    let (late, early) = (waiting("schedule a", "2", 5), waiting("webhook b", "1", 4));
    let future = waiting("schedule a", "3", 100);
    for firing in [&of_others, &late, &early, &future] {
        store.record_firing(firing.clone()).await.unwrap();
    }
    assert_eq!(other.take_firings(triggers(), 13, 40).await.unwrap(), []);
    let due = |firing: &Firing, due_ms| Firing {
        due_ms: Some(due_ms),
        ..firing.clone()
    };
    let taken = other.take_firings(triggers(), 20, 40).await.unwrap();
    assert_eq!(taken, [due(&early, 40), due(&late, 40)]);
    assert_eq!(store.take_firings(triggers(), 39, 60).await.unwrap(), []);
    let closed = Firing {
        state: FiringState::Started,
        message: None,
        due_ms: None,
        notified: Some(4),
        attempts: 2,
        ..late.clone()
    };
    let update = other.update_firing(taken[1].clone(), closed.clone());
    assert!(update.await.unwrap());
    // The other host that has taken one may have ended.
    let taken = store.take_firings(triggers(), 40, 60).await.unwrap();
    assert_eq!(taken, [due(&early, 60)]);
    let kept = store.firings("schedule a".to_owned(), 9).await.unwrap();
    assert_eq!(kept, [listed(&future), closed]);
}

pub(super) async fn firing_that_another_host_took_is_not_changed(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    let triggers = || vec!["schedule a".to_owned()];
    let firing = waiting("schedule a", "1", 0);
    store.record_firing(firing.clone()).await.unwrap();
    let slow = store.take_firings(triggers(), 10, 20).await.unwrap();
    let fast = other.take_firings(triggers(), 20, 30).await.unwrap();
    let failed = |taken: &Firing| Firing {
        state: FiringState::Failed,
        due_ms: None,
        ..taken.clone()
    };
    let update = store.update_firing(slow[0].clone(), failed(&slow[0]));
    assert!(!update.await.unwrap());
    let update = other.update_firing(fast[0].clone(), failed(&fast[0]));
    assert!(update.await.unwrap());
    let update = other.update_firing(fast[0].clone(), fast[0].clone());
    assert!(!update.await.unwrap());
    let kept = store.firings("schedule a".to_owned(), 9).await.unwrap();
    assert_eq!(kept, [listed(&failed(&firing))]);
}

pub(super) async fn closed_firings_are_bounded(backend: &impl Backend) {
    let store = backend.open().await;
    // Open ones stay, and so does the beginning of a schedule, however old they are.
    let open = waiting("webhook a", "open", 0);
    let counted = Firing {
        state: FiringState::Counted,
        due_ms: None,
        ..waiting("webhook a", "counted", 0)
    };
    for kept in [&open, &counted] {
        store.record_firing(kept.clone()).await.unwrap();
    }
    let closed = |key: u64| Firing {
        state: FiringState::Started,
        message: None,
        due_ms: None,
        ..waiting("webhook a", &key.to_string(), key)
    };
    for key in 1..=u64::from(MAX_FIRINGS) + 2 {
        store.record_firing(closed(key)).await.unwrap();
    }
    let all = store.firings("webhook a".to_owned(), MAX_FIRINGS * 2);
    let all = all.await.unwrap();
    assert_eq!(all.len(), MAX_FIRINGS as usize + 2);
    let [.., oldest, kept, other] = all.as_slice() else {
        panic!("{all:?}");
    };
    let expected = (3, listed(&open), listed(&counted));
    assert_eq!((oldest.at_ms, kept.clone(), other.clone()), expected);
}
