use std::io::Cursor;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use tar::{EntryType, Header};

use super::{is_header, walk};
use crate::archive::WalkError;
use crate::member::{Kind, Member};

fn block(name: &str, kind: EntryType, data: &[u8]) -> Vec<u8> {
    sized(name, kind, data, data.len() as u64)
}

fn sized(name: &str, kind: EntryType, data: &[u8], size: u64) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_cksum();
    let padding = vec![0; data.len().next_multiple_of(512) - data.len()];
    [header.as_bytes().to_vec(), data.to_vec(), padding].concat()
}

type Seen = Vec<(Member, Vec<u8>)>;

/// The members with their contents, or the first error.
fn seen(bytes: &[u8]) -> Result<Seen, String> {
    let mut seen = Vec::new();
    walk(Cursor::new(bytes), &mut |member, content| {
        let mut read = Vec::new();
        content
            .read_to_end(&mut read)
            .map_err(|error| agent_tool_bounded::Failure::new(error.to_string()))?;
        seen.push((member.clone(), read));
        Ok(true)
    })
    .map_err(|error| match error {
        WalkError::Archive(error) => error.to_string(),
        WalkError::Visit(failure) => failure.to_string(),
    })?;
    Ok(seen)
}

fn file(name: &str, content: &[u8]) -> (Member, Vec<u8>) {
    let member = Member {
        index: 0,
        name: name.to_owned(),
        kind: Kind::File,
        size: Some(content.len() as u64),
        encrypted: false,
        target: None,
    };
    (member, content.to_vec())
}

#[test]
fn description_before_a_member_is_taken() {
    let plain = block("a", EntryType::Regular, b"x");
    let cases = [
        ("none", vec![], file("a", b"x")),
        (
            "gnu",
            block("", EntryType::GNULongName, b"long\0"),
            file("long", b"x"),
        ),
        (
            "pax",
            block(
                "",
                EntryType::XHeader,
                b"13 path=pax/\n15 comment=x y\n12 path=two\n",
            ),
            file("two", b"x"),
        ),
        (
            "newline",
            block("", EntryType::XHeader, b"12 path=a\nb\n"),
            file("a\nb", b"x"),
        ),
        (
            "global",
            block("", EntryType::XGlobalHeader, b"12 path=all\n"),
            file("a", b"x"),
        ),
        (
            "size",
            block("", EntryType::XHeader, b"10 size=1\n"),
            file("a", b"x"),
        ),
    ];
    for (name, before, expected) in cases {
        let bytes = [before, plain.clone(), vec![0; 1024]].concat();
        assert_eq!(seen(&bytes), Ok(vec![expected]), "{name}");
    }
    let sparse = block("", EntryType::XHeader, b"22 GNU.sparse.major=1\n");
    let (member, content) = file("a", b"x");
    let expected = (
        Member {
            kind: Kind::Other,
            size: Some(0),
            ..member
        },
        content,
    );
    assert_eq!(seen(&[sparse, plain].concat()), Ok(vec![expected]));
}

#[test]
fn tar_that_misleads_is_an_error() {
    let plain = block("a", EntryType::Regular, b"x");
    let pax = |records: &[u8]| [block("", EntryType::XHeader, records), plain.clone()].concat();
    let wrong = "a pax record has a wrong form";
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "cut content",
            sized("a", EntryType::Regular, b"x", 4_000),
            "it ends too early",
        ),
        (
            "cut header",
            plain[..300].to_vec(),
            "failed to read entire block",
        ),
        (
            "checksum",
            [plain[..10].to_vec(), vec![1], plain[11..].to_vec()].concat(),
            "archive header checksum mismatch",
        ),
        (
            "two sizes",
            pax(b"13 size=4000\n"),
            "a member has two sizes",
        ),
        (
            "no size",
            pax(b"11 size=-1\n"),
            "a pax record has a size of no number",
        ),
        ("pax length", pax(b"99 path=a\n"), wrong),
        ("pax no length", pax(b"path=a\n"), wrong),
        ("pax no equals", pax(b"7 path\n"), wrong),
        ("pax short length", pax(b"2 path=a\n"), wrong),
        (
            "long pax",
            pax(&vec![b'1'; 70_000]),
            "the description of a member is too long",
        ),
        (
            "long name",
            block("", EntryType::GNULongName, &vec![b'x'; 5_000]),
            "the description of a member is too long",
        ),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(seen(&bytes), Err(expected.to_owned()), "{name}");
    }
}

#[test]
fn members_are_bounded() {
    let one = block("a", EntryType::Regular, b"");
    let most = one.repeat(50_000);
    assert_eq!(seen(&most).map(|seen| seen.len()), Ok(50_000));
    assert_eq!(
        seen(&[most, one].concat()),
        Err("it has more than 50000 members".to_owned())
    );
}

#[test]
fn header_is_told_by_its_checksum() {
    let mut header = block("a", EntryType::Regular, b"");
    assert!(is_header(&header));
    assert!(is_header(&[0; 512]));
    assert!(!is_header(&header[..511]));
    header[0] = b'b';
    assert!(!is_header(&header));
}

proptest! {
    #[test]
    fn changed_tar_is_no_panic_fuzz(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        fixed in any::<bool>(),
    ) {
        let mut bytes = [
            block("", EntryType::XHeader, b"12 path=abc\n"),
            block("", EntryType::GNULongLink, b"target\0"),
            block("a", EntryType::Symlink, b""),
            block("b", EntryType::Regular, b"content"),
            vec![0; 1024],
        ].concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if fixed {
            // With true checksums the changes are seen.
            for at in (0..bytes.len()).step_by(512) {
                let mut header = Header::new_old();
                header.as_mut_bytes().copy_from_slice(&bytes[at..at + 512]);
                if header.as_bytes()[100..108].iter().any(|byte| *byte != 0) {
                    header.set_cksum();
                    bytes[at..at + 512].copy_from_slice(header.as_bytes());
                }
            }
        }
        let _ = seen(&bytes);
    }
}
