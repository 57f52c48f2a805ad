//! Rows that confer authority: only those are believed that a host of the store wrote, as it wrote
//! them, where it wrote them. The others are reported.

mod kinds;

pub(super) use kinds::{RowKind, believed, write};

use super::{check::Place, input, record};
use crate::{Maintenance, PostgresOptions, PostgresStore, SealKey, UnsignedRow, move_sessions};
use kinds::{Case, bytes, cases, event_by_hand, session};
use pretty_assertions::assert_eq;
use std::{ops::ControlFlow, sync::Arc};

#[tokio::test]
async fn row_is_believed_only_as_a_host_wrote_it() {
    for kind in RowKind::ALL {
        let Some(first) = Place::all().pop() else {
            return;
        };
        let kinds = if first.is_postgres() { 2 } else { 1 };
        for index in 0..kinds {
            let make = || Place::all().swap_remove(index);
            let count = cases(&make(), kind).len();
            for number in 0..count {
                let place = make();
                let Case {
                    name,
                    change,
                    believed: expected,
                    reported,
                } = cases(&place, kind).swap_remove(number);
                let store = place.open().await;
                write(store.as_store(), kind).await;
                place.change(&change).await;
                let found = store.unsigned().await.unwrap();
                let what = format!("{kind:?}, {name}: {change}");
                assert_eq!(found.len(), reported, "{what}: {found:?}");
                assert_eq!(believed(store.as_store(), kind).await, expected, "{what}");
                // Nothing of it is removed, so it is still reported.
                assert_eq!(store.unsigned().await.unwrap(), found, "{what}");
                let (gone, stay): (Vec<_>, Vec<_>) =
                    found.iter().cloned().partition(UnsignedRow::is_removable);
                let removed = store.remove_unsigned(found).await.unwrap();
                assert_eq!(removed, gone.len() as u64, "{what}");
                assert_eq!(store.unsigned().await.unwrap(), stay, "{what}");
                // A firing that is taken is due no more.
                if kind != RowKind::Firing {
                    assert_eq!(believed(store.as_store(), kind).await, expected, "{what}");
                }
            }
        }
    }
}

/// The same row in another store has another signature, which is not valid here.
#[tokio::test]
async fn row_of_another_store_is_not_believed() {
    for kind in RowKind::ALL {
        for (place, other) in Place::all().into_iter().zip(Place::all()) {
            let (store, foreign) = (place.open().await, other.open().await);
            write(store.as_store(), kind).await;
            write(foreign.as_store(), kind).await;
            let (table, column) = kind.signed(&place);
            let signature = bytes(&place, &other.signature(table, column).await);
            place
                .change(&format!("UPDATE {table} SET {column} = {signature}"))
                .await;
            assert_eq!(store.unsigned().await.unwrap().len(), 1, "{kind:?}");
            assert_eq!(believed(store.as_store(), kind).await, 0, "{kind:?}");
        }
    }
}

/// A new approval or firing takes the place of a row that is not believed.
#[tokio::test]
async fn row_that_is_not_believed_gives_way_to_a_new_one() {
    for kind in [RowKind::Approval, RowKind::Firing] {
        for place in Place::all() {
            let store = place.open().await;
            write(store.as_store(), kind).await;
            place.change(&kind.unsign(&place)).await;
            write(store.as_store(), kind).await;
            assert_eq!(store.unsigned().await.unwrap(), [], "{kind:?}");
            assert_eq!(believed(store.as_store(), kind).await, 1, "{kind:?}");
        }
    }
}

/// A session that is not believed can be looked at, and a copy without approvals continues.
#[tokio::test]
async fn session_that_is_not_believed_continues_as_a_copy() {
    for place in Place::all() {
        let store = place.open().await;
        write(store.as_store(), RowKind::Session).await;
        place.change(&RowKind::Session.unsign(&place)).await;
        assert!(store.open_session(session()).await.is_err());
        assert_eq!(store.read(session(), 0).await.unwrap().len(), 2);
        let copy = store.fork(session(), None, None).await.unwrap();
        store.open_session(copy).await.unwrap();
        store.delete(session()).await.unwrap();
        assert_eq!(store.unsigned().await.unwrap(), []);
    }
}

/// A session that is not believed gets no signature by way of another store.
#[tokio::test]
async fn session_that_is_not_believed_leaves_as_a_copy_alone() {
    for (place, other) in Place::all().into_iter().zip(Place::all()) {
        let (store, to) = (place.open().await, other.open().await);
        write(store.as_store(), RowKind::Session).await;
        place.change(&RowKind::Session.unsign(&place)).await;
        let moved = move_sessions(&*store, &*to, &mut |_| ControlFlow::Continue(())).await;
        let kept = moved.unwrap().kept;
        let [(kept, why)] = kept.as_slice() else {
            panic!("{kept:?}");
        };
        assert_eq!(*kept, session());
        assert!(
            why.to_string().contains("has no valid signature in "),
            "{why}"
        );
        let key = SealKey::parse(&"07".repeat(32)).unwrap();
        let refused = store.as_store().export_sealed(session(), &key).await;
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("has no valid signature in "), "{why}");
    }
}

/// A session that was changed while it was open here is not continued over the change.
#[tokio::test]
async fn open_session_is_not_continued_over_a_change() {
    for place in Place::all() {
        let store = place.open().await;
        write(store.as_store(), RowKind::Session).await;
        let journal = store.open_session(session()).await.unwrap();
        let (last, _) = event_by_hand(&place, 1, "other");
        let replace =
            format!("DELETE FROM events WHERE seq = 1; INSERT INTO events VALUES ({last})");
        place.change(&replace).await;
        journal.append(&[record(session(), 2, input("next"))], Vec::new());
        let written = journal.barrier().await;
        // PostgreSQL's journal follows the event that it wrote, so that the chain is broken.
        let is_refused = written.is_err() || store.read(session(), 0).await.is_err();
        assert!(is_refused);
    }
}

/// Clones of a store share its key, and a second process has it, too.
#[tokio::test]
async fn rows_are_believed_by_every_process_of_the_store() {
    for place in Place::all() {
        let store = place.open().await;
        write(store.as_store(), RowKind::Approval).await;
        let other: Arc<dyn Maintenance> = place.open().await;
        assert_eq!(believed(other.as_store(), RowKind::Approval).await, 1);
    }
}

/// A key that seals the secrets anew leaves every row valid.
#[tokio::test]
async fn rows_stay_valid_when_the_key_of_the_store_changes() {
    let Some(url) = crate::postgres_server::database() else {
        return;
    };
    let place = Place::Postgres(url.clone());
    let store = place.open().await;
    write(store.as_store(), RowKind::Approval).await;
    drop(store);
    let old = place.options().seal;
    let options = PostgresOptions {
        seal: Some(SealKey::parse(&"08".repeat(32)).unwrap()),
        ..PostgresOptions::default()
    };
    let sealed = PostgresStore::rekey(&url, options.clone(), old).await;
    assert_eq!(sealed.unwrap(), 2);
    let store = PostgresStore::open(&url, options).await.unwrap();
    assert_eq!(believed(&store, RowKind::Approval).await, 1);
}
