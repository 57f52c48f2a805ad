use crate::{Call, Compiled, Pooling, Sandbox, SandboxConfig, ToolComponent, guests::Guest};
use agent_host_core::{id::CallId, limits::Limits, output::ToolResultOutput, tool::Effect};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    sync::Arc,
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
        progress: &|_, _| {},
    })
    .await
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
