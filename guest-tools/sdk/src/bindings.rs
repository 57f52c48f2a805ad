//! The generated bindings of the contract, and nothing else. The world imports all that a tool may use; an import that is not
//! called is not in the component.

pub mod generated {
    #![expect(
        missing_docs,
        reason = "this is wit-bindgen's code; the contract in wit/ has the docs"
    )]

    wit_bindgen::generate!({
        path: "../../wit",
        world: "agent:sdk/sdk",
        inline: "
            package agent:sdk;
            world sdk {
                include agent:tool/tool-component@0.1.0;
                import agent:tool/progress@0.1.0;
                import agent:tool/state@0.1.0;
                import agent:tool/human@0.1.0;
            }
        ",
        generate_all,
        pub_export_macro: true,
        default_bindings_module: "agent_tool::__private::generated",
    });
}

pub(crate) use generated::agent::tool::{human, progress, state, types};
pub(crate) use generated::exports::agent::tool::tool::{
    ToolCall, ToolDefinition, ToolResultOutput,
};
