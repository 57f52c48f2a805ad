//! The versions in the table of `README.md` are those that the tests install.

use agent_host_test_support::installed::here;
use serde_json::Value;
use std::{collections::BTreeSet, fs};

/// The lists of packages of pip.
const LISTS: [&str; 15] = [
    "act/requirements.txt",
    "extism/requirements.txt",
    "oracle/requirements.txt",
    "json_schema/requirements.txt",
    "wires/litellm.txt",
    "python/sdk-1.txt",
    "python/sdk-2.txt",
    "python/fastmcp-2.txt",
    "telemetry/requirements.txt",
    "openapi/requirements.txt",
    "registry/requirements.txt",
    "webhooks/requirements.txt",
    "eval/requirements.txt",
    "release/requirements.txt",
    "deploy/requirements.txt",
];

/// The lists of packages of npm.
const PACKAGES: [&str; 8] = [
    "wires/aimock/package.json",
    "mcp_conformance/package.json",
    "mcp_servers/package.json",
    "page/package.json",
    "acp/package.json",
    "editors/package.json",
    "openai_sdk/package.json",
    "registry/package.json",
];

/// Every pinned package as in the table: its name in backticks, and its version.
fn pinned() -> BTreeSet<String> {
    let read = |file: &str| fs::read_to_string(here("interop").join(file)).unwrap();
    let mut pinned = BTreeSet::new();
    for list in LISTS.map(read) {
        let words = list.lines().filter_map(|line| line.split(' ').next());
        for (name, version) in words.filter_map(|word| word.split_once("==")) {
            pinned.insert(format!("`{name}` {version}"));
        }
    }
    for package in PACKAGES.map(read) {
        let package: Value = serde_json::from_str(&package).unwrap();
        for (name, version) in package["dependencies"].as_object().unwrap() {
            let version = version.as_str().unwrap();
            let version = version
                .rsplit_once('@')
                .map_or(version, |(_, version)| version);
            pinned.insert(format!("`{name}` {version}"));
        }
    }
    pinned
}

#[test]
fn versions_in_the_table_are_the_pinned_ones() {
    let readme = fs::read_to_string(here("interop/README.md")).unwrap();
    let pinned = pinned();
    let versions = readme.lines().filter_map(|line| line.split('|').nth(2));
    let unknown: Vec<&str> = versions
        .map(str::trim)
        .filter(|cell| cell.starts_with('`') && !cell.ends_with('`') && !pinned.contains(*cell))
        .collect();
    assert_eq!(unknown, [""; 0], "{pinned:?}");
}
