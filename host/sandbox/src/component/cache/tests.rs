use super::{CacheContent, CachedComponent, CompileCache, Pruned, files, manage, sealed};
use crate::{Call, Compiled, Pooling, Sandbox, SandboxConfig, Talk, ToolComponent, guests::Guest};
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

fn sandbox(folder: &Path, pooling: Pooling) -> Sandbox {
    Sandbox::new(SandboxConfig {
        cache_dir: Some(folder.to_path_buf()),
        concurrent_calls: 1,
        pooling,
        ..SandboxConfig::default()
    })
    .unwrap()
}

/// Loads in a host that starts anew, calls the tool, and says where it came from.
async fn load(folder: &Path) -> Compiled {
    load_bytes(folder, &Guest::default().bytes()).await
}

async fn load_bytes(folder: &Path, bytes: &[u8]) -> Compiled {
    let tool = sandbox(folder, Pooling::Probe).load(bytes).await.unwrap();
    assert_eq!(tool.definitions().len(), 1);
    assert_eq!(echo(&tool).await, ToolResultOutput::Json(json!({})));
    tool.compiled()
}

async fn echo(tool: &ToolComponent) -> ToolResultOutput {
    tool.call(Call {
        tool: "echo",
        call_id: &CallId("c".to_owned()),
        input: &Map::new(),
        idempotency_key: "k",
        effect: Effect::ReadOnly,
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: &Limits::default(),
        talk: Talk::default(),
        progress: &|_, _| {},
    })
    .await
    .settled()
    .unwrap()
    .output
}

/// A cache with one entry, and the entry's path.
async fn filled() -> (TempDir, PathBuf, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/cache");
    assert_eq!(load(&folder).await, Compiled::Now);
    let entry = entries(&folder).pop().unwrap();
    (parent, folder, entry)
}

/// All files but the key.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
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
async fn a_component_is_compiled_once_for_each_engine() {
    let (_parent, folder, entry) = filled().await;
    assert_eq!(load(&folder).await, Compiled::FromCache);
    assert_eq!(
        (mode(&folder), mode(&entry), mode(&folder.join("key"))),
        (0o700, 0o600, 0o600)
    );
    // Without a pool the machine code is another.
    let bytes = Guest::default().bytes();
    for expected in [Compiled::Now, Compiled::FromCache] {
        let tool = sandbox(&folder, Pooling::Off).load(&bytes).await.unwrap();
        assert_eq!(tool.compiled(), expected);
        assert_eq!(echo(&tool).await, ToolResultOutput::Json(json!({})));
    }
    assert_eq!(entries(&folder).len(), 2);
}

#[tokio::test]
async fn a_damaged_or_foreign_entry_is_made_anew() {
    let (_parent, folder, entry) = filled().await;
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
        assert_eq!(load(&folder).await, Compiled::Now, "{index}");
        assert_eq!(load(&folder).await, Compiled::FromCache, "{index}");
    }
}

#[tokio::test]
async fn an_entry_is_not_taken_for_another_one() {
    let (_parent, folder, entry) = filled().await;
    let other = Guest {
        component: "(core module)",
        ..Guest::default()
    }
    .bytes();
    assert_eq!(load_bytes(&folder, &other).await, Compiled::Now);
    let second = entries(&folder)
        .into_iter()
        .find(|path| *path != entry)
        .unwrap();
    fs::copy(&entry, &second).unwrap();
    assert_eq!(load_bytes(&folder, &other).await, Compiled::Now);
    assert_eq!(load_bytes(&folder, &other).await, Compiled::FromCache);

    // An entry that another host wrote, with a key of its own.
    let (_elsewhere, _, foreign) = filled().await;
    fs::copy(foreign, &entry).unwrap();
    assert_eq!(load(&folder).await, Compiled::Now);
}

#[tokio::test]
async fn a_file_that_others_can_reach_is_not_read() {
    let (_parent, folder, entry) = filled().await;
    for open in [0o640, 0o604, 0o620, 0o602] {
        set_mode(&entry, open);
        assert_eq!(load(&folder).await, Compiled::Now, "{open:o}");
        assert_eq!(mode(&entry), 0o600, "{open:o}");
    }
    let target = folder.with_extension("target");
    fs::rename(&entry, &target).unwrap();
    symlink(&target, &entry).unwrap();
    assert_eq!(load(&folder).await, Compiled::Now);
    assert!(fs::symlink_metadata(&entry).unwrap().is_file());

    fs::remove_file(&entry).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &entry,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    assert_eq!(load(&folder).await, Compiled::Now);
    assert_eq!(load(&folder).await, Compiled::FromCache);
}

#[tokio::test]
async fn a_folder_that_cannot_be_trusted_is_not_used() {
    let (_parent, folder, _entry) = filled().await;
    set_mode(&folder, 0o755);
    assert_eq!(load(&folder).await, Compiled::Now);
    set_mode(&folder, 0o700);

    let link = folder.with_extension("link");
    symlink(&folder, &link).unwrap();
    assert_eq!(load(&link).await, Compiled::Now);

    let key = folder.join("key");
    set_mode(&key, 0o644);
    assert_eq!(load(&folder).await, Compiled::Now);
    set_mode(&key, 0o600);
    assert_eq!(load(&folder).await, Compiled::FromCache);
    fs::write(&key, b"short").unwrap();
    assert_eq!(load(&folder).await, Compiled::Now);

    let file = folder.with_extension("file");
    fs::write(&file, b"").unwrap();
    assert_eq!(load(&file).await, Compiled::Now);
}

/// Loads components of several sizes in a host of its own, and gives the cache.
async fn with_components(folder: &Path, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for modules in 0..count {
        let component = "(core module)".repeat(modules);
        let bytes = Guest {
            component: &component,
            ..Guest::default()
        }
        .bytes();
        assert_eq!(load_bytes(folder, &bytes).await, Compiled::Now);
        all.push(bytes);
    }
    all
}

/// Says that an entry was used last at this second.
fn set_used(path: &Path, seconds: u64) {
    let used = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let times = fs::FileTimes::new().set_accessed(used);
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_times(times)
        .unwrap();
}

fn listed(folder: &Path) -> Vec<CachedComponent> {
    CompileCache::open(folder).unwrap().unwrap().list().unwrap()
}

fn component(bytes: &[u8], current: bool) -> CacheContent {
    CacheContent::Component {
        digest: Digest::of(bytes),
        tools: vec!["echo".to_owned()],
        current,
    }
}

#[tokio::test]
async fn the_cache_tells_what_is_in_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("cache");
    assert!(CompileCache::open(&folder).unwrap().is_none());
    let all = with_components(&folder, 2).await;
    // Without a pool it is for another engine, and both are of this program.
    sandbox(&folder, Pooling::Off).load(&all[0]).await.unwrap();
    for path in entries(&folder) {
        set_used(&path, 1_000);
    }
    // Using one brings it to the top.
    assert_eq!(load_bytes(&folder, &all[1]).await, Compiled::FromCache);
    let found = listed(&folder);
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
    assert!(found[0].used > old);
    assert_eq!((found[1].used, found[2].used), (old, old));
    for one in &found {
        let file = fs::metadata(folder.join(&one.file)).unwrap();
        assert_eq!(
            (one.bytes, one.made),
            (file.len(), file.modified().unwrap())
        );
    }
}

#[tokio::test]
async fn nothing_is_believed_of_an_entry_whose_hash_is_wrong() {
    let (_parent, folder, entry) = filled().await;
    let good = fs::read(&entry).unwrap();
    for at in 0..300.min(good.len()) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&entry, bytes).unwrap();
        assert_eq!(listed(&folder)[0].content, CacheContent::Damaged, "{at}");
    }
    fs::write(&entry, &good).unwrap();
    assert_eq!(
        listed(&folder)[0].content,
        component(&Guest::default().bytes(), true)
    );
    // Another key, and none.
    fs::write(folder.join("key"), [7; 32]).unwrap();
    assert_eq!(listed(&folder)[0].content, CacheContent::Damaged);
    fs::remove_file(folder.join("key")).unwrap();
    assert_eq!(listed(&folder)[0].content, CacheContent::Damaged);
}

#[tokio::test]
async fn pruning_removes_what_is_of_no_use_and_then_the_oldest() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("cache");
    with_components(&folder, 3).await;
    let paths = entries(&folder);
    let kept = fs::metadata(&paths[2]).unwrap().len();
    for (age, path) in paths.iter().enumerate() {
        set_used(path, 1_000 + age as u64);
    }
    let hour = Duration::from_secs(60 * 60);
    let old = SystemTime::now() - 2 * hour;
    for (name, time) in [
        ("new-old", old),
        ("new-fresh", SystemTime::now()),
        ("notes.txt", old),
    ] {
        let file = fs::File::create(folder.join(name)).unwrap();
        file.set_modified(time).unwrap();
    }
    let damaged = folder.join(format!("{}-{}", "ab".repeat(32), "0".repeat(16)));
    fs::write(&damaged, b"damaged").unwrap();
    set_mode(&damaged, 0o600);

    let cache = CompileCache::open(&folder).unwrap().unwrap();
    assert_eq!(cache.prune(None).unwrap(), Pruned { files: 2, bytes: 7 });
    assert_eq!(cache.prune(None).unwrap(), Pruned::default());
    let left: Vec<PathBuf> = ["new-fresh", "notes.txt"]
        .map(|name| folder.join(name))
        .into();
    let mut expected: Vec<PathBuf> = paths.iter().cloned().chain(left.clone()).collect();
    expected.sort();
    assert_eq!(entries(&folder), expected);

    assert_eq!(cache.prune(Some(kept)).unwrap().files, 2);
    let mut expected: Vec<PathBuf> = paths[2..].iter().cloned().chain(left.clone()).collect();
    expected.sort();
    assert_eq!(entries(&folder), expected);
    assert_eq!(
        cache.prune(Some(0)).unwrap(),
        Pruned {
            files: 1,
            bytes: kept
        }
    );
    assert_eq!(entries(&folder), left);
    assert!(folder.join("key").exists());
}

#[tokio::test]
async fn the_entries_used_last_stay_when_there_are_too_many() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("cache");
    with_components(&folder, 3).await;
    let paths = entries(&folder);
    let sizes: Vec<u64> = paths
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .collect();
    for (path, used) in paths.iter().zip([3_000, 1_000, 2_000]) {
        set_used(path, used);
    }
    let open = files::Folder::open(&folder).unwrap();
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
        assert_eq!(entries(&folder), expected, "{max}");
    }
}

#[test]
fn sealed_code_cannot_be_changed() {
    let mut file = sealed::Sealed::create().unwrap();
    file.write_all(b"code").unwrap();
    let sealed = file.seal().unwrap();
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
fn a_folder_that_cannot_be_trusted_says_why() {
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
        ("link", "is a link or no folder"),
        ("file", "is a link or no folder"),
    ] {
        let error = CompileCache::open(&at(name)).unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
        assert!(error.contains(name), "{name}: {error}");
    }
}
