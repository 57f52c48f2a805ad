use super::{MAX_PARKED, PATIENCE, Parked};
use pretty_assertions::assert_eq;
use rmcp::{ErrorData, model::ErrorCode};
use std::{collections::HashSet, time::Instant};

fn refused() -> ErrorData {
    ErrorData::invalid_params("not this one", None)
}

#[test]
fn a_name_is_good_once_and_for_its_call() {
    let (parked, now) = (Parked::default(), Instant::now());
    let first = parked.park("first", now).unwrap();
    let second = parked.park("second", now).unwrap();
    // What `check` refuses stays.
    assert_eq!(
        parked.take(&first, now, |_| Err::<(), _>(refused())),
        Err(refused())
    );
    assert_eq!(
        parked.take(&first, now, |call| Ok(call.len())),
        Ok(("first", 5))
    );
    let shorter: String = second.chars().skip(1).collect();
    for name in [first.as_str(), "", "first", &shorter] {
        let error = parked.take(name, now, |_| Ok(())).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{name}");
    }
    assert_eq!(parked.all(), ["second"]);
    assert!(parked.take(&second, now, |_| Ok(())).is_err());
}

#[test]
fn names_cannot_be_guessed_from_each_other() {
    let (parked, now) = (Parked::default(), Instant::now());
    let names: HashSet<String> = (0..MAX_PARKED)
        .map(|call| parked.park(call, now).unwrap())
        .collect();
    assert_eq!(names.len(), MAX_PARKED);
    // 32 bytes in base64 without padding.
    assert!(names.iter().all(|name| name.len() == 43), "{names:?}");
}

#[test]
fn so_many_wait_and_no_more() {
    let (parked, now) = (Parked::default(), Instant::now());
    for call in 0..MAX_PARKED {
        parked.park(call, now).unwrap();
    }
    assert_eq!(parked.park(MAX_PARKED, now), Err(MAX_PARKED));
    assert_eq!(parked.all().len(), MAX_PARKED);
    assert!(parked.park(MAX_PARKED, now).is_ok());
}

#[test]
fn a_call_that_waited_too_long_is_gone() {
    let (parked, now) = (Parked::default(), Instant::now());
    let old = parked.park("old", now).unwrap();
    let later = now + PATIENCE / 2;
    let new = parked.park("new", later).unwrap();
    let end = now + PATIENCE;
    assert!(parked.take(&old, end, |_| Ok(())).is_err());
    assert_eq!(parked.expired(later), [""; 0]);
    assert_eq!(parked.expired(end), ["old"]);
    assert_eq!(parked.take(&new, end, |_| Ok(())), Ok(("new", ())));
}
