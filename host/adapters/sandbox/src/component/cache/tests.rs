use super::{CacheContent, CachedComponent, CompileCache, Pruned, manage, sealed};
use crate::{
    Call, CallContext, Compiled, Pooling, Sandbox, SandboxConfig, ToolComponent, guests::Guest,
};
use agent_host_types::{
    id::{CallId, Digest},
    limits::Limits,
    output::ToolResultOutput,
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

fn sandbox(dir: &Path, pooling: Pooling) -> Sandbox {
    Sandbox::new(SandboxConfig {
        cache_dir: Some(dir.to_path_buf()),
        concurrent_calls: 1,
        pooling,
        ..SandboxConfig::default()
    })
    .unwrap()
}

/// Loads in a new sandbox, calls the tool, and returns where the code came from.
async fn load(dir: &Path) -> Compiled {
    load_bytes(dir, &Guest::default().bytes()).await
}

async fn load_bytes(dir: &Path, bytes: &[u8]) -> Compiled {
    let tool = sandbox(dir, Pooling::Probe).load(bytes).await.unwrap();
    assert_eq!(tool.definitions().len(), 1);
    assert_eq!(echo(&tool).await, ToolResultOutput::json(json!({})));
    tool.compiled()
}

async fn echo(tool: &ToolComponent) -> ToolResultOutput {
    tool.call(Call {
        tool: "echo",
        call_id: &CallId("c".to_owned()),
        input: &Map::new().into(),
        idempotency_key: "k",
        effect: Effect::ReadOnly,
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: &Limits::default(),
        context: CallContext::default(),
        progress: &|_| {},
    })
    .await
    .settled()
    .unwrap()
    .output
}

/// Creates a cache with one entry, and returns the entry's path.
async fn filled() -> (TempDir, PathBuf, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("a/cache");
    assert_eq!(load(&dir).await, Compiled::Now);
    let entry = entries(&dir).pop().unwrap();
    (parent, dir, entry)
}

/// Returns all files but the key.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("key"))
        .collect();
    entries.sort();
    entries
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn component_is_compiled_once_for_each_engine() {
    let (_parent, dir, entry) = filled().await;
    assert_eq!(load(&dir).await, Compiled::FromCache);
    assert_eq!(
        (mode(&dir), mode(&entry), mode(&dir.join("key"))),
        (0o700, 0o600, 0o600)
    );
    // Without a pool the machine code differs.
    let bytes = Guest::default().bytes();
    for expected in [Compiled::Now, Compiled::FromCache] {
        let tool = sandbox(&dir, Pooling::Off).load(&bytes).await.unwrap();
        assert_eq!(tool.compiled(), expected);
        assert_eq!(echo(&tool).await, ToolResultOutput::json(json!({})));
    }
    assert_eq!(entries(&dir).len(), 2);
}

#[tokio::test]
async fn damaged_or_foreign_entry_is_replaced() {
    let (_parent, dir, entry) = filled().await;
    let good = fs::read(&entry).unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damaged = [
        Vec::new(),
        good[..31].to_vec(),
        good[..40].to_vec(),
        good[..good.len() - 1].to_vec(),
        [good.as_slice(), b"x"].concat(),
        flipped(0),
        flipped(32),
        flipped(60),
        flipped(good.len() / 2),
        flipped(good.len() - 1),
    ];
    for (index, bytes) in damaged.into_iter().enumerate() {
        fs::write(&entry, bytes).unwrap();
        assert_eq!(load(&dir).await, Compiled::Now, "{index}");
        assert_eq!(load(&dir).await, Compiled::FromCache, "{index}");
    }
}

#[tokio::test]
async fn renamed_entry_is_refused() {
    let (_parent, dir, entry) = filled().await;
    let other = Guest {
        component: "(core module)",
        ..Guest::default()
    }
    .bytes();
    assert_eq!(load_bytes(&dir, &other).await, Compiled::Now);
    let second = entries(&dir)
        .into_iter()
        .find(|path| *path != entry)
        .unwrap();
    fs::copy(&entry, &second).unwrap();
    assert_eq!(load_bytes(&dir, &other).await, Compiled::Now);
    assert_eq!(load_bytes(&dir, &other).await, Compiled::FromCache);

    // An entry that another host wrote, with a key of its own.
    let (_elsewhere, _, foreign) = filled().await;
    fs::copy(foreign, &entry).unwrap();
    assert_eq!(load(&dir).await, Compiled::Now);
}

#[tokio::test]
async fn file_that_other_users_can_access_is_refused() {
    let (_parent, dir, entry) = filled().await;
    for open in [0o640, 0o604, 0o620, 0o602] {
        set_mode(&entry, open);
        assert_eq!(load(&dir).await, Compiled::Now, "{open:o}");
        assert_eq!(mode(&entry), 0o600, "{open:o}");
    }
    let target = dir.with_extension("target");
    fs::rename(&entry, &target).unwrap();
    symlink(&target, &entry).unwrap();
    assert_eq!(load(&dir).await, Compiled::Now);
    assert!(fs::symlink_metadata(&entry).unwrap().is_file());

    fs::remove_file(&entry).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &entry,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    assert_eq!(load(&dir).await, Compiled::Now);
    assert_eq!(load(&dir).await, Compiled::FromCache);
}

#[tokio::test]
async fn untrusted_directory_is_not_used() {
    let (_parent, dir, _entry) = filled().await;
    set_mode(&dir, 0o755);
    assert_eq!(load(&dir).await, Compiled::Now);
    set_mode(&dir, 0o700);

    let link = dir.with_extension("link");
    symlink(&dir, &link).unwrap();
    assert_eq!(load(&link).await, Compiled::Now);

    let key = dir.join("key");
    set_mode(&key, 0o644);
    assert_eq!(load(&dir).await, Compiled::Now);
    set_mode(&key, 0o600);
    assert_eq!(load(&dir).await, Compiled::FromCache);
    fs::write(&key, b"short").unwrap();
    assert_eq!(load(&dir).await, Compiled::Now);

    let file = dir.with_extension("file");
    fs::write(&file, b"").unwrap();
    assert_eq!(load(&file).await, Compiled::Now);
}

/// Loads components of different sizes.
async fn with_components(dir: &Path, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for modules in 0..count {
        let component = "(core module)".repeat(modules);
        let bytes = Guest {
            component: &component,
            ..Guest::default()
        }
        .bytes();
        assert_eq!(load_bytes(dir, &bytes).await, Compiled::Now);
        all.push(bytes);
    }
    all
}

/// Sets the time at which an entry was last used.
fn set_last_used(path: &Path, seconds: u64) {
    let used = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let times = fs::FileTimes::new().set_accessed(used);
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_times(times)
        .unwrap();
}

fn listed(dir: &Path) -> Vec<CachedComponent> {
    CompileCache::open(dir).unwrap().unwrap().list().unwrap()
}

fn component(bytes: &[u8], current: bool) -> CacheContent {
    CacheContent::Component {
        digest: Digest::of(bytes),
        tools: vec!["echo".to_owned()],
        current,
    }
}

#[tokio::test]
async fn list_returns_entries_by_last_use() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cache");
    assert!(CompileCache::open(&dir).unwrap().is_none());
    let all = with_components(&dir, 2).await;
    // The entry without a pool is for another engine of this build.
    sandbox(&dir, Pooling::Off).load(&all[0]).await.unwrap();
    for path in entries(&dir) {
        set_last_used(&path, 1_000);
    }
    // The last used entry comes first.
    assert_eq!(load_bytes(&dir, &all[1]).await, Compiled::FromCache);
    let found = listed(&dir);
    let contents: Vec<&CacheContent> = found.iter().map(|one| &one.content).collect();
    assert_eq!(
        contents,
        [
            &component(&all[1], true),
            &component(&all[0], true),
            &component(&all[0], true)
        ]
    );
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    assert!(found[0].last_used > old);
    assert_eq!((found[1].last_used, found[2].last_used), (old, old));
    for one in &found {
        let file = fs::metadata(dir.join(&one.file)).unwrap();
        assert_eq!(
            (one.size_bytes, one.compiled_at),
            (file.len(), file.modified().unwrap())
        );
    }
}

#[tokio::test]
async fn entry_with_an_invalid_hash_is_listed_as_damaged() {
    let (_parent, dir, entry) = filled().await;
    let good = fs::read(&entry).unwrap();
    for at in 0..300.min(good.len()) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&entry, bytes).unwrap();
        assert_eq!(listed(&dir)[0].content, CacheContent::Damaged, "{at}");
    }
    fs::write(&entry, &good).unwrap();
    assert_eq!(
        listed(&dir)[0].content,
        component(&Guest::default().bytes(), true)
    );
    // With another key, and with none.
    fs::write(dir.join("key"), [7; 32]).unwrap();
    assert_eq!(listed(&dir)[0].content, CacheContent::Damaged);
    fs::remove_file(dir.join("key")).unwrap();
    assert_eq!(listed(&dir)[0].content, CacheContent::Damaged);
}

#[tokio::test]
async fn prune_removes_useless_files_and_then_the_oldest() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cache");
    with_components(&dir, 3).await;
    let paths = entries(&dir);
    let kept = fs::metadata(&paths[2]).unwrap().len();
    for (age, path) in paths.iter().enumerate() {
        set_last_used(path, 1_000 + age as u64);
    }
    let hour = Duration::from_secs(60 * 60);
    let old = SystemTime::now() - 2 * hour;
    for (name, time) in [
        ("new-old", old),
        ("new-fresh", SystemTime::now()),
        ("notes.txt", old),
    ] {
        let file = fs::File::create(dir.join(name)).unwrap();
        file.set_modified(time).unwrap();
    }
    let damaged = dir.join(format!("{}-{}", "ab".repeat(32), "0".repeat(16)));
    fs::write(&damaged, b"damaged").unwrap();
    set_mode(&damaged, 0o600);

    let cache = CompileCache::open(&dir).unwrap().unwrap();
    assert_eq!(cache.prune(None).unwrap(), Pruned { files: 2, bytes: 7 });
    assert_eq!(cache.prune(None).unwrap(), Pruned::default());
    let left: Vec<PathBuf> = ["new-fresh", "notes.txt"].map(|name| dir.join(name)).into();
    let mut expected: Vec<PathBuf> = paths.iter().cloned().chain(left.clone()).collect();
    expected.sort();
    assert_eq!(entries(&dir), expected);

    assert_eq!(cache.prune(Some(kept)).unwrap().files, 2);
    let mut expected: Vec<PathBuf> = paths[2..].iter().cloned().chain(left.clone()).collect();
    expected.sort();
    assert_eq!(entries(&dir), expected);
    assert_eq!(
        cache.prune(Some(0)).unwrap(),
        Pruned {
            files: 1,
            bytes: kept
        }
    );
    assert_eq!(entries(&dir), left);
    assert!(dir.join("key").exists());
}

#[tokio::test]
async fn eviction_keeps_the_last_used_entries() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("cache");
    with_components(&dir, 3).await;
    let paths = entries(&dir);
    let sizes: Vec<u64> = paths
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .collect();
    for (path, used) in paths.iter().zip([3_000, 1_000, 2_000]) {
        set_last_used(path, used);
    }
    let open = agent_host_cache_dir::CacheDir::open(&dir).unwrap();
    for (max, expected) in [
        (sizes.iter().sum(), vec![0, 1, 2]),
        (sizes[0] + sizes[2] + sizes[1] - 1, vec![0, 2]),
        (sizes[0], vec![0]),
        (sizes[0] - 1, vec![]),
    ] {
        manage::evict(&open, max).unwrap();
        let expected: Vec<PathBuf> = expected
            .iter()
            .map(|at: &usize| paths[*at].clone())
            .collect();
        assert_eq!(entries(&dir), expected, "{max}");
    }
}

#[test]
fn sealed_code_cannot_be_changed() {
    let mut file = sealed::Sealed::create().unwrap();
    file.write_all(b"code").unwrap();
    let sealed = sealed::Sealed::seal(file).unwrap();
    let path = sealed.path().unwrap();
    assert!(
        fs::File::options()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"x"))
            .is_err()
    );
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    assert!(file.set_len(0).is_err());
    assert!((&file).write_all(b"x").is_err());
    assert_eq!(sealed.bytes().unwrap(), b"code");
    assert_eq!(fs::read(path).unwrap(), b"code");
}

#[test]
fn untrusted_directory_error_names_the_reason() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    for name in ["world", "group"] {
        fs::create_dir(at(name)).unwrap();
    }
    set_mode(&at("world"), 0o777);
    set_mode(&at("group"), 0o770);
    symlink(at("world"), at("link")).unwrap();
    fs::write(at("file"), b"").unwrap();
    for (name, says) in [
        ("world", "can be reached by other users (mode 777)"),
        ("group", "can be reached by other users (mode 770)"),
        ("link", "is a link or not a directory"),
        ("file", "is a link or not a directory"),
    ] {
        let error = CompileCache::open(&at(name)).unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
        assert!(error.contains(name), "{name}: {error}");
    }
}
