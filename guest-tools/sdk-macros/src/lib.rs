//! The attributes of `agent-tool`: `#[tool]`, `#[input]` and `#[output]`. Authors use them through
//! that crate.
//!
//! The attributes only add descriptions: a function with `#[tool]` stays as written, and can be
//! called as a function.

mod data;
mod description;
mod tool;

use proc_macro::TokenStream;

/// Makes a function a tool. Its doc comment is the description that the model reads; its name is
/// the tool's name.
///
/// ```ignore
/// /// Says how many words a text has.
/// #[tool(effect = "read-only", title = "Count words")]
/// fn count_words(input: Text) -> String { .. }
/// ```
///
/// - `effect` (required): `"read-only"`, `"idempotent"` or `"effectful"`.
/// - `title`: a short name to show to users.
/// - `output`: the type of the JSON that the tool promises to return; its schema becomes the tool's
///   output schema.
///
/// The function takes its input and a `&Call`, one of them, or nothing; it returns anything that is
/// `IntoOutput`.
#[proc_macro_attribute]
pub fn tool(arguments: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Makes a struct the input of a tool, or a part of one: derives `serde::Deserialize` and
/// `schemars::JsonSchema`, and refuses fields that it does not have. Doc comments on the fields
/// become their descriptions.
#[proc_macro_attribute]
pub fn input(arguments: TokenStream, item: TokenStream) -> TokenStream {
    data::expand(data::Direction::Input, &arguments.into(), &item.into()).into()
}

/// Makes a struct or an enum the JSON that a tool returns: derives `serde::Serialize` and
/// `schemars::JsonSchema`.
#[proc_macro_attribute]
pub fn output(arguments: TokenStream, item: TokenStream) -> TokenStream {
    data::expand(data::Direction::Output, &arguments.into(), &item.into()).into()
}
