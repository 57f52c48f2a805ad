use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{column_of, letters, of_csv, of_number, place_of};

#[test]
fn number_that_would_change_stays_text() {
    // The text, and its value in a CSV file and in a workbook.
    let cases = [
        ("0", json!(0), json!(0)),
        ("-12", json!(-12), json!(-12)),
        ("-0", json!("-0"), json!("-0")),
        ("007", json!("007"), json!(7)),
        ("+1", json!("+1"), json!("+1")),
        (
            "9007199254740992",
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_992_u64),
        ),
        (
            "9007199254740993",
            json!("9007199254740993"),
            json!("9007199254740993"),
        ),
        (
            "-9007199254740993",
            json!("-9007199254740993"),
            json!("-9007199254740993"),
        ),
        (
            "99999999999999999999999",
            json!("99999999999999999999999"),
            json!("99999999999999999999999"),
        ),
        ("2.50", json!(2.5), json!(2.5)),
        ("2.0", json!(2), json!(2)),
        (
            "0.123456789012345",
            json!(0.123_456_789_012_345),
            json!(0.123_456_789_012_345),
        ),
        (
            "0.1234567890123456",
            json!("0.1234567890123456"),
            json!(0.123_456_789_012_345_6),
        ),
        (
            "0.30000000000000004",
            json!("0.30000000000000004"),
            json!(0.300_000_000_000_000_04),
        ),
        (
            "0.300000000000000041",
            json!("0.300000000000000041"),
            json!("0.300000000000000041"),
        ),
        ("1e5", json!("1e5"), json!(100_000)),
        ("1.5E-7", json!("1.5E-7"), json!(1.5e-7)),
        ("1e999", json!("1e999"), json!("1e999")),
        ("1e-999", json!("1e-999"), json!("1e-999")),
        ("1.", json!("1."), json!("1.")),
        (".5", json!(".5"), json!(".5")),
        ("1e", json!("1e"), json!("1e")),
        ("NaN", json!("NaN"), json!("NaN")),
        ("inf", json!("inf"), json!("inf")),
        (" 1", json!(" 1"), json!(" 1")),
        ("1,5", json!("1,5"), json!("1,5")),
        ("", Value::Null, json!("")),
    ];
    for (text, csv, number) in cases {
        assert_eq!((of_csv(text), of_number(text)), (csv, number), "{text}");
    }
}

#[test]
fn column_has_letters() {
    for (column, name) in [
        (0, "A"),
        (25, "Z"),
        (26, "AA"),
        (701, "ZZ"),
        (702, "AAA"),
        (16_383, "XFD"),
    ] {
        assert_eq!(
            (letters(column), column_of(name)),
            (name.to_owned(), Some(column))
        );
    }
    for name in ["", "XFE", "AAAA", "A1", "ä", "-"] {
        assert_eq!(column_of(name), None, "{name}");
    }
}

#[test]
fn reference_is_row_and_column() {
    let cases = [
        ("A1", Some((1, 0))),
        ("xfd1048576", Some((1_048_576, 16_383))),
        ("A0", None),
        ("A", None),
        ("1", None),
        ("A1B", None),
        ("A99999999999999999999", None),
        ("$A$1", None),
        ("Ä1", None),
    ];
    for (reference, expected) in cases {
        assert_eq!(place_of(reference), expected, "{reference}");
    }
}

proptest! {
    #[test]
    fn csv_number_keeps_its_value_fuzz(text in "-?[0-9]{1,20}(\\.[0-9]{1,18})?") {
        if let Value::Number(number) = of_csv(&text) {
            // The same digits, but for zeros that say nothing.
            let plain = |text: &str| -> String {
                let (integer, fraction) = text.split_once('.').unwrap_or((text, ""));
                format!("{integer}.{}", fraction.trim_end_matches('0'))
            };
            let shown = match number.as_f64() {
                Some(value) if !number.is_i64() && !number.is_u64() => format!("{value}"),
                _ => number.to_string(),
            };
            prop_assert_eq!(plain(&shown), plain(&text).replace("-0.", if shown.starts_with('-') { "-0." } else { "0." }));
        }
    }

    #[test]
    fn cell_text_is_no_panic_fuzz(text in "\\PC{0,20}") {
        let _ = (of_csv(&text), of_number(&text), place_of(&text));
    }
}
