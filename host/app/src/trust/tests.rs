use super::TrustFile;
use crate::config::{Environment, Untrusted};
use agent_host_types::id::Digest;
use pretty_assertions::assert_eq;
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
    let file = TrustFile::of(&environment).unwrap();
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
    let file = TrustFile::of(&environment).unwrap();
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
    assert!(TrustFile::of(&nowhere).is_none());
    let one = untrusted("/a/agent.toml", "1");
    assert!(!TrustFile::holds(&one, &nowhere).unwrap());
}
