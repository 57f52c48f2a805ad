use std::fs;

use agent_tool_bounded::MAX_RESULT_BYTES;
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{HtmlToMarkdown, MAX_HTML_BYTES, html_to_markdown};

fn of_text(text: &str) -> HtmlToMarkdown {
    HtmlToMarkdown {
        path: None,
        text: Some(text.to_owned()),
        base: None,
        offset: 0,
    }
}

fn answer(input: HtmlToMarkdown) -> Result<String, String> {
    html_to_markdown(input).map_err(|failure| failure.to_string())
}

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The Markdown of what Beautiful Soup found in the page.
fn expected() -> String {
    let text = fs::read_to_string(fixture("page.json")).expect("a fixture");
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let pairs = |name: &str| -> Vec<String> {
        let pairs = found[name].as_array().expect("a list").iter();
        pairs
            .map(|pair| format!("[{}]({})", text(&pair[0]), text(&pair[1])))
            .collect()
    };
    let headings: Vec<String> = found["headings"]
        .as_array()
        .expect("headings")
        .iter()
        .map(|heading| {
            let level = usize::try_from(heading[0].as_u64().expect("a level")).expect("small");
            format!("{} {}", "#".repeat(level), text(&heading[1]))
        })
        .collect();
    let items: Vec<String> = found["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| format!("- {}", text(item)))
        .collect();
    let rows: Vec<String> = found["table"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| format!("| {} | {} |", text(&row[0]), text(&row[1])))
        .collect();
    let (links, images) = (pairs("links"), pairs("images"));
    format!(
        "{}\n\nA cluster keeps {} by {}, see {}.\n\n{}\n\n{}\n\n!{}\n\n{}\n| --- | --- |\n{}\n{}\n\n{}\n\n```\n{}\n```\n",
        headings[0],
        links[0],
        links[1],
        links[2],
        headings[1],
        items.join("\n"),
        images[0],
        rows[0],
        rows[1],
        rows[2],
        headings[2],
        text(&found["code"]),
    )
}

#[test]
fn page_is_what_beautiful_soup_finds() {
    let input = HtmlToMarkdown {
        path: Some(fixture("page.html")),
        text: None,
        base: Some("https://example.com/docs/page.html".to_owned()),
        offset: 0,
    };
    assert_eq!(answer(input), Ok(expected()));
}

#[test]
fn input_that_makes_no_sense_is_an_error() {
    let none = HtmlToMarkdown {
        text: None,
        ..of_text("")
    };
    assert_eq!(
        answer(none),
        Err("there is no page; give `path` or `text`".to_owned())
    );
    let both = HtmlToMarkdown {
        path: Some("a".to_owned()),
        ..of_text("")
    };
    assert_eq!(
        answer(both),
        Err("there are both `path` and `text`; give one of them".to_owned())
    );
    let base = HtmlToMarkdown {
        base: Some("file:///x".to_owned()),
        ..of_text("")
    };
    assert_eq!(
        answer(base),
        Err("`base` is `file:///x`, which is no address of http or https".to_owned())
    );
}

#[test]
fn large_page_is_refused_and_long_one_has_parts() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("UTF-8").to_owned();
    let of_file = || HtmlToMarkdown {
        path: Some(path.clone()),
        text: None,
        ..of_text("")
    };
    fs::write(
        &path,
        vec![b'x'; usize::try_from(MAX_HTML_BYTES).expect("a size") + 1],
    )
    .expect("a file");
    assert_eq!(
        answer(of_file()),
        Err(format!(
            "`{path}` has 8388609 bytes; at most 8388608 can be read; split it, or take a part of it as `text`"
        ))
    );
    fs::write(&path, b"<meta charset=big5>\xa4").expect("a file");
    assert_eq!(
        answer(of_file()),
        Err(format!(
            "`{path}` is in `big5`, which this tool does not read; convert it to UTF-8"
        ))
    );
    let long = "<p>word".repeat(20_000);
    let first = answer(of_text(&long)).expect("a page");
    let end = MAX_RESULT_BYTES / 6 * 6;
    assert!(
        first.ends_with(&format!(
            "\n\n[bytes 0 to {end} of 119999; offset {end} continues]"
        )),
        "{}",
        first.len()
    );
    let cut = answer(of_text(&"<div>".repeat(10_000)));
    assert_eq!(
        cut,
        Ok("\n[the rest is left out: the page is too large or too deep]\n".to_owned())
    );
}
