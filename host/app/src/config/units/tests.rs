//! Quantities with and without units.

use super::{parse_bytes, parse_days, parse_seconds};
use crate::config::{parse, raw::RawConfig};
use pretty_assertions::assert_eq;
use std::path::Path;

fn limits(line: &str) -> Result<(Option<u64>, Option<u64>), String> {
    let toml = format!("[limits]\n{line}\n");
    let raw: Result<RawConfig, _> = parse(Path::new("agent.toml"), &toml);
    let raw = raw.map_err(|error| error.problems()[0].reason.clone())?;
    Ok((raw.limits.deadline_ms, raw.limits.memory_bytes))
}

#[test]
fn quantities_with_units_are_numbers_of_the_key() {
    for (line, expected) in [
        ("deadline-ms = 30000", (Some(30_000), None)),
        ("deadline-ms = \"250ms\"", (Some(250), None)),
        ("deadline-ms = \"30s\"", (Some(30_000), None)),
        ("deadline-ms = \"2 min\"", (Some(120_000), None)),
        ("deadline-ms = \"1h\"", (Some(3_600_000), None)),
        ("memory-bytes = 1000", (None, Some(1_000))),
        ("memory-bytes = \"128MiB\"", (None, Some(134_217_728))),
        ("memory-bytes = \"2GB\"", (None, Some(2_000_000_000))),
    ] {
        assert_eq!(limits(line), Ok(expected), "{line}");
    }
    let toml = "approval-expires-seconds = \"2d\"\n[session]\nkeep = { days = \"7d\", bytes = \"1GiB\" }\n";
    let raw: RawConfig = parse(Path::new("agent.toml"), toml).unwrap();
    let keep = raw.session.keep.unwrap();
    assert_eq!(raw.approval_expires_seconds, Some(172_800));
    assert_eq!((keep.days, keep.bytes), (Some(7), Some(1 << 30)));
}

/// Arguments of a command line have no quotes, so a number is one in the unit of its option.
#[test]
fn arguments_are_quantities_with_and_without_units() {
    let refused = |form: &str, units: &str| {
        Err(format!("this is not {form}: a whole number and one of the units {units}").into())
    };
    let durations = |text: &str| (parse_seconds(text), parse_days(text));
    let days = Err("this is not a whole number of days within 64 bits".into());
    assert_eq!(durations("30"), (Ok(30), Ok(30)));
    assert_eq!(durations("2d"), (Ok(172_800), Ok(2)));
    assert_eq!(durations("90s"), (Ok(90), days));
    let form = refused("a duration like \"10s\"", "ms, s, min, h, d");
    assert_eq!(parse_seconds("1.5s"), form);
    assert_eq!(
        parse_days("4294967296"),
        Err("invalid number of days: 4294967296".into())
    );
    assert_eq!(
        (parse_bytes("512"), parse_bytes("1MiB")),
        (Ok(512), Ok(1_048_576))
    );
    let form = refused("a size like \"128MiB\"", "B, KiB, MiB, GiB, kB, MB, GB");
    assert_eq!(parse_bytes("1mb"), form);
}

#[test]
fn quantities_that_do_not_fit_are_refused() {
    let form =
        "this is not a duration like \"10s\": a whole number and one of the units ms, s, min, h, d";
    for (line, expected) in [
        ("deadline-ms = \"30\"", form),
        ("deadline-ms = \"1.5s\"", form),
        ("deadline-ms = \"-1s\"", form),
        ("deadline-ms = \"128MiB\"", form),
        (
            "deadline-ms = \"99999999999999999d\"",
            "this is not a whole number of milliseconds within 64 bits",
        ),
        (
            "memory-bytes = \"1mb\"",
            "this is not a size like \"128MiB\": a whole number and one of the units B, KiB, MiB, GiB, kB, MB, GB",
        ),
    ] {
        assert_eq!(limits(line), Err(expected.to_owned()), "{line}");
    }
    let toml = "[ollama]\ntotal-timeout-seconds = \"1500ms\"\n";
    let raw: Result<RawConfig, _> = parse(Path::new("agent.toml"), toml);
    assert_eq!(
        raw.unwrap_err().problems()[0].reason,
        "this is not a whole number of seconds within 64 bits"
    );
    let zero = "[ollama]\ntotal-timeout-seconds = 0\n";
    let raw: Result<RawConfig, _> = parse(Path::new("agent.toml"), zero);
    assert_eq!(
        raw.unwrap_err().problems()[0].reason,
        "0 seconds cannot be used here"
    );
}
