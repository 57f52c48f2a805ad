use std::fs;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::delimiter_of;
use crate::table::{Delimiter, Encoding, Settings, Table};

/// A row by its number, with its cells by column.
type Numbered = (u64, Vec<(usize, Value)>);

/// The rows, or the error.
fn rows(bytes: &[u8], settings: Settings) -> Result<Vec<Numbered>, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), bytes).expect("a file");
    let path = file.path().to_str().expect("UTF-8");
    let mut rows = Vec::new();
    Table::open(path, settings)
        .and_then(|mut table| {
            table.rows(0, &mut |row| {
                rows.push((row.number, row.cells));
                Ok(())
            })
        })
        .map_err(|failure| failure.to_string().replace(path, "PATH"))?;
    Ok(rows)
}

#[test]
fn delimiter_is_found() {
    let cases: &[(&str, u8)] = &[
        ("", b','),
        ("one\ntwo\n", b','),
        ("a,b\n1,2\n", b','),
        ("a;b\n1,5;2,5\n3,5;4,5\n", b';'),
        ("a\tb\n\"x,y\"\tz\n", b'\t'),
        ("a|b|c\n1|2|3\n", b'|'),
        ("a,b;c\n1,2;3\n", b','),
    ];
    for (text, expected) in cases {
        assert_eq!(delimiter_of(text.as_bytes()), *expected, "{text:?}");
    }
}

#[test]
fn settings_are_obeyed() {
    let raw = Settings {
        raw: true,
        ..Settings::default()
    };
    assert_eq!(rows(b"1,\n", raw), Ok(vec![(1, vec![(0, json!("1"))])]));
    let pipe = Settings {
        delimiter: Some(Delimiter::Pipe),
        ..Settings::default()
    };
    assert_eq!(
        rows(b"a,b|c\n", pipe),
        Ok(vec![(1, vec![(0, json!("a,b")), (1, json!("c"))])])
    );
    let latin = Settings {
        encoding: Some(Encoding::Windows1252),
        ..Settings::default()
    };
    assert_eq!(
        rows(b"\x80\xe4\x9f\x81", latin),
        Ok(vec![(1, vec![(0, json!("€äŸ\u{81}"))])])
    );
}

#[test]
fn file_of_another_kind_is_refused() {
    let endless = [b"a,\"".to_vec(), vec![b'x'; 3 << 20]].concat();
    let cases: Vec<(&[u8], &str)> = vec![
        (
            b"a\n\xff\n",
            "`PATH` cannot be read: row 2 is not UTF-8; say in `encoding` what it is",
        ),
        (
            b"\xff\xfea\0",
            "`PATH` is in UTF-16, which this tool does not read; save it as UTF-8",
        ),
        (
            b"a\0b",
            "`PATH` is no table that this tool knows; it reads CSV and xlsx",
        ),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            "`PATH` is an old Excel file (.xls) or an encrypted one, which this tool does not read; save it as .xlsx without a password",
        ),
        (
            b"PK\x03\x04",
            "`PATH` cannot be read: it has no directory of a ZIP archive at its end",
        ),
        (
            &endless,
            "`PATH` cannot be read: a value has more than 1048576 bytes",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(rows(bytes, Settings::default()), Err(expected.to_owned()));
    }
}

proptest! {
    #[test]
    fn random_bytes_are_no_panic_fuzz(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = rows(&bytes, Settings::default());
    }

    #[test]
    fn random_text_is_no_panic_fuzz(text in "[a0.\\-,;\t|\"\r\n]{0,200}") {
        prop_assert!(rows(text.as_bytes(), Settings::default()).is_ok());
    }
}
