//! The ways into a program: its main function, or its handler of HTTP requests.

use crate::instance::store::CallState;
use wasmtime::{Engine, component::InstancePre};
use wasmtime_wasi::{p2::bindings::CommandPre, p3::bindings::CommandPre as AsyncCommandPre};
use wasmtime_wasi_http::{p2::bindings::ProxyPre, p3::bindings::ServicePre};

/// The exports of programs, without the last number of their versions. A component that has several
/// is entered by the first of these: a main function can send messages without a request.
const MAIN: &str = "wasi:cli/run@0.2";
const ASYNC_MAIN: &str = "wasi:cli/run@0.3";
const HANDLER: &str = "wasi:http/incoming-handler@0.2";
const ASYNC_HANDLER: &str = "wasi:http/handler@0.3";

/// The way into a program.
#[derive(Clone)]
pub(crate) enum ProgramEntry {
    /// Its main function reads and writes the standard streams.
    Main(CommandPre<CallState>),
    /// The main function of WASI 0.3.
    AsyncMain(AsyncCommandPre<CallState>),
    /// It answers HTTP requests, one after the other.
    Handler(ProxyPre<CallState>),
    /// It answers HTTP requests as they come, with WASI 0.3.
    AsyncHandler(ServicePre<CallState>),
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
        let all = [MAIN, ASYNC_MAIN, HANDLER, ASYNC_HANDLER];
        let is_exported = |export: &&str| exports.iter().any(|name| name.starts_with(*export));
        let Some(export) = all.into_iter().find(is_exported) else {
            return Ok(None);
        };
        let pre = pre.clone();
        let entry = match export {
            MAIN => CommandPre::new(pre).map(Self::Main),
            ASYNC_MAIN => AsyncCommandPre::new(pre).map(Self::AsyncMain),
            HANDLER => ProxyPre::new(pre).map(Self::Handler),
            _ => ServicePre::new(pre).map(Self::AsyncHandler),
        };
        entry.map(Some).map_err(|error| (export, error))
    }

    /// Returns the engine that it runs on.
    pub(crate) fn engine(&self) -> &Engine {
        match self {
            Self::Main(pre) => pre.engine(),
            Self::AsyncMain(pre) => pre.engine(),
            Self::Handler(pre) => pre.engine(),
            Self::AsyncHandler(pre) => pre.engine(),
        }
    }

    /// Returns whether it is spoken to with HTTP requests, and not over its standard streams.
    pub(crate) fn takes_requests(&self) -> bool {
        matches!(self, Self::Handler(_) | Self::AsyncHandler(_))
    }

    /// Returns how it is spoken to, as a part of its format.
    pub(crate) fn form(&self) -> &'static str {
        match self {
            Self::Main(_) => "a program with standard streams (wasi:cli/run@0.2)",
            Self::AsyncMain(_) => "a program with standard streams (wasi:cli/run@0.3)",
            Self::Handler(_) => "a handler of HTTP requests (wasi:http/incoming-handler@0.2)",
            Self::AsyncHandler(_) => "a handler of HTTP requests (wasi:http/handler@0.3)",
        }
    }
}
