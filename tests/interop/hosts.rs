//! Several hosts of one database that are killed, paused, cut off and left without a server, judged
//! by a program of its own: the short form of `tests/hosts/nemesis.py`.

use agent_host_test_support::{has_python, program, repository, skip};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, process::Command};

/// The faults of the short form. The long one has 1,000.
const FAULTS: u32 = 16;

/// The mean time between two faults, in seconds: half of that of the long form.
const EVERY: &str = "0.4";

#[test]
fn nothing_is_lost_or_doubled_by_faults() {
    let has_postgres = fs::read_dir("/usr/lib/postgresql").is_ok();
    if !has_python() || !has_postgres {
        return skip("Python or PostgreSQL is missing; `apt-get install python3 postgresql`");
    }
    let script = repository().join("tests/hosts/nemesis.py");
    let faults = FAULTS.to_string();
    let ran = Command::new("python3")
        .arg(script)
        .args(["--program", program(), "--faults", &faults])
        .args(["--hosts", "4", "--steps", "20", "--every", EVERY])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    let figures: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(figures["faults"], FAULTS, "{errors}");
    assert_eq!(figures["lost or doubled"], 0, "{errors}");
    if figures["missing"] != json!([]) {
        skip(&format!(
            "faults without their means: {}",
            figures["missing"]
        ));
    }
    for some in ["sessions", "calls", "claims beyond the first"] {
        assert!(figures[some].as_u64().unwrap() > 0, "{some}: {figures}");
    }
}
