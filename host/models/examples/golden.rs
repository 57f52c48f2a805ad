//! Writes the expected request bodies of every wire anew: `cargo run --release -p agent-host-models --example golden`. Read the
//! difference before you keep it.

#![expect(clippy::unwrap_used, reason = "it writes test files")]

#[path = "../tests/golden/cases.rs"]
mod cases;
#[path = "../tests/golden/files.rs"]
mod files;

use agent_host_models::Provider;
use std::fs;

fn main() {
    for provider in Provider::ALL {
        let folder = files::folder(provider);
        fs::create_dir_all(&folder).unwrap();
        let model = files::model(provider);
        for (name, request) in cases::all(&files::metadata(provider)) {
            let body = serde_json::to_string_pretty(&model.body(&request)).unwrap();
            fs::write(folder.join(format!("{name}.json")), body + "\n").unwrap();
        }
    }
}
