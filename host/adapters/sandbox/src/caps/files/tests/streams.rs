//! Reading and writing through streams and descriptors: content, ends, errors and counts.

use super::{
    super::stream::MAX_CHUNK_BYTES,
    fixture::{Fixture, THREADS, code, writable},
};
use crate::schedule::blocking::PER_TOOL;
use pretty_assertions::assert_eq;
use std::sync::{Arc, Mutex, mpsc};
use wasmtime::component::Resource;
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        DynInputStream, DynOutputStream, StreamError,
        bindings::filesystem::types::{
            DescriptorFlags, Host as _, HostDescriptor as _, NewTimestamp, OpenFlags,
        },
    },
};

async fn open(fixture: &mut Fixture, path: &str, flags: DescriptorFlags) -> Resource<Descriptor> {
    fixture
        .open(path, false, OpenFlags::CREATE, flags)
        .await
        .unwrap()
}

fn again(handle: &Resource<Descriptor>) -> Resource<Descriptor> {
    Resource::new_borrow(handle.rep())
}

fn input(fixture: &mut Fixture, handle: Resource<DynInputStream>) -> DynInputStream {
    fixture.table.delete(handle).unwrap()
}

fn output(fixture: &mut Fixture, handle: Resource<DynOutputStream>) -> DynOutputStream {
    fixture.table.delete(handle).unwrap()
}

#[tokio::test]
async fn stream_bytes_are_moved_and_counted() {
    let mut fixture = writable();
    let both = DescriptorFlags::READ | DescriptorFlags::WRITE;
    let file = open(&mut fixture, "s.bin", both).await;
    let data: Vec<u8> = (0..200_000_u32).map(|byte| byte.to_le_bytes()[0]).collect();

    let writer = fixture.fs().write_via_stream(again(&file), 0).unwrap();
    let mut writer = output(&mut fixture, writer);
    for chunk in data.chunks(50_000) {
        assert!(writer.check_write().unwrap() >= chunk.len());
        writer.write(chunk.to_vec().into()).unwrap();
    }
    writer.flush().unwrap();
    let appender = fixture.fs().append_via_stream(again(&file)).unwrap();
    let mut appender = output(&mut fixture, appender);
    appender
        .blocking_write_and_flush(b"end"[..].into())
        .await
        .unwrap();

    let reader = fixture.fs().read_via_stream(again(&file), 1).unwrap();
    let mut reader = input(&mut fixture, reader);
    assert!(reader.read(0).unwrap().is_empty());
    let mut found = Vec::new();
    loop {
        match reader.blocking_read(usize::MAX).await {
            Ok(bytes) => {
                assert!(bytes.len() <= MAX_CHUNK_BYTES);
                found.extend(bytes);
            }
            Err(StreamError::Closed) => break,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(matches!(reader.read(1), Err(StreamError::Closed)));
    assert_eq!(found, [data.get(1..).unwrap(), b"end"].concat());
    let stats = fixture.stats();
    assert_eq!((stats.bytes_in, stats.bytes_out), (200_002, 200_003));
    assert_eq!(fixture.fs().stat(file).await.unwrap().size, 200_003);
}

#[tokio::test]
async fn descriptor_operations_obey_open_flags() {
    let mut fixture = writable();
    let read = open(&mut fixture, "a.txt", DescriptorFlags::READ).await;
    let write = open(&mut fixture, "w.txt", DescriptorFlags::WRITE).await;
    let dir = fixture.handle(0);
    assert_eq!(
        fixture.fs().get_flags(again(&read)).await.unwrap(),
        DescriptorFlags::READ
    );
    assert_eq!(
        fixture.fs().get_flags(again(&write)).await.unwrap(),
        DescriptorFlags::WRITE
    );
    assert_eq!(
        fixture.fs().get_flags(again(&dir)).await.unwrap(),
        DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY
    );
    let found = [
        fixture
            .fs()
            .write(again(&read), vec![1], 0)
            .await
            .map(drop)
            .map_err(code),
        fixture.fs().set_size(again(&read), 0).await.map_err(code),
        fixture
            .fs()
            .write_via_stream(again(&read), 0)
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .append_via_stream(again(&read))
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .read(again(&write), 1, 0)
            .await
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .read(again(&read), 1, u64::MAX)
            .await
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .write(again(&write), vec![1], u64::MAX)
            .await
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .set_size(again(&write), u64::MAX)
            .await
            .map_err(code),
        fixture
            .fs()
            .read(again(&dir), 1, 0)
            .await
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .read_via_stream(again(&dir), 0)
            .map(drop)
            .map_err(code),
        fixture
            .fs()
            .read_directory(again(&read))
            .await
            .map(drop)
            .map_err(code),
        fixture.fs().set_size(again(&write), 7).await.map_err(code),
        fixture.fs().sync(again(&write)).await.map_err(code),
        fixture.fs().sync_data(again(&dir)).await.map_err(code),
    ];
    let bad = |text: &str| Err(text.to_owned());
    assert_eq!(
        found,
        [
            bad("not-permitted"),
            bad("not-permitted"),
            bad("not-permitted"),
            bad("not-permitted"),
            bad("bad-descriptor"),
            bad("invalid"),
            bad("quota"),
            bad("quota"),
            bad("bad-descriptor"),
            bad("is-directory"),
            bad("not-directory"),
            Ok(()),
            Ok(()),
            Ok(()),
        ]
    );
    assert_eq!(fixture.fs().stat(again(&write)).await.unwrap().size, 7);
    assert!(
        fixture
            .fs()
            .is_same_object(again(&write), again(&write))
            .await
            .unwrap()
    );
    assert!(
        !fixture
            .fs()
            .is_same_object(again(&write), again(&read))
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn contradictory_open_flags_are_refused() {
    let mut fixture = writable();
    let read = DescriptorFlags::READ;
    let table = [
        (OpenFlags::DIRECTORY | OpenFlags::CREATE, read, "invalid"),
        (OpenFlags::DIRECTORY | OpenFlags::TRUNCATE, read, "invalid"),
        (
            OpenFlags::empty(),
            read | DescriptorFlags::FILE_INTEGRITY_SYNC,
            "unsupported",
        ),
        (
            OpenFlags::empty(),
            read | DescriptorFlags::REQUESTED_WRITE_SYNC,
            "unsupported",
        ),
    ];
    for (open, flags, expected) in table {
        let outcome = fixture.open("a.txt", true, open, flags).await;
        assert_eq!(outcome.map(drop).map_err(code), Err(expected.to_owned()));
    }
}

#[tokio::test]
async fn times_are_set_only_with_write_access() {
    use agent_host_engine::policy::DirMode;
    use agent_host_types::tool::Effect;
    use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
    let time = |seconds, nanoseconds| {
        NewTimestamp::Timestamp(Datetime {
            seconds,
            nanoseconds,
        })
    };
    let mut fixture = writable();
    let file = open(&mut fixture, "a.txt", DescriptorFlags::READ).await;
    let set = fixture
        .fs()
        .set_times(
            again(&file),
            NewTimestamp::NoChange,
            time(1_000, 2_000_000_003),
        )
        .await;
    assert_eq!(set.map_err(code), Ok(()));
    let stat = fixture.fs().stat(again(&file)).await.unwrap();
    let found = stat.data_modification_timestamp.unwrap();
    assert_eq!((found.seconds, found.nanoseconds), (1_002, 3));
    for seconds in [u64::MAX, u64::MAX - 1] {
        let set = fixture
            .fs()
            .set_times(again(&file), NewTimestamp::NoChange, time(seconds, 0))
            .await;
        assert_eq!(set.map_err(code), Err("overflow".to_owned()));
    }

    let resolver = super::super::resolve::Resolver::Openat2;
    let mut fixture =
        super::fixture::open(fixture.dir, DirMode::ReadOnly, Effect::Effectful, resolver);
    let file = fixture
        .open("a.txt", false, OpenFlags::empty(), DescriptorFlags::READ)
        .await
        .unwrap();
    let dir = fixture.handle(0);
    for handle in [again(&file), dir] {
        let set = fixture
            .fs()
            .set_times(handle, NewTimestamp::Now, NewTimestamp::Now)
            .await;
        assert_eq!(set.map_err(code), Err("access".to_owned()));
    }
}

#[tokio::test]
async fn stream_errors_map_to_codes() {
    let mut fixture = writable();
    let file = open(&mut fixture, "w.txt", DescriptorFlags::WRITE).await;
    let reader = fixture.fs().read_via_stream(again(&file), 0).unwrap();
    let mut reader = input(&mut fixture, reader);
    let Err(StreamError::LastOperationFailed(error)) = reader.read(1) else {
        panic!("a file that was opened for writing was read");
    };
    let error = fixture.table.push(error).unwrap();
    let code = fixture.fs().filesystem_error_code(error).unwrap();
    assert_eq!(
        code.map(|code| code.name().to_owned()),
        Some("bad-descriptor".to_owned())
    );
    assert!(matches!(reader.read(1), Err(StreamError::Closed)));
}

/// Opens a file in a directory that is not local, and its streams.
async fn remote(fixture: &mut Fixture) -> (DynInputStream, DynOutputStream) {
    let tool = THREADS.all.for_tool();
    Arc::get_mut(&mut fixture.files).unwrap().roots[0].blocking = Some(tool);
    let both = DescriptorFlags::READ | DescriptorFlags::WRITE;
    let file = open(fixture, "s.bin", both).await;
    let writer = fixture.fs().write_via_stream(again(&file), 0).unwrap();
    let reader = fixture.fs().read_via_stream(again(&file), 0).unwrap();
    (input(fixture, reader), output(fixture, writer))
}

#[tokio::test]
async fn remote_stream_moves_bytes_and_counts_them() {
    let mut fixture = writable();
    let (mut reader, mut writer) = remote(&mut fixture).await;
    writer.write(b"alpha"[..].into()).unwrap();
    writer.ready().await;
    assert_eq!(writer.check_write().unwrap(), MAX_CHUNK_BYTES);
    let beta = b" beta"[..].into();
    writer.blocking_write_and_flush(beta).await.unwrap();
    writer.cancel().await;

    reader.ready().await;
    // One operation has read everything.
    assert_eq!(reader.read(3).unwrap(), b"alp"[..]);
    assert_eq!(reader.read(3).unwrap(), b"ha "[..]);
    assert_eq!(reader.blocking_read(100).await.unwrap(), b"beta"[..]);
    let end = reader.blocking_read(1).await;
    assert!(matches!(end, Err(StreamError::Closed)), "{end:?}");
    reader.ready().await;
    let stats = fixture.stats();
    assert_eq!((stats.bytes_in, stats.bytes_out), (10, 10));
}

#[tokio::test]
async fn remote_stream_is_not_ready_while_its_server_hangs() {
    let mut fixture = writable();
    let (mut reader, mut writer) = remote(&mut fixture).await;
    let tool = fixture.files.blocking(0).cloned().unwrap();
    let (answer, answers) = mpsc::channel::<()>();
    let answers = Arc::new(Mutex::new(answers));
    let hung: Vec<_> = (0..PER_TOOL)
        .map(|_| {
            let answers = Arc::clone(&answers);
            // Ends with the sender.
            tool.spawn(move || answers.lock().unwrap().recv().is_err())
        })
        .collect();
    // These wait behind them.
    tokio::task::yield_now().await;
    while tool.is_free() {
        tokio::task::yield_now().await;
    }
    writer.write(b"alpha"[..].into()).unwrap();
    assert_eq!(writer.check_write().unwrap(), 0);
    writer.flush().unwrap();
    let early = writer.write(b"beta"[..].into());
    assert!(matches!(early, Err(StreamError::Trap(_))), "{early:?}");
    assert!(reader.read(10).unwrap().is_empty());
    drop(answer);
    writer.ready().await;
    assert_eq!(writer.check_write().unwrap(), MAX_CHUNK_BYTES);
    for hung in hung {
        assert!(hung.await.unwrap().unwrap());
    }
}
