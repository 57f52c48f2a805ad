//! Golden files and files written by tools.

use super::{CONFORMANCE, TestDir, mismatches, of};
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
async fn golden_file_is_compared_and_written_on_update() {
    let dir = TestDir::new();
    let cases = GOLDEN.replace("'one\ntwo'", "\"one\\ntwo\"");
    let update = TestPlan {
        update: true,
        ..of(CONFORMANCE)
    };
    let report = dir.run(&cases, of(CONFORMANCE)).await.unwrap();
    assert_eq!(report.failed(), 2);

    let (text, json) = ("tests/golden/text.txt", "tests/golden/json.json");
    let report = dir.run(&cases, update.clone()).await.unwrap();
    let written = |dir: &TestDir, name| vec![dir.path(name).display().to_string()];
    let all: Vec<_> = report.cases.iter().map(|case| &case.written).collect();
    assert_eq!(all, [&written(&dir, text), &written(&dir, json)]);
    assert_eq!(report.failed(), 0);
    assert_eq!(dir.read(text), "one\ntwo");
    assert_eq!(
        dir.read(json),
        "{\n  \"type\": \"json\",\n  \"value\": [\n    1\n  ]\n}\n"
    );

    let report = dir.run(&cases, of(CONFORMANCE)).await.unwrap();
    assert_eq!(report.failed(), 0);
    dir.write(text, "one\n2");
    let report = dir.run(&cases, of(CONFORMANCE)).await.unwrap();
    let what = format!("golden {}", dir.path(text).display());
    assert_eq!(
        mismatches(&report),
        [
            ("text", vec![[what.as_str(), "one\n2", "one\ntwo"]]),
            ("json", vec![])
        ]
    );
    // An unchanged file is not written again.
    let report = dir.run(&cases, update).await.unwrap();
    let all: Vec<_> = report.cases.iter().map(|case| &case.written).collect();
    assert_eq!(all, [&written(&dir, text), &Vec::new()]);
}

/// Each case writes to its own copies, so cases are independent and the project's files stay
/// unchanged.
#[tokio::test]
async fn case_writes_to_a_copy() {
    let dir = TestDir::new();
    dir.write("tests/fixtures/directory/a.txt", "a");
    std::os::unix::fs::symlink("directory/a.txt", dir.path("tests/fixtures/link")).unwrap();
    let cases = "
        [[grants.dir]]
        host = 'fixtures'
        mode = 'read-write'
        [[case]]
        name = 'writes'
        tool = 'write_file'
        input = { path = 'directory/b.txt', content = 'b' }
        expect.variant = 'json'
        expect.files = { '/workspace/directory/a.txt' = 'a', '/workspace/directory/b.txt' = 'b', '/workspace/link' = 'a' }
        [[case]]
        name = 'does not see it'
        tool = 'read_file'
        input = { path = 'directory/b.txt' }
        expect.variant = 'error-text'
        expect.files = { '/workspace/directory/b.txt' = false }
        [[case]]
        name = 'is told'
        tool = 'write_file'
        input = { path = 'directory/a.txt', content = 'changed' }
        expect.variant = 'json'
        expect.files = { '/workspace/directory/a.txt' = 'a', '/workspace/directory/b.txt' = 'b', '/workspace/link' = false, '/elsewhere' = 'c' }
    ";
    let report = dir.run(cases, of("builtin:files")).await.unwrap();
    assert_eq!(
        mismatches(&report),
        [
            ("writes", vec![]),
            ("does not see it", vec![]),
            (
                "is told",
                vec![
                    [
                        "files /elsewhere",
                        "c",
                        "no directory is granted at that path"
                    ],
                    ["files /workspace/directory/a.txt", "a", "changed"],
                    ["files /workspace/directory/b.txt", "b", "no such file"],
                    ["files /workspace/link", "no such file", "a file"],
                ]
            ),
        ]
    );
    assert_eq!(dir.read("tests/fixtures/directory/a.txt"), "a");
    assert!(!dir.path("tests/fixtures/directory/b.txt").exists());
}
