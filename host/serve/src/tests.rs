//! The OpenAPI document, and the forms of answers.

use crate::{
    openapi,
    problem::{Problem, ProblemCode},
    routes::routes,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Collects every reference in a document.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference);
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn document_describes_each_route_and_resolves() {
    let document = openapi::document();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.clone()))
        })
        .collect();
    let served: BTreeSet<(String, String)> = routes()
        .iter()
        .filter(|route| route.operation.is_some())
        .map(|route| {
            let method = route.method.as_str().to_lowercase();
            (route.path.replace("{*", "{"), method)
        })
        .collect();
    assert_eq!(described, served);
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    assert!(found.contains("#/components/schemas/Continuation"));
}

#[test]
fn problem_has_the_form_of_rfc_9457() {
    let problem = Problem::new(ProblemCode::SessionRunning, "it runs; wait");
    assert_eq!(
        json!(problem),
        json!({"status": 409, "code": "session-running", "title": "Conflict", "detail": "it runs; wait"})
    );
}
