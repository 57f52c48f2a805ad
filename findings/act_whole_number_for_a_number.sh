#!/usr/bin/env bash
# act-types 0.14.2 (ciborium 0.2.2) and schemars 1.2.1: the arguments of a tool made with ACT's SDK.
#
# Guess: arguments that fit the JSON Schema that the SDK publishes for a tool can be read by it. For a
# field of type `f64` that schema says `number`, which 1 is, and models write 1 for 1.0.
# Behaviour: JSON becomes CBOR, in which 1 is an integer and 1.0 a float, and an integer is not read as
# `f64`. The call fails after its arguments have passed the schema. `serde_json` reads both.
# Seen, of {"amount": 1} and {"amount": 1.0}:
#   schema: number
#   1: fits the schema true, JSON read true, CBOR read false
#   1.0: fits the schema true, JSON read true, CBOR read true
#
# Needs Rust. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cd "$work"
cat > Cargo.toml <<'TOML'
[package]
name = "seen"
version = "0.0.0"
edition = "2024"

[dependencies]
act-types = "=0.14.2"
ciborium = "=0.2.2"
jsonschema = { version = "=0.61.2", default-features = false }
schemars = "=1.2.1"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
TOML
cat > src/main.rs <<'RS'
use act_types::cbor::{from_cbor, to_cbor};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    #[allow(dead_code)]
    amount: f64,
}

fn main() {
    let schema = schema_for!(Arguments).to_value();
    println!("schema: {}", schema["properties"]["amount"]["type"].as_str().unwrap());
    for number in ["1", "1.0"] {
        let value: Value = serde_json::from_str(&format!(r#"{{"amount": {number}}}"#)).unwrap();
        let fits = jsonschema::is_valid(&schema, &value);
        let cbor = to_cbor(&value);
        let read = from_cbor::<Arguments>(&cbor).is_ok();
        let json = serde_json::from_value::<Arguments>(value).is_ok();
        println!("{number}: fits the schema {fits}, JSON read {json}, CBOR read {read}");
    }
}
RS
cargo run --quiet > seen.txt
cat seen.txt
# What is seen is what the head of this file says.
sed -n 's/^#   //p' "$self" | diff - seen.txt
