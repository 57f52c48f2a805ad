//! The state directory: modes, owners, and files of other programs.

use super::{fresh, open, read, session_of, text};
use crate::{
    AuthorityFile, FileKey, MemoryChange, MemoryQuery, MemoryScope,
    tests::suite::memory_items::item,
};
use agent_host_engine::journal::{Journal as _, JournalError};
use pretty_assertions::assert_eq;
use std::{
    fs::Permissions,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::Path,
};
use tempfile::TempDir;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The text of the `Corrupt` error of opening.
fn corrupt(state_dir: &Path) -> String {
    match open(state_dir) {
        Err(JournalError::Corrupt(error)) => error.to_string(),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[tokio::test]
async fn state_files_are_readable_by_their_owner_alone() {
    let (dir, store) = fresh();
    let (_journal, _) = session_of(&store, 1).await;
    let state = dir.path().join("state");
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(&state.join("locks")), 0o700);
    let mut files = 0;
    for directory in [&state, &state.join("locks")] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 4, "the database, its log and index, and a lock");
}

#[test]
fn file_readable_by_others_is_closed_to_them() {
    for name in ["agent-host.db", "rows.key"] {
        let (dir, store) = fresh();
        drop(store);
        let file = dir.path().join("state").join(name);
        set_mode(&file, 0o644);
        open(&dir.path().join("state")).unwrap();
        assert_eq!(mode(&file), 0o600, "{name}");
    }
}

#[test]
fn world_writable_state_is_refused() {
    for name in ["", "locks", "agent-host.db", "rows.key"] {
        let (dir, store) = fresh();
        drop(store);
        let state = dir.path().join("state").canonicalize().unwrap();
        let path = if name.is_empty() {
            state.clone()
        } else {
            state.join(name)
        };
        set_mode(&path, 0o777);
        assert_eq!(
            text(open(&state)),
            format!(
                "every user of this machine can write to {} (mode 0777), so anyone could change the journal; run \
                 `chmod o-w` on it, or set `state-dir` to another directory",
                path.display()
            )
        );
    }
}

#[test]
fn directory_of_another_user_is_refused() {
    let me = rustix::process::geteuid().as_raw();
    let dir = TempDir::new().unwrap();
    // Only root can change an owner; another user takes a directory of root.
    let (path, owner) = if me == 0 {
        std::os::unix::fs::chown(dir.path(), Some(65534), None).unwrap();
        (dir.path().canonicalize().unwrap(), 65534)
    } else {
        (Path::new("/usr").canonicalize().unwrap(), 0)
    };
    assert_eq!(
        text(open(&path)),
        format!(
            "{} belongs to user {owner}, and this program runs as user {me}, so its owner could change the journal; \
             run as user {owner}, give it to user {me} with `chown`, or set `state-dir` to another directory",
            path.display()
        )
    );
}

/// Root may write everywhere, so as root this test runs itself once more as another user.
#[test]
fn read_only_directory_is_refused() {
    let dir = TempDir::new().unwrap();
    if rustix::process::geteuid().is_root() {
        set_mode(dir.path(), 0o755);
        let program = dir.path().join("test");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut child = std::process::Command::new(&program);
        child.args([
            "--exact",
            "tests::sqlite::files::read_only_directory_is_refused",
        ]);
        let output = child
            .current_dir("/")
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    let root = dir.path().canonicalize().unwrap();
    let advice = "Permission denied (os error 13); make it writable for this user, or set `state-dir` to a directory that is";
    set_mode(&root, 0o500);
    let missing = root.join("state");
    assert_eq!(
        text(open(&missing)),
        format!(
            "cannot create the state directory {}: {advice}",
            missing.display()
        )
    );
    assert_eq!(
        text(open(&root)),
        format!(
            "cannot create the state directory {}: {advice}",
            root.join("locks").display()
        )
    );
    set_mode(&root, 0o700);
    drop(open(&root).unwrap());
    set_mode(&root.join("agent-host.db"), 0o400);
    assert_eq!(
        text(open(&root)),
        format!(
            "cannot open the journal {}: {advice}",
            root.join("agent-host.db").display()
        )
    );
    set_mode(&root.join("agent-host.db"), 0o600);
    set_mode(&root, 0o500);
    assert_eq!(
        text(open(&root)),
        format!(
            "cannot open the journal: {0} or its directory is not writable (attempt to write a readonly database); \
             make the directory writable for this user, or set `state-dir` to another directory",
            root.join("agent-host.db").display()
        )
    );
    set_mode(&root, 0o700);
}

#[test]
fn file_in_place_of_the_directory_is_named() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("state");
    std::fs::write(&path, "").unwrap();
    assert_eq!(
        text(open(&path)),
        format!(
            "cannot create the state directory {}: File exists (os error 17); move the file with that name away, or \
             set `state-dir` to another directory",
            path.display()
        )
    );
}

#[test]
fn symlink_in_place_of_the_database_is_refused() {
    let dir = TempDir::new().unwrap();
    let target = dir.path().join("elsewhere");
    std::fs::write(&target, "").unwrap();
    let state = dir.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::os::unix::fs::symlink(&target, state.join("agent-host.db")).unwrap();
    let refused = text(open(&state));
    assert!(refused.starts_with("cannot open the journal "), "{refused}");
    assert_eq!(std::fs::read(&target).unwrap(), b"");
}

#[test]
fn file_that_is_no_database_is_left_as_it_is() {
    let (dir, store) = fresh();
    let file = store.file().to_owned();
    drop(store);
    let garbage = "not a database, ".repeat(1000);
    std::fs::write(&file, &garbage).unwrap();
    assert_eq!(
        corrupt(&dir.path().join("state")),
        format!(
            "cannot open the journal: {} is not an agent-host journal, or its beginning is damaged (file is not a \
             database); restore it from a backup, or move it away to start with an empty journal",
            file.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), garbage);
}

#[tokio::test]
async fn damaged_page_is_an_error() {
    let (dir, store) = fresh();
    let (journal, _) = session_of(&store, 3).await;
    let session = journal.session();
    let file = store.file().to_owned();
    drop(journal);
    drop(store);
    let mut bytes = std::fs::read(&file).unwrap();
    // Everything behind the first page, which holds the schema.
    bytes[4096..].fill(0xa5);
    std::fs::write(&file, bytes).unwrap();
    let damaged = open(&dir.path().join("state"))
        .and_then(|store| read(&store, session))
        .unwrap_err();
    assert!(matches!(damaged, JournalError::Corrupt(_)), "{damaged}");
    assert!(damaged.to_string().contains("is damaged"), "{damaged}");
}

#[test]
fn foreign_databases_and_other_versions_are_refused() {
    let file = |state: &Path| state.canonicalize().unwrap().join("agent-host.db");
    let (dir, store) = fresh();
    drop(store);
    let state = dir.path().join("state");
    let db = rusqlite::Connection::open(file(&state)).unwrap();
    for version in [8, 0] {
        db.execute("UPDATE meta SET format_version = ?1", [version])
            .unwrap();
        assert_eq!(
            corrupt(&state),
            format!(
                "the journal {} has format {version}, and this program supports format 7: another version of \
                 agent-host, probably a newer one, wrote it; use that version, or set `state-dir` to another \
                 directory",
                file(&state).display()
            )
        );
    }
    db.execute_batch("DELETE FROM meta").unwrap();
    let text = corrupt(&state);
    assert!(
        text.contains("contains data that this program did not write"),
        "{text}"
    );

    let dir = TempDir::new().unwrap();
    let db = rusqlite::Connection::open(file(dir.path())).unwrap();
    db.execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    assert_eq!(
        corrupt(dir.path()),
        format!(
            "{} is another program's database; move it away, or set `state-dir` to another directory",
            file(dir.path()).display()
        )
    );
}

#[test]
fn new_directory_is_opened_by_many_at_once() {
    let dir = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| open(dir.path()).map(drop)))
            .collect();
        for open in opening {
            open.join().unwrap().unwrap();
        }
    });
}

/// The key is readable by its owner alone and the same for every process; a file without a key is
/// refused.
#[test]
fn continuation_key_is_made_once_and_checked() {
    let (dir, store) = fresh();
    let path = dir.path().join("state/continuation.key");
    let key = store.continuation_key().unwrap();
    assert_ne!(key, [0; 32]);
    assert_eq!(std::fs::read(&path).unwrap(), key);
    assert_eq!(mode(&path), 0o600);
    let other = open(&dir.path().join("state")).unwrap();
    assert_eq!(other.continuation_key().unwrap(), key);
    std::fs::write(&path, b"short").unwrap();
    let path = path.canonicalize().unwrap();
    assert_eq!(
        text(other.continuation_key()),
        format!(
            "{} does not contain a key of 32 bytes; restore it from a backup, or delete it, and pending calls are \
             asked about again",
            path.display()
        )
    );
}

/// The key that signs rows is a file beside the database, which no one else reads.
#[test]
fn key_of_rows_is_made_once_and_checked() {
    let (dir, store) = fresh();
    drop(store);
    let state = dir.path().join("state");
    let path = state.join("rows.key");
    let key = std::fs::read(&path).unwrap();
    assert_eq!((key.len(), mode(&path)), (96, 0o600));
    drop(open(&state).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), key);
    // One of a version that signed no files gets their digests once, and stays the same key.
    for (name, secret) in [("old", &key[..32]), ("new", &key[..])] {
        std::fs::write(state.join("trust.json"), name).unwrap();
        std::fs::write(&path, secret).unwrap();
        for _ in 0..2 {
            let file = FileKey::open(&state, AuthorityFile::Trust).unwrap();
            assert_eq!(file.is_from_before(name), name == "old");
            assert!(!file.is_from_before("other"));
        }
        let stored = std::fs::read(&path).unwrap();
        assert_eq!((&stored[..32], stored.len()), (&key[..32], 96), "{name}");
    }
    std::fs::write(&path, b"short").unwrap();
    let path = path.canonicalize().unwrap();
    assert_eq!(
        text(open(&state)),
        format!(
            "{} does not contain a key of 32 bytes; restore it from a backup, or delete it, and approve calls again, \
             create tokens and trust again, and continue only copies of sessions",
            path.display()
        )
    );
}

/// A pipe in place of a file is refused at once instead of blocking.
#[tokio::test]
async fn pipe_in_place_of_a_file_is_refused() {
    let (dir, store) = fresh();
    let (journal, _) = session_of(&store, 1).await;
    let session = journal.session();
    drop((journal, store));
    let state = dir.path().join("state").canonicalize().unwrap();
    let lock = format!("locks/{session}.lock");
    for (name, doing) in [
        ("continuation.key", "read the key"),
        ("rows.key", "read the key"),
        (lock.as_str(), "lock the session with"),
        ("agent-host.db", "open the journal"),
    ] {
        let path = state.join(name);
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        let fifo = rustix::fs::FileType::Fifo;
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).unwrap();
        let refused = open(&state).and_then(|store| {
            store.continuation_key()?;
            store.open_session(session).map(drop)
        });
        assert_eq!(
            text(refused),
            format!(
                "cannot {doing} {}: it is not a regular file; move the file with that name away, or set `state-dir` \
                 to another directory",
                path.display()
            )
        );
        std::fs::remove_file(&path).unwrap();
        if let Some(kept) = kept {
            std::fs::write(&path, kept).unwrap();
        }
    }
}

/// A forgotten text is neither in the table nor in the index of words.
#[tokio::test]
async fn forgotten_text_is_not_in_the_file() {
    let (dir, store) = fresh();
    let file = store.file().to_owned();
    let has = |text: &str| {
        let bytes = std::fs::read(&file).unwrap();
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    for number in 0..200 {
        let item = item(&number.to_string(), &format!("hidden zyxwv{number}q"), &[]);
        store.remember(item, 1_000).unwrap();
    }
    drop(store);
    assert!(has("zyxwv77q"));
    let store = open(&dir.path().join("state")).unwrap();
    for item in store
        .memory_items(&MemoryQuery::all(MemoryScope::All, 20))
        .unwrap()
    {
        assert!(store.change_memory(item, MemoryChange::Forget, 20).unwrap());
    }
    drop(store);
    for text in ["zyxwv", "77q", "hidden"] {
        assert!(!has(text), "{text}");
    }
}
