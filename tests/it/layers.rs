//! Checks that crates depend only on lower layers (`host/ARCHITECTURE.md`), and likewise the
//! modules of `host/adapters/sandbox` and `host/adapters/models`.

use crate::docs::{ROOT, files};
use std::{collections::BTreeSet, fs, path::Path};

/// The crates below `host/`; each depends only on crates of earlier rows, and those of `core` only on
/// each other.
const CRATES: [&[&str]; 11] = [
    &[
        "core/types",
        "fronts/http",
        "adapters/process",
        "adapters/cache-dir",
    ],
    &["core/workflow", "adapters/undo"],
    &["core/engine"],
    &["authoring/eval"],
    &["adapters/http-client"],
    &[
        "adapters/sandbox",
        "adapters/models",
        "adapters/journal",
        "adapters/mcp-client",
        "adapters/registry",
    ],
    &["adapters/telemetry"],
    &["app"],
    &["authoring/author", "fronts/mcp", "fronts/serve"],
    &["fronts/acp"],
    &["fronts/cli"],
];

/// Returns the modules that follow `crate::` in the sources of a module, tests excluded.
fn uses(module: &str) -> BTreeSet<String> {
    let text: String = files()
        .iter()
        .filter(|path| path.starts_with(module) || **path == Path::new(module).with_extension("rs"))
        .filter(|path| !path.to_str().unwrap().contains("/test"))
        .map(|path| fs::read_to_string(ROOT.join(path)).unwrap())
        .collect();
    let mut found = BTreeSet::new();
    for used in text.split("crate::").skip(1) {
        let list = used.strip_prefix('{');
        let mut depth = i32::from(list.is_some());
        for item in list.unwrap_or(used).split_inclusive(['{', ',', '}']) {
            if depth <= 1 {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let name = item.trim_start().split(|c| !is_word(c)).next();
                found.extend(name.map(str::to_owned));
            }
            depth += i32::from(item.ends_with('{')) - i32::from(item.ends_with('}'));
            if depth <= 0 {
                break;
            }
        }
    }
    found
}

/// Asserts that no module uses one of a later row.
fn assert_layers(krate: &str, rows: &[Vec<&str>]) {
    for (index, row) in rows.iter().enumerate() {
        let later: Vec<&&str> = rows[index + 1..].iter().flatten().collect();
        for module in row {
            let used = uses(&format!("host/{krate}/src/{module}"));
            let wrong = later.iter().find(|name| used.contains(**name as &str));
            assert_eq!(wrong, None, "`{module}` of {krate} uses a higher layer");
        }
    }
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let mut lower: Vec<&str> = Vec::new();
    for row in CRATES {
        for name in row {
            let manifest = fs::read_to_string(ROOT.join(format!("host/{name}/Cargo.toml")));
            let manifest: toml::Table = manifest.unwrap().parse().unwrap();
            let used = manifest["dependencies"].as_table().unwrap().keys();
            for used in used.filter_map(|it| it.strip_prefix("agent-host-")) {
                let found = lower.iter().find(|it| it.rsplit('/').next() == Some(used));
                let allowed = |it: &&str| !name.starts_with("core/") || it.starts_with("core/");
                assert!(found.is_some_and(allowed), "{name}: {used}");
            }
        }
        lower.extend(row);
    }
    let crates = files()
        .into_iter()
        .filter(|path| path.ends_with("Cargo.toml"));
    // The benchmarks use every crate.
    let below_host = crates
        .filter(|path| path.starts_with("host") && !path.starts_with("host/benches"))
        .count();
    assert_eq!(below_host, lower.len(), "a crate has no layer here");
}

#[test]
fn modules_use_lower_layers_only() {
    let sandbox = fs::read_to_string(ROOT.join("host/adapters/sandbox/src/lib.rs")).unwrap();
    let rows = sandbox.lines().filter_map(|it| it.strip_prefix("//! | `"));
    let names = rows.map(|row| row.split(" |").next().unwrap().trim_end_matches('`'));
    let rows: Vec<Vec<&str>> = names.map(|row| row.split("`, `").collect()).collect();
    assert!(
        rows.len() > 5,
        "host/adapters/sandbox/src/lib.rs has no table of layers"
    );
    assert_layers("adapters/sandbox", &rows);
    assert_layers(
        "adapters/models",
        &[vec!["wire"], vec!["http", "retry", "http_model"]],
    );
}
