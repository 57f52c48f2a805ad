use super::*;
use crate::event::tests::values::{continuation, waits};
use pretty_assertions::assert_eq;
use serde_json::json;

/// One continuation of each kind a line, with every field set.
const GOLDEN: &str = include_str!("golden.jsonl");

/// A change of the form fails here: it needs another [`CONTINUATION_VERSION`] and another golden
/// file.
#[test]
fn continuation_form_equals_the_golden_file() {
    let all = waits().map(continuation);
    let lines = all
        .iter()
        .map(|continuation| json!(continuation).to_string() + "\n");
    assert_eq!(lines.collect::<String>(), GOLDEN);
    let read = GOLDEN.lines().map(serde_json::from_str::<Continuation>);
    assert_eq!(read.collect::<Result<Vec<_>, _>>().unwrap(), all);
}
