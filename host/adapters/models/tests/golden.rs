//! Compares the request bodies of every wire, for conversations with every kind of message and
//! result, with the files in `src/wire/PROVIDER/golden`. The providers' own SDKs check the same
//! files elsewhere. To write them anew, run `cargo run --release -p agent-host-models --example
//! golden` and read the difference.

#[path = "golden/cases.rs"]
mod cases;
#[path = "golden/files.rs"]
mod files;
#[path = "golden/settings.rs"]
mod settings;

use agent_host_models::Provider;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{collections::BTreeSet, fs};

#[test]
fn bodies_equal_golden_files() {
    for provider in Provider::ALL {
        for (name, body) in files::bodies(provider) {
            let path = files::directory(provider).join(format!("{name}.json"));
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let expected: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(body, expected, "{}", path.display());
        }
    }
}

#[test]
fn golden_files_have_conversations() {
    for provider in Provider::ALL {
        let cases: BTreeSet<String> = files::bodies(provider)
            .into_iter()
            .map(|(name, _)| format!("{name}.json"))
            .collect();
        let found: BTreeSet<String> = fs::read_dir(files::directory(provider))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(found, cases, "{}", provider.name());
    }
}
