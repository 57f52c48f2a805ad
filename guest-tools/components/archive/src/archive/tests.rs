use std::fs;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{Archive, Format};

/// The path of a fixture, made by Python.
pub(crate) fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn format_of(bytes: &[u8]) -> Result<Format, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), bytes).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    Archive::open(path)
        .map(|archive| archive.format())
        .map_err(|failure| failure.to_string().replace(path, "PATH"))
}

/// Reads all of an archive; the number of members and bytes, or the error.
fn walked(path: &str) -> Result<(usize, u64), String> {
    let mut archive = Archive::open(path).map_err(|failure| failure.to_string())?;
    let mut found = (0, 0);
    archive
        .walk(&mut |_, content| {
            let read = std::io::copy(content, &mut std::io::sink());
            found = (found.0 + 1, found.1 + read.unwrap_or(0));
            Ok(true)
        })
        .map_err(|failure| failure.to_string().replace(path, "PATH"))?;
    Ok(found)
}

#[test]
fn format_is_told_by_the_bytes() {
    for (name, expected) in [
        ("plain.zip", Format::Zip),
        ("gnu.tar", Format::Tar),
        ("pax.tar", Format::Tar),
        ("gnu.tar.gz", Format::TarGz),
        ("notes.txt.gz", Format::Gzip),
    ] {
        let bytes = fs::read(fixture(name)).expect("a fixture");
        assert_eq!(format_of(&bytes), Ok(expected), "{name}");
    }
    let zip = fs::read(fixture("plain.zip")).expect("a fixture");
    let behind_a_program = [b"#!/bin/sh\n".to_vec(), zip].concat();
    assert_eq!(format_of(&behind_a_program), Ok(Format::Zip));
    for bytes in [b"".as_slice(), b"text", b"7z\xbc\xaf\x27\x1c"] {
        assert_eq!(
            format_of(bytes),
            Err(
                "`PATH` is no archive that this tool knows; it reads ZIP, tar, tar.gz and gzip"
                    .to_owned()
            )
        );
    }
}

#[test]
fn gzip_bomb_ends_by_its_ratio() {
    let path = fixture("bomb.gz");
    let mut archive = Archive::open(&path).expect("an archive");
    let mut read = (0, String::new());
    archive
        .walk(&mut |_, content| {
            let mut buffer = vec![0; 65_536];
            loop {
                match content.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => read.0 += count as u64,
                    Err(error) => {
                        read.1 = error.to_string();
                        break;
                    }
                }
            }
            Ok(true)
        })
        .expect("a walk");
    assert_eq!(
        read.1,
        "it would grow more than 200 times, as a decompression bomb does"
    );
    assert!(read.0 <= super::zip::RATIO_FROM_BYTES, "{}", read.0);
}

#[test]
fn cut_archive_is_said_to_be_damaged() {
    let cases = [
        (
            "gnu.tar.gz",
            200,
            "`PATH` cannot be read: the gzip stream is damaged or cut",
        ),
        (
            "gnu.tar",
            1_700,
            "`PATH` cannot be read: failed to read entire block",
        ),
    ];
    for (name, length, expected) in cases {
        let bytes = fs::read(fixture(name)).expect("a fixture");
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), &bytes[..length]).expect("a file");
        let path = file.path().to_str().expect("UTF-8");
        assert_eq!(walked(path), Err(expected.to_owned()), "{name}");
    }
}

proptest! {
    #[test]
    fn changed_archive_is_no_panic_fuzz(
        which in 0..4usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let name = ["plain.zip", "hostile.zip", "gnu.tar.gz", "notes.txt.gz"][which];
        let mut bytes = fs::read(fixture(name)).expect("a fixture");
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), &bytes).expect("a file");
        let _ = walked(file.path().to_str().expect("UTF-8"));
    }
}
