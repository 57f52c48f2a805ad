use super::*;
use tempfile::TempDir;

/// As a child process has it between `fork` and `execve`.
#[test]
fn lock_ends_though_its_file_is_open_elsewhere() {
    let dir = TempDir::new().unwrap();
    let session = SessionId::new();
    let lock = SessionLock::take(dir.path(), session).unwrap();
    let _inherited = lock.file.try_clone().unwrap();
    lock.set_mark(&Mark {
        events: 1,
        digest: [0; 32],
    });
    drop(lock);
    SessionLock::take(dir.path(), session).unwrap();
}
