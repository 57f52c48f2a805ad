//! The clock that interrupts guests: a thread of the operating system, so that no runtime that guests keep busy can hold it
//! up. It holds the engines weakly and ends with them.

use crate::schedule::threads::refused;
use std::{io, thread, time::Duration};
use wasmtime::{Engine, EngineWeak};

/// The clock's interval. A guest computes for one to two of them (`store.rs`) before it lets others run and its deadline is
/// looked at.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// Starts the thread.
pub(crate) fn start<'a>(engines: impl Iterator<Item = &'a Engine>) -> io::Result<()> {
    let engines: Vec<EngineWeak> = engines.map(Engine::weak).collect();
    thread::Builder::new()
        .name("guest-clock".to_owned())
        .spawn(move || {
            loop {
                thread::sleep(TICK);
                let mut alive = false;
                for engine in engines.iter().filter_map(EngineWeak::upgrade) {
                    engine.increment_epoch();
                    alive = true;
                }
                if !alive {
                    break;
                }
            }
        })
        .map(drop)
        .map_err(|error| refused(1, 0, &error))
}
