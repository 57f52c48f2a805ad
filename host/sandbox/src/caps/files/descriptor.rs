//! The operations on a `descriptor`, each of them: resolve, hide, ask, act on one name.

use super::{
    FilesView,
    convert::{self, code, io_code},
    links,
    node::{Listing, Node},
    open::Wish,
    place::{Follow, read_link},
    stream::{self, FileReader, FileWriter, Target},
};
use crate::gate::Growth;
use agent_host_core::policy::FileOp;
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
        Ok(match Node::get(self.table, fd)? {
            Node::Folder(folder) => rustix::fs::fstat(&*folder.fd),
            Node::File(open) => rustix::fs::fstat(&*open.file),
        }
        .map_err(code)?)
    }

    fn writer(&mut self, fd: &Handle, target: Target) -> FsResult<Resource<DynOutputStream>> {
        let open = Node::file(self.table, fd)?;
        if !open.writable {
            return Err(ErrorCode::NotPermitted.into());
        }
        let gate = Arc::clone(&self.ctx.gate);
        let writer: DynOutputStream = Box::new(FileWriter::new(gate, open, target));
        Ok(self.table.push(writer)?)
    }

    /// Removes a name; `flags` say whether it is a folder's.
    fn remove(&self, fd: &Handle, path: &str, flags: AtFlags) -> FsResult<()> {
        let folder = Node::folder(self.table, fd)?;
        let op = if flags.contains(AtFlags::REMOVEDIR) {
            FileOp::WriteDir
        } else {
            FileOp::Write
        };
        let place = self.ctx.seen(&folder, path, Follow::No, op)?;
        self.ctx.keep_ways(&folder, &place)?;
        Ok(rustix::fs::unlinkat(&*place.parent, place.name()?, flags).map_err(code)?)
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
        Ok(rustix::fs::fadvise(&*open.file, offset, NonZeroU64::new(len), advice).map_err(code)?)
    }

    async fn sync_data(&mut self, fd: Handle) -> FsResult<()> {
        Ok(match Node::get(self.table, &fd)? {
            Node::Folder(folder) => rustix::fs::fdatasync(&*folder.fd),
            Node::File(open) => rustix::fs::fdatasync(&*open.file),
        }
        .map_err(code)?)
    }

    async fn sync(&mut self, fd: Handle) -> FsResult<()> {
        Ok(match Node::get(self.table, &fd)? {
            Node::Folder(folder) => rustix::fs::fsync(&*folder.fd),
            Node::File(open) => rustix::fs::fsync(&*open.file),
        }
        .map_err(code)?)
    }

    async fn get_flags(&mut self, fd: Handle) -> FsResult<DescriptorFlags> {
        let mut flags = DescriptorFlags::empty();
        match Node::get(self.table, &fd)? {
            Node::Folder(folder) => {
                flags |= DescriptorFlags::READ;
                if self.ctx.gate.is_writable(folder.grant) {
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
            Node::Folder(_) => DescriptorType::Directory,
            Node::File(_) => DescriptorType::RegularFile,
        })
    }

    async fn set_size(&mut self, fd: Handle, size: Filesize) -> FsResult<()> {
        let open = Node::file(self.table, &fd)?;
        if !open.writable {
            return Err(ErrorCode::NotPermitted.into());
        }
        let resize = || {
            let growth = size.saturating_sub(open.file.metadata()?.len());
            let growth = Growth {
                bytes: growth,
                creates: 0,
            };
            let gate = &self.ctx.gate;
            gate.adding(open.grant, &open.path, growth, || open.file.set_len(size))
        };
        Ok(resize().map_err(|error: std::io::Error| io_code(&error))?)
    }

    async fn set_times(
        &mut self,
        fd: Handle,
        access: NewTimestamp,
        modification: NewTimestamp,
    ) -> FsResult<()> {
        let times = convert::timestamps(access, modification)?;
        match Node::get(self.table, &fd)? {
            Node::Folder(folder) => {
                let place = self.ctx.resolve(folder, ".", Follow::No, "write")?;
                self.ctx.ask(folder, FileOp::WriteDir, &place)?;
                rustix::fs::futimens(&*folder.fd, &times).map_err(code)?;
            }
            // A descriptor that was opened for reading only does not show that writing was allowed.
            Node::File(open) => {
                let asked = self.ctx.gate.file(open.grant, FileOp::Write, &open.path);
                asked.map_err(|_| ErrorCode::Access)?;
                rustix::fs::futimens(&*open.file, &times).map_err(code)?;
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
            .map_err(|error| io_code(&error))?;
        let is_end = bytes.is_empty() && size > 0;
        Ok((bytes, is_end))
    }

    async fn write(&mut self, fd: Handle, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        let open = Node::file(self.table, &fd)?;
        if !open.writable {
            return Err(ErrorCode::NotPermitted.into());
        }
        let count = stream::write(&self.ctx.gate, &open, &bytes, Target::At(offset))
            .map_err(|error| io_code(&error))?;
        Ok(Filesize::try_from(count).unwrap_or(Filesize::MAX))
    }

    async fn read_directory(&mut self, fd: Handle) -> FsResult<Resource<DirectoryEntryStream>> {
        let folder = Node::folder(self.table, &fd)?;
        let place = self.ctx.resolve(&folder, ".", Follow::No, "list")?;
        self.ctx.ask(&folder, FileOp::List, &place)?;
        let listing = Listing::new(self.ctx.root(&folder)?, folder)?;
        Ok(Resource::new_own(self.table.push(listing)?.rep()))
    }

    async fn create_directory_at(&mut self, fd: Handle, path: String) -> FsResult<()> {
        let folder = Node::folder(self.table, &fd)?;
        let place = self.ctx.resolve(&folder, &path, Follow::No, "write")?;
        if self.ctx.hides(&folder, &place)? {
            return Err(self.ctx.refuse_hidden(&folder, &place));
        }
        self.ctx.ask(&folder, FileOp::WriteDir, &place)?;
        let name = place.name.as_deref().ok_or(ErrorCode::Exist)?;
        self.ctx.creating(&folder, &place, 0, || {
            rustix::fs::mkdirat(&*place.parent, name, Mode::from(0o777))
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
        let folder = Node::folder(self.table, &fd)?;
        let place = self.ctx.seen(&folder, &path, follow(flags), FileOp::Stat)?;
        let stat = place.stat.ok_or(ErrorCode::NoEntry)?;
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
        let folder = Node::folder(self.table, &fd)?;
        let times = convert::timestamps(access, modification)?;
        let place = self.ctx.resolve(&folder, &path, follow(flags), "write")?;
        if self.ctx.hides(&folder, &place)? {
            return Err(ErrorCode::NoEntry.into());
        }
        let op = if place.kind() == Some(FileType::Directory) {
            FileOp::WriteDir
        } else {
            FileOp::Write
        };
        self.ctx.ask(&folder, op, &place)?;
        let name = place.name.as_deref().unwrap_or(".");
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        Ok(rustix::fs::utimensat(&*place.parent, name, &times, nofollow).map_err(code)?)
    }

    async fn link_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
        new_fd: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (folder, new_folder) = (
            Node::folder(self.table, &fd)?,
            Node::folder(self.table, &new_fd)?,
        );
        if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        // A second name gives whoever may write there power over the file, so it needs writing on both sides.
        let old = self.ctx.seen(&folder, &path, Follow::No, FileOp::Write)?;
        let new = self
            .ctx
            .resolve(&new_folder, &new_path, Follow::No, "write")?;
        if self.ctx.hides(&new_folder, &new)? {
            return Err(self.ctx.refuse_hidden(&new_folder, &new));
        }
        self.ctx.ask(&new_folder, old.write_op(), &new)?;
        self.ctx.keep_ways(&new_folder, &new)?;
        if folder.grant != new_folder.grant {
            return Err(ErrorCode::CrossDevice.into());
        }
        match old.kind() {
            None => return Err(ErrorCode::NoEntry.into()),
            Some(FileType::RegularFile) => {}
            Some(_) => return Err(ErrorCode::NotPermitted.into()),
        }
        let (name, new_name) = (old.name()?, new.name()?);
        let none = AtFlags::empty();
        self.ctx.creating(&new_folder, &new, 0, || {
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
        let folder = Node::folder(self.table, &fd)?;
        let wish = Wish::new(open_flags, descriptor_flags)?;
        self.ctx
            .open_at(&folder, &path, follow(flags), wish)?
            .push(self.table)
    }

    async fn readlink_at(&mut self, fd: Handle, path: String) -> FsResult<String> {
        let folder = Node::folder(self.table, &fd)?;
        let place = self.ctx.seen(&folder, &path, Follow::No, FileOp::Stat)?;
        let target = read_link(&*place.parent, place.name()?)?;
        // The target of such a link is a path of the host.
        if target.starts_with('/') {
            return Err(self.ctx.outside(&folder, &path, "read link"));
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
        let (folder, new_folder) = (
            Node::folder(self.table, &fd)?,
            Node::folder(self.table, &new_fd)?,
        );
        let _exclusive = links::exclusive();
        let old = self.ctx.resolve(&folder, &path, Follow::No, "write")?;
        if self.ctx.hides(&folder, &old)? {
            return Err(ErrorCode::NoEntry.into());
        }
        let op = if old.kind() == Some(FileType::Directory) {
            FileOp::Move
        } else {
            FileOp::Write
        };
        self.ctx.ask(&folder, op, &old)?;
        self.ctx.keep_ways(&folder, &old)?;
        let new = self
            .ctx
            .resolve(&new_folder, &new_path, Follow::No, "write")?;
        if self.ctx.hides(&new_folder, &new)? {
            return Err(self.ctx.refuse_hidden(&new_folder, &new));
        }
        let new_op = match op {
            FileOp::Write if old.is_executable() => FileOp::WriteExecutable,
            FileOp::Write => new.write_op(),
            other => other,
        };
        self.ctx.ask(&new_folder, new_op, &new)?;
        self.ctx.keep_ways(&new_folder, &new)?;
        // What one grant hides in a folder, another may not.
        if folder.grant != new_folder.grant {
            return Err(ErrorCode::CrossDevice.into());
        }
        let (name, new_name) = (old.name()?, new.name()?);
        self.ctx.check_move(&folder, &old, &new)?;
        Ok(rustix::fs::renameat(&*old.parent, name, &*new.parent, new_name).map_err(code)?)
    }

    async fn symlink_at(&mut self, fd: Handle, target: String, path: String) -> FsResult<()> {
        let folder = Node::folder(self.table, &fd)?;
        let _exclusive = links::exclusive();
        let place = self.ctx.resolve(&folder, &path, Follow::No, "write")?;
        if self.ctx.hides(&folder, &place)? {
            return Err(self.ctx.refuse_hidden(&folder, &place));
        }
        self.ctx.ask(&folder, FileOp::Write, &place)?;
        self.ctx.keep_ways(&folder, &place)?;
        self.ctx.check_new_link(&folder, &place, &target)?;
        let name = place.name.as_deref().ok_or(ErrorCode::Exist)?;
        // The target is what is written.
        let bytes = Filesize::try_from(target.len()).unwrap_or(Filesize::MAX);
        self.ctx.creating(&folder, &place, bytes, || {
            rustix::fs::symlinkat(target, &*place.parent, name)
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
            Node::Folder(_) => return Err(ErrorCode::IsDirectory.into()),
        };
        let reader: DynInputStream = Box::new(FileReader {
            gate: Arc::clone(&self.ctx.gate),
            file: Arc::clone(&open.file),
            at: offset,
            is_closed: false,
        });
        Ok(self.table.push(reader)?)
    }

    fn write_via_stream(
        &mut self,
        fd: Handle,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Target::At(offset))
    }

    fn append_via_stream(&mut self, fd: Handle) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Target::End)
    }

    async fn is_same_object(&mut self, a: Handle, b: Handle) -> wasmtime::Result<bool> {
        let (a, b) = (self.fstat(&a)?, self.fstat(&b)?);
        Ok(convert::id(&a) == convert::id(&b))
    }

    async fn metadata_hash(&mut self, fd: Handle) -> FsResult<MetadataHashValue> {
        Ok(convert::metadata_hash(&self.fstat(&fd)?))
    }

    /// Asks nothing: the libraries of guests call it for each entry of a listing, and one refusal would fail the listing.
    async fn metadata_hash_at(
        &mut self,
        fd: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let folder = Node::folder(self.table, &fd)?;
        let place = self.ctx.resolve(&folder, &path, follow(flags), "stat")?;
        if self.ctx.hides(&folder, &place)? {
            return Err(ErrorCode::NoEntry.into());
        }
        let stat = place.stat.ok_or(ErrorCode::NoEntry)?;
        Ok(convert::metadata_hash(&stat))
    }

    fn drop(&mut self, fd: Handle) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Node>::new_own(fd.rep()))?;
        Ok(())
    }
}
