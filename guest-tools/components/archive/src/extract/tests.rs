use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{ExtractArchive, extract_archive};
use crate::archive::tests::fixture;

fn extract(
    archive: &str,
    into: &Path,
    members: Option<&[&str]>,
    overwrite: bool,
) -> Result<Value, String> {
    let into = into.to_str().expect("UTF-8").to_owned();
    let path = fixture(archive);
    extract_archive(ExtractArchive {
        path: path.clone(),
        into: into.clone(),
        members: members.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
        overwrite,
    })
    .map(|extracted| {
        let mut value = serde_json::to_value(extracted.0).expect("JSON");
        value["into"] = Value::Null;
        value
    })
    .map_err(|failure| {
        failure
            .to_string()
            .replace(&path, "PATH")
            .replace(&into, "INTO")
    })
}

/// All files below a directory, and `/` for the directories.
fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path
                .strip_prefix(root)
                .expect("below")
                .display()
                .to_string();
            if path.is_symlink() {
                found.insert(name, "->".to_owned());
            } else if path.is_dir() {
                found.insert(name, "/".to_owned());
                left.push(path);
            } else {
                let content = fs::read(&path).expect("a file");
                found.insert(name, String::from_utf8_lossy(&content).into_owned());
            }
        }
    }
    found
}

fn files<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files
        .map(|(name, content)| (name.to_owned(), content.to_owned()))
        .into()
}

#[test]
fn zip_is_extracted_without_its_link() {
    let directory = tempfile::tempdir().expect("a directory");
    let into = directory.path().join("new/place");
    let expected = json!({
        "into": null, "files": 4, "directories": 1, "bytes": 1018, "total_skipped": 1,
        "skipped": [{ "name": "docs/link", "reason": "it is a symbolic link; links are not created" }],
    });
    assert_eq!(extract("plain.zip", &into, None, false), Ok(expected));
    assert_eq!(
        tree(&into),
        files([
            ("big64.txt", &"0123456789".repeat(100)),
            ("docs", "/"),
            ("docs/a.txt", "one\ntwo\n"),
            ("größe.txt", "größe"),
            ("stored.bin", "\0\u{1}\u{2}"),
        ])
    );
}

#[test]
fn hostile_zip_stays_below_its_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let into = directory.path().join("into");
    let reason = |name: &str, reason: &str| json!({ "name": name, "reason": reason });
    let expected = json!({
        "into": null, "files": 1, "directories": 0, "bytes": 19, "total_skipped": 10,
        "skipped": [
            reason("../up.txt", "its name leads out of the directory by `..`"),
            reason("/etc/absolute.txt", "its name is an absolute path"),
            reason("a/../../b.txt", "its name leads out of the directory by `..`"),
            reason("C:/drive.txt", "its name starts with a drive"),
            reason("fine.txt", "an earlier member has the same name"),
            reason("./fine.txt", "an earlier member has the same name"),
            reason("back\\slash.txt", "its name has a backslash, which some systems take for a slash"),
            reason("bell\u{7}.txt", "its name has a control character"),
            reason("fine.txt/below.txt", "`fine.txt` is there already and is no directory"),
            reason("packed.bz2.txt", "it cannot be read: it is compressed by bzip2; only deflate can be read"),
        ],
    });
    assert_eq!(extract("hostile.zip", &into, None, false), Ok(expected));
    assert_eq!(
        tree(directory.path()),
        files([("into", "/"), ("into/fine.txt", "content of fine.txt")])
    );
}

#[test]
fn tar_is_extracted_by_selection() {
    let directory = tempfile::tempdir().expect("a directory");
    let expected = json!({
        "into": null, "files": 1, "directories": 1, "bytes": 8, "total_skipped": 3,
        "skipped": [
            { "name": "docs/link", "reason": "it is a symbolic link; links are not created" },
            { "name": "docs/hard", "reason": "it is a hard link; links are not created" },
            { "name": "docs/a.txt", "reason": "an earlier member has the same name" },
        ],
    });
    assert_eq!(
        extract("gnu.tar.gz", directory.path(), Some(&["docs"]), false),
        Ok(expected)
    );
    assert_eq!(
        tree(directory.path()),
        files([("docs", "/"), ("docs/a.txt", "one\ntwo\n")])
    );
    assert_eq!(
        extract("gnu.tar.gz", directory.path(), Some(&["doc"]), false),
        Err("the archive has no member `doc`, and nothing was extracted; list_archive shows the names".to_owned())
    );
}

#[test]
fn existing_file_stays_without_overwrite() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("notes.txt");
    fs::write(&file, "mine").expect("a file");
    let expected = json!({
        "into": null, "files": 0, "directories": 0, "bytes": 0, "total_skipped": 1,
        "skipped": [{ "name": "notes.txt", "reason": "there is a file of this name; `overwrite` replaces it" }],
    });
    assert_eq!(
        extract("notes.txt.gz", directory.path(), None, false),
        Ok(expected)
    );
    assert_eq!(fs::read_to_string(&file).expect("a file"), "mine");
    let expected = json!({
        "into": null, "files": 1, "directories": 0, "bytes": 13, "total_skipped": 0, "skipped": [],
    });
    assert_eq!(
        extract("notes.txt.gz", directory.path(), None, true),
        Ok(expected)
    );
    assert_eq!(
        fs::read_to_string(&file).expect("a file"),
        "first\nsecond\n"
    );
}

#[test]
fn link_in_the_directory_is_not_followed() {
    let directory = tempfile::tempdir().expect("a directory");
    let (into, outside) = (
        directory.path().join("into"),
        directory.path().join("outside"),
    );
    fs::create_dir_all(&into).expect("a directory");
    fs::create_dir_all(&outside).expect("a directory");
    std::os::unix::fs::symlink(&outside, into.join("docs")).expect("a link");
    std::os::unix::fs::symlink(outside.join("x"), into.join("stored.bin")).expect("a link");
    let result = extract(
        "plain.zip",
        &into,
        Some(&["docs/a.txt", "stored.bin"]),
        true,
    );
    let expected = json!({
        "into": null, "files": 0, "directories": 0, "bytes": 0, "total_skipped": 2,
        "skipped": [
            { "name": "docs/a.txt", "reason": "`docs` is there already and is no directory" },
            { "name": "stored.bin", "reason": "there is something of this name that is no file" },
        ],
    });
    assert_eq!(result, Ok(expected));
    assert_eq!(tree(&outside), files([]));
}

#[test]
fn bomb_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let into = directory.path().join("into");
    let ratio = "it would grow more than 200 times, as a decompression bomb does";
    let expected = json!({
        "into": null, "files": 0, "directories": 0, "bytes": 0, "total_skipped": 1,
        "skipped": [{ "name": "zeros.bin", "reason": format!("it cannot be read: {ratio}") }],
    });
    assert_eq!(extract("bomb.zip", &into, None, false), Ok(expected));
    assert_eq!(
        extract("bomb.gz", &into, None, false),
        Err(format!("`bomb` cannot be read: {ratio}"))
    );
    assert_eq!(tree(&into), files([]));
}
