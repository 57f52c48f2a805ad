use super::TrustFile;
use crate::config::{Environment, Untrusted};
use agent_host_journal::{AuthorityFile, FileKey};
use agent_host_types::id::Digest;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};
use tempfile::TempDir;

fn environment(home: &Path) -> Environment {
    Environment {
        cwd: home.to_owned(),
        variables: [("HOME".to_owned(), home.display().to_string())].into(),
    }
}

fn untrusted(path: &str, digest: &str) -> Untrusted {
    Untrusted {
        skills: Vec::new(),
        path: path.into(),
        digest: Digest::of(digest.as_bytes()),
        demands: vec!["asks".to_owned()],
    }
}

#[test]
fn trust_file_holds_the_newest_digest_of_each_path() {
    let home = TempDir::new().unwrap();
    let environment = environment(home.path());
    let file = TrustFile::for_environment(&environment).unwrap();
    let holds = |untrusted| TrustFile::holds(&untrusted, &environment).unwrap();
    assert!(!holds(untrusted("/a/agent.toml", "1")));
    for (path, digest) in [
        ("/a/agent.toml", "1"),
        ("/a/agent.toml", "2"),
        ("/a/tests", "3"),
        ("/b/agent.toml", "1"),
        ("/ab/agent.toml", "1"),
    ] {
        file.add(&untrusted(path, digest)).unwrap();
        assert!(holds(untrusted(path, digest)));
    }
    // A file that goes back to what was trusted before is asked about again.
    assert!(!holds(untrusted("/a/agent.toml", "1")));
    let gone = file.remove(Path::new("/a")).unwrap();
    let gone: Vec<PathBuf> = gone.into_iter().map(|gone| gone.path).collect();
    assert_eq!(gone, [Path::new("/a/agent.toml"), Path::new("/a/tests")]);
    assert!(!holds(untrusted("/a/agent.toml", "2")));
    assert!(holds(untrusted("/b/agent.toml", "1")));
    assert!(holds(untrusted("/ab/agent.toml", "1")));
    let mode = |path: &str| {
        let path = home.path().join(".local/state/agent-host").join(path);
        path.metadata().unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(""), mode("trust.json")), (0o700, 0o600));
}

#[test]
fn trust_file_that_others_could_write_is_refused() {
    let home = TempDir::new().unwrap();
    let environment = environment(home.path());
    let file = TrustFile::for_environment(&environment).unwrap();
    let one = untrusted("/a/agent.toml", "1");
    file.add(&one).unwrap();
    let path = home.path().join(".local/state/agent-host/trust.json");
    let set = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    set(0o602);
    let error = TrustFile::holds(&one, &environment)
        .unwrap_err()
        .to_string();
    assert!(error.contains("(mode 0602)"), "{error}");
    set(0o600);
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(65_534), None).unwrap();
        let error = TrustFile::holds(&one, &environment)
            .unwrap_err()
            .to_string();
        let owner = "it belongs to another user of this machine (user id 65534; yours is 0)";
        assert!(error.contains(owner), "{error}");
        chown(&path, Some(0), None).unwrap();
    }
    assert!(TrustFile::holds(&one, &environment).unwrap());
}

#[test]
fn trust_file_without_a_home_directory_holds_nothing() {
    let nowhere = Environment {
        cwd: "/".into(),
        variables: [].into(),
    };
    assert!(TrustFile::for_environment(&nowhere).is_none());
    let one = untrusted("/a/agent.toml", "1");
    assert!(!TrustFile::holds(&one, &nowhere).unwrap());
}

/// The file below a home directory.
fn path(home: &TempDir) -> PathBuf {
    home.path().join(".local/state/agent-host/trust.json")
}

/// Changes the file past the program.
fn change(home: &TempDir, change: impl FnOnce(&mut Value)) {
    let text = std::fs::read(path(home)).unwrap();
    let mut document = serde_json::from_slice(&text).unwrap();
    change(&mut document);
    std::fs::write(path(home), document.to_string()).unwrap();
}

/// Returns the paths that are believed, and those that are ignored.
fn paths(file: &TrustFile) -> [Vec<String>; 2] {
    let entries = file.read().unwrap();
    let path = |path: &Path| path.display().to_string();
    let believed = entries.believed.iter().map(|known| path(&known.path));
    let ignored = entries.ignored.iter().map(|known| path(&known.entry.path));
    [believed.collect(), ignored.collect()]
}

/// Takes a file to the version in which no entry was signed.
fn unsign(document: &mut Value) {
    let signed = document["entries"].as_array().unwrap().iter();
    let entries: Vec<Value> = signed.map(|known| known["entry"].clone()).collect();
    *document = json!({"version": 1, "trusted": entries});
}

/// Of two entries, the first one is changed in each way that is possible past the program.
#[test]
fn trust_record_is_believed_only_as_it_was_written() {
    type Case = (&'static str, fn(&mut Value), [&'static [&'static str]; 2]);
    const A: &str = "/a/agent.toml";
    const B: &str = "/b/agent.toml";
    const C: &str = "/c/agent.toml";
    let table: [Case; 11] = [
        ("valid", |_| (), [&[A, B], &[]]),
        (
            "without signature",
            |all| {
                drop(
                    all["entries"][0]
                        .as_object_mut()
                        .unwrap()
                        .remove("signature"),
                )
            },
            [&[B], &[A]],
        ),
        (
            "another text",
            |all| all["entries"][0]["signature"] = json!("00"),
            [&[B], &[A]],
        ),
        (
            "signature of another path",
            |all| all["entries"][0]["signature"] = all["entries"][1]["signature"].clone(),
            [&[B], &[A]],
        ),
        (
            "inserted",
            |all| {
                let mut new = all["entries"][0].clone();
                new["entry"]["path"] = json!(C);
                all["entries"].as_array_mut().unwrap().push(new);
            },
            [&[A, B], &[C]],
        ),
        (
            "path",
            |all| all["entries"][0]["entry"]["path"] = json!(C),
            [&[B], &[C]],
        ),
        (
            "digest",
            |all| all["entries"][0]["entry"]["digest"] = json!(Digest::of(b"2")),
            [&[B], &[A]],
        ),
        (
            "at_ms",
            |all| all["entries"][0]["entry"]["at_ms"] = json!(1),
            [&[B], &[A]],
        ),
        ("older version", unsign, [&[], &[A, B]]),
        (
            "other state directory",
            |all| {
                let other = TempDir::new().unwrap();
                let file = TrustFile::for_environment(&environment(other.path())).unwrap();
                file.add(&untrusted(A, "1")).unwrap();
                let text = std::fs::read(path(&other)).unwrap();
                *all = serde_json::from_slice(&text).unwrap();
            },
            [&[], &[A]],
        ),
        (
            "removed",
            |all| drop(all["entries"].as_array_mut().unwrap().remove(0)),
            [&[B], &[]],
        ),
    ];
    for (name, by, expected) in table {
        let home = TempDir::new().unwrap();
        let environment = environment(home.path());
        let file = TrustFile::for_environment(&environment).unwrap();
        file.add(&untrusted(A, "1")).unwrap();
        file.add(&untrusted(B, "1")).unwrap();
        change(&home, |all| {
            // A new field needs a row above.
            let fields = all["entries"][0]["entry"].as_object().unwrap().keys();
            assert_eq!(fields.collect::<Vec<_>>(), ["at_ms", "digest", "path"]);
            by(all);
        });
        assert_eq!(paths(&file), expected.map(<[&str]>::to_vec), "{name}");
        for (path, digest) in [(A, "1"), (A, "2"), (C, "1")] {
            let is_believed = expected[0].contains(&path) && digest == "1";
            let held = TrustFile::holds(&untrusted(path, digest), &environment).unwrap();
            assert_eq!(held, is_believed, "{name}: {path} {digest}");
        }
        // A change of another entry keeps what is ignored; one of its own replaces it.
        file.add(&untrusted("/d/agent.toml", "1")).unwrap();
        assert_eq!(paths(&file)[1], expected[1], "{name}");
        for path in expected[1] {
            file.add(&untrusted(path, "3")).unwrap();
            assert!(TrustFile::holds(&untrusted(path, "3"), &environment).unwrap());
        }
        assert_eq!(paths(&file)[1], Vec::<String>::new(), "{name}");
    }
}

/// A file of before the signatures is believed as it was when the key was made, until one with
/// signatures replaces it.
#[test]
fn trust_of_an_older_version_is_believed_until_replaced() {
    let home = TempDir::new().unwrap();
    let environment = environment(home.path());
    let file = TrustFile::for_environment(&environment).unwrap();
    file.add(&untrusted("/a/agent.toml", "1")).unwrap();
    change(&home, unsign);
    let state = path(&home).with_file_name("");
    std::fs::remove_file(state.join("rows.key")).unwrap();
    // Whichever part of the program makes the key.
    drop(FileKey::open(&state, AuthorityFile::Tokens).unwrap());
    let old = std::fs::read(path(&home)).unwrap();
    let (a, b) = ("/a/agent.toml", "/b/agent.toml");
    assert_eq!(paths(&file), [vec![a], vec![]]);
    change(&home, |all| {
        all["trusted"][0]["path"] = json!(b);
    });
    assert_eq!(paths(&file), [vec![], vec![b]]);
    std::fs::write(path(&home), &old).unwrap();
    file.add(&untrusted(b, "1")).unwrap();
    assert_eq!(paths(&file), [vec![a, b], vec![]]);
    std::fs::write(path(&home), &old).unwrap();
    assert_eq!(paths(&file), [vec![], vec![a]]);
}

/// One that was not there when the key was made is not believed.
#[test]
fn trust_of_an_older_version_beside_a_key_is_ignored() {
    let home = TempDir::new().unwrap();
    let file = TrustFile::for_environment(&environment(home.path())).unwrap();
    let state = path(&home).with_file_name("");
    drop(FileKey::open(&state, AuthorityFile::Tokens).unwrap());
    let entry = json!({"path": "/a/agent.toml", "digest": Digest::of(b"1"), "at_ms": 1});
    let old = json!({"version": 1, "trusted": [entry]});
    std::fs::write(path(&home), old.to_string()).unwrap();
    assert_eq!(paths(&file), [vec![], vec!["/a/agent.toml"]]);
}
