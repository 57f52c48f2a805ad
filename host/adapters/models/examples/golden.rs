//! Writes the golden request bodies of every wire: `cargo run --release -p agent-host-models
//! --example golden`. Read the difference before committing it.

#![expect(clippy::unwrap_used, reason = "it writes test files")]

#[path = "../tests/golden/cases.rs"]
mod cases;
#[path = "../tests/golden/files.rs"]
mod files;
#[path = "../tests/golden/settings.rs"]
mod settings;

use agent_host_models::Provider;
use std::fs;

fn main() {
    for provider in Provider::ALL {
        let directory = files::directory(provider);
        fs::create_dir_all(&directory).unwrap();
        for (name, body) in files::bodies(provider) {
            let body = serde_json::to_string_pretty(&body).unwrap();
            fs::write(directory.join(format!("{name}.json")), body + "\n").unwrap();
        }
    }
}
