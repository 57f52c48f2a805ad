use jaq_json::{Val, read};
use pretty_assertions::assert_eq;

use super::{Filter, MAX_FILTER_BYTES, line};

/// The results of a filter for some JSON, each as a line, or what is wrong.
fn results(filter: &str, json: &str) -> Result<Vec<String>, String> {
    let filter = Filter::compile(filter).map_err(|failure| failure.to_string())?;
    let value: Val = read::parse_single(json.as_bytes()).expect("JSON");
    let lines = filter
        .run(value)
        .map(|result| result.map(|value| line(&value, false)));
    lines.collect()
}

#[test]
fn filters_give_their_results() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            ".",
            "{\"b\":1,\"a\":[null,true]}",
            &["{\"b\":1,\"a\":[null,true]}"],
        ),
        (
            ".[] | select(.price > 10) | .name",
            r#"[{"name":"a","price":9},{"name":"ü","price":11}]"#,
            &["\"ü\""],
        ),
        (
            "map(.n) | add",
            r#"[{"n":9007199254740993},{"n":1}]"#,
            &["9007199254740994"],
        ),
        (".[0]", "[18446744073709551615]", &["18446744073709551615"]),
        (".a.b", "{}", &["null"]),
        (".[]", "[]", &[]),
        (
            "group_by(.k) | map({k: .[0].k, n: length})",
            r#"[{"k":1},{"k":2},{"k":1}]"#,
            &["[{\"k\":1,\"n\":2},{\"k\":2,\"n\":1}]"],
        ),
        ("test(\"^[a-z]+$\")", "\"abc\"", &["true"]),
        ("@base64", "\"a\"", &["\"YQ==\""]),
        ("[limit(3; repeat(1))]", "null", &["[1,1,1]"]),
    ];
    for (filter, json, expected) in cases {
        assert_eq!(
            results(filter, json).as_deref(),
            Ok(*expected)
                .map(|lines: &[&str]| lines
                    .iter()
                    .map(|line| (*line).to_owned())
                    .collect::<Vec<_>>())
                .as_deref(),
            "{filter}"
        );
    }
}

#[test]
fn filter_errors_name_their_position() {
    let cases = [
        (
            ".[",
            "the filter is not in the language of jq: `[` is not closed, at its end; correct it",
        ),
        (
            ".a ยง",
            "the filter is not in the language of jq: expected token, at `ยง`; correct it",
        ),
        (
            ".a | ",
            "the filter is not in the language of jq: expected term, at its end; correct it",
        ),
        (
            "frobnicate(1)",
            "the filter is not in the language of jq: there is no such filter with 1 arguments, at `frobnicate(1)`; correct it",
        ),
        (
            "$x",
            "the filter is not in the language of jq: there is no such variable, at `$x`; correct it",
        ),
        (
            "import \"a\" as b; .",
            "the filter is not in the language of jq: no other file can be loaded, at `a\" as b; .`; correct it",
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(
            results(filter, "null"),
            Err(expected.to_owned()),
            "{filter}"
        );
    }
    let long = " ".repeat(MAX_FILTER_BYTES + 1);
    assert_eq!(
        results(&long, "null"),
        Err("the filter has 8193 bytes; at most 8192 are taken".to_owned())
    );
}

#[test]
fn filter_on_a_value_of_another_type_fails() {
    assert_eq!(
        results(".a", "1"),
        Err("cannot index 1 with \"a\"".to_owned())
    );
    assert_eq!(results("error(\"no\")", "1"), Err("\"no\"".to_owned()));
}
