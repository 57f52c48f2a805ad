//! The corpus of recorded sessions that every version replays (`tests/corpus/README.md`).

use crate::{TestEnv, repository};
use std::path::{Path, PathBuf};

/// The largest session of the corpus, in bytes.
const MAX_BYTES: usize = 200 * 1024;

/// The exit code of `sessions replay` for a session that it refuses, such as one with hooks.
const CANNOT_REPLAY: i32 = 2;

/// Returns the directory of the corpus.
pub fn directory() -> PathBuf {
    repository().join("tests/corpus")
}

/// Returns the directory in which the tests that run now are to leave their sessions; `None` unless
/// `AGENT_HOST_BLESS_CORPUS` names one.
pub fn to_bless() -> Option<PathBuf> {
    std::env::var_os("AGENT_HOST_BLESS_CORPUS").map(PathBuf::from)
}

/// Exports the sessions of an environment, named after the test.
pub fn export(env: &TestEnv, directory: &Path) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed").replace("::", ".");
    let listed = env.run(&["sessions", "list", "--json", "--trust"]);
    let sessions = listed.json_lines();
    let own = sessions.iter().rev().filter(|row| row["parent"].is_null());
    for (number, session) in own.enumerate() {
        let Some(id) = session["session"].as_str() else {
            continue;
        };
        let file = directory.join(format!("{test}.{number}.jsonl"));
        let _ = std::fs::remove_file(&file);
        let path = file.display().to_string();
        let exported = env.run(&["sessions", "export", id, "--trust", "--output", &path]);
        let replayed = env.run(&["sessions", "replay", id, "--trust"]);
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let fits = text.len() <= MAX_BYTES && text.contains(r#""kind":"turn-ended""#);
        if exported.code != Some(0) || replayed.code == Some(CANNOT_REPLAY) || !fits {
            let _ = std::fs::remove_file(&file);
        }
    }
}
