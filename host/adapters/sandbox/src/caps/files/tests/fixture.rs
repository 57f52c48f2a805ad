//! A directory with objects of every kind, and a small language for a guest's operations.

use super::super::{FilesCtx, FilesError, FilesView, resolve::Resolver};
use crate::{
    gate::{CallStats, Gate},
    schedule::blocking::{BlockingThreads, ToolBlocking},
};
use agent_host_engine::{
    flow::CallFlow,
    policy::{DirGrant, DirMode, DirQuota, Grants, PathRules},
};
use agent_host_types::{limits::Limits, tool::Effect};
use rustix::fs::{CWD, FileType, Mode};
use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::{
    filesystem::Descriptor,
    p2::{
        FsError, FsResult,
        bindings::filesystem::{
            preopens::Host as _,
            types::{
                DescriptorFlags, ErrorCode, HostDescriptor as _, HostDirectoryEntryStream as _,
                NewTimestamp, OpenFlags, PathFlags,
            },
        },
    },
};

/// The mask of the first grant.
pub(super) const MASK: &[&str] = &[".env*", ".ssh", ".git/config"];

/// The directory of one test: `work` and `other` are granted, `outside.txt` is not.
pub(super) struct Fixture {
    pub(super) dir: TempDir,
    pub(super) table: ResourceTable,
    pub(super) files: Arc<FilesCtx>,
    /// The handle of each grant.
    pub(super) grants: Vec<u32>,
}

/// The directory with empty grants.
pub(super) fn empty() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for path in ["work", "other"] {
        std::fs::create_dir(dir.path().join(path)).unwrap();
    }
    dir
}

/// The directory with objects of every kind.
pub(super) fn populated_dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for path in [
        "work/sub/deep",
        "work/.ssh",
        "work/.git",
        "work/state/blobs",
        "work/real",
        "other",
    ] {
        std::fs::create_dir_all(at(path)).unwrap();
    }
    for (path, text) in [
        ("outside.txt", "OUTSIDE"),
        ("work/a.txt", "alpha"),
        ("work/sub/b.txt", "beta"),
        ("work/sub/.env.local", "SECRET"),
        ("work/.env", "SECRET"),
        ("work/.ssh/id", "SECRET"),
        ("work/.git/config", "SECRET"),
        ("work/.git/HEAD", "main"),
        ("work/agent.toml", "SECRET"),
        ("work/state/journal", "SECRET"),
        ("work/state/blobs/one", "SECRET"),
        ("work/real/conf.toml", "SECRET"),
        ("other/o.txt", "omega"),
    ] {
        std::fs::write(at(path), text).unwrap();
    }
    for (target, path) in [
        ("sub/b.txt", "in"),
        ("../outside.txt", "out"),
        ("/etc/passwd", "abs"),
        ("/proc/self/environ", "proc"),
        (".env", "env"),
        ("agent.toml", "conf"),
        ("state", "st"),
        ("sub", "dir"),
        ("..", "up"),
        ("loop", "loop"),
        ("chain2", "chain1"),
        ("sub/../a.txt", "chain2"),
        ("new.txt", "dangling"),
        ("real", "alias"),
        ("../a.txt", ".ssh/in"),
        ("/etc/passwd", ".ssh/abs"),
        ("a.txt", ".env.in"),
        ("../outside.txt", ".env.out"),
    ] {
        symlink(target, at("work").join(path)).unwrap();
    }
    std::fs::hard_link(at("work/agent.toml"), at("work/hard")).unwrap();
    std::fs::hard_link(at("work/.git/config"), at("work/hardgit")).unwrap();
    rustix::fs::mknodat(CWD, at("work/fifo"), FileType::Fifo, Mode::from(0o666), 0).unwrap();
    dir
}

/// Threads for operations that may block.
pub(super) static THREADS: LazyLock<Threads> = LazyLock::new(|| {
    let runtime = Runtime::new().unwrap();
    let threads = BlockingThreads::start(runtime.handle().clone()).unwrap();
    Threads {
        tool: threads.for_tool(),
        all: threads,
        _runtime: runtime,
    }
});

pub(super) struct Threads {
    pub(super) tool: Arc<ToolBlocking>,
    pub(super) all: BlockingThreads,
    _runtime: Runtime,
}

/// The host's own paths: some exist, some do not, and one is reached through a link.
pub(super) fn protected(dir: &Path) -> Vec<PathBuf> {
    [
        "agent.toml",
        "agent.lock",
        "state",
        ".later/state",
        "alias/conf.toml",
    ]
    .iter()
    .map(|path| dir.join("work").join(path))
    .collect()
}

fn grant(host: PathBuf, guest: &str, mode: DirMode, mask: &[&str]) -> DirGrant {
    DirGrant {
        deny: PathRules::new(&["sub/private", "*.key"]).unwrap(),
        mask: PathRules::new(mask).unwrap(),
        allow_run_later: PathRules::new(&["own/.githooks"]).unwrap(),
        ..DirGrant::new(host, guest, mode)
    }
}

/// The grants of the directory.
fn grants(dir: &Path, mode: DirMode) -> Grants {
    Grants {
        dirs: vec![
            grant(dir.join("work"), "/workspace", mode, MASK),
            grant(dir.join("other"), "/other", mode, &[]),
        ],
        ..Grants::default()
    }
}

/// Opens the directory for a tool.
pub(super) fn open(dir: TempDir, mode: DirMode, effect: Effect, resolver: Resolver) -> Fixture {
    let grants = grants(dir.path(), mode);
    let gate = Gate::new(Arc::new(grants), effect, &Limits::default());
    open_behind(gate, dir, resolver)
}

/// The directory, writable within these limits and, for its first grant, this quota.
pub(super) fn limited(limits: &Limits, quota: DirQuota) -> Fixture {
    let dir = populated_dir();
    let mut grants = grants(dir.path(), DirMode::ReadWrite);
    grants.dirs[0].quota = quota;
    let gate = Gate::new(Arc::new(grants), Effect::Effectful, limits);
    open_behind(gate, dir, Resolver::Openat2)
}

/// The directory, writable by a call whose text goes to an audience alone.
pub(super) fn within(flow: CallFlow) -> Fixture {
    let dir = populated_dir();
    let grants = Arc::new(grants(dir.path(), DirMode::ReadWrite));
    let gate = Gate::within(flow, grants, Effect::Effectful, &Limits::default());
    open_behind(gate, dir, Resolver::Openat2)
}

/// Opens the granted directories, with paths of the host among them.
pub(super) fn open_files(gate: Arc<Gate>, dir: &Path) -> Result<FilesCtx, FilesError> {
    FilesCtx::open_now(gate, &protected(dir), &THREADS.tool, /* undo */ None)
}

fn open_behind(gate: Arc<Gate>, dir: TempDir, resolver: Resolver) -> Fixture {
    let mut files = open_files(gate, dir.path()).unwrap();
    for root in &mut files.roots {
        root.resolver = resolver;
        // Both ways of running operations are tested with the tables of both resolvers.
        root.blocking = (resolver == Resolver::Walk).then(|| Arc::clone(&THREADS.tool));
    }
    with_handles(dir, Arc::new(files))
}

/// Another guest with the same open directories, and handles of its own.
pub(super) fn beside(other: &Fixture) -> Fixture {
    with_handles(tempfile::tempdir().unwrap(), Arc::clone(&other.files))
}

fn with_handles(dir: TempDir, files: Arc<FilesCtx>) -> Fixture {
    let mut fixture = Fixture {
        dir,
        table: ResourceTable::new(),
        files,
        grants: Vec::new(),
    };
    let preopens = fixture.fs().get_directories().unwrap();
    let names: Vec<&str> = preopens.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["/workspace", ".", "/other"]);
    fixture.grants = [0, 2].map(|index: usize| preopens[index].0.rep()).to_vec();
    fixture
}

/// The directory, writable, for a tool that may write.
pub(super) fn writable() -> Fixture {
    open(
        populated_dir(),
        DirMode::ReadWrite,
        Effect::Effectful,
        Resolver::Openat2,
    )
}

/// The name of the code of a refusal; a trap fails the test.
pub(super) fn code(error: FsError) -> String {
    let code: ErrorCode = error.downcast().unwrap();
    code.name().to_owned()
}

impl Fixture {
    pub(super) fn fs(&mut self) -> FilesView<'_> {
        FilesView {
            table: &mut self.table,
            ctx: &self.files,
        }
    }

    pub(super) fn handle(&self, grant: usize) -> Resource<Descriptor> {
        Resource::new_borrow(self.grants[grant])
    }

    pub(super) fn stats(&self) -> CallStats {
        self.files.gate.stats()
    }

    /// Opens a path in the first grant.
    pub(super) async fn open(
        &mut self,
        path: &str,
        follow: bool,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let path_flags = if follow {
            PathFlags::SYMLINK_FOLLOW
        } else {
            PathFlags::empty()
        };
        let root = self.handle(0);
        self.fs()
            .open_at(root, path_flags, path.to_owned(), open, flags)
            .await
    }

    async fn read(&mut self, path: &str, follow: bool) -> FsResult<String> {
        let none = OpenFlags::empty();
        let file = self.open(path, follow, none, DescriptorFlags::READ).await?;
        let borrowed = Resource::new_borrow(file.rep());
        let (bytes, _) = self.fs().read(borrowed, 1 << 20, 0).await?;
        wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor::drop(&mut self.fs(), file)
            .unwrap();
        Ok(String::from_utf8(bytes).unwrap())
    }

    async fn write(&mut self, path: &str, open: OpenFlags, text: &str) -> FsResult<String> {
        let file = self.open(path, true, open, DescriptorFlags::WRITE).await?;
        let written = self.fs().write(file, text.as_bytes().to_vec(), 0).await?;
        Ok(format!("{written}"))
    }

    /// The names that a guest sees in a directory, sorted.
    async fn list(&mut self, path: &str) -> FsResult<String> {
        let dir = self
            .open(path, true, OpenFlags::DIRECTORY, DescriptorFlags::READ)
            .await?;
        let borrowed = Resource::new_borrow(dir.rep());
        let stream = self.fs().read_directory(borrowed).await?;
        let mut names = Vec::new();
        loop {
            let borrowed = Resource::new_borrow(stream.rep());
            let Some(entry) = self.fs().read_directory_entry(borrowed).await? else {
                break;
            };
            // As wasi-libc does; one refusal here fails the whole listing.
            let borrowed = Resource::new_borrow(dir.rep());
            self.fs()
                .metadata_hash_at(borrowed, PathFlags::empty(), entry.name.clone())
                .await?;
            names.push(entry.name);
        }
        wasmtime_wasi::p2::bindings::filesystem::types::HostDirectoryEntryStream::drop(
            &mut self.fs(),
            stream,
        )
        .unwrap();
        names.sort();
        Ok(names.join(" "))
    }

    /// Runs an operation, and returns its value or the code of its error.
    pub(super) async fn act(&mut self, words: &str) -> String {
        match self.try_act(words).await {
            Ok(value) => value,
            Err(error) => code(error),
        }
    }

    async fn try_act(&mut self, words: &str) -> FsResult<String> {
        let words: Vec<&str> = words.splitn(3, ' ').collect();
        let (verb, one) = (words[0], words[1]);
        let two = || words[2].to_owned();
        let path = one.to_owned();
        let (root, again, other) = (self.handle(0), self.handle(0), self.handle(1));
        let (followed, plain) = (PathFlags::SYMLINK_FOLLOW, PathFlags::empty());
        let done = |(): ()| "done".to_owned();
        match verb {
            "read" => self.read(one, true).await,
            "read-link-itself" => self.read(one, false).await,
            "write" => self.write(one, OpenFlags::empty(), &two()).await,
            "create" => self.write(one, OpenFlags::CREATE, &two()).await,
            "create-new" => {
                self.write(one, OpenFlags::CREATE | OpenFlags::EXCLUSIVE, &two())
                    .await
            }
            "replace" => {
                self.write(one, OpenFlags::CREATE | OpenFlags::TRUNCATE, &two())
                    .await
            }
            "truncate" => {
                let file = self
                    .open(one, true, OpenFlags::TRUNCATE, DescriptorFlags::WRITE)
                    .await?;
                wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor::drop(
                    &mut self.fs(),
                    file,
                )
                .unwrap();
                Ok("done".to_owned())
            }
            "list" => self.list(one).await,
            "stat" => self
                .fs()
                .stat_at(root, followed, path)
                .await
                .map(|stat| format!("{}", stat.size)),
            "lstat" => self
                .fs()
                .stat_at(root, plain, path)
                .await
                .map(|stat| format!("{:?}", stat.type_)),
            "hash" => self
                .fs()
                .metadata_hash_at(root, plain, path)
                .await
                .map(|_| "hash".to_owned()),
            "read-link" => self.fs().readlink_at(root, path).await,
            "make-dir" => self.fs().create_directory_at(root, path).await.map(done),
            "remove-dir" => self.fs().remove_directory_at(root, path).await.map(done),
            "remove" => self.fs().unlink_file_at(root, path).await.map(done),
            "move" => self
                .fs()
                .rename_at(root, path, again, two())
                .await
                .map(done),
            "move-over" => self
                .fs()
                .rename_at(root, path, other, two())
                .await
                .map(done),
            "link" => self
                .fs()
                .link_at(root, plain, path, again, two())
                .await
                .map(done),
            "link-over" => self
                .fs()
                .link_at(root, plain, path, other, two())
                .await
                .map(done),
            "point" => self.fs().symlink_at(root, path, two()).await.map(done),
            "touch" => {
                let now = NewTimestamp::Now;
                self.fs()
                    .set_times_at(root, followed, path, now, now)
                    .await
                    .map(done)
            }
            _ => panic!("no such verb: {verb}"),
        }
    }

    /// Runs a table of attempts in one directory, in order, and reports those with another result
    /// than expected.
    pub(super) async fn check(&mut self, table: &[(&str, &str)]) {
        let mut wrong = Vec::new();
        for (words, expected) in table {
            let found = self.act(words).await;
            if found != *expected {
                wrong.push((*words, *expected, found));
            }
        }
        assert_eq!(wrong, [], "attempt, expected, found");
    }
}

/// The content that must be unchanged after all attempts.
fn untouched(dir: &Path) -> Vec<(&'static str, Option<String>)> {
    [
        "outside.txt",
        "work/agent.toml",
        "work/agent.lock",
        "work/.env",
        "work/state/journal",
        "work/hard",
        "work/real/conf.toml",
        "work/.git/config",
        "work/.ssh/id",
        "x",
    ]
    .map(|path| (path, std::fs::read_to_string(dir.join(path)).ok()))
    .to_vec()
}

/// Runs a table of attempts, none of which may change or show what is hidden or outside.
pub(super) async fn check_all(mut fixture: Fixture, table: &[(&str, &str)]) {
    let before = untouched(fixture.dir.path());
    fixture.check(table).await;
    assert_eq!(untouched(fixture.dir.path()), before);
    let handles = format!("{:?}", fixture.stats());
    assert!(
        !handles.contains(&*fixture.dir.path().to_string_lossy()),
        "a host path is in {handles}"
    );
    assert!(!handles.contains("SECRET"));
}
