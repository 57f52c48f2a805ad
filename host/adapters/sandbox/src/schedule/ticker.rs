//! The epoch clock: an OS thread, so that busy runtimes cannot delay it. It holds the engines
//! weakly and ends with them.

use crate::schedule::threads::refused;
use std::{io, thread, time::Duration};
use wasmtime::{Engine, EngineWeak};

/// The epoch interval. A guest computes for one to two of them (`instance/store.rs`) before it
/// yields and its deadline is checked.
pub(crate) const TICK: Duration = Duration::from_millis(5);

pub(crate) fn start<'a>(engines: impl Iterator<Item = &'a Engine>) -> io::Result<()> {
    let engines: Vec<EngineWeak> = engines.map(Engine::weak).collect();
    thread::Builder::new()
        .name("epoch-clock".to_owned())
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
