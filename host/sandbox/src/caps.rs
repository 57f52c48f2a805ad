//! The host functions that a guest can import: one module for each capability. None of them
//! decides what is allowed: every effect asks the [gate](crate::gate).
//!
//! A capability keeps the data of one call in its context, a field of [`CallState`]. Its host
//! functions are implemented on that context or, if they hand out resources, on a view: the context
//! with the call's resource table, as in wasmtime-wasi. The accessors here are the only way from a
//! linked interface to the data of a call.

pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod human;
pub(crate) mod progress;
pub(crate) mod state;
pub(crate) mod stdio;
pub(crate) mod telemetry;
pub(crate) mod wasi;

use crate::instance::store::CallState;
use files::FilesView;
use human::HumanCtx;
use progress::ProgressCtx;
use state::StateCtx;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

impl CallState {
    /// The open resources; all that wasi:io needs.
    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    pub(crate) fn files(&mut self) -> FilesView<'_> {
        FilesView {
            ctx: &mut self.files,
            table: &mut self.table,
        }
    }

    pub(crate) fn human(&mut self) -> &mut HumanCtx {
        &mut self.human
    }

    pub(crate) fn progress(&mut self) -> &mut ProgressCtx {
        &mut self.progress
    }

    pub(crate) fn state(&mut self) -> &mut StateCtx {
        &mut self.state
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self.wasi.get(),
            table: &mut self.table,
        }
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.http.view(&mut self.table)
    }
}
