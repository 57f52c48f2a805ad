use super::*;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

#[test]
fn tail_keeps_the_last_bytes() {
    let cases: [(usize, &[&str], &str); 6] = [
        (8, &["abc"], "abc"),
        (8, &["abcd", "efgh"], "abcdefgh"),
        (8, &["abcd", "efgh", "i"], "bcdefghi"),
        (8, &["0123456789"], "23456789"),
        (8, &["abc", "0123456789"], "23456789"),
        (0, &["abc"], ""),
    ];
    for (capacity, writes, expected) in cases {
        let telemetry = Telemetry::new(capacity, &Arc::default());
        for write in writes {
            StdioStream::new(&telemetry, |telemetry| &telemetry.stdout)
                .write(Bytes::copy_from_slice(write.as_bytes()))
                .unwrap();
        }
        assert_eq!(telemetry.stdout.text(), expected, "{capacity} {writes:?}");
    }
}

#[test]
fn combined_output_separates_streams() {
    let cases = [
        ("", "", ""),
        ("out", "", "out"),
        ("", "err", "err"),
        ("out", "err", "out\n[stderr]\nerr"),
    ];
    for (out, err, expected) in cases {
        let telemetry = Telemetry::new(80, &Arc::default());
        StdioStream::new(&telemetry, |telemetry| &telemetry.stdout)
            .write(out.into())
            .unwrap();
        StdioStream::new(&telemetry, |telemetry| &telemetry.stderr)
            .write(err.into())
            .unwrap();
        assert_eq!(combined(&telemetry), expected);
    }
}

#[test]
fn shown_lines_are_whole_redacted_and_bounded() {
    let secret = ("token".to_owned(), "hunter2-hunter2".to_owned().into());
    let none = Arc::new(Secrets::default());
    let some = Arc::new(Secrets::new(BTreeMap::from([secret])).unwrap());
    let long = format!("{}\nend\n", "x".repeat(2 * SHOWN_BYTES));
    let rest = format!("{}\nend\n", "x".repeat(SHOWN_BYTES - "\nend\n".len()));
    let filler = ".".repeat(200);
    let cases: [(&Arc<Secrets>, &[&str], Option<&str>); 8] = [
        (&none, &[], None),
        (&none, &["half"], None),
        (&none, &["half", " a line\nrest"], Some("half a line\n")),
        (&none, &["10 %\r", "20 %\r\n"], Some("10 %\n20 %\n\n")),
        (
            &none,
            &["\u{1b}[2J\u{202e}\n"],
            Some("\u{fffd}[2J\u{fffd}\n"),
        ),
        (&none, &[&long], Some(&rest)),
        (
            &some,
            &["a hunter2-", "hunter2\n", &filler],
            Some("a [secret:token]\n"),
        ),
        // As much as the secret may have is held back, whatever it is.
        (&some, &["short\n"], None),
    ];
    for (secrets, writes, expected) in cases {
        let telemetry = Telemetry::new(80, secrets);
        for write in writes {
            StdioStream::new(&telemetry, |telemetry| &telemetry.stderr)
                .write(Bytes::copy_from_slice(write.as_bytes()))
                .unwrap();
        }
        assert_eq!(has_lines(&telemetry), expected.is_some(), "{writes:?}");
        assert_eq!(take_lines(&telemetry).as_deref(), expected, "{writes:?}");
        assert_eq!(take_lines(&telemetry), None, "{writes:?}");
    }
}
