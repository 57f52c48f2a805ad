//! Plain components, which do not speak the contract: each ordinary function that one exports is a
//! tool. Its schema comes from its WIT types and its description from the docs in the component;
//! arguments and results are converted here, so that a call is like any other: a fresh instance,
//! every limit, one result.
//!
//! The effect of a function cannot be told from its type, and nothing is guessed: see
//! [`PlainComponent::new`].

mod docs;
mod names;
mod schema;
mod streams;
#[cfg(test)]
mod tests;
mod toolchain;
mod value;
mod wit_type;
mod without_async;

pub(crate) use docs::Docs;
pub(crate) use without_async::without_async;

use crate::{
    bindings::types as wit, caps::result_size::mark_cut, component::error::LoadError,
    instance::store::CallState, schedule::guest_runtime::yield_slice, text,
};
use agent_host_engine::definitions::{MAX_DESCRIPTION_BYTES, RawDefinition};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    tool::Effect,
};
use names::FunctionPath;
use serde_json::{Map, Value};
use std::{collections::HashSet, sync::Arc};
use wasmtime::{
    Store,
    component::{
        Component, ComponentExportIndex, InstancePre, Val,
        types::{ComponentFunc, ComponentItem},
    },
};
use wit_type::{Signature, SignatureError};

/// The most functions of one component; real ones export a few dozen.
const MAX_FUNCTIONS: usize = 1_000;

/// The refused functions that an error names, and the bytes shown of each reason and of its path.
const MAX_NAMED: usize = 5;
const MAX_REASON_BYTES: usize = 180;
const MAX_PATH_BYTES: usize = 80;

/// The bytes shown of a signature in place of docs.
const MAX_SIGNATURE_BYTES: usize = 1024;

/// A component whose functions are its tools.
pub(crate) struct PlainComponent {
    pre: InstancePre<CallState>,
    /// The usable functions; those that a toolchain exports for itself are last.
    functions: Vec<Arc<PlainFunction>>,
    /// The functions that cannot be tools, each with the reason.
    pub(super) refused: Vec<String>,
    effect: Effect,
}

/// A function that is a tool, with everything that a call of it needs.
struct PlainFunction {
    tool: String,
    path: FunctionPath,
    index: ComponentExportIndex,
    signature: Signature,
    /// Whether a toolchain is known to export it for itself.
    is_of_toolchain: bool,
}

/// A function with its arguments.
pub(crate) struct BoundCall {
    pre: InstancePre<CallState>,
    function: Arc<PlainFunction>,
    arguments: Vec<Val>,
}

/// An exported function of any type.
type ExportedFunction = (FunctionPath, ComponentExportIndex, ComponentFunc);

impl PlainComponent {
    /// Selects the functions of a component that can be tools. Tools of a component that
    /// `reaches_outside` are effectful; others cannot change anything, so they are read-only.
    ///
    /// # Errors
    /// `contract-mismatch`, if no function can be a tool, with the reason for each, after those that
    /// were `left_out` before; or if there are too many.
    pub(crate) fn new(
        pre: InstancePre<CallState>,
        reaches_outside: bool,
        left_out: &[String],
    ) -> Result<Self, LoadError> {
        let effect = if reaches_outside {
            Effect::Effectful
        } else {
            Effect::ReadOnly
        };
        let mut refused = Vec::new();
        let mut usable = Vec::new();
        for (path, index, ty) in exported(pre.component())? {
            match signature(&path, &ty) {
                Ok(signature) => usable.push((path, index, signature)),
                Err(why) => refused.push(reason(&path, &why.to_string())),
            }
        }
        // A stable sort: the functions of toolchains go last.
        usable.sort_by_key(|(path, ..)| toolchain::exporter_of(path).is_some());
        let mut functions = Vec::with_capacity(usable.len());
        let mut taken = HashSet::new();
        for (tool, (path, index, signature)) in names(&usable).into_iter().zip(usable) {
            let exporter = toolchain::exporter_of(&path);
            let function = PlainFunction {
                tool,
                path,
                index,
                signature,
                is_of_toolchain: exporter.is_some(),
            };
            if let Some(toolchain) = exporter {
                let left_out = SignatureError::OfToolchain(toolchain).to_string();
                refused.push(reason(&function.path, &left_out));
            }
            let why = if taken.insert(function.tool.to_ascii_lowercase()) {
                let checked = function.definition(&Docs::default(), effect).check();
                checked.err().map(|error| error.to_string())
            } else {
                Some(format!(
                    "another function already has the tool name `{}`",
                    function.tool
                ))
            };
            match why {
                None => functions.push(Arc::new(function)),
                Some(why) => refused.push(reason(&function.path, &why)),
            }
        }
        if functions.iter().all(|function| function.is_of_toolchain) {
            let refused = [left_out, &refused].concat();
            return Err(nothing_usable(pre.component(), &refused));
        }
        Ok(Self {
            pre,
            functions,
            refused,
            effect,
        })
    }

    /// Returns the definitions of the tools, in the component's order.
    pub(crate) fn definitions(&self, docs: &Docs) -> Vec<RawDefinition> {
        let functions = self.functions.iter();
        functions
            .map(|function| function.definition(docs, self.effect))
            .collect()
    }

    /// Returns whether a tool is a function that a toolchain is known to export for itself.
    pub(crate) fn is_of_toolchain(&self, tool: &str) -> bool {
        let mut functions = self.functions.iter();
        functions.any(|function| function.is_of_toolchain && function.tool == tool)
    }

    /// Returns whether these are the definitions of this component's tools; another version of this
    /// host may have cached them under other names.
    pub(crate) fn has_all(&self, definitions: &[RawDefinition]) -> bool {
        let functions = self.functions.iter().map(|function| &function.tool);
        functions.eq(definitions.iter().map(|definition| &definition.name))
    }

    /// Converts the arguments of a tool, which were checked against its schema.
    ///
    /// # Errors
    /// `unknown-tool`, and `invalid-input` for faults that a schema cannot express.
    pub(crate) fn bind(
        &self,
        tool: &str,
        input: &Map<String, Value>,
    ) -> Result<BoundCall, ToolFailure> {
        let mut functions = self.functions.iter();
        let function = functions
            .find(|function| function.tool == tool)
            .ok_or_else(|| {
                ToolFailure::new(
                    ToolErrorCode::UnknownTool,
                    "This component has no such function.",
                )
            })?;
        let arguments = value::arguments(&function.signature.params, input).map_err(|error| {
            ToolFailure::new(
                ToolErrorCode::InvalidInput,
                format!(
                    "The arguments do not match the function's types; it did not run. {}",
                    text::sanitize(&error.to_string(), 300)
                ),
            )
        })?;
        Ok(BoundCall {
            pre: self.pre.clone(),
            function: Arc::clone(function),
            arguments,
        })
    }
}

impl PlainFunction {
    fn definition(&self, docs: &Docs, effect: Effect) -> RawDefinition {
        let description = match docs.of(&self.path) {
            Some(docs) => text::sanitize(docs, MAX_DESCRIPTION_BYTES),
            None => text::sanitize(
                &format!("Calls the function `{}{}`.", self.path, self.signature),
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

impl BoundCall {
    pub(crate) fn engine(&self) -> &wasmtime::Engine {
        self.pre.engine()
    }

    /// Calls the function in a fresh instance, and converts its result.
    pub(crate) async fn call(
        &self,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<wit::ToolResultOutput> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let function = instance
            .get_func(&mut *store, self.function.index)
            .ok_or_else(|| wasmtime::format_err!("the function is not in its component"))?;
        let signature = &self.function.signature;
        let arguments = streams::arguments(store, signature, &self.arguments)?;
        // The initial value does not matter.
        let mut results = vec![Val::Bool(false); signature.result.iter().len()];
        function
            .call_async(&mut *store, &arguments, &mut results)
            .await?;
        let mut result = results.pop();
        let streamed = streams::read(store, signature, result.as_mut()).await?;
        if value::takes_long(result.as_slice()) {
            yield_slice().await;
        }
        let output = match streamed.bytes {
            Some(bytes) => streams::output(bytes),
            None => value::output(signature, result)?,
        };
        Ok(if streamed.is_cut {
            mark_cut(output)
        } else {
            output
        })
    }
}

/// Returns all functions that a component exports, in its order: at its root and in its interfaces.
fn exported(component: &Component) -> Result<Vec<ExportedFunction>, LoadError> {
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
            return Err(LoadError::Functions(format!(
                "the component exports more than {MAX_FUNCTIONS} functions, too many to be tools. Export only those \
                 that a model should call"
            )));
        }
    }
    Ok(found)
}

fn exported_at(
    component: &Component,
    interface: Option<&Arc<str>>,
    function: &str,
    ty: ComponentFunc,
) -> Option<ExportedFunction> {
    let instance = match interface {
        Some(interface) => Some(component.get_export_index(None, &**interface)?),
        None => None,
    };
    let index = component.get_export_index(instance.as_ref(), function)?;
    let path = FunctionPath {
        interface: interface.cloned(),
        function: function.to_owned(),
    };
    Some((path, index, ty))
}

fn signature(path: &FunctionPath, ty: &ComponentFunc) -> Result<Signature, SignatureError> {
    check_path(path)?;
    Signature::new(ty)
}

/// Refuses functions by their paths, whatever their types.
fn check_path(path: &FunctionPath) -> Result<(), SignatureError> {
    let interface = path.interface.as_deref().unwrap_or_default();
    // Other kinds of host call it, such as the main function of a program.
    if interface.starts_with("wasi:") {
        return Err(SignatureError::WasiEntryPoint);
    }
    // The binary format marks methods, constructors and static functions by `[..]`.
    if path.function.starts_with('[') {
        return Err(SignatureError::OfResource);
    }
    Ok(())
}

/// Returns the names of the tools. A function of a toolchain changes the name of no other one, so
/// its own is the one that it has among all.
fn names(usable: &[(FunctionPath, ComponentExportIndex, Signature)]) -> Vec<String> {
    let paths = || usable.iter().map(|(path, ..)| path);
    let is_authors = |path: &&FunctionPath| toolchain::exporter_of(path).is_none();
    let mut names = names::tool_names(paths().filter(is_authors));
    let all = names::tool_names(paths());
    names.extend(all.into_iter().skip(names.len()));
    names
}

fn reason(path: &FunctionPath, why: &str) -> String {
    let path = text::sanitize(&path.to_string(), MAX_PATH_BYTES);
    text::sanitize(&format!("`{path}`: {why}"), MAX_REASON_BYTES)
}

fn nothing_usable(component: &Component, refused: &[String]) -> LoadError {
    const NEXT: &str = "Export functions that take and return plain values, or build it against the WIT package agent:tool";
    let exports = component.component_type();
    let names: Vec<String> = exports
        .exports(component.engine())
        .map(|(name, _)| format!("`{}`", text::sanitize(name, MAX_PATH_BYTES)))
        .collect();
    let (what, list) = if refused.is_empty() {
        (
            "the component exports no functions except",
            names.as_slice(),
        )
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
    LoadError::Functions(format!("{what} {}{more}. {NEXT}", named.join("; ")))
}
