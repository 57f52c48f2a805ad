use super::{Budget, MAX_RESULT_BYTES};

#[test]
fn budget_is_counted_in_json() {
    for text in ["plain", "quote \" and \\", "control \u{1}\n", "größe"] {
        let json = serde_json::to_string(text).expect("JSON").len();
        let mut budget = Budget::new();
        assert!(budget.take(&[text], 2));
        assert!(MAX_RESULT_BYTES - budget.0 >= json, "{text:?}");
    }
}

#[test]
fn entry_that_does_not_fit_takes_nothing() {
    let mut budget = Budget::new();
    assert!(!budget.take(&[], MAX_RESULT_BYTES + 1));
    assert!(budget.take(&["ab", "c"], MAX_RESULT_BYTES - 3));
    assert!(!budget.take(&["x"], 0));
    assert!(budget.take(&[], 0));
}
