//! Checks the imports and exports of a component against the contract, and links it. An import is
//! only linked, never allowed: that is up to the gate.

use crate::{
    bindings::HostPre,
    component::plain::PlainComponent,
    engine::Allocator,
    error::{LoadError, LoadFault},
    instance::{linker::linker, store::CallState},
    text,
};
use wasmtime::component::{Component, types::ComponentItem};

const PACKAGE: &str = "agent:tool/";
const CONTRACT_VERSION: &str = "0.1.0";

/// The export of a component that speaks the contract.
const EXPORT: &str = "agent:tool/tool@0.1.0";

/// The interfaces of the package that a component can import. `types` has no functions; bindings
/// import it all the same.
const OFFERED: [&str; 4] = ["types", "progress", "state", "human"];

/// The bytes shown of a component's name, and of a linker's error.
const MAX_NAME_BYTES: usize = 120;
const MAX_DETAIL_BYTES: usize = 300;

/// The way to call a component.
pub(crate) enum EntryPoint {
    /// The export `agent:tool/tool`.
    Contract(HostPre<CallState>),
    /// Ordinary functions.
    Plain(PlainComponent),
}

/// A component that fits the contract, linked.
pub(crate) struct LinkedComponent {
    pub(crate) entry: EntryPoint,
    pub(crate) imports: Vec<String>,
    pub(crate) allocator: Allocator,
}

/// Links a component.
///
/// # Errors
/// `contract-mismatch` and `missing-capability`, with the name of what does not fit.
pub(crate) fn link(
    component: &Component,
    allocator: Allocator,
) -> Result<LinkedComponent, LoadError> {
    let ty = component.component_type();
    let mut reaches_outside = false;
    let mut imports = Vec::new();
    for (name, item) in ty.imports(component.engine()) {
        let is_types = is_types(component, &item.ty);
        check_import(name, is_types)?;
        reaches_outside |= !is_types;
        // Imports of types need no permission. Those of the contract are listed all the same,
        // because locks pin the list.
        if !is_types || name.starts_with(PACKAGE) {
            imports.push(name.to_owned());
        }
    }
    let exports = ty.exports(component.engine()).map(|(name, _)| name);
    let speaks_contract = check_exports(&exports.collect::<Vec<_>>())?;
    let pre = linker(component.engine())
        .and_then(|linker| linker.instantiate_pre(component))
        .map_err(|error| link_error(&error))?;
    let entry = if speaks_contract {
        EntryPoint::Contract(HostPre::new(pre).map_err(|error| {
            mismatch(&format!(
                "its export `{EXPORT}` does not have the types of the contract: {}",
                text::sanitize(&error.root_cause().to_string(), MAX_DETAIL_BYTES)
            ))
        })?)
    } else {
        EntryPoint::Plain(PlainComponent::new(pre, reaches_outside)?)
    };
    Ok(LinkedComponent {
        entry,
        imports,
        allocator,
    })
}

/// Returns whether an import has value types only, which exported functions are written with.
fn is_types(component: &Component, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::Type(_) => true,
        ComponentItem::ComponentInstance(interface) => interface
            .exports(component.engine())
            .all(|(_, item)| matches!(item.ty, ComponentItem::Type(_))),
        ComponentItem::ComponentFunc(_)
        | ComponentItem::CoreFunc(_)
        | ComponentItem::Module(_)
        | ComponentItem::Component(_)
        | ComponentItem::Resource(_) => false,
    }
}

/// Checks an import by its name. The linker knows the interfaces of WASI.
fn check_import(name: &str, is_types: bool) -> Result<(), LoadError> {
    let shown = text::sanitize(name, MAX_NAME_BYTES);
    let Some(own) = name.strip_prefix(PACKAGE) else {
        return if is_types || name.starts_with("wasi:") {
            Ok(())
        } else {
            Err(missing(&shown))
        };
    };
    let (interface, version) = own.split_once('@').unwrap_or((own, ""));
    if !OFFERED.contains(&interface) {
        return Err(missing(&shown));
    }
    if version != CONTRACT_VERSION {
        return Err(mismatch(&format!("it imports `{shown}`")));
    }
    Ok(())
}

/// Returns whether a component speaks the contract; one that exports anything else may have
/// functions.
fn check_exports(names: &[&str]) -> Result<bool, LoadError> {
    if names.contains(&EXPORT) {
        return Ok(true);
    }
    if names.is_empty() {
        return Err(mismatch("it exports nothing"));
    }
    let mut names = names.iter();
    match names.find(|name| name.starts_with("agent:tool/tool")) {
        Some(other) => Err(mismatch(&format!(
            "it exports `{}`",
            text::sanitize(other, MAX_NAME_BYTES)
        ))),
        None => Ok(false),
    }
}

fn mismatch(found: &str) -> LoadError {
    LoadError::new(
        LoadFault::ContractMismatch,
        format!(
            "the component is not a tool for this host, which needs the export `{EXPORT}`: {found}. Build it against the WIT package agent:tool@{CONTRACT_VERSION}"
        ),
    )
}

fn missing(name: &str) -> LoadError {
    LoadError::new(
        LoadFault::MissingCapability,
        format!(
            "the component imports `{name}`, which this host does not offer. Tools can import WASI 0.2 and agent:tool@{CONTRACT_VERSION} (progress, state, human); build it without that import"
        ),
    )
}

/// Converts the linker's first error: a missing interface, or one with other types.
fn link_error(error: &wasmtime::Error) -> LoadError {
    let what = text::sanitize(&error.to_string(), MAX_DETAIL_BYTES);
    let cause = text::sanitize(&error.root_cause().to_string(), MAX_DETAIL_BYTES);
    if cause.ends_with("implementation is missing") {
        let name = what.split('`').nth(1).unwrap_or(&what).to_owned();
        return missing(&name);
    }
    mismatch(&format!("{what}: {cause}"))
}
