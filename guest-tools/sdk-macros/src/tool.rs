//! `#[tool]`: checks the function and writes its description beside it. The function itself is
//! passed on as it is.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::{Error, FnArg, Ident, ItemFn, LitStr, Result, Type};

use crate::description;

/// The longest name that the contract accepts, in characters (`tool-definition.name` in
/// wit/types.wit).
const MAX_NAME_CHARS: usize = 64;

/// The arguments of `#[tool(..)]`.
struct Arguments {
    effect: TokenStream,
    title: Option<LitStr>,
    output: Option<Type>,
}

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)
        .map_err(|error| Error::new(error.span(), "#[tool] applies to a function"))?;
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
    let parameters = Parameters::of(&function);
    let input = parameters.input();
    let call = parameters.pass_to(ident);
    // The type has the function's name, in the namespace of types, so that one `use` brings both
    // and `export!` takes the name.
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
            "a tool takes its input and a `&Call`, one of them, or nothing",
        )),
        None => Ok(()),
    }
}

/// The parameters of a tool's function.
enum Parameters<'a> {
    Nothing,
    Call,
    Input(&'a Type),
    InputAndCall(&'a Type),
}

impl<'a> Parameters<'a> {
    /// An input is owned, so a first parameter that is a reference is the call.
    fn of(function: &'a ItemFn) -> Self {
        let mut parameters = function.sig.inputs.iter();
        match (parameters.next(), parameters.next()) {
            (Some(FnArg::Typed(first)), second) => match (&*first.ty, second) {
                (Type::Reference(_), None) => Self::Call,
                (input, None) => Self::Input(input),
                (input, Some(_)) => Self::InputAndCall(input),
            },
            // A method does not compile as a tool; rustc says so at `self`.
            (Some(FnArg::Receiver(_)) | None, _) => Self::Nothing,
        }
    }

    /// The type of the input; a tool without one takes an object without fields.
    fn input(&self) -> TokenStream {
        match self {
            Self::Input(kind) | Self::InputAndCall(kind) => quote!(#kind),
            Self::Nothing | Self::Call => quote!(::agent_tool::__private::NoInput),
        }
    }

    /// The call of the function, where `input` and `call` are.
    fn pass_to(&self, ident: &Ident) -> TokenStream {
        let no_input = quote!(let ::agent_tool::__private::NoInput {} = input;);
        match self {
            Self::Nothing => quote!({
                #no_input
                let _ = call;
                #ident()
            }),
            Self::Call => quote!({
                #no_input
                #ident(call)
            }),
            Self::Input(_) => quote!({
                let _ = call;
                #ident(input)
            }),
            Self::InputAndCall(_) => quote!(#ident(input, call)),
        }
    }
}

#[cfg(test)]
mod tests;
