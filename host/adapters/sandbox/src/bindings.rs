//! The Rust side of `wit/`, generated. Nothing is written by hand here.

mod generated {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "host",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

mod of_hooks {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "hook-host",
        imports: { default: async | trappable },
        exports: { default: async },
        with: { "agent:tool/types": crate::bindings::generated::agent::tool::types },
    });
}

pub(crate) use generated::{
    Host_ as Host, Host_Pre as HostPre,
    agent::tool::{artifacts, context, control, human, progress, state, tools, types},
};
pub(crate) use of_hooks::{HookHost, HookHostPre, agent::tool::hook_types};
