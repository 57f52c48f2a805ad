use super::{PAGE, ResourceUri, content_of_bytes, contents, page};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rmcp::model::{Resource, ResourceContents};

#[test]
fn uri_is_a_path_of_guests_or_the_name_of_an_artifact() {
    let file = |path: &str| Some(ResourceUri::File(path.to_owned()));
    for (text, expected) in [
        ("file:///workspace/a%20b.txt", file("/workspace/a b.txt")),
        ("file:///etc/passwd", file("/etc/passwd")),
        (
            "file:///workspace/..%2F..%2Fetc",
            file("/workspace/../../etc"),
        ),
        (
            "artifact:///a/b.png",
            Some(ResourceUri::Artifact("a/b.png".to_owned())),
        ),
        ("file://host/workspace/a", None),
        ("file:///a?b", None),
        ("file:///a#b", None),
        ("file:///a%00b", None),
        ("file:///%ff", None),
        ("artifact://a", None),
        ("http://example.com/", None),
        ("", None),
    ] {
        assert_eq!(ResourceUri::parse(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn uri_is_parsed_as_it_was_written(path in "[^\0]{0,40}") {
        for uri in [ResourceUri::File(format!("/{path}")), ResourceUri::Artifact(path)] {
            let text = uri.to_string();
            prop_assert!(text.is_ascii());
            prop_assert_eq!(ResourceUri::parse(&text), Some(uri));
        }
    }

    #[test]
    fn any_uri_is_parsed_or_refused(text in ".{0,60}") {
        let _ = ResourceUri::parse(&text);
    }
}

#[test]
fn pages_have_each_resource_once() {
    let uri = |n: usize| format!("file:///w/{n:03}");
    // Twice, as with a directory in another one.
    let all: Vec<Resource> = (0..250)
        .chain(0..9)
        .map(|n| Resource::new(uri(n), "n"))
        .collect();
    let mut cursor: Option<String> = None;
    let mut seen = Vec::new();
    for expected in [PAGE, PAGE, 50] {
        let page = page(all.clone(), cursor.as_deref());
        assert_eq!(page.resources.len(), expected);
        seen.extend(page.resources.into_iter().map(|resource| resource.uri));
        cursor = page.next_cursor;
    }
    assert_eq!((seen, cursor), ((0..250).map(uri).collect(), None));
}

#[test]
fn output_is_turned_into_contents_or_its_reason() {
    let uri = "file:///w/a";
    let bytes = |media_type: &str, bytes: &[u8]| FilePart {
        media_type: media_type.to_owned(),
        data: FileData::Bytes(bytes.to_vec()),
        filename: Some("a".to_owned()),
    };
    let text = |text: &str| ResourceContents::text(text, uri).with_mime_type("text/plain");
    let blob = |base64: &str| ResourceContents::blob(base64, uri).with_mime_type("image/png");
    let failure = ToolFailure::new(ToolErrorCode::Timeout, "It took too long.");
    for (output, expected) in [
        (
            ToolResultOutput::Text("hello".to_owned()),
            Ok(vec![text("hello")]),
        ),
        (
            ToolResultOutput::Content(vec![ContentPart::File(bytes("image/png", b"\x89PNG"))]),
            Ok(vec![blob("iVBORw==")]),
        ),
        (
            ToolResultOutput::ErrorText("No such file.".to_owned()),
            Err("No such file.".into()),
        ),
        (failure.into(), Err("It took too long.".into())),
        (
            ToolResultOutput::ExecutionDenied(Some("Not granted.".to_owned())),
            Err("Tool call execution denied. Not granted.".into()),
        ),
    ] {
        assert_eq!(contents(output, uri), expected);
    }
    let found = content_of_bytes(b"a,b".to_vec(), "text/csv".to_owned(), uri);
    assert_eq!(
        found,
        ResourceContents::text("a,b", uri).with_mime_type("text/csv")
    );
}
