use super::*;
use crate::mutations::mutated;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const SKILL: &[u8] = b"---\nname: pdf\ndescription: d\n---\nDo.";

fn files(of: &[(&str, &[u8])]) -> SkillFiles {
    let of = of.iter();
    of.map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()))
        .collect()
}

/// An archive with one entry of any path and type, which the tar crate would not write, in the form
/// of GNU tar.
fn entry(path: &[u8], kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    header.set_entry_type(kind);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let padding = content.len().next_multiple_of(512) - content.len();
    [header.as_bytes(), content, &vec![0; padding]].concat()
}

fn regular(path: &[u8], content: &[u8]) -> Vec<u8> {
    entry(path, EntryType::Regular, content)
}

/// Ends an archive.
fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

#[test]
fn packed_files_are_unpacked_unchanged() {
    let long = format!("references/{}/{}", "d".repeat(100), "f".repeat(90));
    let files = files(&[
        ("SKILL.md", SKILL),
        ("assets/empty", b""),
        ("assets/form.png", &[0xff; 1_000]),
        (&long, b"long"),
    ]);
    let packed = pack(&files).unwrap();
    assert_eq!(unpack(&packed).unwrap(), files);
    assert_eq!(pack(&files).unwrap(), packed);
    let long = SkillFiles::from([("f".repeat(101), Vec::new())]);
    let error = pack(&long).unwrap_err();
    assert!(
        error.reason.starts_with("cannot pack its files: "),
        "{error}"
    );
}

/// The entries are those of `tar -C skill .` of GNU tar, and of bsdtar on macOS.
#[test]
fn archives_of_other_programs_are_unpacked() {
    let directory = |path: &[u8]| entry(path, EntryType::Directory, b"");
    let long = "r".repeat(120);
    let pax = format!("141 path=references/{long}\n");
    let gnu = archive(&[
        directory(b"./"),
        directory(b"."),
        regular(b"./SKILL.md", SKILL),
        regular(b"./._SKILL.md", b"resource fork"),
        directory(b"./references/"),
        entry(
            b"././@LongLink",
            EntryType::GNULongName,
            format!("./references/a{long}\0").as_bytes(),
        ),
        regular(b"./references/aaa", b"gnu"),
        entry(b"PaxHeader/x", EntryType::XHeader, pax.as_bytes()),
        regular(b"references/rrr", b"pax"),
        regular(b"./.git/HEAD", b"hidden"),
    ]);
    let expected = files(&[
        ("SKILL.md", SKILL),
        (&format!("references/a{long}"), b"gnu"),
        (&format!("references/{long}"), b"pax"),
    ]);
    assert_eq!(unpack(&gnu).unwrap(), expected);
    // The end of an archive may be missing.
    assert_eq!(unpack(&gnu[..gnu.len() - 1024]).unwrap(), expected);
    assert_eq!(unpack(b"").unwrap(), SkillFiles::new());
}

#[test]
fn hostile_archives_are_refused() {
    let plain = |path: &str| {
        let why = format!("its path {path:?} is not a plain path below its directory");
        (regular(path.as_bytes(), b"x"), why)
    };
    let irregular = |kind| {
        let why = "its file \"x\" is a link or not a regular file".to_owned();
        (entry(b"x", kind, b""), why)
    };
    let unreadable = |path: &[u8]| {
        let why = "the name of one of its files is not valid text".to_owned();
        (regular(path, b"x"), why)
    };
    let many = |count: usize, kind| -> Vec<u8> {
        let one = |n: usize| entry(format!("f{n}").as_bytes(), kind, b"");
        (0..count).flat_map(one).collect()
    };
    let mut broken = regular(b"x", b"");
    broken[0] = b'y';
    let pax_size = entry(b"p", EntryType::XHeader, b"25 size=9999999999999999\n");
    let name = entry(b"l", EntryType::GNULongName, &[b'n'; 300]);
    let mut cases = vec![
        irregular(EntryType::Symlink),
        irregular(EntryType::Link),
        irregular(EntryType::Char),
        irregular(EntryType::Block),
        irregular(EntryType::Fifo),
        irregular(EntryType::Continuous),
        irregular(EntryType::XGlobalHeader),
        irregular(EntryType::new(b'V')),
        unreadable(&[0xff]),
        unreadable(b"a\nb"),
        unreadable("a\u{202e}b".as_bytes()),
        (
            [regular(b"x", b""), regular(b"./x", b"")].concat(),
            "its file \"x\" occurs twice".to_owned(),
        ),
        (
            many(257, EntryType::Regular),
            "it has more than 256 files".to_owned(),
        ),
        (
            many(4_097, EntryType::Directory),
            "it has more than 4096 files and directories".to_owned(),
        ),
        (
            regular(b"1/2/3/4/5/6/7/8/9/a", b""),
            "its file \"1/2/3/4/5/6/7/8/9/a\" is more than 8 directories deep".to_owned(),
        ),
        (
            [name, regular(b"n", b"")].concat(),
            "the path of one of its files has more than 255 bytes".to_owned(),
        ),
        (
            regular(b"x", &vec![0; 8 << 20 | 1]),
            "its file \"x\" is longer than the remaining 8388572 bytes".to_owned(),
        ),
        (
            [pax_size, regular(b"x", b"x")].concat(),
            "its file \"x\" is longer than the remaining 8388572 bytes".to_owned(),
        ),
        (broken, "it is not a tar archive: ".to_owned()),
        (
            b"PK\x03\x04 is no tar archive, but something of the length of a header".repeat(8),
            "it is not a tar archive: ".to_owned(),
        ),
    ];
    cases.extend(
        [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a/..",
            "..",
            "a/./b",
            "a//b",
            "a/",
            "././a",
            "./",
        ]
        .map(plain),
    );
    for (entries, why) in cases {
        let error = unpack(&archive(&[regular(b"SKILL.md", SKILL), entries])).unwrap_err();
        assert!(error.reason.starts_with(&why), "{why}: {error}");
        assert!(error.to_string().len() < 600, "{error}");
    }
    let error = unpack(&regular(b"x", b"content")[..515]).unwrap_err();
    assert!(
        error.reason.starts_with("it is not a tar archive: "),
        "{error}"
    );
}

/// Makes every block a valid header, so that mutated ones are read.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    for block in bytes.chunks_exact_mut(512).filter(|block| block[0] != 0) {
        let mut header = Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        header.set_cksum();
        block.copy_from_slice(header.as_bytes());
    }
    bytes
}

proptest! {
    /// Whatever is in an archive, it is within the bounds or refused.
    #[test]
    fn fuzz_unpack(bytes in mutated(archive(&[
        regular(b"./SKILL.md", SKILL),
        entry(b"././@LongLink", EntryType::GNULongName, b"./references/long\0"),
        regular(b"l", b"long"),
        entry(b"x", EntryType::XHeader, b"17 path=a/b/c.md\n"),
        regular(b"c", b"pax"),
        entry(b"s", EntryType::GNUSparse, b"sparse"),
    ]))) {
        for files in [bytes.clone(), with_checksums(bytes)].iter().filter_map(|b| unpack(b).ok()) {
            for path in files.keys() {
                prop_assert_eq!(checked_path(Some(path)).unwrap(), path);
                prop_assert!(path.split('/').all(|part| !part.is_empty() && !part.starts_with('.')));
            }
        }
    }
}
