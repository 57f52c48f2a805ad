use super::*;
use crate::accounting::{AuditEntry, AuditVerdict};
use pretty_assertions::assert_eq;
use proptest::{option, prelude::*};
use serde_json::{Value, json};

fn entry(request: AuditRequest) -> AuditEntry {
    AuditEntry {
        request,
        verdict: AuditVerdict::Allowed,
        rule: "r".to_owned(),
        count: 1,
        grant: None,
        status: None,
    }
}

/// The JSON form of an entry before version 8.
fn stored_text(text: &str) -> Value {
    json!({"request": text, "verdict": "allowed", "rule": "r", "count": 1})
}

fn pair(action: FileAction, path: &str, to: &str) -> AuditRequest {
    AuditRequest::File {
        action,
        path: path.to_owned(),
        to: Some(to.to_owned()),
    }
}

fn mcp_call(tool: &str, url: Option<&str>) -> AuditRequest {
    AuditRequest::McpCall {
        tool: tool.to_owned(),
        server: "s".to_owned(),
        url: url.map(str::to_owned),
    }
}

fn artifact(action: ArtifactOp, name: &str) -> AuditRequest {
    let name = name.to_owned();
    AuditRequest::Artifact { action, name }
}

fn unrecognized(text: &str) -> AuditRequest {
    AuditRequest::Unrecognized {
        text: text.to_owned(),
    }
}

/// Each kind: its fields, its text, and the fields as JSON. The texts before version 8 were these.
fn every_kind() -> Vec<(AuditRequest, &'static str, Value)> {
    let file = |action| AuditRequest::file(action, "/w/a b".to_owned());
    let fields = |action| json!({"kind": "file", "action": action, "path": "/w/a b"});
    let named = |action| json!({"kind": "artifact", "action": action, "name": "a b"});
    let secret = AuditRequest::Secret {
        name: "key".to_owned(),
        method: "GET".to_owned(),
        url: "https://e/".to_owned(),
    };
    vec![
        (file(FileAction::Stat), "stat /w/a b", fields("stat")),
        (file(FileAction::List), "list /w/a b", fields("list")),
        (file(FileAction::Read), "read /w/a b", fields("read")),
        (
            file(FileAction::ReadLink),
            "read link /w/a b",
            fields("read-link"),
        ),
        (file(FileAction::Write), "write /w/a b", fields("write")),
        (
            file(FileAction::WriteExecutable),
            "write-executable /w/a b",
            fields("write-executable"),
        ),
        (file(FileAction::Move), "move /w/a b", fields("move")),
        (
            pair(FileAction::Move, "/w/a", "/w/b"),
            "move /w/a to /w/b",
            json!({"kind": "file", "action": "move", "path": "/w/a", "to": "/w/b"}),
        ),
        (
            pair(FileAction::Link, "/w/a", "../b to c"),
            "link /w/a to ../b to c",
            json!({"kind": "file", "action": "link", "path": "/w/a", "to": "../b to c"}),
        ),
        (
            artifact(ArtifactOp::ListArtifacts, ""),
            "list-artifacts",
            json!({"kind": "artifact", "action": "list-artifacts"}),
        ),
        (
            artifact(ArtifactOp::ReadArtifact, "a b"),
            "read-artifact a b",
            named("read-artifact"),
        ),
        (
            artifact(ArtifactOp::StoreArtifact, "a b"),
            "store-artifact a b",
            named("store-artifact"),
        ),
        (
            artifact(ArtifactOp::DeleteArtifact, "a b"),
            "delete-artifact a b",
            named("delete-artifact"),
        ),
        (
            AuditRequest::http("GET", "https://e/a?b"),
            "GET https://e/a?b",
            json!({"kind": "http", "method": "GET", "url": "https://e/a?b"}),
        ),
        (
            secret,
            "secret://key in GET https://e/",
            json!({"kind": "secret", "name": "key", "method": "GET", "url": "https://e/"}),
        ),
        (
            mcp_call("t", None),
            "call `t` of the MCP server `s` (child process)",
            json!({"kind": "mcp-call", "tool": "t", "server": "s"}),
        ),
        (
            mcp_call("t", Some("https://e/mcp")),
            "call `t` of the MCP server `s` (https://e/mcp)",
            json!({"kind": "mcp-call", "tool": "t", "server": "s", "url": "https://e/mcp"}),
        ),
        (AuditRequest::Others, "others", json!({"kind": "others"})),
        (
            unrecognized("dance"),
            "dance",
            json!({"kind": "unrecognized", "text": "dance"}),
        ),
    ]
}

#[test]
fn request_has_a_text_and_fields_as_json() {
    for (request, text, fields) in every_kind() {
        assert_eq!(request.to_string(), text);
        let mut expected = stored_text(text);
        expected["operation"] = fields;
        assert_eq!(json!(entry(request)), expected);
    }
}

#[test]
fn entry_before_version_8_is_read_from_its_text() {
    for (request, text, _) in every_kind() {
        let read: AuditEntry = serde_json::from_value(stored_text(text)).unwrap();
        assert_eq!(read, entry(request), "{text}");
    }
}

/// No text is lost, and none is read as a kind that it only resembles.
#[test]
fn text_of_no_kind_is_kept_as_text() {
    for text in [
        "",
        " ",
        "read",
        "read a",
        "write [secret:s]/a",
        "READ /a",
        "secret://key",
        "secret://key in GET",
        "call `t` of the MCP server `s`",
        "call `t` of the MCP server `s` (child process) ",
        "read-artifact ",
        "others ",
        "list-artifacts\n",
    ] {
        assert_eq!(AuditRequest::from_text(text), unrecognized(text));
    }
}

#[test]
fn hostile_texts_are_read_as_what_they_name() {
    let read = |path: &str| AuditRequest::file(FileAction::Read, path.to_owned());
    for (text, expected) in [
        ("read /a\nwrite /b", read("/a\nwrite /b")),
        ("read /GET https://e/", read("/GET https://e/")),
        ("read /a to /b", read("/a to /b")),
        (
            "link /a",
            AuditRequest::file(FileAction::Link, "/a".to_owned()),
        ),
        ("read https://e/", AuditRequest::http("read", "https://e/")),
        (
            "GET https://e/ /b",
            AuditRequest::http("GET", "https://e/ /b"),
        ),
        (
            "call `read /a` of the MCP server `s` (child process)",
            mcp_call("read /a", None),
        ),
    ] {
        assert_eq!(AuditRequest::from_text(text), expected);
    }
}

/// An operation that no program of this version writes is refused, not read from its text.
#[test]
fn entry_of_an_unknown_kind_is_refused() {
    let mut stored = stored_text("read /a");
    stored["operation"] = json!({"kind": "dance"});
    let error = serde_json::from_value::<AuditEntry>(stored).unwrap_err();
    assert!(
        error.to_string().starts_with("unknown variant `dance`"),
        "{error}"
    );
}

/// Texts in which other requests and the words between fields are.
fn hostile() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "/",
        " /",
        " to ",
        " to /",
        " in ",
        "read",
        "write ",
        "move ",
        "link ",
        "read link ",
        "GET ",
        "https://e/",
        "secret://",
        "call `",
        "` of the MCP server `",
        "` (",
        ")",
        "child process",
        "others",
        "read-artifact ",
        "\n",
        "\u{202e}",
    ];
    let word = prop_oneof![
        proptest::sample::select(WORDS).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(word, 0..8).prop_map(|words| words.concat())
}

fn any_request() -> impl Strategy<Value = AuditRequest> {
    use FileAction::{Link, List, Move, Read, ReadLink, Stat, Write, WriteExecutable};
    let actions = vec![
        Stat,
        List,
        Read,
        ReadLink,
        Write,
        WriteExecutable,
        Move,
        Link,
    ];
    let operations = vec![
        ArtifactOp::ListArtifacts,
        ArtifactOp::ReadArtifact,
        ArtifactOp::StoreArtifact,
        ArtifactOp::DeleteArtifact,
    ];
    prop_oneof![
        (
            proptest::sample::select(actions),
            hostile(),
            option::of(hostile())
        )
            .prop_map(|(action, path, to)| AuditRequest::File { action, path, to }),
        (proptest::sample::select(operations), hostile())
            .prop_map(|(action, name)| AuditRequest::Artifact { action, name }),
        (hostile(), hostile()).prop_map(|(method, url)| AuditRequest::Http { method, url }),
        (hostile(), hostile(), hostile()).prop_map(|(name, method, url)| AuditRequest::Secret {
            name,
            method,
            url
        }),
        (hostile(), hostile(), option::of(hostile()))
            .prop_map(|(tool, server, url)| AuditRequest::McpCall { tool, server, url }),
        Just(AuditRequest::Others),
        hostile().prop_map(|text| AuditRequest::Unrecognized { text }),
    ]
}

proptest! {
    /// Whatever a guest or a server wrote into a request, its stored form is read as the same one.
    #[test]
    fn stored_request_is_read_as_it_was(request in any_request()) {
        let stored = json!(entry(request.clone()));
        prop_assert_eq!(&stored["request"], &json!(request.to_string()));
        let read: AuditEntry = serde_json::from_value(stored).unwrap();
        prop_assert_eq!(read.request, request);
    }

    /// A text of an older version stays as it is, and no text panics.
    #[test]
    fn text_of_a_request_survives_reading(text in hostile(), request in any_request()) {
        for text in [text, request.to_string()] {
            prop_assert_eq!(AuditRequest::from_text(&text).to_string(), text);
        }
    }

    #[test]
    fn every_text_of_a_request_is_changed(request in any_request()) {
        let mut changed = request;
        changed.change_texts(|text| *text = "x".to_owned());
        let mut again = Vec::new();
        changed.change_texts(|text| again.push(text.clone()));
        prop_assert!(again.iter().all(|text| text == "x"));
        prop_assert!(!changed.to_string().contains('\n'));
    }
}
