//! `[session]`: what is kept without it, and what is refused.

use super::Tree;
use crate::config::{Overrides, SessionConfig};
use agent_host_journal::Retention;
use agent_host_types::turn::Durability;
use pretty_assertions::assert_eq;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MIB: u64 = 1024 * 1024;

#[test]
fn session_keep_is_bounded_unless_it_says_otherwise() {
    let default = (Some(30 * DAY), Some(1024 * MIB), 30_000, 16 * MIB);
    let table = [
        ("", default),
        ("[session]", default),
        ("[session]\nkeep = {}", default),
        (
            "[session]\nkeep = { days = 7 }\nlock-timeout-ms = 1",
            (Some(7 * DAY), Some(1024 * MIB), 1, 16 * MIB),
        ),
        (
            "[session]\nkeep = { bytes = 1048576 }",
            (Some(30 * DAY), Some(MIB), 30_000, MIB / 16),
        ),
        ("[session]\nartifact-bytes = 4194304", default),
        ("[session]\nundo-bytes = 0", default),
        ("[session]\ndurability = \"turn\"", default),
        ("[session]\ndurability = \"strict\"", default),
        (
            "[session]\nkeep = { days = 0, bytes = 0 }",
            (None, None, 30_000, 16 * MIB),
        ),
    ];
    let tree = Tree::new();
    for (toml, (age, bytes, timeout_ms, client_session_bytes)) in table {
        let config = tree.load(toml, &Overrides::default()).unwrap();
        let expected = SessionConfig {
            keep: Retention { age, bytes },
            lock_timeout: Duration::from_millis(timeout_ms),
            artifact_bytes: match toml.contains("artifact-bytes") {
                true => 4 * MIB,
                false => 256 * MIB,
            },
            undo_bytes: match toml.contains("undo-bytes") {
                true => 0,
                false => 64 * MIB,
            },
            durability: match toml.contains("strict") {
                true => Durability::Strict,
                false => Durability::Turn,
            },
        };
        assert_eq!(config.session, expected, "{toml}");
        assert_eq!(
            config.client_session_bytes(),
            client_session_bytes,
            "{toml}"
        );
    }
}

#[test]
fn session_bounds_that_cannot_hold_are_refused() {
    let table = [
        (
            "keep = { bytes = 1048575 }",
            "`bytes` of `keep` in [session] is 1048575, and the minimum is 1048576; set it to at least that, or to 0 \
             for no limit",
        ),
        (
            "lock-timeout-ms = 0",
            "`lock-timeout-ms` is 0; set it to 1 to 2147483647, or leave it out",
        ),
        (
            "lock-timeout-ms = 2147483648",
            "`lock-timeout-ms` is 2147483648; set it to 1 to 2147483647, or leave it out",
        ),
    ];
    let tree = Tree::new();
    for (line, expected) in table {
        let toml = format!("\n[session]\n{line}\n");
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected);
    }
}
