//! A server that stops at one of its points until the test lets it go on.

use crate::support::running::PATIENCE;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The test's side. The server goes on when this is dropped.
pub(crate) struct Held {
    reached: Receiver<()>,
    _go_on: Sender<()>,
}

/// The test's side, and what the server calls at each of its points.
pub(crate) fn held(at: usize) -> (Held, impl FnMut(usize) + Send + 'static) {
    let (tell, reached) = channel();
    let (go_on, wait) = channel::<()>();
    let pass = move |point| {
        if point == at {
            // A test that has failed meanwhile waits for nothing.
            let _ = tell.send(());
            let _ = wait.recv();
        }
    };
    let held = Held {
        reached,
        _go_on: go_on,
    };
    (held, pass)
}

impl Held {
    /// Waits until the server is there.
    pub(crate) fn wait(&self) {
        self.reached.recv_timeout(PATIENCE).unwrap();
    }
}
