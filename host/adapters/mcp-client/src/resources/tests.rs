use super::{Entries, FeatureList, shown};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn shown_entry_is_bounded_and_harmless() {
    let long = "x".repeat(5_000);
    for (list, entry, expected) in [
        (
            FeatureList::Resources,
            json!({
                "uri": "file:///a%20b?c=\u{1b}[2J", "name": "a\u{202e}b", "description": long.as_str(),
                "size": 7, "icons": [{"src": "data:"}], "_meta": {"a": 1},
            }),
            Some(json!({
                "uri": "file:///a%20b?c=\u{fffd}[2J", "name": "a\u{fffd}b",
                "description": format!("{}...", "x".repeat(497)), "size": 7,
            })),
        ),
        (FeatureList::Resources, json!({"name": "no URI"}), None),
        (FeatureList::Resources, json!({"uri": ""}), None),
        (FeatureList::Resources, json!({"uri": long.as_str()}), None),
        (FeatureList::Resources, json!(["uri"]), None),
        (
            FeatureList::Templates,
            json!({"uriTemplate": "demo://{id}", "name": "one", "mimeType": "text/plain"}),
            Some(json!({"uriTemplate": "demo://{id}", "name": "one", "mimeType": "text/plain"})),
        ),
        (
            FeatureList::Prompts,
            json!({"name": "p", "title": "P", "arguments": [{"name": "a", "required": true}, 7]}),
            Some(json!({"name": "p", "title": "P", "arguments": [
                {"name": "a", "required": true}, {"name": null, "required": false},
            ]})),
        ),
    ] {
        assert_eq!(shown(list, &entry), expected, "{entry}");
    }
}

#[test]
fn page_is_taken_within_bounds_and_by_query() {
    let page = |count: usize| {
        let entries = (0..count).map(|n| json!({"uri": format!("a:{n}"), "name": "N"}));
        json!({"resources": entries.collect::<Vec<_>>(), "nextCursor": "more"})
    };
    for (bytes, page, query, shown, left_out) in [
        (10_000, page(3), None, 3, 0),
        (10_000, page(3), Some("a:1"), 1, 0),
        (10_000, page(3), Some("n"), 3, 0),
        (60, page(3), None, 2, 1),
        (100_000, page(501), None, 500, 1),
        (
            10_000,
            json!({"resources": "none", "nextCursor": "more"}),
            None,
            0,
            0,
        ),
        (
            10_000,
            json!({"resources": [7, {"uri": "a:"}], "nextCursor": "more"}),
            None,
            1,
            1,
        ),
    ] {
        let mut entries = Entries::within(bytes);
        entries.take(FeatureList::Resources, &page, query);
        assert_eq!(
            (
                entries.shown.len(),
                entries.left_out,
                entries.next.as_deref()
            ),
            (shown, left_out, Some("more")),
            "{bytes} {query:?}"
        );
    }
}
