//! The operations on a `descriptor`. Each resolves the path, hides what is hidden, asks the gate,
//! and acts on one name, on a thread where the file system may take its time.

use super::{
    FilesCtx, FilesView,
    changes::{NewSymlink, Rename},
    convert::{self, error_code, io_error_code},
    git_config::{is_config_name, is_emptied},
    node::{FileNode, OpenDir, OpenFile},
    open::OpenRequest,
    resolve::{Follow, lstat, read_link},
    stream::{self, FileReader, FileWriter, WritePosition},
};
use agent_host_engine::policy::FileOp;
use agent_host_types::audit::FileAction;
use rustix::{
    fs::{AtFlags, FileType, Mode, Stat},
    io::Errno,
};
use std::{
    num::NonZeroU64,
    sync::{Arc, Mutex},
};
use wasmtime::component::Resource;
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        DynInputStream, DynOutputStream, FsResult,
        bindings::filesystem::types::{
            Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntryStream,
            ErrorCode, Filesize, HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags,
            PathFlags,
        },
    },
};

type Handle = Resource<Descriptor>;

fn follow(flags: PathFlags) -> Follow {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        Follow::Yes
    } else {
        Follow::No
    }
}

impl FilesView<'_> {
    /// Runs an operation on an open object where its file system allows it.
    async fn on_node<T: Send + 'static>(
        &mut self,
        fd: &Handle,
        work: impl FnOnce(&FilesCtx, &FileNode) -> FsResult<T> + Send + 'static,
    ) -> FsResult<T> {
        let node = FileNode::get(self.table, fd)?.clone();
        let grant = node.grant();
        self.ctx.run(grant, move |ctx| work(ctx, &node)).await
    }

    async fn on_dir<T: Send + 'static>(
        &mut self,
        fd: &Handle,
        work: impl FnOnce(&FilesCtx, &OpenDir) -> FsResult<T> + Send + 'static,
    ) -> FsResult<T> {
        let dir = FileNode::dir(self.table, fd)?;
        self.ctx.run(dir.grant, move |ctx| work(ctx, &dir)).await
    }

    async fn on_file<T: Send + 'static>(
        &mut self,
        open: OpenFile,
        work: impl FnOnce(&FilesCtx, &OpenFile) -> FsResult<T> + Send + 'static,
    ) -> FsResult<T> {
        self.ctx.run(open.grant, move |ctx| work(ctx, &open)).await
    }

    async fn fstat(&mut self, fd: &Handle) -> FsResult<Stat> {
        let fstat = |_: &FilesCtx, node: &FileNode| {
            // A truncation that ends after this has emptied the file before it is read.
            let is_emptied = node.is_emptied();
            let mut stat = rustix::fs::fstat(node.fd()?).map_err(error_code)?;
            if is_emptied {
                stat.st_size = 0;
            }
            Ok(stat)
        };
        self.on_node(fd, fstat).await
    }

    pub(super) fn reader(&self, fd: &Handle, offset: Filesize) -> FsResult<FileReader> {
        let open = match FileNode::get(self.table, fd)? {
            FileNode::File(open) => open,
            FileNode::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        Ok(FileReader::new(
            Arc::clone(&self.ctx.gate),
            Arc::clone(&open.file),
            offset,
            self.ctx.blocking(open.grant).cloned(),
        ))
    }

    pub(super) fn writer(&self, fd: &Handle, target: WritePosition) -> FsResult<FileWriter> {
        let open = FileNode::writable_file(self.table, fd)?;
        let blocking = self.ctx.blocking(open.grant).cloned();
        let gate = Arc::clone(&self.ctx.gate);
        Ok(FileWriter::new(gate, open, target, blocking))
    }

    /// Removes a name; `flags` tell whether it is a directory.
    async fn remove(&mut self, fd: &Handle, path: String, flags: AtFlags) -> FsResult<()> {
        let op = if flags.contains(AtFlags::REMOVEDIR) {
            FileOp::WriteDir
        } else {
            FileOp::Write
        };
        self.on_dir(fd, move |ctx, dir| {
            let resolved = ctx.resolve_checked(dir, &path, Follow::No, op)?;
            ctx.check_nothing_hidden_below(dir, &resolved)?;
            let (parent, name) = (&*resolved.parent, resolved.name()?);
            let is_other = resolved
                .file_type()
                .is_some_and(|it| it != FileType::Directory);
            if flags.contains(AtFlags::REMOVEDIR) && is_other {
                // It stays, so that there is nothing to keep of it.
                return Err(error_code(Errno::NOTDIR).into());
            }
            ctx.keep(dir, &resolved)?;
            Ok(rustix::fs::unlinkat(parent, name, flags).map_err(error_code)?)
        })
        .await
    }
}

impl HostDescriptor for FilesView<'_> {
    async fn advise(
        &mut self,
        fd: Handle,
        offset: Filesize,
        len: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        let advice = convert::advice(advice);
        let len = NonZeroU64::new(len);
        self.on_file(FileNode::file(self.table, &fd)?, move |_, open| {
            let file = open.file.get().map_err(error_code)?;
            Ok(rustix::fs::fadvise(file, offset, len, advice).map_err(error_code)?)
        })
        .await
    }

    async fn sync_data(&mut self, fd: Handle) -> FsResult<()> {
        self.on_node(&fd, |_, node| {
            Ok(rustix::fs::fdatasync(node.fd()?).map_err(error_code)?)
        })
        .await
    }

    async fn sync(&mut self, fd: Handle) -> FsResult<()> {
        self.on_node(&fd, |_, node| {
            Ok(rustix::fs::fsync(node.fd()?).map_err(error_code)?)
        })
        .await
    }

    async fn get_flags(&mut self, fd: Handle) -> FsResult<DescriptorFlags> {
        let mut flags = DescriptorFlags::empty();
        match FileNode::get(self.table, &fd)? {
            FileNode::Dir(dir) => {
                flags |= DescriptorFlags::READ;
                if self.ctx.gate.is_writable(dir.grant) {
                    flags |= DescriptorFlags::MUTATE_DIRECTORY;
                }
            }
            FileNode::File(open) => {
                if open.readable {
                    flags |= DescriptorFlags::READ;
                }
                if open.writable {
                    flags |= DescriptorFlags::WRITE;
                }
            }
        }
        Ok(flags)
    }

    async fn get_type(&mut self, fd: Handle) -> FsResult<DescriptorType> {
        Ok(match FileNode::get(self.table, &fd)? {
            FileNode::Dir(_) => DescriptorType::Directory,
            FileNode::File(_) => DescriptorType::RegularFile,
        })
    }

    async fn set_size(&mut self, fd: Handle, size: Filesize) -> FsResult<()> {
        let open = FileNode::writable_file(self.table, &fd)?;
        self.on_file(open, move |ctx, open| {
            stream::resize(&ctx.gate, open, size).map_err(|error| io_error_code(&error))?;
            Ok(())
        })
        .await
    }

    async fn set_times(
        &mut self,
        fd: Handle,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let times = convert::timestamps(access, modification)?;
        self.on_node(&fd, move |ctx, node| {
            match node {
                FileNode::Dir(dir) => {
                    let resolved = ctx.resolve(dir, ".", Follow::No, FileAction::Write)?;
                    ctx.check(dir, FileOp::WriteDir, &resolved)?;
                }
                // Opening for reading only did not check writing.
                FileNode::File(open) => {
                    let checked = ctx.gate.check_file(open.grant, FileOp::Write, &open.path);
                    checked.map_err(|_| ErrorCode::Access)?;
                }
            }
            Ok(rustix::fs::futimens(node.fd()?, &times).map_err(error_code)?)
        })
        .await
    }

    async fn read(
        &mut self,
        fd: Handle,
        len: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let size = usize::try_from(len).unwrap_or(usize::MAX);
        self.on_file(FileNode::file(self.table, &fd)?, move |ctx, open| {
            let bytes = stream::read(&ctx.gate, &open.file, size, offset)
                .map_err(|error| io_error_code(&error))?;
            // A local file system ends a read early only where the file ends. Knowing it saves the
            // guest a call for each small file.
            let wanted = size.min(stream::MAX_CHUNK_BYTES);
            let is_local = ctx.blocking(open.grant).is_none();
            let is_end = bytes.len() < wanted && (is_local || bytes.is_empty());
            Ok((bytes, is_end))
        })
        .await
    }

    async fn write(&mut self, fd: Handle, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let open = FileNode::writable_file(self.table, &fd)?;
        self.on_file(open, move |ctx, open| {
            let count = stream::write(&ctx.gate, open, &bytes, WritePosition::Offset(offset))
                .map_err(|error| io_error_code(&error))?;
            Ok(Filesize::try_from(count).unwrap_or(Filesize::MAX))
        })
        .await
    }

    async fn read_directory(&mut self, fd: Handle) -> FsResult<Resource<DirectoryEntryStream>> {
        let listing = self.on_dir(&fd, FilesCtx::list).await?;
        let listing = Arc::new(Mutex::new(listing));
        Ok(Resource::new_own(self.table.push(listing)?.rep()))
    }

    async fn create_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        let dir = FileNode::dir(self.table, &fd)?;
        let exclusive = self.ctx.lock_marker(&dir, &path).await?;
        self.on_dir(&fd, move |ctx, dir| {
            let _exclusive = exclusive;
            let resolved = ctx.resolve_new(dir, &path)?;
            ctx.check(dir, FileOp::WriteDir, &resolved)?;
            let name = resolved.name.as_deref().ok_or(ErrorCode::Exist)?;
            ctx.create(dir, &resolved, 0, || {
                rustix::fs::mkdirat(&*resolved.parent, name, Mode::from(0o777))
            })
        })
        .await
    }

    async fn stat(&mut self, fd: Handle) -> FsResult<DescriptorStat> {
        Ok(convert::descriptor_stat(&self.fstat(&fd).await?))
    }

    async fn stat_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let follow = follow(flags);
        self.on_dir(&fd, move |ctx, dir| {
            let resolved = ctx.resolve_checked(dir, &path, follow, FileOp::Stat)?;
            let mut stat = resolved.stat.ok_or(ErrorCode::NoEntry)?;
            if let Some(name) = resolved.name.filter(|_| is_config_name(&resolved.path)) {
                let is_emptied = is_emptied(&stat);
                // A truncation may have ended since the path was resolved.
                let again = lstat(&resolved.parent, &name).map_err(error_code)?;
                stat = again.ok_or(ErrorCode::NoEntry)?;
                if is_emptied {
                    stat.st_size = 0;
                }
            }
            Ok(convert::descriptor_stat(&stat))
        })
        .await
    }

    async fn set_times_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let times = convert::timestamps(access, modification)?;
        let follow = follow(flags);
        self.on_dir(&fd, move |ctx, dir| {
            let resolved = ctx.resolve_visible(dir, &path, follow, FileAction::Write)?;
            let op = if resolved.file_type() == Some(FileType::Directory) {
                FileOp::WriteDir
            } else {
                FileOp::Write
            };
            ctx.check(dir, op, &resolved)?;
            let (parent, name) = (&*resolved.parent, resolved.name.as_deref().unwrap_or("."));
            let nofollow = AtFlags::SYMLINK_NOFOLLOW;
            Ok(rustix::fs::utimensat(parent, name, &times, nofollow).map_err(error_code)?)
        })
        .await
    }

    async fn link_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (dir, new_dir) = (
            FileNode::dir(self.table, &fd)?,
            FileNode::dir(self.table, &new_fd)?,
        );
        if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        let grants = [dir.grant, new_dir.grant];
        // Not while a file is moved, which must have one name to become git configuration.
        let exclusive = self.ctx.lock_changes(&new_dir, &new_path).await?;
        let link = move |ctx: &FilesCtx| {
            let _exclusive = exclusive;
            // A second name gives write access under the new path, so both paths need it.
            let old = ctx.resolve_checked(&dir, &path, Follow::No, FileOp::Write)?;
            ctx.check_moved(&dir, &old)?;
            let new = ctx.resolve_new(&new_dir, &new_path)?;
            ctx.check(&new_dir, old.write_op(), &new)?;
            ctx.check_nothing_hidden_below(&new_dir, &new)?;
            if dir.grant != new_dir.grant {
                return Err(ErrorCode::CrossDevice.into());
            }
            match old.file_type() {
                None => return Err(ErrorCode::NoEntry.into()),
                Some(FileType::RegularFile) => {}
                Some(_) => return Err(ErrorCode::NotPermitted.into()),
            }
            ctx.check_config_link(&new_dir, &old, &new)?;
            let (name, new_name) = (old.name()?, new.name()?);
            // The file can be changed by its new name, too.
            ctx.keep(&dir, &old)?;
            let none = AtFlags::empty();
            ctx.create(&new_dir, &new, 0, || {
                rustix::fs::linkat(&*old.parent, name, &*new.parent, new_name, none)
            })
        };
        self.ctx.run_in(grants, link).await
    }

    async fn open_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        descriptor_flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        let request = OpenRequest::new(open_flags, descriptor_flags)?;
        let follow = follow(flags);
        let exclusive = if request.creates() {
            let dir = FileNode::dir(self.table, &fd)?;
            self.ctx.lock_marker(&dir, &path).await?
        } else {
            None
        };
        let opened = self.on_dir(&fd, move |ctx, dir| {
            let _exclusive = exclusive;
            ctx.open_at(dir, &path, follow, request)
        });
        opened.await?.push(self.table)
    }

    async fn readlink_at(&mut self, fd: Handle, path: String) -> FsResult<String> {
        self.on_dir(&fd, move |ctx, dir| {
            let resolved = ctx.resolve_checked(dir, &path, Follow::No, FileOp::Stat)?;
            let target = read_link(&*resolved.parent, resolved.name()?)?;
            // An absolute target is a path of the host.
            if target.starts_with('/') {
                return Err(ctx.refuse_escape(dir, &path, FileAction::ReadLink));
            }
            Ok(target)
        })
        .await
    }

    async fn remove_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        self.remove(&fd, path, AtFlags::REMOVEDIR).await
    }

    async fn rename_at(
        &mut self,
        fd: Handle,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (dir, new_dir) = (
            FileNode::dir(self.table, &fd)?,
            FileNode::dir(self.table, &new_fd)?,
        );
        let rename = Rename {
            dir,
            path,
            new_dir,
            new_path,
        };
        self.ctx.change(rename).await
    }

    async fn symlink_at(&mut self, fd: Handle, target: String, path: String) -> FsResult<()> {
        let dir = FileNode::dir(self.table, &fd)?;
        self.ctx.change(NewSymlink { dir, target, path }).await
    }

    async fn unlink_file_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        self.remove(&fd, path, AtFlags::empty()).await
    }

    fn read_via_stream(
        &mut self,
        fd: Handle,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        let reader: DynInputStream = Box::new(self.reader(&fd, offset)?);
        Ok(self.table.push(reader)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Handle,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        let writer: DynOutputStream = Box::new(self.writer(&fd, WritePosition::Offset(offset))?);
        Ok(self.table.push(writer)?)
    }

    fn append_via_stream(&mut self, fd: Handle) -> FsResult<Resource<DynOutputStream>> {
        let writer: DynOutputStream = Box::new(self.writer(&fd, WritePosition::End)?);
        Ok(self.table.push(writer)?)
    }

    async fn is_same_object(&mut self, a: Handle, b: Handle) -> wasmtime::Result<bool> {
        let (a, b) = (self.fstat(&a).await?, self.fstat(&b).await?);
        Ok(convert::file_id(&a) == convert::file_id(&b))
    }

    async fn metadata_hash(&mut self, fd: Handle) -> FsResult<MetadataHashValue> {
        Ok(convert::metadata_hash(&self.fstat(&fd).await?))
    }

    /// Does not ask the gate: wasi-libc calls it for each entry of a listing, and one refusal would
    /// fail the listing.
    async fn metadata_hash_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let follow = follow(flags);
        self.on_dir(&fd, move |ctx, dir| {
            let resolved = ctx.resolve_visible(dir, &path, follow, FileAction::Stat)?;
            let stat = resolved.stat.ok_or(ErrorCode::NoEntry)?;
            Ok(convert::metadata_hash(&stat))
        })
        .await
    }

    fn drop(&mut self, fd: Handle) -> wasmtime::Result<()> {
        self.table.delete(Resource::<FileNode>::new_own(fd.rep()))?;
        Ok(())
    }
}
