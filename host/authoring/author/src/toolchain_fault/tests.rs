use super::warnings;
use crate::describe::Producers;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;
use wit_parser::Resolve;

fn made_with(version: &str) -> Producers {
    let toolchain = ("ComponentizeJS".to_owned(), version.to_owned());
    Producers::from([("processed-by".to_owned(), BTreeMap::from([toolchain]))])
}

fn check(wit: &str, version: &str, expected: &[&str]) {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("made.wit", wit).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let expected: Vec<String> = expected
        .iter()
        .map(|warning| format!("{warning}, because of a bug in ComponentizeJS 0.23.0"))
        .collect();
    assert_eq!(
        warnings(&made_with(version), &resolve, world),
        expected,
        "{wit}"
    );
}

const LARGE: &str = "a u32 of 2147483648 or more is returned as another number";
const NEGATIVE: &str = "it crashes when it returns a negative s64";
const ARRIVES: &str = "a negative s64 arrives as a large positive number";

#[test]
fn faulty_types_of_componentize_js_are_warned_of() {
    let many = (0..16).map(|at| format!("p{at}: u8, ")).collect::<String>();
    for (function, expected) in [
        ("func() -> u32", Some(LARGE)),
        ("func() -> tuple<u32>", Some(LARGE)),
        ("func() -> s64", Some(NEGATIVE)),
        ("func(a: s64)", Some(ARRIVES)),
        ("func(a: option<s64>) -> string", Some(ARRIVES)),
        ("func(a: u8, b: result<tuple<s64, u8>>)", Some(ARRIVES)),
        ("func() -> option<u32>", None),
        ("func() -> result<u32, string>", None),
        ("func() -> tuple<u32, u32>", None),
        ("func() -> list<s64>", None),
        ("func(a: list<s64>)", None),
        ("func(a: u32, b: u64, c: s32) -> u64", None),
        (&format!("func({many} last: s64)"), None),
    ] {
        let wit = format!("package test:made; world w {{ export f: {function}; }}");
        let expected = expected.map(|why| format!("`f`: {why}"));
        check(
            &wit,
            "0.23.0",
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        // Of another version it is not known.
        check(&wit, "0.22.0", &[]);
    }
    let wit = "package test:made; interface api { type wide = s64; f: func(a: wide) -> u32; }
        world w { export api; }";
    check(
        wit,
        "0.23.0",
        &[
            &format!("`test:made/api#f`: {LARGE}"),
            &format!("`test:made/api#f`: {ARRIVES}"),
        ],
    );
}

#[test]
fn interfaces_of_one_name_are_warned_of() {
    let wit = "package test:made;
        package one:a { interface ops { f: func(); } interface text { f: func(); } }
        package one:b { interface ops { f: func(); } }
        world w { export one:a/ops; export one:b/ops; export one:a/text; }";
    let why =
        "another exported interface has the same name, and its functions may run in place of these";
    check(
        wit,
        "0.23.0",
        &[
            &format!("`one:a/ops`: {why}"),
            &format!("`one:b/ops`: {why}"),
        ],
    );
}

#[test]
fn contract_has_no_faulty_functions() {
    let (resolve, world) = crate::wit::full_world().unwrap();
    assert_eq!(warnings(&made_with("0.23.0"), &resolve, world), [""; 0]);
}
