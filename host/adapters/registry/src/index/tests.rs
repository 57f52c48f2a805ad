use super::{Index, IndexEntry, MAX_INDEX_BYTES};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn entry(reference: &str, description: &str, tools: &[&str]) -> IndexEntry {
    IndexEntry {
        reference: reference.to_owned(),
        version: Some("1.2.0".to_owned()),
        description: Some(description.to_owned()),
        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
    }
}

#[test]
fn component_is_found_by_every_word_of_the_term() {
    let mut index = Index::default();
    let resize = entry(
        "oci://a.example/acme/resize:1",
        "Scales Images.",
        &["scale"],
    );
    let files = entry(
        "oci://a.example/acme/files:1",
        "Reads files.",
        &["read_file"],
    );
    index.add(resize.clone()).unwrap();
    index.add(files.clone()).unwrap();
    let cases = [
        ("", vec![&files, &resize]),
        ("ACME", vec![&files, &resize]),
        ("images scale", vec![&resize]),
        ("read_file", vec![&files]),
        ("images files", vec![]),
        ("none", vec![]),
    ];
    for (term, expected) in cases {
        assert_eq!(index.search(term), expected, "{term}");
    }
    // Another version takes the place of the first.
    let newer = entry("oci://a.example/acme/files:2", "Reads.", &[]);
    index.add(newer.clone()).unwrap();
    assert_eq!(index.search("files"), [&newer]);
    assert_eq!(Index::parse(index.to_json().as_bytes()), Ok(index));
}

#[test]
fn hostile_index_is_refused_or_bounded() {
    let text = "x".repeat(1000);
    let hostile = json!({
        "version": 1,
        "unknown": [1],
        "components": [
            { "reference": "../../etc/passwd" },
            { "reference": "http://example.com/a" },
            { "reference": "oci://ex\u{430}mple.com/a:1" },
            { "reference": "oci://a.example/a:1", "description": text, "tools": vec![text.clone(); 100] },
        ],
    });
    let index = Index::parse(hostile.to_string().as_bytes()).unwrap();
    let found = index.search("");
    assert_eq!(found.len(), 1);
    let cut = "x".repeat(300);
    assert_eq!(found[0].description.as_ref(), Some(&cut));
    assert_eq!(found[0].tools, vec![cut; 64]);
    let many = json!({ "version": 1, "components": vec![json!({ "reference": "x" }); 10_001] });
    let cases = [
        (
            json!({ "version": 2, "components": [] }).to_string(),
            "has version 2, and this program reads version 1",
        ),
        (
            many.to_string(),
            "is longer than 4194304 bytes or has more than 10000 components",
        ),
        (
            " ".repeat(MAX_INDEX_BYTES as usize + 1),
            "is longer than 4194304 bytes or has more than 10000 components",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Index::parse(text.as_bytes()), Err(expected.into()));
    }
    for text in ["", "[]", "{}", "{\"version\":1}", "\u{1b}"] {
        let refused = Index::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(
            refused.starts_with("is not a component index: "),
            "{text:?}: {refused}"
        );
    }
}

proptest! {
    #[test]
    fn fuzz_index_is_parsed_without_panic(text in ".{0,200}") {
        let _ = Index::parse(text.as_bytes());
    }
}
