//! wasi:filesystem 0.3, whose operations run beside others of their component: those of 0.2, on
//! copies of the objects behind the handles. A future of an operation that held the call's table
//! would keep every other function of the host waiting.

mod streams;

use super::{
    Files, FilesCtx, FilesView,
    convert::concurrent::{self as converted, done},
    node::FileNode,
    stream::WritePosition,
};
use std::sync::Arc;
use streams::{FileConsumer, FileProducer, ListingProducer, StreamEnd};
use wasmtime::component::{
    Access, Accessor, FutureReader, Resource, ResourceTable, ResourceTableError, StreamReader,
};
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::bindings::filesystem::{preopens as preopens_0_2, types::HostDescriptor},
    p3::{
        bindings::filesystem::{
            preopens,
            types::{
                self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
                ErrorCode, Filesize, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
            },
        },
        filesystem::{FilesystemError, FilesystemResult},
    },
};

type Handle = Resource<Descriptor>;

/// Copies of the objects behind handles, for one operation.
struct Copies {
    ctx: Arc<FilesCtx>,
    table: ResourceTable,
}

impl Copies {
    fn of<U>(
        store: &Accessor<U, Files>,
        handle: &Handle,
    ) -> Result<(Self, Handle), ResourceTableError> {
        store.with(|mut store| Self::of_one(&store.get(), handle))
    }

    fn of_two<U>(
        store: &Accessor<U, Files>,
        one: &Handle,
        other: &Handle,
    ) -> Result<(Self, Handle, Handle), ResourceTableError> {
        store.with(|mut store| {
            let view = store.get();
            let (mut copies, one) = Self::of_one(&view, one)?;
            let other = copies.add(&view, other)?;
            Ok((copies, one, other))
        })
    }

    fn of_one(view: &FilesView<'_>, handle: &Handle) -> Result<(Self, Handle), ResourceTableError> {
        let mut copies = Self {
            ctx: Arc::clone(view.ctx),
            table: ResourceTable::new(),
        };
        let handle = copies.add(view, handle)?;
        Ok((copies, handle))
    }

    fn add(&mut self, view: &FilesView<'_>, handle: &Handle) -> Result<Handle, ResourceTableError> {
        let node = FileNode::get(view.table, handle)?.clone();
        Ok(Resource::new_own(self.table.push(node)?.rep()))
    }

    fn view(&mut self) -> FilesView<'_> {
        FilesView {
            ctx: &self.ctx,
            table: &mut self.table,
        }
    }
}

/// Makes a function of each operation of 0.2 that is called on a copy of the object behind the
/// handle, with the function that converts its result, if that differs.
macro_rules! on_copy {
    ($(
        fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty =
            |$view:ident, $fd:ident| $call:expr $(=> $convert:path)?;
    )*) => {$(
        async fn $name(
            store: &Accessor<U, Self>,
            fd: Handle,
            $($argument: $type),*
        ) -> FilesystemResult<$result> {
            let (mut copies, $fd) = Copies::of(store, &fd)?;
            let mut $view = copies.view();
            done($call.await)$(.map($convert))?
        }
    )*};
}

impl<U: 'static> types::HostDescriptorWithStore<U> for Files {
    fn read_via_stream(
        mut store: Access<'_, U, Self>,
        fd: Handle,
        offset: Filesize,
    ) -> wasmtime::Result<(StreamReader<u8>, FutureReader<Result<(), ErrorCode>>)> {
        let reader = done(store.get().reader(&fd, offset));
        let (end, ended) = StreamEnd::new();
        let stream = match converted::code_of(reader)? {
            Ok(reader) => StreamReader::new(&mut store, FileProducer::new(reader, end))?,
            Err(code) => {
                end.set(Err(code));
                StreamReader::new(&mut store, Vec::new())?
            }
        };
        Ok((stream, FutureReader::new(&mut store, ended)?))
    }

    fn write_via_stream(
        store: Access<'_, U, Self>,
        fd: Handle,
        data: StreamReader<u8>,
        offset: Filesize,
    ) -> wasmtime::Result<FutureReader<Result<(), ErrorCode>>> {
        write(store, &fd, data, WritePosition::Offset(offset))
    }

    fn append_via_stream(
        store: Access<'_, U, Self>,
        fd: Handle,
        data: StreamReader<u8>,
    ) -> wasmtime::Result<FutureReader<Result<(), ErrorCode>>> {
        write(store, &fd, data, WritePosition::End)
    }

    fn read_directory(
        mut store: Access<'_, U, Self>,
        fd: Handle,
    ) -> wasmtime::Result<(
        StreamReader<DirectoryEntry>,
        FutureReader<Result<(), ErrorCode>>,
    )> {
        let view = store.get();
        let dir = done(FileNode::dir(view.table, &fd));
        let ctx = Arc::clone(view.ctx);
        let (end, ended) = StreamEnd::new();
        let stream = match converted::code_of(dir)? {
            Ok(dir) => StreamReader::new(&mut store, ListingProducer::new(ctx, dir, end))?,
            Err(code) => {
                end.set(Err(code));
                StreamReader::new(&mut store, Vec::new())?
            }
        };
        Ok((stream, FutureReader::new(&mut store, ended)?))
    }

    on_copy! {
        fn advise(offset: Filesize, length: Filesize, advice: Advice) -> () =
            |view, fd| view.advise(fd, offset, length, converted::advice(advice));
        fn sync_data() -> () = |view, fd| view.sync_data(fd);
        fn sync() -> () = |view, fd| view.sync(fd);
        fn get_flags() -> DescriptorFlags =
            |view, fd| view.get_flags(fd) => converted::descriptor_flags;
        fn get_type() -> DescriptorType =
            |view, fd| view.get_type(fd) => converted::descriptor_type;
        fn set_size(size: Filesize) -> () = |view, fd| view.set_size(fd, size);
        fn create_directory_at(path: String) -> () =
            |view, fd| view.create_directory_at(fd, path);
        fn stat() -> DescriptorStat = |view, fd| view.stat(fd) => converted::descriptor_stat;
        fn stat_at(flags: PathFlags, path: String) -> DescriptorStat =
            |view, fd| view.stat_at(fd, converted::path_flags(flags), path)
                => converted::descriptor_stat;
        fn readlink_at(path: String) -> String = |view, fd| view.readlink_at(fd, path);
        fn remove_directory_at(path: String) -> () =
            |view, fd| view.remove_directory_at(fd, path);
        fn symlink_at(target: String, path: String) -> () =
            |view, fd| view.symlink_at(fd, target, path);
        fn unlink_file_at(path: String) -> () = |view, fd| view.unlink_file_at(fd, path);
        fn metadata_hash() -> MetadataHashValue =
            |view, fd| view.metadata_hash(fd) => converted::metadata_hash;
        fn metadata_hash_at(flags: PathFlags, path: String) -> MetadataHashValue =
            |view, fd| view.metadata_hash_at(fd, converted::path_flags(flags), path)
                => converted::metadata_hash;
    }

    async fn set_times(
        store: &Accessor<U, Self>,
        fd: Handle,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FilesystemResult<()> {
        let [access, modification] = converted::timestamps([access, modification])?;
        let (mut copies, fd) = Copies::of(store, &fd)?;
        done(copies.view().set_times(fd, access, modification).await)
    }

    async fn set_times_at(
        store: &Accessor<U, Self>,
        fd: Handle,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FilesystemResult<()> {
        let [access, modification] = converted::timestamps([access, modification])?;
        let (mut copies, fd) = Copies::of(store, &fd)?;
        let flags = converted::path_flags(flags);
        let mut view = copies.view();
        done(
            view.set_times_at(fd, flags, path, access, modification)
                .await,
        )
    }

    async fn link_at(
        store: &Accessor<U, Self>,
        fd: Handle,
        flags: PathFlags,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FilesystemResult<()> {
        let (mut copies, fd, new_fd) = Copies::of_two(store, &fd, &new_fd)?;
        let flags = converted::path_flags(flags);
        done(
            copies
                .view()
                .link_at(fd, flags, path, new_fd, new_path)
                .await,
        )
    }

    async fn open_at(
        store: &Accessor<U, Self>,
        fd: Handle,
        flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        descriptor_flags: DescriptorFlags,
    ) -> FilesystemResult<Handle> {
        let (mut copies, fd) = Copies::of(store, &fd)?;
        let (flags, open_flags) = (
            converted::path_flags(flags),
            converted::open_flags(open_flags),
        );
        let wanted = converted::wanted_flags(descriptor_flags);
        let opened = copies
            .view()
            .open_at(fd, flags, path, open_flags, wanted)
            .await;
        let opened = Resource::<FileNode>::new_own(done(opened)?.rep());
        let node = copies.table.delete(opened).map_err(FilesystemError::trap)?;
        done(store.with(|mut store| node.push(store.get().table)))
    }

    async fn rename_at(
        store: &Accessor<U, Self>,
        fd: Handle,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FilesystemResult<()> {
        let (mut copies, fd, new_fd) = Copies::of_two(store, &fd, &new_fd)?;
        done(copies.view().rename_at(fd, path, new_fd, new_path).await)
    }

    async fn is_same_object(
        store: &Accessor<U, Self>,
        one: Handle,
        other: Handle,
    ) -> wasmtime::Result<bool> {
        let (mut copies, one, other) = Copies::of_two(store, &one, &other)?;
        copies.view().is_same_object(one, other).await
    }
}

/// Writes what comes through a stream to a file.
fn write<U: 'static>(
    mut store: Access<'_, U, Files>,
    fd: &Handle,
    mut data: StreamReader<u8>,
    to: WritePosition,
) -> wasmtime::Result<FutureReader<Result<(), ErrorCode>>> {
    let writer = done(store.get().writer(fd, to));
    let (end, ended) = StreamEnd::new();
    match converted::code_of(writer)? {
        Ok(writer) => data.pipe(&mut store, FileConsumer::new(writer, end))?,
        Err(code) => {
            data.close(&mut store)?;
            end.set(Err(code));
        }
    }
    FutureReader::new(&mut store, ended)
}

impl types::HostDescriptor for FilesView<'_> {
    fn drop(&mut self, fd: Handle) -> wasmtime::Result<()> {
        HostDescriptor::drop(self, fd)
    }
}

impl types::Host for FilesView<'_> {
    fn convert_error_code(&mut self, error: FilesystemError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        preopens_0_2::Host::get_directories(self)
    }
}
