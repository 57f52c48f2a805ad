use super::{INPUT_TIMEOUT, MAX_PENDING, PendingCalls};
use pretty_assertions::assert_eq;
use rmcp::{ErrorData, model::ErrorCode};
use std::{collections::HashSet, time::Instant};

fn refused() -> ErrorData {
    ErrorData::invalid_params("not this one", None)
}

#[test]
fn key_is_valid_once_and_for_its_call() {
    let (pending, now) = (PendingCalls::default(), Instant::now());
    let first = pending.insert("ask", "first", now).unwrap();
    let second = pending.insert("ask", "second", now).unwrap();
    // A call that `check` refuses stays.
    assert_eq!(
        pending.take(&first, now, |_| Err::<(), _>(refused())),
        Err(refused())
    );
    assert_eq!(
        pending.take(&first, now, |call| Ok(call.len())),
        Ok(("first", 5))
    );
    let shorter: String = second.chars().skip(1).collect();
    for key in [first.as_str(), "", "first", &shorter] {
        let error = pending.take(key, now, |_| Ok(())).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{key}");
    }
    assert_eq!(pending.drain(None), ["second"]);
    assert!(pending.take(&second, now, |_| Ok(())).is_err());
}

#[test]
fn keys_are_random() {
    let (pending, now) = (PendingCalls::default(), Instant::now());
    let keys: HashSet<String> = (0..MAX_PENDING)
        .map(|call| pending.insert(&call.to_string(), call, now).unwrap())
        .collect();
    assert_eq!(keys.len(), MAX_PENDING);
    // 32 bytes in base64 without padding.
    assert!(keys.iter().all(|key| key.len() == 43), "{keys:?}");
}

/// A tool takes half of the places, the next one half of the rest, and one more always finds one.
#[test]
fn pending_calls_are_bounded_by_tool() {
    let (pending, now) = (PendingCalls::default(), Instant::now());
    for (tool, places) in [("ask", MAX_PENDING / 2), ("other", MAX_PENDING / 4)] {
        for call in 0..places {
            pending.insert(tool, call, now).unwrap();
        }
        assert_eq!(pending.insert(tool, places, now), Err(places), "{tool}");
    }
    assert!(pending.insert("third", 0, now).is_ok());
    assert_eq!(pending.drain(None).len(), MAX_PENDING * 3 / 4 + 1);
    assert!(pending.insert("ask", 0, now).is_ok());
}

#[test]
fn expired_call_is_unknown() {
    let (pending, now) = (PendingCalls::default(), Instant::now());
    let old = pending.insert("ask", "old", now).unwrap();
    let later = now + INPUT_TIMEOUT / 2;
    let new = pending.insert("ask", "new", later).unwrap();
    let end = now + INPUT_TIMEOUT;
    assert!(pending.take(&old, end, |_| Ok(())).is_err());
    assert_eq!(pending.drain(Some(later)), [""; 0]);
    assert_eq!(pending.drain(Some(end)), ["old"]);
    assert_eq!(pending.take(&new, end, |_| Ok(())), Ok(("new", ())));
}
