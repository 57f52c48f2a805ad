use std::collections::BTreeMap;

use pretty_assertions::assert_eq;

use agent_tool::http::Fields;

use super::post_fields;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn post_content_type_follows_its_body() {
    let typed = |given: &[(&str, &str)], body: &str| {
        let fields: Fields = post_fields(map(given), body, "k1").expect("fields");
        (
            fields.get("content-type").cloned(),
            fields.get("idempotency-key").cloned(),
        )
    };
    let key = || Some("k1".to_owned());
    assert_eq!(
        typed(&[], r#"{"a":1}"#),
        (Some("application/json".to_owned()), key())
    );
    assert_eq!(
        typed(&[], "a=1"),
        (Some("text/plain; charset=utf-8".to_owned()), key())
    );
    assert_eq!(typed(&[], ""), (None, key()));
    assert_eq!(
        typed(
            &[
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Idempotency-Key", "mine")
            ],
            "a=1"
        ),
        (
            Some("application/x-www-form-urlencoded".to_owned()),
            Some("mine".to_owned())
        )
    );
}
