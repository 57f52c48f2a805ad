//! Each wire's request bodies for conversations with everything in them, compared whole with the files in `src/WIRE/golden`. The
//! same files are held against the providers' own SDKs elsewhere. `cargo run -p agent-host-models --example golden` writes them
//! anew, for whoever then reads the difference.

#[path = "golden/cases.rs"]
mod cases;
#[path = "golden/files.rs"]
mod files;

use agent_host_models::Provider;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{collections::BTreeSet, fs};

#[test]
fn each_body_is_the_expected_one() {
    for provider in Provider::ALL {
        let model = files::model(provider);
        for (name, request) in cases::all(&files::metadata(provider)) {
            let path = files::folder(provider).join(format!("{name}.json"));
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let expected: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(model.body(&request), expected, "{}", path.display());
        }
    }
}

#[test]
fn there_is_no_file_without_a_conversation() {
    for provider in Provider::ALL {
        let cases: BTreeSet<String> = cases::all(&files::metadata(provider))
            .into_iter()
            .map(|(name, _)| format!("{name}.json"))
            .collect();
        let found: BTreeSet<String> = fs::read_dir(files::folder(provider))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(found, cases, "{}", provider.name());
    }
}
