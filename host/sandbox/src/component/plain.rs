//! Components that know nothing of this host: each ordinary function that one exports is a tool. Its schema comes from its WIT
//! types, its description from the docs that the component may carry, and its arguments and results are converted here, so that
//! a call of it is a call like any other: a fresh instance, every limit, one result.
//!
//! What a function does is not known from its type, and nothing is guessed: see [`Plain::new`] for its effect.

mod docs;
mod names;
mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use docs::Docs;

use crate::{
    bindings::types as wit, component::error::LoadError, instance::store::CallState,
    schedule::guest_runtime::yield_slice, text,
};
use agent_host_core::{
    definitions::{MAX_DESCRIPTION_BYTES, RawDefinition},
    failure::{ToolErrorCode, ToolFailure},
    tool::{Effect, ToolDefinition},
};
use names::Place;
use serde_json::{Map, Value};
use shape::Signature;
use std::{collections::HashSet, sync::Arc};
use wasmtime::{
    Store,
    component::{
        Component, ComponentExportIndex, InstancePre, Val,
        types::{ComponentFunc, ComponentItem},
    },
};

/// The functions of one component that are looked at; real ones export a few dozen.
const MAX_FUNCTIONS: usize = 1_000;

/// The refused functions that an error names, and what is shown of each and of its name, in bytes.
const MAX_NAMED: usize = 5;
const MAX_REASON_BYTES: usize = 180;
const MAX_PLACE_BYTES: usize = 80;

/// What is shown of a signature, in bytes, where there are no docs.
const MAX_SIGNATURE_BYTES: usize = 1024;

/// A component whose functions are its tools.
pub(crate) struct Plain {
    pre: InstancePre<CallState>,
    functions: Vec<Arc<Function>>,
    refused: Vec<String>,
    effect: Effect,
}

/// A function that is a tool. Everything about it that a call needs is looked up once, when the component is loaded.
struct Function {
    /// The name of the tool.
    tool: String,
    /// Where the component has it.
    place: Place,
    index: ComponentExportIndex,
    signature: Signature,
}

/// A function with its arguments, ready to be called.
pub(crate) struct Bound {
    pre: InstancePre<CallState>,
    function: Arc<Function>,
    arguments: Vec<Val>,
}

/// A function that is exported, whatever its types are.
struct Exported {
    place: Place,
    index: ComponentExportIndex,
    ty: ComponentFunc,
}

impl Plain {
    /// Takes the functions of a component. One that reaches nothing outside itself cannot change anything, so its tools are
    /// read-only; those of any other may do whatever it is granted.
    ///
    /// # Errors
    /// `contract-mismatch` with the reason for each function, when none of them can be a tool; or when there are too many.
    pub(crate) fn new(
        pre: InstancePre<CallState>,
        reaches_outside: bool,
    ) -> Result<Self, LoadError> {
        let effect = if reaches_outside {
            Effect::Effectful
        } else {
            Effect::ReadOnly
        };
        let mut refused = Vec::new();
        let mut usable = Vec::new();
        for Exported { place, index, ty } in exported(pre.component())? {
            match signature(&place, &ty) {
                Ok(signature) => usable.push((place, index, signature)),
                Err(why) => refused.push(reason(&place, &why)),
            }
        }
        let names = names::assign(usable.iter().map(|(place, ..)| place));
        let mut functions = Vec::with_capacity(usable.len());
        let mut taken = HashSet::new();
        for (tool, (place, index, signature)) in names.into_iter().zip(usable) {
            let function = Function {
                tool,
                place,
                index,
                signature,
            };
            let why = if taken.insert(function.tool.to_ascii_lowercase()) {
                function.definition(&Docs::default(), effect).check().err()
            } else {
                Some(format!(
                    "another function is the tool `{}` already",
                    function.tool
                ))
            };
            match why {
                None => functions.push(Arc::new(function)),
                Some(why) => refused.push(reason(&function.place, &why)),
            }
        }
        if functions.is_empty() {
            return Err(nothing_usable(pre.component(), &refused));
        }
        Ok(Self {
            pre,
            functions,
            refused,
            effect,
        })
    }

    /// The functions that are no tools, each with the reason.
    pub(crate) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// What the tools are, in the component's order.
    pub(crate) fn definitions(&self, docs: &Docs) -> Vec<RawDefinition> {
        let functions = self.functions.iter();
        functions
            .map(|function| function.definition(docs, self.effect))
            .collect()
    }

    /// Whether these are the definitions of this component's tools. What was kept by another version of this host may name
    /// them differently.
    pub(crate) fn has_all(&self, definitions: &[ToolDefinition]) -> bool {
        let functions = self.functions.iter().map(|function| &function.tool);
        functions.eq(definitions.iter().map(|definition| &definition.name))
    }

    /// Converts the arguments of one of its tools; they were checked against its schema.
    ///
    /// # Errors
    /// `invalid-input`, with what a schema cannot say, and `unknown-tool`.
    pub(crate) fn bind(
        &self,
        tool: &str,
        input: &Map<String, Value>,
    ) -> Result<Bound, ToolFailure> {
        let mut functions = self.functions.iter();
        let function = functions
            .find(|function| function.tool == tool)
            .ok_or_else(|| {
                ToolFailure::new(
                    ToolErrorCode::UnknownTool,
                    "There is no such function in this component.",
                )
            })?;
        let arguments = value::arguments(&function.signature.params, input).map_err(|misfit| {
            ToolFailure::new(
                ToolErrorCode::InvalidInput,
                format!(
                    "The arguments do not fit the function's types; it did not run. {}",
                    text::shown(&misfit.to_string(), 300)
                ),
            )
        })?;
        Ok(Bound {
            pre: self.pre.clone(),
            function: Arc::clone(function),
            arguments,
        })
    }
}

impl Function {
    fn definition(&self, docs: &Docs, effect: Effect) -> RawDefinition {
        let description = match docs.of(&self.place) {
            Some(docs) => text::shown(docs, MAX_DESCRIPTION_BYTES),
            None => text::shown(
                &format!("Calls the function `{}{}`.", self.place, self.signature),
                MAX_SIGNATURE_BYTES,
            ),
        };
        RawDefinition::new(
            self.tool.clone(),
            description,
            &schema::object(&self.signature.params),
            schema::of_result(&self.signature).as_ref(),
            effect,
        )
    }
}

impl Bound {
    /// The engine that it runs on.
    pub(crate) fn engine(&self) -> &wasmtime::Engine {
        self.pre.engine()
    }

    /// Calls the function in an instance of its own, and makes a tool's result of what it returns.
    pub(crate) async fn call(
        &self,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<wit::ToolResultOutput> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let function = instance
            .get_func(&mut *store, self.function.index)
            .ok_or_else(|| wasmtime::format_err!("the function is not in its component"))?;
        // What is in it before the call does not matter.
        let mut results = vec![Val::Bool(false); self.function.signature.result.iter().len()];
        function
            .call_async(&mut *store, &self.arguments, &mut results)
            .await?;
        if value::takes_long(&results) {
            yield_slice().await;
        }
        value::output(&self.function.signature, results.pop())
    }
}

/// All functions that a component exports, in its order: those at its root, and those in its interfaces.
fn exported(component: &Component) -> Result<Vec<Exported>, LoadError> {
    let engine = component.engine();
    let root = component.component_type();
    let mut found = Vec::new();
    for (name, item) in root.exports(engine) {
        match item.ty {
            ComponentItem::ComponentFunc(ty) => {
                found.extend(exported_at(component, None, name, ty));
            }
            ComponentItem::ComponentInstance(interface) => {
                let name: Arc<str> = name.into();
                for (function, item) in interface.exports(engine) {
                    if let ComponentItem::ComponentFunc(ty) = item.ty {
                        found.extend(exported_at(component, Some(&name), function, ty));
                    }
                }
            }
            ComponentItem::CoreFunc(_)
            | ComponentItem::Module(_)
            | ComponentItem::Component(_)
            | ComponentItem::Type(_)
            | ComponentItem::Resource(_) => {}
        }
        if found.len() > MAX_FUNCTIONS {
            return Err(LoadError::Functions {
                reason: format!(
                    "the component exports more than {MAX_FUNCTIONS} functions, too many to be tools. Export those alone that a model shall call"
                ),
            });
        }
    }
    Ok(found)
}

fn exported_at(
    component: &Component,
    interface: Option<&Arc<str>>,
    function: &str,
    ty: ComponentFunc,
) -> Option<Exported> {
    let instance = match interface {
        Some(interface) => Some(component.get_export_index(None, &**interface)?),
        None => None,
    };
    Some(Exported {
        index: component.get_export_index(instance.as_ref(), function)?,
        place: Place {
            interface: interface.cloned(),
            function: function.to_owned(),
        },
        ty,
    })
}

/// The types of a function, if it can be a tool.
fn signature(place: &Place, ty: &ComponentFunc) -> Result<Signature, String> {
    if place.is_of_wasi() {
        return Err("it is an entry point of WASI".to_owned());
    }
    if place.is_of_a_resource() {
        return Err("it belongs to a resource, which no JSON value can stand for".to_owned());
    }
    Signature::of(ty)
}

fn reason(place: &Place, why: &str) -> String {
    let place = text::shown(&place.to_string(), MAX_PLACE_BYTES);
    text::shown(&format!("`{place}`: {why}"), MAX_REASON_BYTES)
}

fn nothing_usable(component: &Component, refused: &[String]) -> LoadError {
    const NEXT: &str =
        "Export functions of plain values, or build it against the WIT package agent:tool";
    let exports = component.component_type();
    let names: Vec<String> = exports
        .exports(component.engine())
        .map(|(name, _)| format!("`{}`", text::shown(name, MAX_PLACE_BYTES)))
        .collect();
    let (what, list) = if refused.is_empty() {
        ("the component exports no functions, but", names.as_slice())
    } else {
        (
            "none of the functions that the component exports can be a tool:",
            refused,
        )
    };
    let named: Vec<&str> = list.iter().take(MAX_NAMED).map(String::as_str).collect();
    let more = match list.len() - named.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    LoadError::Functions {
        reason: format!("{what} {}{more}. {NEXT}", named.join("; ")),
    }
}
