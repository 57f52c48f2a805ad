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

/// The contract of ACT components (<https://actcore.dev>), of which the world is written here.
pub(crate) mod act {
    wasmtime::component::bindgen!({
        inline: "
            package agent:act;

            world act-component {
                export act:tools/tool-provider@0.2.0;
            }

            package act:core@0.4.0 {
                interface types {
                    variant localized-string {
                        plain(string),
                        localized(list<tuple<string, string>>),
                    }
                    type cbor = list<u8>;
                    type metadata = list<tuple<string, cbor>>;
                    record error {
                        kind: string,
                        message: localized-string,
                        metadata: metadata,
                    }
                }
            }

            package act:tools@0.2.0 {
                interface types {
                    use act:core/types@0.4.0.{localized-string, metadata, error};
                    record tool-definition {
                        name: string,
                        description: localized-string,
                        parameters-schema: string,
                        metadata: metadata,
                    }
                    record content-part {
                        data: list<u8>,
                        mime-type: option<string>,
                        metadata: metadata,
                    }
                    variant tool-event {
                        content(content-part),
                        error(error),
                    }
                    record list-tools-response {
                        metadata: metadata,
                        tools: list<tool-definition>,
                    }
                }
                interface tool-provider {
                    use act:core/types@0.4.0.{cbor, metadata, error};
                    use types.{tool-event, list-tools-response};
                    variant tool-result {
                        immediate(list<tool-event>),
                        streaming(stream<tool-event>),
                    }
                    list-tools: async func(metadata: metadata)
                        -> result<list-tools-response, error>;
                    call-tool: async func(name: string, arguments: cbor, metadata: metadata)
                        -> tool-result;
                }
            }
        ",
        world: "agent:act/act-component",
        exports: { default: async },
    });
}

pub(crate) use generated::{
    Host_ as Host, Host_Pre as HostPre,
    agent::tool::{artifacts, context, control, human, partial, progress, state, tools, types},
};
pub(crate) use of_hooks::{HookHost, HookHostPre, agent::tool::hook_types};
