use pretty_assertions::assert_eq;
use quote::quote;

use super::expand;

fn error(arguments: proc_macro2::TokenStream, item: proc_macro2::TokenStream) -> String {
    expand(arguments, item)
        .expect_err("this must not compile")
        .to_string()
}

#[test]
fn macro_errors_point_at_the_mistake() {
    let good = quote! {
        /// Adds.
        fn add(input: Numbers) -> String {}
    };
    let read_only = quote!(effect = "read-only");
    let cases = [
        (
            quote!(),
            good.clone(),
            "say what the tool may change: effect = \"read-only\", \"idempotent\" or \"effectful\"",
        ),
        (
            quote!(effect = "harmless"),
            good.clone(),
            "`harmless` is no effect; one of \"read-only\", \"idempotent\", \"effectful\"",
        ),
        (
            quote!(effect = "read-only", name = "x"),
            good,
            "#[tool] knows `effect`, `title` and `output`",
        ),
        (
            read_only.clone(),
            quote!(
                struct Add;
            ),
            "#[tool] applies to a function",
        ),
        (
            read_only.clone(),
            quote!(
                fn add() {}
            ),
            "a tool needs a doc comment: it is the description that the model reads",
        ),
        (
            read_only.clone(),
            quote! {
                /// Adds.
                async fn add() {}
            },
            "a tool is not async: each call has an instance of its own and may block",
        ),
        (
            read_only.clone(),
            quote! {
                /// Adds.
                fn add<T>(input: T) {}
            },
            "a tool has no generic parameters: its input is one type",
        ),
        (
            read_only.clone(),
            quote! {
                /// Adds.
                fn add(a: A, b: &Call, c: C) {}
            },
            "a tool takes its input and a `&Call`, one of them, or nothing",
        ),
        (
            read_only,
            quote! {
                /// Adds.
                fn größe() {}
            },
            "the name of a tool is at most 64 ASCII letters, digits and `_`",
        ),
    ];
    for (arguments, item, expected) in cases {
        assert_eq!(error(arguments, item), expected);
    }
}

#[test]
fn function_is_passed_on_unchanged() {
    let function = quote! {
        /// Adds.
        pub(crate) fn add(input: Numbers) -> String { input.sum() }
    };
    let expanded = expand(quote!(effect = "effectful"), function.clone())
        .expect("a tool")
        .to_string();
    assert!(
        expanded.starts_with(&function.to_string().replace("/// Adds.", "")),
        "{expanded}"
    );
}
