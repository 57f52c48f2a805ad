use super::*;
use agent_host_workflow::condition::CallCondition;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn comparison_that_never_holds_is_found() {
    let schema = json!({
        "type": "object",
        "properties": {
            "amount": { "type": "number" },
            "currency": { "type": "string" },
            "urgent": { "type": ["boolean", "null"] },
            "to": { "type": "array", "items": { "type": "object", "properties": { "iban": { "type": "string" } } } },
            "labels": { "type": "object", "properties": {}, "additionalProperties": { "type": "string" } },
            "other": { "anyOf": [{ "type": "string" }, { "type": "object" }] },
            "untyped": {},
        },
    });
    let known = |names: &[&str]| {
        let known = names.iter().map(|name| (*name).to_owned()).collect();
        Some(Misfit::Unknown { known })
    };
    let is = |is: &str| Some(Misfit::Type { is: is.to_owned() });
    let all = [
        "amount", "currency", "labels", "other", "to", "untyped", "urgent",
    ];
    let cases = [
        ("amount <= 5", None),
        ("amount == '5'", is("number")),
        ("amount in [1, '5']", is("number")),
        ("currency > 5", is("string")),
        ("'E' in currency", None),
        ("urgent", None),
        ("not currency", is("string")),
        ("currency.length > 5", known(&[])),
        ("urgent == 'yes'", is("boolean or null")),
        ("to.0.iban == 'DE'", None),
        ("to.0.ibam == 'DE'", known(&["iban"])),
        ("to == 'DE'", is("array")),
        ("'DE' in to", None),
        ("amuont <= 5", known(&all)),
        ("labels.any == 'x'", None),
        ("other.any == 5", None),
        ("sum(amount, 1d) + amount <= 5", None),
        ("sum(amuont, 1d) <= 5", known(&all)),
        ("sum(currency, 1d) <= 5", is("string")),
        ("amount + currency <= 5", is("string")),
        ("count(1d) < currency", is("string")),
        ("count(1d) < 3 and time() < '09:00'", None),
        ("untyped == 5", None),
        ("untyped.any == 5", None),
    ];
    for (text, expected) in cases {
        let condition: CallCondition = text.parse().unwrap();
        let found = condition
            .compared()
            .iter()
            .find_map(|compared| misfit(&schema, compared));
        assert_eq!(found, expected, "{text}");
    }
}
