//! The ways into a program: its main function, or its handler of HTTP requests.

use crate::instance::store::CallState;
use wasmtime::{Engine, component::InstancePre};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi_http::p2::bindings::ProxyPre;

/// The exports of programs, without the last number of their versions. A component that has several
/// is entered by the first of these: a main function can send messages of its own accord, and read
/// some while it answers others.
const MAIN: &str = "wasi:cli/run@0.2";
const HANDLER: &str = "wasi:http/incoming-handler@0.2";

/// The way into a program.
#[derive(Clone)]
pub(crate) enum ProgramEntry {
    /// Its main function reads and writes the standard streams.
    Main(CommandPre<CallState>),
    /// It answers HTTP requests, one after the other.
    Handler(ProxyPre<CallState>),
}

impl ProgramEntry {
    /// Finds the way into a component; `None` if it is not a program.
    ///
    /// # Errors
    /// The export whose types are not those of WASI, with the difference.
    pub(crate) fn find(
        pre: &InstancePre<CallState>,
        exports: &[&str],
    ) -> Result<Option<Self>, (&'static str, wasmtime::Error)> {
        let has = |export: &str| exports.iter().any(|name| name.starts_with(export));
        let found = if has(MAIN) {
            (MAIN, CommandPre::new(pre.clone()).map(Self::Main))
        } else if has(HANDLER) {
            (HANDLER, ProxyPre::new(pre.clone()).map(Self::Handler))
        } else {
            return Ok(None);
        };
        let (export, entry) = found;
        entry.map(Some).map_err(|error| (export, error))
    }

    /// Returns the engine that it runs on.
    pub(crate) fn engine(&self) -> &Engine {
        match self {
            Self::Main(pre) => pre.engine(),
            Self::Handler(pre) => pre.engine(),
        }
    }

    /// Returns how it is spoken to, as a part of its format.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Main(_) => "a program with standard streams",
            Self::Handler(_) => "a handler of HTTP requests",
        }
    }
}
