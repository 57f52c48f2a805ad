use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{ListArchive, list_archive};
use crate::archive::tests::fixture;

fn listing(path: &str, offset: usize) -> Result<Value, String> {
    let path = path.to_owned();
    list_archive(ListArchive { path, offset })
        .map(|listing| serde_json::to_value(listing.0).expect("JSON"))
        .map_err(|failure| failure.to_string())
}

fn of_fixture(name: &str) -> Value {
    let mut listing = listing(&fixture(name), 0).expect("a listing");
    listing["path"] = Value::Null;
    listing
}

const LINK: &str = "it is a symbolic link; links are not created";
const UP: &str = "its name leads out of the directory by `..`";
const TWICE: &str = "an earlier member has the same name";

#[test]
fn zip_of_python_is_listed() {
    let expected = json!({
        "path": null, "format": "zip", "total_members": 6, "total_bytes": 1023,
        "members": [
            { "name": "docs/", "kind": "directory" },
            { "name": "docs/a.txt", "kind": "file", "size_bytes": 8 },
            { "name": "größe.txt", "kind": "file", "size_bytes": 7 },
            { "name": "stored.bin", "kind": "file", "size_bytes": 3 },
            { "name": "docs/link", "kind": "symlink", "not_extracted": LINK },
            { "name": "big64.txt", "kind": "file", "size_bytes": 1000 },
        ],
    });
    assert_eq!(of_fixture("plain.zip"), expected);
}

#[test]
fn tars_of_python_are_listed_alike() {
    let expected = |format: &str| {
        json!({
            "path": null, "format": format, "total_members": 9, "total_bytes": 35,
            "members": [
                { "name": "docs/", "kind": "directory" },
                { "name": "docs/a.txt", "kind": "file", "size_bytes": 8 },
                { "name": "größe.txt", "kind": "file", "size_bytes": 7 },
                { "name": "deep/".repeat(30) + "leaf.txt", "kind": "file", "size_bytes": 4 },
                { "name": "docs/link", "kind": "symlink", "target": "../../../etc/passwd", "not_extracted": LINK },
                { "name": "docs/hard", "kind": "hard-link", "target": "docs/a.txt",
                  "not_extracted": "it is a hard link; links are not created" },
                { "name": "pipe", "kind": "other", "not_extracted": "it is neither a file nor a directory" },
                { "name": "../up.txt", "kind": "file", "size_bytes": 2, "not_extracted": UP },
                { "name": "docs/a.txt", "kind": "file", "size_bytes": 14, "not_extracted": TWICE },
            ],
        })
    };
    for (name, format) in [
        ("gnu.tar", "tar"),
        ("pax.tar", "tar"),
        ("gnu.tar.gz", "tar.gz"),
    ] {
        assert_eq!(of_fixture(name), expected(format), "{name}");
    }
}

#[test]
fn hostile_zip_is_listed_with_reasons() {
    let reasons: Vec<(String, Value)> = of_fixture("hostile.zip")["members"]
        .as_array()
        .expect("members")
        .iter()
        .map(|member| {
            let name = member["name"].as_str().expect("a name").to_owned();
            (name, member["not_extracted"].clone())
        })
        .collect();
    let expected = [
        ("../up.txt", json!(UP)),
        ("/etc/absolute.txt", json!("its name is an absolute path")),
        ("a/../../b.txt", json!(UP)),
        ("C:/drive.txt", json!("its name starts with a drive")),
        ("fine.txt", Value::Null),
        ("fine.txt", json!(TWICE)),
        ("./fine.txt", json!(TWICE)),
        ("fine.txt/below.txt", Value::Null),
        (
            "back\\slash.txt",
            json!("its name has a backslash, which some systems take for a slash"),
        ),
        ("bell\u{7}.txt", json!("its name has a control character")),
        ("packed.bz2.txt", Value::Null),
    ]
    .map(|(name, reason)| (name.to_owned(), reason));
    assert_eq!(reasons, expected);
}

#[test]
fn long_listing_has_parts() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("many.tar");
    let mut builder = tar::Builder::new(fs::File::create(&path).expect("a file"));
    for number in 0..1_000 {
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_cksum();
        builder
            .append_data(&mut header, format!("{number:03}"), std::io::empty())
            .expect("a member");
    }
    builder.into_inner().expect("an archive");
    let path = path.to_str().expect("UTF-8");
    let (mut offset, mut names) = (0, Vec::new());
    loop {
        let part = listing(path, offset).expect("a listing");
        assert!(part.to_string().len() <= agent_tool_bounded::MAX_RESULT_BYTES);
        let members = part["members"].as_array().expect("members");
        names.extend(members.iter().map(|member| member["name"].clone()));
        if part["note"].is_null() {
            break;
        }
        offset += members.len();
        let expected = format!(
            "{} of 1000 members are shown; offset {offset} continues",
            members.len()
        );
        assert_eq!(part["note"], json!(expected));
    }
    let expected: Vec<Value> = (0..1_000)
        .map(|number| json!(format!("{number:03}")))
        .collect();
    assert_eq!(names, expected);
}
