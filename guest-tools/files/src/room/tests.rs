use super::{MAX_RESULT_BYTES, Room};

#[test]
fn room_is_counted_in_json() {
    for text in ["plain", "quote \" and \\", "control \u{1}\n", "größe"] {
        let json = serde_json::to_string(text).expect("JSON").len();
        let mut room = Room::new();
        assert!(room.take(&[text], 2));
        assert!(MAX_RESULT_BYTES - room.0 >= json, "{text:?}");
    }
}

#[test]
fn what_does_not_fit_takes_nothing() {
    let mut room = Room::new();
    assert!(!room.take(&[], MAX_RESULT_BYTES + 1));
    assert!(room.take(&["ab", "c"], MAX_RESULT_BYTES - 3));
    assert!(!room.take(&["x"], 0));
    assert!(room.take(&[], 0));
}
