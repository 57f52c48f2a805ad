use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn depth_bound_is_exact_for_arrays_and_objects() {
    let arrays = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    let objects = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!({"k": inner}));
    let cases = [
        (0, false),
        (1, false),
        (MAX_DEPTH, false),
        (MAX_DEPTH + 1, true),
        (120, true),
    ];
    for (levels, expected) in cases {
        assert_eq!(is_too_deep(&arrays(levels)), expected, "{levels} arrays");
        assert_eq!(is_too_deep(&objects(levels)), expected, "{levels} objects");
        if let Value::Object(object) = objects(levels) {
            assert_eq!(
                is_object_too_deep(&object),
                expected,
                "{levels} levels as an object"
            );
        }
    }
    assert!(
        is_too_deep(&json!([1, {"a": []}, arrays(MAX_DEPTH)])),
        "the deepest branch counts"
    );
}
