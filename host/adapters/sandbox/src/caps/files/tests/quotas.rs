//! Quotas of directories, for every way to write and create.

use super::fixture::{Fixture, code, limited, writable};
use agent_host_engine::policy::DirQuota;
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::{AuditRequest, FileAction},
    limits::Limits,
};
use pretty_assertions::assert_eq;
use wasmtime::component::Resource;
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        DynOutputStream, StreamError,
        bindings::filesystem::types::{DescriptorFlags, Host as _, HostDescriptor as _, OpenFlags},
    },
};

fn limits(file_write_bytes: u64, file_creates: u64) -> Limits {
    Limits {
        file_write_bytes,
        file_creates,
        ..Limits::default()
    }
}

fn refused(path: &str, rule: &str, count: u64) -> AuditEntry {
    AuditEntry {
        request: AuditRequest::file(FileAction::Write, path.to_owned()),
        verdict: AuditVerdict::Denied,
        rule: rule.to_owned(),
        count,
        grant: None,
        status: None,
    }
}

fn denials(fixture: &Fixture) -> Vec<AuditEntry> {
    let audit = fixture.stats().audit;
    let denied = |entry: &AuditEntry| entry.verdict == AuditVerdict::Denied;
    audit.into_iter().filter(denied).collect()
}

async fn open(fixture: &mut Fixture, path: &str) -> Resource<Descriptor> {
    let create = OpenFlags::CREATE;
    let opened = fixture.open(path, false, create, DescriptorFlags::WRITE);
    opened.await.unwrap()
}

fn again(handle: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(handle.rep())
}

fn over<T>() -> Result<T, String> {
    Err("quota".to_owned())
}

/// Returns the guest's code of a stream error.
fn stream_code(fixture: &mut Fixture, error: StreamError) -> String {
    let StreamError::LastOperationFailed(error) = error else {
        panic!("{error}");
    };
    let error = fixture.table.push(error).unwrap();
    let code = fixture.fs().filesystem_error_code(error).unwrap();
    code.unwrap().name().to_owned()
}

#[tokio::test]
async fn every_write_counts_against_quota() {
    // 10 bytes: 4 by a stream, 3 appended, 2 by growing, 1 in place.
    let mut fixture = limited(&limits(10, 10), DirQuota::default());
    let file = open(&mut fixture, "w").await;
    let stream = fixture.fs().write_via_stream(again(&file), 0).unwrap();
    let mut stream: DynOutputStream = fixture.table.delete(stream).unwrap();
    stream.write(b"1234"[..].into()).unwrap();
    let appender = fixture.fs().append_via_stream(again(&file)).unwrap();
    let mut appender: DynOutputStream = fixture.table.delete(appender).unwrap();
    appender.write(b"567"[..].into()).unwrap();
    fixture.fs().set_size(again(&file), 9).await.unwrap();
    let wrote = fixture.fs().write(again(&file), vec![b'x'], 9).await;
    assert_eq!(wrote.map_err(code), Ok(1));

    // Not one byte more, by any operation.
    let wrote = fixture.fs().write(again(&file), vec![b'y'], 0).await;
    assert_eq!(wrote.map_err(code), over());
    let grown = fixture.fs().set_size(again(&file), 11).await;
    assert_eq!(grown.map_err(code), over());
    for mut writer in [stream, appender] {
        let error = writer.write(b"z"[..].into()).unwrap_err();
        assert_eq!(stream_code(&mut fixture, error), "quota");
    }
    // Shrinking is not growing, and gives nothing back.
    fixture.fs().set_size(again(&file), 1).await.unwrap();
    let grown = fixture.fs().set_size(again(&file), 2).await;
    assert_eq!(grown.map_err(code), over());

    let stats = fixture.stats();
    assert_eq!(stats.bytes_out, 8);
    assert_eq!(
        denials(&fixture),
        [refused("/workspace/w", "limits.file-write-bytes", 5)]
    );
    assert_eq!(
        stats.first_denial.map(|denial| denial.sentence).as_deref(),
        Some(
            "write /workspace/w was refused: a call may write at most 10 bytes (rule limits.file-write-bytes)"
        )
    );
    assert_eq!(
        std::fs::read(fixture.dir.path().join("work/w")).unwrap(),
        b"1"
    );
}

#[tokio::test]
async fn hole_counts_against_quota() {
    let mut fixture = limited(&limits(1_000, 10), DirQuota::default());
    let file = open(&mut fixture, "hole").await;
    let huge = 1 << 40;
    let grown = fixture.fs().set_size(again(&file), huge).await;
    assert_eq!(grown.map_err(code), over());
    let wrote = fixture.fs().write(again(&file), vec![1], huge).await;
    assert_eq!(wrote.map_err(code), over());
    let wrote = fixture.fs().write(again(&file), vec![1], 999).await;
    assert_eq!(wrote.map_err(code), Ok(1));
    assert_eq!(fixture.fs().stat(file).await.unwrap().size, 1_000);
}

#[tokio::test]
async fn quota_is_given_back_on_kernel_error() {
    let mut fixture = limited(&limits(u64::MAX, 10), DirQuota::default());
    let file = open(&mut fixture, "w").await;
    // Each would use up everything.
    for _ in 0..2 {
        let wrote = fixture.fs().write(again(&file), vec![1], u64::MAX).await;
        assert_eq!(wrote.map_err(code), Err("invalid".to_owned()));
        let grown = fixture.fs().set_size(again(&file), u64::MAX).await;
        assert_eq!(grown.map_err(code), Err("invalid".to_owned()));
    }
    let wrote = fixture.fs().write(again(&file), vec![1], 0).await;
    assert_eq!(wrote.map_err(code), Ok(1));
    assert_eq!(denials(&fixture), []);
}

#[tokio::test]
async fn every_creation_counts_against_quota() {
    let mut fixture = limited(&limits(1_000, 5), DirQuota::default());
    fixture
        .check(&[
            ("create one 1", "1"),
            ("create-new two 2", "1"),
            ("make-dir inner", "done"),
            ("point one pointer", "done"),
            ("link one second", "done"),
            // Existing objects are not created, nor is a new name of one a creation.
            ("create one x", "1"),
            ("create-new two x", "exist"),
            ("make-dir inner", "exist"),
            ("move second third", "done"),
            ("replace one y", "1"),
            ("create three 3", "quota"),
            ("create-new three 3", "quota"),
            ("make-dir further", "quota"),
            ("point one further", "quota"),
            ("link one further", "quota"),
            // Removing gives nothing back: the quota counts work, not content.
            ("remove third", "done"),
            ("create three 3", "quota"),
            ("list inner", ""),
        ])
        .await;
    let rule = "limits.file-creates";
    assert_eq!(
        denials(&fixture),
        [
            refused("/workspace/three", rule, 3),
            refused("/workspace/further", rule, 3),
        ]
    );
}

#[tokio::test]
async fn failed_operation_is_not_counted() {
    let mut fixture = limited(&limits(6, 1), DirQuota::default());
    fixture
        .check(&[
            ("make-dir sub", "exist"),
            ("make-dir a.txt/x", "not-directory"),
            ("link a.txt in", "exist"),
            ("point a.txt in", "exist"),
            ("create one 123456", "6"),
            // A link's target counts as written.
            ("point a.txt two", "quota"),
        ])
        .await;
    assert_eq!(
        denials(&fixture),
        [refused("/workspace/two", "limits.file-write-bytes", 1)]
    );
}

#[tokio::test]
async fn directory_quota_is_separate() {
    let quota = DirQuota {
        write_bytes: Some(4),
        creates: Some(2),
    };
    let mut fixture = limited(&limits(10, 3), quota);
    fixture
        .check(&[
            ("create one 12345", "quota"),
            ("create two 1234", "4"),
            ("create two x", "quota"),
            ("make-dir three", "quota"),
        ])
        .await;
    assert_eq!(
        denials(&fixture),
        [
            refused("/workspace/one", "grants.dir[0].quota.write-bytes", 1),
            refused("/workspace/two", "grants.dir[0].quota.write-bytes", 1),
            refused("/workspace/three", "grants.dir[0].quota.creates", 1),
        ]
    );
    // A refusal of one directory takes nothing from the other: 6 bytes, one creation.
    let other = fixture.handle(1);
    let mut fs = fixture.fs();
    let made = fs.create_directory_at(other, "a".to_owned());
    assert_eq!(made.await.map_err(code), Ok(()));
    let other = fixture.handle(1);
    let mut fs = fixture.fs();
    let made = fs.create_directory_at(other, "b".to_owned());
    assert_eq!(made.await.map_err(code), over());
}

/// A full disk has another code than a quota, and is not in the audit log. The kernel's error is
/// simulated, because a test cannot fill a disk.
#[test]
fn full_disk_is_insufficient_space() {
    use super::super::convert::io_error_code;
    use rustix::io::Errno;
    let fixture = writable();
    let growth = crate::gate::Growth {
        bytes: 1,
        creates: 0,
    };
    let full: std::io::Result<()> = fixture
        .files
        .gate
        .grow(0, "a.txt", growth, || Err(Errno::NOSPC.into()));
    assert_eq!(
        io_error_code(&full.unwrap_err()).name(),
        "insufficient-space"
    );
    assert_eq!(denials(&fixture), []);
}
