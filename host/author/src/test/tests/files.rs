//! Files of cases: golden ones, and those that a tool writes.

use super::{CONFORMANCE, Place, of, told};
use crate::test::TestPlan;
use pretty_assertions::assert_eq;

const GOLDEN: &str = "
    [[case]]
    name = 'text'
    tool = 'give_text'
    input = { text = 'one\ntwo' }
    expect.golden = 'golden/text.txt'
    [[case]]
    name = 'json'
    tool = 'give_json'
    input = { value = [1] }
    expect.golden = 'golden/json.json'
";

#[tokio::test]
async fn a_golden_file_is_written_when_that_is_asked_for_and_else_compared() {
    let place = Place::new();
    let cases = GOLDEN.replace("'one\ntwo'", "\"one\\ntwo\"");
    let update = TestPlan {
        update: true,
        ..of(CONFORMANCE)
    };
    let report = place.run(&cases, of(CONFORMANCE)).await.unwrap();
    assert_eq!(report.failed(), 2);

    let (text, json) = ("tests/golden/text.txt", "tests/golden/json.json");
    let report = place.run(&cases, update.clone()).await.unwrap();
    let written = |place: &Place, name| vec![place.path(name).display().to_string()];
    let all: Vec<_> = report.cases.iter().map(|case| &case.written).collect();
    assert_eq!(all, [&written(&place, text), &written(&place, json)]);
    assert_eq!(report.failed(), 0);
    assert_eq!(place.read(text), "one\ntwo");
    assert_eq!(
        place.read(json),
        "{\n  \"type\": \"json\",\n  \"value\": [\n    1\n  ]\n}\n"
    );

    let report = place.run(&cases, of(CONFORMANCE)).await.unwrap();
    assert_eq!(report.failed(), 0);
    place.write(text, "one\n2");
    let report = place.run(&cases, of(CONFORMANCE)).await.unwrap();
    let what = format!("golden {}", place.path(text).display());
    assert_eq!(
        told(&report),
        [
            ("text", vec![[what.as_str(), "one\n2", "one\ntwo"]]),
            ("json", vec![])
        ]
    );
    // What is as it should be is not written again.
    let report = place.run(&cases, update).await.unwrap();
    let all: Vec<_> = report.cases.iter().map(|case| &case.written).collect();
    assert_eq!(all, [&written(&place, text), &Vec::new()]);
}

/// Each case has a copy of what it may write to, so cases do not see each other's changes, and the project keeps its files.
#[tokio::test]
async fn a_case_writes_to_a_copy() {
    let place = Place::new();
    place.write("tests/fixtures/folder/a.txt", "a");
    std::os::unix::fs::symlink("folder/a.txt", place.path("tests/fixtures/link")).unwrap();
    let cases = "
        [[grants.dir]]
        host = 'fixtures'
        mode = 'read-write'
        [[case]]
        name = 'writes'
        tool = 'write_file'
        input = { path = 'folder/b.txt', content = 'b' }
        expect.variant = 'json'
        expect.files = { '/workspace/folder/a.txt' = 'a', '/workspace/folder/b.txt' = 'b', '/workspace/link' = 'a' }
        [[case]]
        name = 'does not see it'
        tool = 'read_file'
        input = { path = 'folder/b.txt' }
        expect.variant = 'error-text'
        expect.files = { '/workspace/folder/b.txt' = false }
        [[case]]
        name = 'is told'
        tool = 'write_file'
        input = { path = 'folder/a.txt', content = 'changed' }
        expect.variant = 'json'
        expect.files = { '/workspace/folder/a.txt' = 'a', '/workspace/folder/b.txt' = 'b', '/workspace/link' = false, '/elsewhere' = 'c' }
    ";
    let report = place.run(cases, of("builtin:files")).await.unwrap();
    assert_eq!(
        told(&report),
        [
            ("writes", vec![]),
            ("does not see it", vec![]),
            (
                "is told",
                vec![
                    ["files /elsewhere", "c", "no folder is granted there"],
                    ["files /workspace/folder/a.txt", "a", "changed"],
                    ["files /workspace/folder/b.txt", "b", "no such file"],
                    ["files /workspace/link", "no such file", "a file"],
                ]
            ),
        ]
    );
    assert_eq!(place.read("tests/fixtures/folder/a.txt"), "a");
    assert!(!place.path("tests/fixtures/folder/b.txt").exists());
}
