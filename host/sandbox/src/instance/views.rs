//! The views of the linked interfaces: their only way to the data of a call.

use crate::{
    caps::{files::FilesView, human::HumanCtx, progress::ProgressCtx, state::StateCtx},
    instance::store::CallState,
};
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
