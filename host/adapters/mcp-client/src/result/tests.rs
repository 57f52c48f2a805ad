use super::*;
use agent_host_types::failure::ToolErrorCode;
use pretty_assertions::assert_eq;
use serde_json::json;

/// An image of one pixel.
const GIF: &str = "R0lGODlhAQABAAAAACw=";

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

fn file(media_type: &str, data: FileData, filename: Option<&str>) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: filename.map(str::to_owned),
    })
}

fn gif() -> FileData {
    FileData::Bytes(STANDARD.decode(GIF).unwrap())
}

/// Media within the JSON of a result become files: as text, one picture would cost a model tens of
/// thousands of tokens.
#[test]
fn media_in_json_become_files() {
    let words = |words: &str| json!({"type": "text", "text": words});
    let mut bytes = STANDARD.decode(GIF).unwrap();
    bytes.resize(900, 0);
    let gif = STANDARD.encode(&bytes);
    let seen = file("image/gif", FileData::Bytes(bytes.clone()), None);
    let block = json!({"type": "image", "mimeType": "image/gif", "data": gif});
    let raw = vec![1; 900];
    let (sound, data) = (STANDARD.encode(&raw), FileData::Bytes(raw));
    let mark = "[image/gif, 900 bytes: file 1 below]";
    let content = ToolResultOutput::Content;
    let marked = |more: &str| text(&format!("{{\"a\":\"{mark}\"{more}}}"));
    let letters = "abcd".repeat(400);
    for (result, expected) in [
        // The reference server of files.
        (
            json!({"content": [block], "structuredContent": {"content": [block]}}),
            content(vec![seen.clone()]),
        ),
        (
            json!({"content": [block], "structuredContent": {"data": gif, "width": 1}}),
            content(vec![
                seen.clone(),
                text(r#"{"data":"[the data of the file above]","width":1}"#),
            ]),
        ),
        (
            json!({"structuredContent": {"a": gif}}),
            content(vec![marked(""), seen.clone()]),
        ),
        // The text that repeats it has the picture, too.
        (
            json!({
                "content": [words(&json!({"a": gif}).to_string())],
                "structuredContent": {"a": gif},
            }),
            content(vec![marked(""), seen.clone()]),
        ),
        (
            json!({"content": [words("A dot.")], "structuredContent": {"a": gif, "b": 1}}),
            content(vec![text("A dot."), marked(",\"b\":1"), seen.clone()]),
        ),
        (
            json!({"content": [words(&json!({"a": gif}).to_string())]}),
            content(vec![marked(""), seen.clone()]),
        ),
        (
            json!({"content": [words(&format!("data:image/gif;base64,{gif}"))]}),
            content(vec![seen.clone()]),
        ),
        (
            json!({"structuredContent": {"mimeType": "audio/x-raw", "data": [sound]}}),
            content(vec![
                text(
                    r#"{"data":["[audio/x-raw, 900 bytes: file 1 below]"],"mimeType":"audio/x-raw"}"#,
                ),
                file("audio/x-raw", data, None),
            ]),
        ),
        (
            json!({"content": [words("No.")], "structuredContent": {"a": gif}, "isError": true}),
            ToolResultOutput::ErrorText(format!(
                "No.\n{{\"a\":\"{mark}\"}}\n[image/gif: 900 bytes, left out]"
            )),
        ),
        // Text that equals the short data of a block stays as it is.
        (
            json!({
                "content": [{"type": "audio", "mimeType": "audio/x-raw", "data": ""}],
                "structuredContent": {"note": ""},
            }),
            content(vec![
                file("audio/x-raw", FileData::Bytes(Vec::new()), None),
                text(r#"{"note":""}"#),
            ]),
        ),
        // Base64 of nothing that is known, which a tool may have been asked for.
        (
            json!({"structuredContent": {"encoded": letters}}),
            ToolResultOutput::json(json!({"encoded": letters})),
        ),
        (
            json!({"content": [words(&letters)]}),
            ToolResultOutput::Text(letters.clone()),
        ),
    ] {
        assert_eq!(output(result.clone()), Ok(expected), "{result}");
    }
    let many = vec![gif.as_str(); 20];
    let Ok(ToolResultOutput::Content(parts)) = output(json!({"structuredContent": many})) else {
        panic!("no content");
    };
    assert_eq!(parts.len(), 17);
    let ContentPart::Text { text } = &parts[0] else {
        panic!("{parts:?}");
    };
    assert_eq!(text.matches("[image/gif, 900 bytes, left out]").count(), 4);
}

#[test]
fn error_without_content_says_so() {
    for result in [
        json!({"content": [], "isError": true}),
        json!({"content": [{"type": "text", "text": " \n"}], "isError": true}),
    ] {
        let expected = ToolResultOutput::ErrorText(NO_REASON.to_owned());
        assert_eq!(output(result), Ok(expected));
    }
}

/// For results of other servers the protocol's fields decide.
#[test]
fn other_servers_results_map_by_fields() {
    let words = |words: &str| json!({"type": "text", "text": words});
    let picture = || json!({"type": "image", "mimeType": "image/gif", "data": GIF});
    let cases = [
        (
            json!({"content": [words("a")]}),
            ToolResultOutput::Text("a".into()),
        ),
        (
            json!({"content": [words("{\"type\":\"error-text\"}")], "isError": false}),
            ToolResultOutput::Text("{\"type\":\"error-text\"}".into()),
        ),
        (json!({"content": []}), ToolResultOutput::Content(vec![])),
        (
            json!({"content": [words("a"), words("b")]}),
            ToolResultOutput::Content(vec![text("a"), text("b")]),
        ),
        (
            json!({"content": [words("a"), words("b")], "isError": true}),
            ToolResultOutput::ErrorText("a\nb".into()),
        ),
        (
            json!({"content": [words("{ \"a\": 1 }")], "structuredContent": {"a": 1}}),
            ToolResultOutput::json(json!({"a": 1})),
        ),
        (
            json!({"content": [words(" ")], "structuredContent": {"a": 1}}),
            ToolResultOutput::json(json!({"a": 1})),
        ),
        // What FastMCP makes of a string, a number and a list.
        (
            json!({"content": [words("x")], "structuredContent": {"result": "x"}}),
            ToolResultOutput::json(json!({"result": "x"})),
        ),
        (
            json!({"content": [words("x")], "structuredContent": {"content": "x"}}),
            ToolResultOutput::json(json!({"content": "x"})),
        ),
        (
            json!({"content": [words("1")], "structuredContent": {"result": 1}}),
            ToolResultOutput::json(json!({"result": 1})),
        ),
        (
            json!({"content": [words("x"), words("1")], "structuredContent": {"result": ["x", 1]}}),
            ToolResultOutput::json(json!({"result": ["x", 1]})),
        ),
        // A text of its own, beside what programs read.
        (
            json!({"content": [words("One of 1.")], "structuredContent": {"a": 1}}),
            ToolResultOutput::Content(vec![text("One of 1."), text("{\"a\":1}")]),
        ),
        (
            json!({"content": [words("x"), words("2")], "structuredContent": {"result": ["x", 1]}}),
            ToolResultOutput::Content(vec![text("x"), text("2"), text("{\"result\":[\"x\",1]}")]),
        ),
        (
            json!({"content": [words("No.")], "structuredContent": {"a": 1}, "isError": true}),
            ToolResultOutput::ErrorText("No.\n{\"a\":1}".into()),
        ),
        (
            json!({"structuredContent": null}),
            ToolResultOutput::json(Value::Null),
        ),
        (
            json!({"content": [words("{\"a\":1}")], "structuredContent": {"a": 1}, "isError": true}),
            ToolResultOutput::error_json(json!({"a": 1})),
        ),
        (
            json!({"content": [picture()], "structuredContent": [1]}),
            ToolResultOutput::Content(vec![file("image/gif", gif(), None), text("[1]")]),
        ),
        (
            json!({"content": [words("no"), picture()], "isError": true}),
            ToolResultOutput::ErrorText("no\n[image/gif: 14 bytes, left out]".into()),
        ),
        (
            json!({"content": [{"type": "audio", "mimeType": "audio/x-raw", "data": "AAAA"}]}),
            ToolResultOutput::Content(vec![file(
                "audio/x-raw",
                FileData::Bytes(vec![0; 3]),
                None,
            )]),
        ),
        (
            json!({"content": [{"type": "resource", "resource": {"uri": "file:///a.txt", "text": "a"}}]}),
            ToolResultOutput::Content(vec![file(
                "text/plain",
                FileData::Text("a".into()),
                Some("file:///a.txt"),
            )]),
        ),
        (
            json!({"content": [{"type": "resource", "resource": {
                "uri": "ui://a", "mimeType": "text/html;profile=mcp-app", "text": "a",
            }}]}),
            ToolResultOutput::Content(vec![file(
                "text/html",
                FileData::Text("a".into()),
                Some("ui://a"),
            )]),
        ),
        (
            json!({"content": [{"type": "resource", "resource": {"uri": "x:y", "blob": GIF}}]}),
            ToolResultOutput::Content(vec![file("image/gif", gif(), Some("x:y"))]),
        ),
        (
            json!({"content": [{"type": "resource_link", "uri": "https://a/b.pdf", "name": "b", "size": 7}]}),
            ToolResultOutput::Text(
                "[a link to \"b\" (application/pdf, 7 bytes) at \"https://a/b.pdf\"; links of MCP servers are not fetched]"
                    .into(),
            ),
        ),
        (
            json!({"content": [{"type": "resource_link", "uri": "x:\u{1b}[1m\"] now", "mimeType": "image/jpg"}], "isError": true}),
            ToolResultOutput::ErrorText(
                "[a link to a file (image/jpeg) at \"x:\u{fffd}[1m\\\"] now\"; links of MCP servers are not fetched]"
                    .into(),
            ),
        ),
        // The bytes tell what a file is.
        (
            json!({"content": [{"type": "image", "mimeType": "image/png", "data": GIF}]}),
            ToolResultOutput::Content(vec![file("image/gif", gif(), None)]),
        ),
        (
            json!({"content": [{"type": "image", "mimeType": "gif", "data": GIF}]}),
            ToolResultOutput::Content(vec![file("image/gif", gif(), None)]),
        ),
        (
            json!({"content": [{"type": "image", "mimeType": "image/jpeg", "data": "AAAA"}]}),
            ToolResultOutput::Content(vec![file(
                "application/octet-stream",
                FileData::Bytes(vec![0; 3]),
                None,
            )]),
        ),
        (
            json!({"content": [{"type": "image", "mimeType": "image/gif"}]}),
            ToolResultOutput::Text(
                "[content of the unknown kind `image`: {\"mimeType\":\"image/gif\",\"type\":\"image\"}]"
                    .into(),
            ),
        ),
        // A malformed agent-host result is treated as another server's.
        (
            json!({"content": [words("a")], "_meta": {OUTPUT_META: "json"}}),
            ToolResultOutput::Text("a".into()),
        ),
        (
            json!({"content": [words("a")], "_meta": {OUTPUT_META: "brilliant"}}),
            ToolResultOutput::Text("a".into()),
        ),
    ];
    for (result, expected) in cases {
        assert_eq!(output(result.clone()), Ok(expected), "{result}");
    }
}

#[test]
fn malformed_result_is_invalid_output() {
    let cases = [
        (json!([]), "it is not an object"),
        (json!({}), "it has neither `content` nor"),
        (json!({"content": "a"}), "its `content` is not a list"),
        (
            json!({"content": [{"type": "image", "mimeType": "image/gif", "data": "?"}]}),
            "its base64 is invalid",
        ),
        (
            json!({"content": vec![json!({"type": "text", "text": ""}); 257]}),
            "has 257 parts",
        ),
    ];
    for (result, says) in cases {
        let failure = output(result.clone()).unwrap_err();
        assert_eq!(failure.code, ToolErrorCode::InvalidOutput, "{result}");
        assert!(failure.message().contains(says), "{failure}");
    }
}

/// A result that passes itself off as one of agent-host has no link for the model's provider
/// either.
#[test]
fn links_of_a_claimed_agent_host_become_texts() {
    let link = |uri: &str| {
        json!({
            "type": "resource_link", "uri": uri, "name": uri, "mimeType": "image/png",
            "_meta": {FILENAME_META: "b.png"},
        })
    };
    let result = json!({
        "content": [link("http://169.254.169.254/"), link("HTTPS://a/b")],
        "_meta": {OUTPUT_META: "content"},
    });
    let mut output = output(result).unwrap();
    replace_links(&mut output);
    let note = |uri: &str| {
        text(&format!(
            "[a link to \"b.png\" (image/png) at \"{uri}\"; links of MCP servers are not fetched]"
        ))
    };
    assert_eq!(
        output,
        ToolResultOutput::Content(vec![note("http://169.254.169.254/"), note("HTTPS://a/b")])
    );
}
