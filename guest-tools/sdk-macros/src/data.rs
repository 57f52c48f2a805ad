//! `#[input]` and `#[output]`: the derives that a typed input or result needs, with the paths that
//! make `agent-tool` the only dependency of an author. They never change the item itself.

use proc_macro2::TokenStream;
use quote::quote;

/// The direction of the data.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// From the model to the tool.
    Input,
    /// From the tool to the model.
    Output,
}

pub(crate) fn expand(
    direction: Direction,
    arguments: &TokenStream,
    item: &TokenStream,
) -> TokenStream {
    if !arguments.is_empty() {
        let error = syn::Error::new_spanned(
            arguments,
            "this attribute takes no arguments; use #[serde(..)] and #[schemars(..)] beside it",
        );
        return error.into_compile_error();
    }
    match direction {
        // A misspelt argument must not be ignored silently: the tool would do something else than
        // the model asked for.
        Direction::Input => quote! {
            #[derive(::agent_tool::__private::serde::Deserialize, ::agent_tool::__private::schemars::JsonSchema)]
            #[serde(crate = "::agent_tool::__private::serde", deny_unknown_fields)]
            #[schemars(crate = "::agent_tool::__private::schemars")]
            #item
        },
        Direction::Output => quote! {
            #[derive(::agent_tool::__private::serde::Serialize, ::agent_tool::__private::schemars::JsonSchema)]
            #[serde(crate = "::agent_tool::__private::serde")]
            #[schemars(crate = "::agent_tool::__private::schemars")]
            #item
        },
    }
}
