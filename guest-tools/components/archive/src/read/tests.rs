use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;

use super::{ReadMember, read_member};
use crate::archive::tests::fixture;

fn read(archive: &str, member: &str, index: Option<usize>) -> Result<Output, String> {
    let path = fixture(archive);
    read_member(ReadMember {
        path: path.clone(),
        member: member.to_owned(),
        index,
        offset: 0,
    })
    .map_err(|failure| failure.to_string().replace(&path, "PATH"))
}

#[test]
fn content_is_that_of_python() {
    let text = |text: &str| Ok(Output::text(text));
    let deep = "deep/".repeat(30) + "leaf.txt";
    let cases = [
        ("plain.zip", "docs/a.txt", text("one\ntwo\n")),
        ("plain.zip", "größe.txt", text("größe")),
        ("plain.zip", "big64.txt", text(&"0123456789".repeat(100))),
        (
            "plain.zip",
            "stored.bin",
            Ok(Output::content([Part::bytes(
                "application/octet-stream",
                vec![0, 1, 2],
            )
            .named("stored.bin")])),
        ),
        ("gnu.tar", &deep, text("deep")),
        ("pax.tar", &deep, text("deep")),
        ("gnu.tar.gz", "größe.txt", text("größe")),
        ("gnu.tar.gz", "../up.txt", text("up")),
        ("notes.txt.gz", "notes.txt", text("first\nsecond\n")),
    ];
    for (archive, member, expected) in cases {
        assert_eq!(read(archive, member, None), expected, "{archive} {member}");
    }
}

#[test]
fn members_of_one_name_are_told_apart() {
    assert_eq!(
        read("hostile.zip", "fine.txt", None),
        Err("2 members of `PATH` have the name `fine.txt`; give `index`, such as 4, 5".to_owned())
    );
    assert_eq!(
        read("hostile.zip", "fine.txt", Some(5)),
        Ok(Output::text("the second of this name"))
    );
    assert_eq!(
        read("gnu.tar", "docs/a.txt", Some(8)),
        Ok(Output::text("a second time\n"))
    );
}

#[test]
fn member_without_content_says_why() {
    let cases = [
        (
            "plain.zip",
            "docs/",
            "`docs/` is a directory and has no content; read a file of the archive",
        ),
        (
            "plain.zip",
            "docs/link",
            "`docs/link` is a symbolic link and has no content; read a file of the archive",
        ),
        (
            "gnu.tar",
            "docs/link",
            "`docs/link` is a symbolic link to `../../../etc/passwd` and has no content; read a file of the archive",
        ),
        (
            "gnu.tar",
            "docs/hard",
            "`docs/hard` is a hard link to `docs/a.txt` and has no content; read a file of the archive",
        ),
        (
            "gnu.tar",
            "pipe",
            "`pipe` is neither a file nor a directory and has no content; read a file of the archive",
        ),
        (
            "plain.zip",
            "none",
            "`PATH` has no member `none` there; list_archive shows the names",
        ),
        (
            "encrypted.zip",
            "secret.txt",
            "`secret.txt` cannot be read: it is encrypted, and no password can be given",
        ),
        (
            "hostile.zip",
            "packed.bz2.txt",
            "`packed.bz2.txt` cannot be read: it is compressed by bzip2; only deflate can be read",
        ),
        (
            "bomb.zip",
            "zeros.bin",
            "`zeros.bin` cannot be read: it would grow more than 200 times, as a decompression bomb does",
        ),
        (
            "bomb.gz",
            "bomb",
            "`bomb` has more than 8388608 bytes; extract_archive writes it to a file, which can be searched",
        ),
    ];
    for (archive, member, expected) in cases {
        assert_eq!(
            read(archive, member, None),
            Err(expected.to_owned()),
            "{archive} {member}"
        );
    }
}
