//! Stand-in until the files of the sibling branch are merged: no folder is ever mounted.

use crate::{gate::Gate, store::CallState};
use std::{path::PathBuf, sync::Arc};
use wasmtime::component::{Linker, ResourceTable};
use wasmtime_wasi::{
    filesystem::{WasiFilesystem, WasiFilesystemCtx, WasiFilesystemView},
    p2::bindings::filesystem::{preopens, types},
};

/// The granted folders of a call.
pub(crate) struct FilesState;

/// Why a granted folder cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("a granted folder cannot be opened")]
pub(crate) struct FilesError;

impl FilesState {
    pub(crate) fn open(_gate: Arc<Gate>, _protected: &[PathBuf]) -> Result<Self, FilesError> {
        Ok(Self)
    }
}

/// The view of a call that the file interfaces work on.
#[expect(dead_code, reason = "the stand-in reads none of the fields")]
pub(crate) struct GatedFs<'a> {
    pub(crate) ctx: &'a mut WasiFilesystemCtx,
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) files: &'a mut FilesState,
}

pub(crate) fn add_to_linker(
    linker: &mut Linker<CallState>,
    _view: fn(&mut CallState) -> GatedFs<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)?;
    preopens::add_to_linker::<CallState, WasiFilesystem>(linker, CallState::filesystem)
}
