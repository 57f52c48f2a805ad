//! Directories that count as remote, and whose file system stops to answer when a test wants it.

use crate::mutex::lock;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
};
use tempfile::TempDir;

static REMOTE: Mutex<Vec<(PathBuf, Arc<Server>)>> = Mutex::new(Vec::new());

#[derive(Default)]
struct Server {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    hangs: bool,
    /// The operations that wait for an answer.
    waiting: usize,
}

pub(crate) struct RemoteDir {
    pub(crate) dir: TempDir,
    server: Arc<Server>,
}

impl RemoteDir {
    pub(crate) fn new() -> Self {
        let (dir, server) = (tempfile::tempdir().unwrap(), Arc::default());
        lock(&REMOTE).push((dir.path().to_owned(), Arc::clone(&server)));
        Self { dir, server }
    }

    /// Lets every operation from now on wait, or lets all continue.
    pub(crate) fn set_hanging(&self, hangs: bool) {
        lock(&self.server.state).hangs = hangs;
        self.server.changed.notify_all();
    }

    /// Waits until operations hang.
    pub(crate) async fn hanging(&self, count: usize) {
        while lock(&self.server.state).waiting < count {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for RemoteDir {
    fn drop(&mut self) {
        self.set_hanging(false);
        lock(&REMOTE).retain(|(path, _)| path != self.dir.path());
    }
}

fn server(granted: &Path) -> Option<Arc<Server>> {
    let remote = lock(&REMOTE);
    let found = remote.iter().find(|(path, _)| path == granted);
    found.map(|(_, server)| Arc::clone(server))
}

pub(crate) fn is_remote(granted: &Path) -> bool {
    server(granted).is_some()
}

/// Blocks the thread of an operation while the server does not answer.
pub(crate) fn wait_for_answer(granted: &Path) {
    if let Some(server) = server(granted) {
        let mut state = lock(&server.state);
        state.waiting += 1;
        while state.hangs {
            state = server.changed.wait(state).unwrap();
        }
        state.waiting -= 1;
    }
}
