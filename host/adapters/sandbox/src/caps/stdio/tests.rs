use super::*;
use pretty_assertions::assert_eq;

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
        let telemetry = Telemetry::new(capacity);
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
        let telemetry = Telemetry::new(80);
        StdioStream::new(&telemetry, |telemetry| &telemetry.stdout)
            .write(out.into())
            .unwrap();
        StdioStream::new(&telemetry, |telemetry| &telemetry.stderr)
            .write(err.into())
            .unwrap();
        assert_eq!(combined(&telemetry), expected);
    }
}
