//! The Rust side of `wit/`, generated. Nothing is written by hand here.

mod generated {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "host",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

pub(crate) use generated::{
    Host_ as Host, Host_Pre as HostPre,
    agent::tool::{artifacts, context, control, human, progress, state, types},
};
