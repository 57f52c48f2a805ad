use super::*;
use pretty_assertions::assert_eq;

/// A table as the kernel writes it, with a line that cannot be read left out.
const TABLE: &str = "\
22 1 8:1 / / rw,relatime - ext4 /dev/sda rw
23 22 0:21 / /proc rw shared:1 - proc proc rw
24 22 0:40 / /home/u/remote rw - fuse.sshfs host:/ rw
25 22 0:41 / /mnt/a\\040b rw - nfs4 server:/ rw
26 25 0:42 / /mnt/a\\040b/local rw - tmpfs tmpfs rw
27 22 8:1 /data /srv rw - ext4 /dev/sda rw
28 22 0:43 / /auto rw - autofs systemd-1 rw
29 28 8:2 / /auto rw - xfs /dev/sdb rw
";

/// A table that is not read again, because a plain file reports no change.
fn table(text: &str) -> MountTable {
    MountTable(Mutex::new(MountsState {
        table: Some(tempfile::tempfile().unwrap()),
        mounts: text.lines().map(|line| parse(line.as_bytes())).collect(),
        ..MountsState::default()
    }))
}

fn check(table: &MountTable, granted: &str, real: &str, held: &str) -> bool {
    table.check(Path::new(granted), Path::new(real), &[PathBuf::from(held)])
}

#[test]
fn grant_is_local_if_every_mount_around_it_is() {
    let cases = [
        ("/work", "/work", "/var/state", true),
        ("/srv/x", "/srv/x", "/var/state", true),
        // Below the grant.
        ("/home/u", "/home/u", "/var/state", false),
        ("/", "/", "/var/state", false),
        // The grant itself, and one whose path leads through it.
        ("/mnt/a b", "/mnt/a b", "/var/state", false),
        ("/mnt/a b/local", "/mnt/a b/local", "/var/state", false),
        ("/auto/x", "/auto/x", "/var/state", false),
        // Only similar names.
        ("/home/u/remotes", "/home/u/remotes", "/var/state", true),
        ("/home/u/re", "/home/u/re", "/var/state", true),
        // A link as the grant, and a hidden name that every operation looks up.
        ("/home/u/remote/link", "/work", "/var/state", false),
        ("/link", "/home/u/remote", "/var/state", false),
        ("/work", "/work", "/home/u/remote/state", false),
    ];
    let table = table(TABLE);
    for (granted, real, held, expected) in cases {
        let is_local = check(&table, granted, real, held);
        assert_eq!(is_local, expected, "{granted} at {real} with {held}");
        assert_eq!(table.is_known_local(Path::new(granted)), expected);
    }
}

#[test]
fn unreadable_line_makes_every_grant_remote() {
    for line in ["", "22 1 8:1 / /", "22 1 8:1 / / rw - "] {
        let table = table(&format!("{TABLE}{line}\n"));
        assert!(!check(&table, "/work", "/work", "/var/state"), "{line}");
    }
    assert!(!check(&table(""), "/work", "/work", "/var/state"));
}

#[test]
fn paths_of_one_file_system_share_a_change_lock() {
    let table = table(TABLE);
    let lock = |path: &str| table.change_lock(Path::new(path));
    let root = lock("/work/a");
    for (path, is_same) in [
        ("/other", true),
        ("/srv/x", true),
        ("/home/u/remote", false),
        ("/mnt/a b", false),
        ("/auto/x", false),
    ] {
        assert_eq!(Arc::ptr_eq(&root, &lock(path)), is_same, "{path}");
    }
    assert!(!Arc::ptr_eq(&lock("/mnt/a b"), &lock("/mnt/a b/local/x")));
}

#[test]
fn table_of_this_process_is_read_once() {
    let table = MountTable::default();
    let mounts = table.state().mounts.len();
    assert!(mounts > 0);
    // Not read again without a change, so a changed copy stays.
    table.state().mounts.clear();
    assert!(table.state().mounts.is_empty());
}
