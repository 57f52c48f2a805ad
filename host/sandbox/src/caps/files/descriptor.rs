//! The operations on a `descriptor`. Each resolves the path, hides what is hidden, asks the gate,
//! and acts on one name.

use super::{
    FilesView,
    convert::{self, error_code, io_error_code},
    links::CHANGES,
    node::{Listing, Node},
    open::OpenRequest,
    resolve::{Follow, read_link},
    stream::{self, FileReader, FileWriter, WritePosition},
};
use crate::{gate::Growth, mutex::lock};
use agent_host_engine::policy::FileOp;
use rustix::fs::{AtFlags, FileType, Mode, Stat};
use std::{num::NonZeroU64, sync::Arc};
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
    fn fstat(&self, fd: &Handle) -> FsResult<Stat> {
        Ok(rustix::fs::fstat(Node::get(self.table, fd)?.fd()).map_err(error_code)?)
    }

    fn writer(
        &mut self,
        fd: &Handle,
        target: WritePosition,
    ) -> FsResult<Resource<DynOutputStream>> {
        let open = Node::writable_file(self.table, fd)?;
        let gate = Arc::clone(&self.ctx.gate);
        let writer: DynOutputStream = Box::new(FileWriter {
            gate,
            open,
            target,
            is_closed: false,
        });
        Ok(self.table.push(writer)?)
    }

    /// Removes a name; `flags` tell whether it is a directory.
    fn remove(&self, fd: &Handle, path: &str, flags: AtFlags) -> FsResult<()> {
        let dir = Node::dir(self.table, fd)?;
        let op = if flags.contains(AtFlags::REMOVEDIR) {
            FileOp::WriteDir
        } else {
            FileOp::Write
        };
        let resolved = self.ctx.resolve_checked(&dir, path, Follow::No, op)?;
        self.ctx.check_nothing_hidden_below(&dir, &resolved)?;
        Ok(rustix::fs::unlinkat(&*resolved.parent, resolved.name()?, flags).map_err(error_code)?)
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
        let open = Node::file(self.table, &fd)?;
        let advice = convert::advice(advice);
        Ok(
            rustix::fs::fadvise(&*open.file, offset, NonZeroU64::new(len), advice)
                .map_err(error_code)?,
        )
    }

    async fn sync_data(&mut self, fd: Handle) -> FsResult<()> {
        Ok(rustix::fs::fdatasync(Node::get(self.table, &fd)?.fd()).map_err(error_code)?)
    }

    async fn sync(&mut self, fd: Handle) -> FsResult<()> {
        Ok(rustix::fs::fsync(Node::get(self.table, &fd)?.fd()).map_err(error_code)?)
    }

    async fn get_flags(&mut self, fd: Handle) -> FsResult<DescriptorFlags> {
        let mut flags = DescriptorFlags::empty();
        match Node::get(self.table, &fd)? {
            Node::Dir(dir) => {
                flags |= DescriptorFlags::READ;
                if self.ctx.gate.is_writable(dir.grant) {
                    flags |= DescriptorFlags::MUTATE_DIRECTORY;
                }
            }
            Node::File(open) => {
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
        Ok(match Node::get(self.table, &fd)? {
            Node::Dir(_) => DescriptorType::Directory,
            Node::File(_) => DescriptorType::RegularFile,
        })
    }

    async fn set_size(&mut self, fd: Handle, size: Filesize) -> FsResult<()> {
        let open = Node::writable_file(self.table, &fd)?;
        let resize = || {
            let bytes = size.saturating_sub(open.file.metadata()?.len());
            let growth = Growth { bytes, creates: 0 };
            let gate = &self.ctx.gate;
            gate.grow(open.grant, &open.path, growth, || open.file.set_len(size))
        };
        Ok(resize().map_err(|error: std::io::Error| io_error_code(&error))?)
    }

    async fn set_times(
        &mut self,
        fd: Handle,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let times = convert::timestamps(access, modification)?;
        match Node::get(self.table, &fd)? {
            Node::Dir(dir) => {
                let resolved = self.ctx.resolve(dir, ".", Follow::No, "write")?;
                self.ctx.check(dir, FileOp::WriteDir, &resolved)?;
                rustix::fs::futimens(&*dir.fd, &times).map_err(error_code)?;
            }
            // Opening for reading only did not check writing.
            Node::File(open) => {
                let checked = self
                    .ctx
                    .gate
                    .check_file(open.grant, FileOp::Write, &open.path);
                checked.map_err(|_| ErrorCode::Access)?;
                rustix::fs::futimens(&*open.file, &times).map_err(error_code)?;
            }
        }
        Ok(())
    }

    async fn read(
        &mut self,
        fd: Handle,
        len: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let open = Node::file(self.table, &fd)?;
        let size = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = stream::read(&self.ctx.gate, &open.file, size, offset)
            .map_err(|error| io_error_code(&error))?;
        let is_end = bytes.is_empty() && size > 0;
        Ok((bytes, is_end))
    }

    async fn write(&mut self, fd: Handle, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let open = Node::writable_file(self.table, &fd)?;
        let count = stream::write(&self.ctx.gate, &open, &bytes, WritePosition::Offset(offset))
            .map_err(|error| io_error_code(&error))?;
        Ok(Filesize::try_from(count).unwrap_or(Filesize::MAX))
    }

    async fn read_directory(&mut self, fd: Handle) -> FsResult<Resource<DirectoryEntryStream>> {
        let dir = Node::dir(self.table, &fd)?;
        let resolved = self.ctx.resolve(&dir, ".", Follow::No, "list")?;
        self.ctx.check(&dir, FileOp::List, &resolved)?;
        let listing = Listing::new(self.ctx.root(&dir)?, dir)?;
        Ok(Resource::new_own(self.table.push(listing)?.rep()))
    }

    async fn create_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        let dir = Node::dir(self.table, &fd)?;
        let resolved = self.ctx.resolve_new(&dir, &path)?;
        self.ctx.check(&dir, FileOp::WriteDir, &resolved)?;
        let name = resolved.name.as_deref().ok_or(ErrorCode::Exist)?;
        self.ctx.create(&dir, &resolved, 0, || {
            rustix::fs::mkdirat(&*resolved.parent, name, Mode::from(0o777))
        })
    }

    async fn stat(&mut self, fd: Handle) -> FsResult<DescriptorStat> {
        Ok(convert::descriptor_stat(&self.fstat(&fd)?))
    }

    async fn stat_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let dir = Node::dir(self.table, &fd)?;
        let resolved = self
            .ctx
            .resolve_checked(&dir, &path, follow(flags), FileOp::Stat)?;
        let stat = resolved.stat.ok_or(ErrorCode::NoEntry)?;
        Ok(convert::descriptor_stat(&stat))
    }

    async fn set_times_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let dir = Node::dir(self.table, &fd)?;
        let times = convert::timestamps(access, modification)?;
        let follow = follow(flags);
        let resolved = self.ctx.resolve_visible(&dir, &path, follow, "write")?;
        let op = if resolved.file_type() == Some(FileType::Directory) {
            FileOp::WriteDir
        } else {
            FileOp::Write
        };
        self.ctx.check(&dir, op, &resolved)?;
        let name = resolved.name.as_deref().unwrap_or(".");
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(&*resolved.parent, name, &times, nofollow).map_err(error_code)?)
    }

    async fn link_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (dir, new_dir) = (Node::dir(self.table, &fd)?, Node::dir(self.table, &new_fd)?);
        if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        // A second name gives write access under the new path, so both paths need it.
        let old = self
            .ctx
            .resolve_checked(&dir, &path, Follow::No, FileOp::Write)?;
        let new = self.ctx.resolve_new(&new_dir, &new_path)?;
        self.ctx.check(&new_dir, old.write_op(), &new)?;
        self.ctx.check_nothing_hidden_below(&new_dir, &new)?;
        if dir.grant != new_dir.grant {
            return Err(ErrorCode::CrossDevice.into());
        }
        match old.file_type() {
            None => return Err(ErrorCode::NoEntry.into()),
            Some(FileType::RegularFile) => {}
            Some(_) => return Err(ErrorCode::NotPermitted.into()),
        }
        let (name, new_name) = (old.name()?, new.name()?);
        let none = AtFlags::empty();
        self.ctx.create(&new_dir, &new, 0, || {
            rustix::fs::linkat(&*old.parent, name, &*new.parent, new_name, none)
        })
    }

    async fn open_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        open_flags: OpenFlags,
        descriptor_flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        let dir = Node::dir(self.table, &fd)?;
        let request = OpenRequest::new(open_flags, descriptor_flags)?;
        self.ctx
            .open_at(&dir, &path, follow(flags), request)?
            .push(self.table)
    }

    async fn readlink_at(&mut self, fd: Handle, path: String) -> FsResult<String> {
        let dir = Node::dir(self.table, &fd)?;
        let resolved = self
            .ctx
            .resolve_checked(&dir, &path, Follow::No, FileOp::Stat)?;
        let target = read_link(&*resolved.parent, resolved.name()?)?;
        // An absolute target is a path of the host.
        if target.starts_with('/') {
            return Err(self.ctx.refuse_escape(&dir, &path, "read link"));
        }
        Ok(target)
    }

    async fn remove_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        self.remove(&fd, &path, AtFlags::REMOVEDIR)
    }

    async fn rename_at(
        &mut self,
        fd: Handle,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (dir, new_dir) = (Node::dir(self.table, &fd)?, Node::dir(self.table, &new_fd)?);
        let _exclusive = lock(&CHANGES);
        let old = self.ctx.resolve_visible(&dir, &path, Follow::No, "write")?;
        let op = if old.file_type() == Some(FileType::Directory) {
            FileOp::Move
        } else {
            FileOp::Write
        };
        self.ctx.check(&dir, op, &old)?;
        self.ctx.check_nothing_hidden_below(&dir, &old)?;
        let new = self.ctx.resolve_new(&new_dir, &new_path)?;
        let new_op = match op {
            FileOp::Write if old.is_executable() => FileOp::WriteExecutable,
            FileOp::Write => new.write_op(),
            other => other,
        };
        self.ctx.check(&new_dir, new_op, &new)?;
        self.ctx.check_nothing_hidden_below(&new_dir, &new)?;
        // A path that one grant hides may be visible in another.
        if dir.grant != new_dir.grant {
            return Err(ErrorCode::CrossDevice.into());
        }
        let (name, new_name) = (old.name()?, new.name()?);
        self.ctx.check_move(&dir, &old, &new)?;
        Ok(rustix::fs::renameat(&*old.parent, name, &*new.parent, new_name).map_err(error_code)?)
    }

    async fn symlink_at(&mut self, fd: Handle, target: String, path: String) -> FsResult<()> {
        let dir = Node::dir(self.table, &fd)?;
        let _exclusive = lock(&CHANGES);
        let resolved = self.ctx.resolve_new(&dir, &path)?;
        self.ctx.check(&dir, FileOp::Write, &resolved)?;
        self.ctx.check_nothing_hidden_below(&dir, &resolved)?;
        self.ctx.check_new_symlink(&dir, &resolved, &target)?;
        let name = resolved.name.as_deref().ok_or(ErrorCode::Exist)?;
        // The target counts as written.
        let bytes = Filesize::try_from(target.len()).unwrap_or(Filesize::MAX);
        self.ctx.create(&dir, &resolved, bytes, || {
            rustix::fs::symlinkat(target, &*resolved.parent, name)
        })
    }

    async fn unlink_file_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        self.remove(&fd, &path, AtFlags::empty())
    }

    fn read_via_stream(
        &mut self,
        fd: Handle,
        offset: Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        let open = match Node::get(self.table, &fd)? {
            Node::File(open) => open,
            Node::Dir(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let reader: DynInputStream = Box::new(FileReader {
            gate: Arc::clone(&self.ctx.gate),
            file: Arc::clone(&open.file),
            offset,
            is_closed: false,
        });
        Ok(self.table.push(reader)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Handle,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, WritePosition::Offset(offset))
    }

    fn append_via_stream(&mut self, fd: Handle) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, WritePosition::End)
    }

    async fn is_same_object(&mut self, a: Handle, b: Handle) -> wasmtime::Result<bool> {
        let (a, b) = (self.fstat(&a)?, self.fstat(&b)?);
        Ok(convert::file_id(&a) == convert::file_id(&b))
    }

    async fn metadata_hash(&mut self, fd: Handle) -> FsResult<MetadataHashValue> {
        Ok(convert::metadata_hash(&self.fstat(&fd)?))
    }

    /// Does not ask the gate: wasi-libc calls it for each entry of a listing, and one refusal would
    /// fail the listing.
    async fn metadata_hash_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let dir = Node::dir(self.table, &fd)?;
        let follow = follow(flags);
        let resolved = self.ctx.resolve_visible(&dir, &path, follow, "stat")?;
        let stat = resolved.stat.ok_or(ErrorCode::NoEntry)?;
        Ok(convert::metadata_hash(&stat))
    }

    fn drop(&mut self, fd: Handle) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Node>::new_own(fd.rep()))?;
        Ok(())
    }
}
