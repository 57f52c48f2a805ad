use std::fs;

use pretty_assertions::assert_eq;

use super::{MAX_FILE_BYTES, MAX_RESULT_BYTES, QueryData, query_data};
use crate::read::Format;

fn of_text(filter: &str, text: &str) -> QueryData {
    QueryData {
        filter: filter.to_owned(),
        path: None,
        text: Some(text.to_owned()),
        format: None,
        raw: false,
    }
}

fn answer(input: QueryData) -> Result<String, String> {
    query_data(input).map_err(|failure| failure.to_string())
}

/// The answer for a file with this name and content; its path is PATH in it.
fn of_file(name: &str, content: &[u8]) -> Result<String, String> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join(name);
    fs::write(&path, content).expect("a file");
    let path = path.to_str().expect("UTF-8").to_owned();
    let input = QueryData {
        path: Some(path.clone()),
        text: None,
        ..of_text(".", "")
    };
    answer(input).map_err(|failure| failure.replace(&path, "PATH"))
}

#[test]
fn results_are_lines() {
    assert_eq!(
        answer(of_text(".[]", r#"[1,"a\nb",{}]"#)),
        Ok("1\n\"a\\nb\"\n{}".to_owned())
    );
    assert_eq!(answer(of_text(".[]", "[]")), Ok("[no results]".to_owned()));
    let raw = QueryData {
        raw: true,
        ..of_text(".[]", r#"["a b",1]"#)
    };
    assert_eq!(answer(raw), Ok("a b\n1".to_owned()));
    let lines = QueryData {
        format: Some(Format::Jsonl),
        ..of_text(".n", "{\"n\":1}\n{\"n\":2}")
    };
    assert_eq!(answer(lines), Ok("1\n2".to_owned()));
}

#[test]
fn files_are_read_by_their_names() {
    assert_eq!(
        of_file("a.csv", b"x\n1\n"),
        Ok("[{\"x\":\"1\"}]".to_owned())
    );
    assert_eq!(of_file("a.toml", b"x = 1"), Ok("{\"x\":1}".to_owned()));
    assert_eq!(of_file("a", b"[1]"), Ok("[1]".to_owned()));
    assert_eq!(
        of_file("a.json", b"\"\xff\""),
        Err("`PATH` is not text in UTF-8, and cannot be queried".to_owned())
    );
    let large = vec![b' '; usize::try_from(MAX_FILE_BYTES).expect("a size") + 1];
    assert_eq!(
        of_file("a.json", &large),
        Err("`PATH` has more than the 16777216 bytes that can be queried; use search_files to find the part you need".to_owned())
    );
}

#[test]
fn query_takes_one_of_path_and_text() {
    let none = QueryData {
        text: None,
        ..of_text(".", "")
    };
    assert_eq!(
        answer(none),
        Err("there is nothing to query; give `path` or `text`".to_owned())
    );
    let both = QueryData {
        path: Some("a".to_owned()),
        ..of_text(".", "1")
    };
    assert_eq!(
        answer(both),
        Err("there are both `path` and `text`; give one of them".to_owned())
    );
}

#[test]
fn results_without_an_end_are_cut() {
    let answer = answer(of_text("repeat(\"0123456789\")", "null")).expect("an answer");
    let (results, note) = answer.rsplit_once('\n').expect("lines");
    // Each line has twelve characters and its end.
    let count = (MAX_RESULT_BYTES - 1) / 13;
    assert_eq!(results, vec!["\"0123456789\""; count].join("\n"));
    assert_eq!(
        note,
        format!(
            "[cut after {count} results, which have {} bytes; more than {MAX_RESULT_BYTES} are not given. Select less, or use `limit(n; f)`]",
            13 * count
        )
    );
}

#[test]
fn failure_keeps_the_results_before_it() {
    assert_eq!(
        answer(of_text(".[] | 1 + .", "[1,\"a\"]")),
        Err("the filter failed after 1 results: cannot calculate 1 + \"a\"; `type` tells what a value is, and `?` passes over what does not fit".to_owned())
    );
}
