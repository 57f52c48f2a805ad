//! `#[tool]`: checks the function and writes its description beside it. The function itself is passed on as it is.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::{Error, FnArg, Ident, ItemFn, LitStr, Result, Type};

use crate::description;

/// The longest name that the contract accepts, in characters (`tool-definition.name` in wit/types.wit).
const MAX_NAME_CHARS: usize = 64;

/// What stands in the brackets of `#[tool(..)]`.
struct Arguments {
    effect: TokenStream,
    title: Option<LitStr>,
    output: Option<Type>,
}

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)
        .map_err(|error| Error::new(error.span(), "#[tool] goes on a function"))?;
    let arguments = parse_arguments(arguments)?;
    check_signature(&function)?;
    let name = tool_name(&function.sig.ident)?;
    let doc = description::of(&function.attrs);
    if doc.is_empty() {
        return Err(Error::new_spanned(
            &function.sig.ident,
            "a tool needs a doc comment: it is the description that the model reads",
        ));
    }

    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let Arguments {
        effect,
        title,
        output,
    } = arguments;
    let title = match title {
        Some(title) => quote!(::core::option::Option::Some(#title)),
        None => quote!(::core::option::Option::None),
    };
    let output_schema = match output {
        Some(output) => {
            quote!(::core::option::Option::Some(::agent_tool::__private::output_schema::<#output>))
        }
        None => quote!(::core::option::Option::None),
    };
    let input = input_type(&function);
    let call = call_expression(&function);
    // The type has the function's name, in the namespace of types, so that one `use` brings both and `export!` takes the name.
    Ok(quote! {
        #function

        #[doc(hidden)]
        #[expect(non_camel_case_types, reason = "the type has the name of the tool's function")]
        #visibility enum #ident {}

        impl ::agent_tool::__private::Described for #ident {
            const TOOL: ::agent_tool::Tool = ::agent_tool::Tool {
                name: #name,
                title: #title,
                doc: #doc,
                effect: #effect,
                input_schema: ::agent_tool::__private::input_schema::<#input>,
                output_schema: #output_schema,
                run: |call, input| ::agent_tool::__private::run(call, input, |call: &::agent_tool::Call, input: #input| #call),
            };
        }
    })
}

fn parse_arguments(arguments: TokenStream) -> Result<Arguments> {
    let (mut effect, mut title, mut output) = (None, None, None);
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("effect") {
            effect = Some(parse_effect(&meta.value()?.parse()?)?);
        } else if meta.path.is_ident("title") {
            title = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("output") {
            output = Some(meta.value()?.parse()?);
        } else {
            return Err(meta.error("#[tool] knows `effect`, `title` and `output`"));
        }
        Ok(())
    });
    parser.parse2(arguments)?;
    let missing = || {
        Error::new(
            proc_macro2::Span::call_site(),
            "say what the tool may change: effect = \"read-only\", \"idempotent\" or \"effectful\"",
        )
    };
    Ok(Arguments {
        effect: effect.ok_or_else(missing)?,
        title,
        output,
    })
}

fn parse_effect(text: &LitStr) -> Result<TokenStream> {
    match text.value().as_str() {
        "read-only" => Ok(quote!(::agent_tool::Effect::ReadOnly)),
        "idempotent" => Ok(quote!(::agent_tool::Effect::Idempotent)),
        "effectful" => Ok(quote!(::agent_tool::Effect::Effectful)),
        other => Err(Error::new_spanned(
            text,
            format!("`{other}` is no effect; one of \"read-only\", \"idempotent\", \"effectful\""),
        )),
    }
}

fn tool_name(ident: &Ident) -> Result<String> {
    let name = ident.to_string();
    let allowed = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if allowed && name.len() <= MAX_NAME_CHARS {
        Ok(name)
    } else {
        Err(Error::new_spanned(
            ident,
            format!("the name of a tool is at most {MAX_NAME_CHARS} ASCII letters, digits and `_`"),
        ))
    }
}

fn check_signature(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let Some(keyword) = &signature.asyncness {
        return Err(Error::new_spanned(
            keyword,
            "a tool is not async: each call has an instance of its own and may block",
        ));
    }
    if let Some(parameter) = signature.generics.params.first() {
        return Err(Error::new_spanned(
            parameter,
            "a tool has no generic parameters: its input is one type",
        ));
    }
    match signature.inputs.iter().nth(2) {
        Some(extra) => Err(Error::new_spanned(
            extra,
            "a tool takes nothing, or its input, or its input and a `&Call`",
        )),
        None => Ok(()),
    }
}

/// The type of the first parameter; a tool without one takes an object without fields.
fn input_type(function: &ItemFn) -> TokenStream {
    match function.sig.inputs.first() {
        Some(FnArg::Typed(parameter)) => {
            let kind = &parameter.ty;
            quote!(#kind)
        }
        // A method does not compile as one here; rustc says so at `self`.
        Some(FnArg::Receiver(_)) | None => quote!(::agent_tool::__private::NoInput),
    }
}

fn call_expression(function: &ItemFn) -> TokenStream {
    let ident = &function.sig.ident;
    match function.sig.inputs.len() {
        0 => quote!({
            let ::agent_tool::__private::NoInput {} = input;
            let _ = call;
            #ident()
        }),
        1 => quote!({
            let _ = call;
            #ident(input)
        }),
        _ => quote!(#ident(input, call)),
    }
}

#[cfg(test)]
mod tests;
