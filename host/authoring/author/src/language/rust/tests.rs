use super::component_among;
use pretty_assertions::assert_eq;
use std::path::{Path, PathBuf};

/// A message of cargo about an artifact.
fn made(manifest: &str, files: &str) -> String {
    format!(
        r#"{{"reason":"compiler-artifact","package_id":"p","manifest_path":"{manifest}","target":{{"kind":["cdylib"]}},"filenames":{files},"fresh":false}}"#
    )
}

#[test]
fn component_is_found_in_cargo_messages() {
    let own = "/w/Cargo.toml";
    let other = made("/dep/Cargo.toml", r#"["/t/dep.wasm"]"#);
    let cases = [
        (made(own, r#"["/t/w.wasm"]"#), Some("/t/w.wasm")),
        (
            [
                other.as_str(),
                r#"{"reason":"build-script-executed","package_id":"p"}"#,
                "not JSON",
                &made(own, r#"["/t/libw.rlib", "/t/w.wasm"]"#),
                r#"{"reason":"build-finished","success":true}"#,
            ]
            .join("\n"),
            Some("/t/w.wasm"),
        ),
        (made(own, r#"["/t/libw.rlib"]"#), None),
        (other, None),
        (String::new(), None),
    ];
    for (messages, expected) in cases {
        assert_eq!(
            component_among(messages.as_bytes(), Path::new(own)),
            expected.map(PathBuf::from),
            "{messages}"
        );
    }
}
