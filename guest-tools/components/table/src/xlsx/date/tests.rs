use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::DateKind::{self, Date, DateTime, Duration, Time};

#[test]
fn format_tells_what_a_number_is() {
    let cases = [
        ("General", None),
        ("0.00", None),
        ("#,##0 \"days\"", None),
        ("[Red]0", None),
        ("0\\d", None),
        ("0_d", None),
        ("0.00E+00", None),
        ("yyyy-mm-dd", Some(Date)),
        ("[$-409]mmm", Some(Date)),
        ("m/d/yy h:mm", Some(DateTime)),
        ("h:mm AM/PM", Some(Time)),
        ("mm:ss.0", Some(Time)),
        ("[h]:mm", Some(Duration)),
        ("[ss]", Some(Duration)),
        ("0;yyyy", None),
        ("\"unclosed yyyy", None),
        ("[unclosed yyyy", None),
        ("yyyy\\", Some(Date)),
    ];
    for (code, expected) in cases {
        assert_eq!(DateKind::of_format(code), expected, "{code}");
    }
}

#[test]
fn number_is_a_date_of_its_calendar() {
    let cases = [
        (Date, 1.0, false, Some("1900-01-01")),
        (Date, 59.0, false, Some("1900-02-28")),
        (Date, 60.0, false, None),
        (Date, 61.0, false, Some("1900-03-01")),
        (Date, 45_351.0, false, Some("2024-02-29")),
        (Date, 45_351.5, false, Some("2024-02-29T12:00:00")),
        (DateTime, 45_351.0, false, Some("2024-02-29T00:00:00")),
        (Date, 2_958_465.0, false, Some("9999-12-31")),
        (Date, 2_958_466.0, false, None),
        (Date, 0.0, true, Some("1904-01-01")),
        (Date, 43_889.0, true, Some("2024-02-29")),
        (Date, -1.0, false, None),
        (Date, f64::NAN, false, None),
        (Date, f64::INFINITY, false, None),
        (Time, 0.25, false, Some("06:00:00")),
        (Time, 0.999_999_999_9, false, Some("1900-01-01T00:00:00")),
        (Time, 0.000_011_586, false, Some("00:00:01.001")),
        (Duration, 1.5, false, Some("PT36H0M0S")),
        (Duration, -0.5, false, Some("-PT12H0M0S")),
        (Duration, 0.000_001_157_4, false, Some("PT0H0M0.100S")),
    ];
    for (kind, serial, from_1904, expected) in cases {
        let text = kind.text(serial, from_1904);
        assert_eq!(text.as_deref(), expected, "{kind:?} {serial}");
    }
}

proptest! {
    #[test]
    fn date_is_no_panic_fuzz(serial in any::<f64>(), from_1904 in any::<bool>()) {
        for kind in [Date, DateTime, Time, Duration] {
            let _ = kind.text(serial, from_1904);
        }
    }

    #[test]
    fn format_is_no_panic_fuzz(code in "\\PC{0,20}") {
        let _ = DateKind::of_format(&code);
    }
}
