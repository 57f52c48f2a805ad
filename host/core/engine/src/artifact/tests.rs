use super::*;
use crate::spill::spill_output;
use agent_host_types::{
    accounting::Accounting,
    context::{CompactionStats, ReferencedResult},
    message::{Message, Role},
    output::Blob,
};
use pretty_assertions::assert_eq;

#[test]
fn f16_artifact_name_stays_below_its_directory() {
    for name in [
        "report.md",
        "plots/one.png",
        "a b/ünï.txt",
        "...",
        ".hidden",
        "-x",
        &"n".repeat(255),
    ] {
        assert_eq!(name.parse::<ArtifactName>().unwrap().to_string(), name);
    }
    let long = format!("{}/a", "n".repeat(255));
    for (name, why) in [
        ("", "it is empty"),
        ("/etc/passwd", "it is absolute"),
        ("//a", "it is absolute"),
        ("..", "it contains `.` or `..`"),
        ("../a", "it contains `.` or `..`"),
        ("a/../b", "it contains `.` or `..`"),
        ("a/..", "it contains `.` or `..`"),
        ("./a", "it contains `.` or `..`"),
        ("a//b", "a part of it is empty"),
        ("a/", "a part of it is empty"),
        ("a\0", "it has control characters"),
        ("a\nb", "it has control characters"),
        ("\u{1b}[2J", "it has control characters"),
        ("a\u{85}", "it has control characters"),
        ("..\\a", "it has a backslash or a colon"),
        ("C:a", "it has a backslash or a colon"),
        (&"n".repeat(256), "a part of it has more than 255 bytes"),
        (&long.repeat(5), "it has more than 1,024 bytes"),
    ] {
        let shown: String = name.chars().take(255).collect();
        assert_eq!(
            name.parse::<ArtifactName>().unwrap_err().to_string(),
            format!(
                "invalid artifact name `{}`: {why}; name it like `report.md` or `plots/one.png`",
                shown.escape_debug()
            )
        );
    }
}

fn file(name: Option<&str>, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: "text/plain".into(),
        data,
        filename: name.map(str::to_owned),
    })
}

fn bytes(name: &str, bytes: &[u8]) -> ContentPart {
    file(Some(name), FileData::Bytes(bytes.to_vec()))
}

/// The events of calls with these parts as their results, as the loop journals them.
fn settled(results: Vec<Vec<ContentPart>>) -> impl Iterator<Item = Event> {
    let said = Event::InputReceived {
        message: Message::parts(Role::User, vec![bytes("theirs.txt", b"0")]),
        labels: Vec::new(),
        by: None,
    };
    let calls = results
        .into_iter()
        .zip(1..)
        .map(|(parts, n)| Event::CallSettled {
            call_id: CallId(format!("call_{n}")),
            tool: "make".into(),
            output: spill_output(ToolResultOutput::Content(parts), "results/a").output,
            accounting: Accounting::default(),
            audit: Vec::new(),
            rule: None,
            path: Vec::new(),
            child: None,
            labels: Vec::new(),
            reference: None,
            tape: None,
            whole: None,
        });
    std::iter::once(said).chain(calls)
}

/// The latest file of a name wins, and a refused name does not affect the others.
#[test]
fn artifacts_are_the_named_files_of_results() {
    let events = settled(vec![
        vec![
            bytes("a.txt", b"1"),
            bytes("../a.txt", b"2"),
            bytes("b/c.txt", b"3"),
            bytes("results/call_1", b"8"),
            file(None, FileData::Bytes(b"4".to_vec())),
            file(Some("text.txt"), FileData::Text("5".into())),
            file(Some("url.txt"), FileData::Url("https://a.example/x".into())),
        ],
        vec![bytes("../a.txt", b"6"), bytes("a.txt", b"7")],
    ]);
    let kept = |call: &str, content: &[u8]| Artifact {
        media_type: "text/plain".into(),
        blob: Blob::new(content.to_vec()).reference(),
        call_id: Some(CallId(call.into())),
        tool: Some("make".into()),
    };
    let mut found = Artifacts::default();
    for event in events {
        found.add(&event);
    }
    let expected = Artifacts {
        kept: [
            ("a.txt".parse().unwrap(), kept("call_2", b"7")),
            ("b/c.txt".parse().unwrap(), kept("call_1", b"3")),
        ]
        .into(),
        refused: vec![
            "../a.txt".parse::<ArtifactName>().unwrap_err(),
            "results/call_1"
                .parse()
                .and_then(ArtifactName::outside_results)
                .unwrap_err(),
        ],
        stored: Stored::default(),
    };
    assert_eq!(found, expected);
}

/// Whatever its provider called the call, and also after compaction.
#[test]
fn whole_result_is_an_artifact() {
    let whole = Blob::new(b"[1]".to_vec()).reference();
    let settled = |id: &str, output| Event::CallSettled {
        call_id: CallId(id.into()),
        tool: "make".into(),
        output,
        whole: Some(whole.clone()),
        accounting: Accounting::default(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        child: None,
        labels: Vec::new(),
        reference: None,
        tape: None,
    };
    let text = || ToolResultOutput::Text("preview".into());
    let referenced = Event::ResultsReferenced {
        results: vec![ReferencedResult {
            call_id: CallId("c".into()),
            tool: "look".into(),
            output: text(),
            blob: whole.clone(),
        }],
        size: CompactionStats::default(),
    };
    let mut found = Artifacts::default();
    for event in [
        settled("a", ToolResultOutput::json("preview")),
        settled("../b", text()),
        referenced,
    ] {
        found.add(&event);
    }
    let kept: Vec<(String, &str, &str)> = found
        .kept
        .iter()
        .map(|(name, kept)| {
            (
                name.to_string(),
                kept.tool.as_deref().unwrap(),
                kept.media_type.as_str(),
            )
        })
        .collect();
    let digest = format!(
        "results/{}",
        agent_host_types::id::Digest::of(b"../b").hex()
    );
    let mut expected = vec![
        ("results/a".to_owned(), "make", "application/json"),
        (digest, "make", "text/plain"),
        ("results/c".to_owned(), "look", "text/plain"),
    ];
    expected.sort();
    assert_eq!(kept, expected);
}

/// Calls and the operator's program store and delete outside of the directory of results alone,
/// whatever a record says, and the count never goes down.
#[test]
fn stored_artifacts_replace_and_are_deleted_by_name() {
    let stored = |name: &str, content: &[u8]| Event::ArtifactStored {
        call_id: Some(CallId("c".into())),
        tool: Some("make".into()),
        name: name.parse().unwrap(),
        media_type: "text/plain".into(),
        blob: Blob::new(content.to_vec()).reference(),
    };
    let deleted = |name: &str| Event::ArtifactDeleted {
        call_id: None,
        name: name.parse().unwrap(),
    };
    let whole = Blob::new(b"[1]".to_vec()).reference();
    let result = Event::ResultsReferenced {
        results: vec![ReferencedResult {
            call_id: CallId("r".into()),
            tool: "look".into(),
            output: ToolResultOutput::Text("preview".into()),
            blob: whole,
        }],
        size: CompactionStats::default(),
    };
    let mut found = Artifacts::default();
    for event in [
        result,
        stored("a", b"1"),
        stored("b", b"22"),
        stored("a", b"333"),
        deleted("b"),
        deleted("never"),
        stored("results/r", b"4"),
        deleted("results/r"),
    ] {
        found.add(&event);
    }
    let kept: Vec<(&str, u64)> = found
        .kept
        .iter()
        .map(|(name, kept)| (name.as_str(), kept.blob.size))
        .collect();
    assert_eq!(kept, [("a", 3), ("results/r", 3)]);
    assert_eq!(found.stored, Stored { count: 4, bytes: 7 });
}

#[test]
fn new_artifact_is_checked() {
    let new = |name: &str, media_type: &str, bytes: &[u8]| {
        let new = NewArtifact::new(name, media_type.to_owned(), bytes.to_vec());
        new.map(drop).map_err(|error| error.to_string())
    };
    let name = |name: &str, why: &str| {
        Err(format!(
            "invalid artifact name `{name}`: {why}; name it like `report.md` or `plots/one.png`"
        ))
    };
    let media_type = |why: &str| {
        Err(format!(
            "the artifact {why}; give it the media type of its bytes, such as `text/csv`"
        ))
    };
    for (got, expected) in [
        (new("a.txt", "text/plain", b""), Ok(())),
        (
            new("../a", "text/plain", b""),
            name("../a", "it contains `.` or `..`"),
        ),
        (
            new("results/a", "text/plain", b""),
            name("results/a", "it is in the reserved directory of results"),
        ),
        (
            new("a", "text", b""),
            media_type("has the media type `text`, which does not have the form type/subtype"),
        ),
        (
            new("a", "image/png", b"GIF89a"),
            media_type("is declared as `image/png`, but its bytes are `image/gif`"),
        ),
    ] {
        assert_eq!(got, expected);
    }
}
