//! A server that blocks at one of its points until the test releases it.

use agent_host_test_support::running::PATIENCE;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The test's side. Dropping it releases the server.
pub(crate) struct Held {
    reached: Receiver<()>,
    _release: Sender<()>,
}

/// Returns the test's side, and the function that the server calls at each of its points.
pub(crate) fn held(at: usize) -> (Held, impl FnMut(usize) + Send + 'static) {
    let (tell, reached) = channel();
    let (release, wait) = channel::<()>();
    let pass = move |point| {
        if point == at {
            // After a failed test nothing waits.
            let _ = tell.send(());
            let _ = wait.recv();
        }
    };
    let held = Held {
        reached,
        _release: release,
    };
    (held, pass)
}

impl Held {
    /// Waits until the server has reached the point.
    pub(crate) fn wait(&self) {
        self.reached.recv_timeout(PATIENCE).unwrap();
    }
}
