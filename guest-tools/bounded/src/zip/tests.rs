use std::io::{self, Cursor, Read as _, Write as _};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{Entry, MAX_DIRECTORY_BYTES, MAX_MEMBERS, Zip};

/// A member as the archive states it, true or not.
#[derive(Clone)]
struct Lie {
    name: &'static [u8],
    own_name: &'static [u8],
    data: Vec<u8>,
    method: u16,
    flags: u16,
    size: u32,
    compressed: u32,
    crc32: u32,
    offset: u32,
}

/// A member that is as stated, at the start of the file.
fn honest(content: &[u8], method: u16) -> Lie {
    let data = if method == 8 {
        deflated(content)
    } else {
        content.to_vec()
    };
    let mut crc = flate2::Crc::new();
    crc.update(content);
    Lie {
        name: b"a",
        own_name: b"a",
        method,
        flags: 0,
        size: content.len() as u32,
        compressed: data.len() as u32,
        crc32: crc.sum(),
        offset: 0,
        data,
    }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("a buffer");
    encoder.finish().expect("a buffer")
}

fn u16s(values: &[u16]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn u32s(values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn own_header(lie: &Lie) -> Vec<u8> {
    [
        b"PK\x03\x04".to_vec(),
        u16s(&[20, lie.flags, lie.method, 0, 0]),
        u32s(&[lie.crc32, lie.compressed, lie.size]),
        u16s(&[lie.own_name.len() as u16, 0]),
        lie.own_name.to_vec(),
        lie.data.clone(),
    ]
    .concat()
}

fn entry(lie: &Lie) -> Vec<u8> {
    [
        b"PK\x01\x02".to_vec(),
        u16s(&[0x0314, 20, lie.flags, lie.method, 0, 0]),
        u32s(&[lie.crc32, lie.compressed, lie.size]),
        u16s(&[lie.name.len() as u16, 0, 0, 0, 0]),
        u32s(&[0o100_644 << 16, lie.offset]),
        lie.name.to_vec(),
    ]
    .concat()
}

fn end(count: u16, size: u32, offset: u32) -> Vec<u8> {
    [
        b"PK\x05\x06".to_vec(),
        u16s(&[0, 0, count, count]),
        u32s(&[size, offset]),
        u16s(&[0]),
    ]
    .concat()
}

fn archive(lie: &Lie) -> Vec<u8> {
    let (members, directory) = (own_header(lie), entry(lie));
    let end = end(1, directory.len() as u32, members.len() as u32);
    [members, directory, end].concat()
}

/// The entries and contents of an archive, or the first error as text.
fn read(bytes: &[u8]) -> Result<Vec<(Entry, Vec<u8>)>, String> {
    let mut zip = Zip::open(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let entries = zip.entries().to_vec();
    let read = entries.into_iter().enumerate().map(|(index, entry)| {
        let mut content = Vec::new();
        zip.content(index)
            .map_err(io::Error::from)
            .and_then(|mut reader| reader.read_to_end(&mut content))
            .map_err(|error| error.to_string())?;
        Ok((entry, content))
    });
    read.collect()
}

fn contents(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    read(bytes).map(|read| read.into_iter().map(|(_, content)| content).collect())
}

#[test]
fn honest_member_is_read() {
    for method in [0, 8] {
        let lie = honest(b"abcabcabc", method);
        let bytes = archive(&lie);
        let expected = Entry {
            name: "a".to_owned(),
            size: 9,
            compressed: u64::from(lie.compressed),
            method,
            encrypted: false,
            unix_mode: Some(0o100_644),
            raw_name: b"a".to_vec(),
            crc32: lie.crc32,
            offset: 0,
        };
        assert_eq!(
            read(&bytes),
            Ok(vec![(expected.clone(), b"abcabcabc".to_vec())])
        );
        let behind_a_program = [b"#!/bin/sh\n".to_vec(), bytes].concat();
        let moved = Entry {
            offset: 10,
            ..expected
        };
        assert_eq!(
            read(&behind_a_program),
            Ok(vec![(moved, b"abcabcabc".to_vec())])
        );
    }
}

#[test]
fn lie_of_a_member_is_an_error() {
    let text = b"abcabcabc";
    let damaged = |how: &str| format!("it is damaged, or made to mislead: {how}");
    let cases: Vec<(&str, Lie, String)> = vec![
        (
            "longer",
            Lie {
                size: 8,
                ..honest(text, 8)
            },
            damaged("a member is longer than stated"),
        ),
        (
            "shorter",
            Lie {
                size: 10,
                ..honest(text, 8)
            },
            damaged("a member is shorter than stated"),
        ),
        (
            "checksum",
            Lie {
                crc32: 1,
                ..honest(text, 8)
            },
            damaged("a member does not have the stated checksum"),
        ),
        (
            "stored sizes",
            Lie {
                size: 8,
                ..honest(text, 0)
            },
            damaged("two sizes of a stored member differ"),
        ),
        (
            "no deflate",
            Lie {
                data: vec![7; 9],
                compressed: 9,
                ..honest(text, 8)
            },
            damaged("a member does not have the form of deflate"),
        ),
        (
            "cut deflate",
            Lie {
                compressed: 2,
                ..honest(text, 8)
            },
            damaged("a member does not have the form of deflate"),
        ),
        (
            "other name",
            Lie {
                own_name: b"b",
                ..honest(text, 8)
            },
            damaged("a member's own header contradicts the directory"),
        ),
        (
            "offset",
            Lie {
                offset: 1,
                ..honest(text, 8)
            },
            damaged("there is no member where the directory says"),
        ),
        (
            "offset out",
            Lie {
                offset: 4_000,
                ..honest(text, 8)
            },
            damaged("a member is not in the file"),
        ),
        (
            "size of 64 bits",
            Lie {
                size: u32::MAX,
                ..honest(text, 8)
            },
            damaged("a size of 64 bits is missing"),
        ),
        (
            "password",
            Lie {
                flags: 1,
                ..honest(text, 8)
            },
            "it is encrypted, and no password can be given".to_owned(),
        ),
        (
            "bzip2",
            Lie {
                method: 12,
                ..honest(text, 8)
            },
            "it is compressed by bzip2; only deflate can be read".to_owned(),
        ),
        (
            "method",
            Lie {
                method: 77,
                ..honest(text, 8)
            },
            "it is compressed by method 77; only deflate can be read".to_owned(),
        ),
        (
            "ratio",
            Lie {
                size: 17 << 20,
                ..honest(text, 8)
            },
            "it would grow more than 200 times, as a decompression bomb does".to_owned(),
        ),
    ];
    for (name, lie, expected) in cases {
        assert_eq!(contents(&archive(&lie)), Err(expected), "{name}");
    }
}

#[test]
fn lie_of_the_directory_is_an_error() {
    let lie = honest(b"abc", 8);
    let (members, directory) = (own_header(&lie), entry(&lie));
    let (size, offset) = (directory.len() as u32, members.len() as u32);
    let with = |end: Vec<u8>| [members.clone(), directory.clone(), end].concat();
    let damaged = |how: &str| Err(format!("it is damaged, or made to mislead: {how}"));
    let no_zip = Err("it has no directory of a ZIP archive at its end".to_owned());
    let cases = [
        ("nothing", vec![], no_zip.clone()),
        (
            "no end",
            [members.clone(), directory.clone()].concat(),
            no_zip.clone(),
        ),
        (
            "more after the end",
            [with(end(1, size, offset)), vec![0]].concat(),
            no_zip,
        ),
        (
            "count",
            with(end(2, size, offset)),
            damaged("the number of members is not the stated one"),
        ),
        (
            "size",
            with(end(1, size + 400, offset)),
            damaged("its directory is larger than it"),
        ),
        (
            "size in the members",
            with(end(1, size + 1, offset)),
            damaged("its directory is not where it should be"),
        ),
        (
            "cut entry",
            with(end(1, size - 1, offset)),
            damaged("its directory does not have the form of one"),
        ),
        (
            "huge directory",
            with(end(1, MAX_DIRECTORY_BYTES as u32 + 1, 0)),
            Err("its directory has more than 8388608 bytes".to_owned()),
        ),
        (
            "many members",
            with(end(MAX_MEMBERS as u16 + 1, size, offset)),
            Err("it has more than 50000 members".to_owned()),
        ),
        (
            "volume",
            with({
                let mut end = end(1, size, offset);
                end[4] = 1;
                end
            }),
            Err("it is one volume of an archive of several files".to_owned()),
        ),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(contents(&bytes), expected, "{name}");
    }
}

#[test]
fn stated_sizes_of_64_bits_are_not_allocated() {
    let lie = honest(b"abc", 8);
    let (members, directory) = (own_header(&lie), entry(&lie));
    let record = |count: u64, size: u64| {
        let place = [count, count, size, members.len() as u64];
        [
            b"PK\x06\x06".to_vec(),
            44u64.to_le_bytes().to_vec(),
            u16s(&[45, 45]),
            u32s(&[0, 0]),
            place.iter().flat_map(|value| value.to_le_bytes()).collect(),
            b"PK\x06\x07".to_vec(),
            vec![0; 16],
        ]
        .concat()
    };
    let with = |count, size| {
        [
            members.clone(),
            directory.clone(),
            record(count, size),
            end(u16::MAX, u32::MAX, u32::MAX),
        ]
        .concat()
    };
    assert_eq!(
        contents(&with(1, directory.len() as u64)),
        Ok(vec![b"abc".to_vec()])
    );
    assert_eq!(
        contents(&with(u64::MAX, directory.len() as u64)),
        Err("it has more than 50000 members".to_owned())
    );
    assert_eq!(
        contents(&with(1, u64::MAX)),
        Err("its directory has more than 8388608 bytes".to_owned())
    );
}

#[test]
fn name_without_flag_is_in_code_page_437() {
    let lie = Lie {
        name: b"gr\x94\xe1e",
        own_name: b"gr\x94\xe1e",
        ..honest(b"", 0)
    };
    let names: Vec<String> = read(&archive(&lie))
        .expect("an archive")
        .into_iter()
        .map(|(entry, _)| entry.name)
        .collect();
    assert_eq!(names, ["größe"]);
}

proptest! {
    #[test]
    fn random_bytes_are_no_panic_fuzz(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = contents(&bytes);
    }

    #[test]
    fn changed_archive_is_no_panic_fuzz(
        content in proptest::collection::vec(any::<u8>(), 0..60),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = archive(&honest(&content, 8));
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // Whatever is read has the stated checksum.
        if let Ok(read) = read(&bytes) {
            for (entry, content) in read {
                let mut crc = flate2::Crc::new();
                crc.update(&content);
                prop_assert_eq!((entry.size, entry.crc32), (content.len() as u64, crc.sum()));
            }
        }
    }
}
