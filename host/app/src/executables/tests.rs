use super::*;
use agent_host_engine::policy::PathRules;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::Path};

fn grant(host: &Path, guest: &str, mode: DirMode) -> DirGrant {
    DirGrant::new(host, guest, mode)
}

#[test]
fn granted_files_that_run_later_are_named() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    fs::write(root.join(".bashrc"), "").unwrap();
    let mut dir = grant(&root, "/workspace", DirMode::ReadWrite);
    dir.allow_run_later = PathRules::new(&["/.github/workflows", "notes"]).unwrap();
    let grants = Grants {
        dirs: vec![dir],
        ..Grants::default()
    };
    for (path, expected) in [
        // Also a new file.
        (
            ".github/workflows/ci.yml",
            vec!["/workspace/.github/workflows/ci.yml"],
        ),
        // No grant lets the tool write it.
        (".bashrc", vec![]),
        // The grant names it, and nothing runs it.
        ("notes", vec![]),
        ("missing/.github/workflows/ci.yml", vec![]),
    ] {
        let input = json!({ "path": path });
        assert_eq!(
            named(&grants, input.as_object().unwrap()),
            expected,
            "{path}"
        );
    }
}

#[test]
fn executables_named_by_arguments_are_found() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    for dir in ["work/sub", "more", "look"] {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    for (path, mode) in [
        ("work/run.sh", 0o755),
        ("work/sub/tool", 0o711),
        ("work/plain.sh", 0o644),
        ("more/run.sh", 0o100),
        ("look/run.sh", 0o755),
        ("outside.sh", 0o755),
    ] {
        fs::write(root.join(path), "").unwrap();
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    symlink("sub/tool", root.join("work/link")).unwrap();
    symlink("../outside.sh", root.join("work/out")).unwrap();
    let grants = Grants {
        dirs: vec![
            grant(&root.join("work"), "/workspace", DirMode::ReadWrite),
            grant(&root.join("more"), "/more", DirMode::ReadWrite),
            grant(&root.join("look"), "/look", DirMode::ReadOnly),
        ],
        ..Grants::default()
    };
    for (input, expected) in [
        (
            json!({ "path": "run.sh", "text": "#!/bin/sh" }),
            vec!["/workspace/run.sh"],
        ),
        (
            json!({ "path": "/workspace/./sub/../run.sh" }),
            vec!["/workspace/run.sh"],
        ),
        (json!({ "path": "/run.sh" }), vec!["/workspace/run.sh"]),
        (
            json!({ "edits": [{ "file": "link" }, "/more/run.sh"] }),
            vec!["/more/run.sh", "/workspace/sub/tool"],
        ),
        (
            json!({ "files": { "run.sh": "x" } }),
            vec!["/workspace/run.sh"],
        ),
        (json!({ "path": "plain.sh", "n": 1 }), vec![]),
        (json!({ "path": "sub" }), vec![]),
        (json!({ "path": "/look/run.sh" }), vec![]),
        (json!({ "path": "out", "other": "../outside.sh" }), vec![]),
        (json!({ "path": "", "zero": "run.sh\0" }), vec![]),
    ] {
        assert_eq!(
            named(&grants, input.as_object().unwrap()),
            expected,
            "{input}"
        );
    }
}
