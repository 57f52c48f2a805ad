use pretty_assertions::assert_eq;

use super::{Format, values};

/// The values of a text, as JSON, or what is wrong with it.
fn shown(text: &str, format: Format) -> Result<Vec<String>, String> {
    let values = values(text, format).map_err(|failure| failure.to_string())?;
    Ok(values.iter().map(ToString::to_string).collect())
}

#[test]
fn every_format_is_read() {
    let cases: &[(&str, Format, &[&str])] = &[
        (
            " {\"a\": [1, 1e300]} ",
            Format::Json,
            &["{\"a\":[1,1e300]}"],
        ),
        (
            "{\"a\":1}\n{\"a\":2}\n",
            Format::Jsonl,
            &["{\"a\":1}", "{\"a\":2}"],
        ),
        ("", Format::Jsonl, &[]),
        (
            "name,price\n\"Tea, green\",3\nMilk\n",
            Format::Csv,
            &["[{\"name\":\"Tea, green\",\"price\":\"3\"},{\"name\":\"Milk\"}]"],
        ),
        ("", Format::Csv, &["[]"]),
        (
            "a\tb\n1\t2\n",
            Format::Tsv,
            &["[{\"a\":\"1\",\"b\":\"2\"}]"],
        ),
        (
            "day = 2026-11-21\nbig = 9223372036854775807\n[t]\nlist = [1.5, true, \"x\"]\n",
            Format::Toml,
            &[
                "{\"big\":9223372036854775807,\"day\":\"2026-11-21\",\"t\":{\"list\":[1.5,true,\"x\"]}}",
            ],
        ),
    ];
    for (text, format, expected) in cases {
        let expected = expected.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(shown(text, *format), Ok(expected), "{text:?}");
    }
}

#[test]
fn malformed_data_is_explained() {
    let cases = [
        ("{", Format::Json, "the data is not JSON: "),
        ("1 2", Format::Json, "the data is not JSON: "),
        ("1\n{", Format::Jsonl, "the data is not JSON lines: "),
        ("a = ", Format::Toml, "the data is not TOML: "),
    ];
    for (text, format, expected) in cases {
        let said = shown(text, format).expect_err(text);
        assert!(said.starts_with(expected), "{said}");
        assert!(said.ends_with("; say in `format` what it is"), "{said}");
    }
}

#[test]
fn file_name_selects_the_format() {
    let cases = [
        ("a.json", Some(Format::Json)),
        ("b/c.JSONL", Some(Format::Jsonl)),
        ("logs.ndjson", Some(Format::Jsonl)),
        ("a.b.csv", Some(Format::Csv)),
        ("a.tsv", Some(Format::Tsv)),
        ("Cargo.toml", Some(Format::Toml)),
        ("notes.txt", None),
        ("json", None),
    ];
    for (name, expected) in cases {
        assert_eq!(Format::of_name(name), expected, "{name}");
    }
}
