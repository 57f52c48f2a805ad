use super::{Budget, MAX_RESULT_BYTES};

#[test]
fn budget_counts_texts_as_json() {
    let mut budget = Budget::new(12);
    assert!(budget.take("a\"\n", 1));
    assert!(!budget.take("abc", 0));
    assert!(budget.take_bytes(2));
    assert!(!budget.take_bytes(1));
}

#[test]
fn budget_is_at_most_a_result() {
    let mut budget = Budget::new(usize::MAX);
    assert!(!budget.take_bytes(MAX_RESULT_BYTES + 1));
    assert!(budget.take_bytes(MAX_RESULT_BYTES));
}
