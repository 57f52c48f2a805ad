//! Names every import that the linker has no implementation of; its own error names the first.

use crate::{component::error::LoadError, instance::store::CallState, text};
use wasmtime::{
    bail,
    component::{
        Component, Linker, LinkerInstance, ResourceType,
        types::{self, ComponentItem},
    },
};

/// The most imports that are named. Each takes one more attempt to link.
const MAX_NAMED: usize = 16;

/// The bound on the name of an import, in bytes.
const MAX_NAME_BYTES: usize = 120;

/// Returns the import that an error of the linker calls missing.
pub(super) fn missing_import(error: &wasmtime::Error) -> Option<String> {
    let cause = error.root_cause().to_string();
    let missing = cause.ends_with("implementation is missing");
    let name = error.to_string().split('`').nth(1).map(str::to_owned);
    name.filter(|_| missing)
}

/// Returns the error that names the missing imports in their order: `known` ones, and those that
/// the linker misses.
pub(super) fn error(
    component: &Component,
    mut linker: Linker<CallState>,
    known: Vec<String>,
) -> LoadError {
    let ty = component.component_type();
    let imports = ty.imports(component.engine());
    let imports: Vec<(&str, ComponentItem)> = imports.map(|(name, item)| (name, item.ty)).collect();
    let mut missing = known;
    let mut is_complete = false;
    for _ in 0..MAX_NAMED {
        let name = match linker.instantiate_pre(component) {
            Ok(_) => None,
            Err(error) => missing_import(&error),
        };
        let found = imports
            .iter()
            .find(|(import, _)| Some(*import) == name.as_deref());
        let Some((name, item)) = found else {
            is_complete = true;
            break;
        };
        if !missing.iter().any(|named| named == name) {
            missing.push((*name).to_owned());
        }
        define(&mut linker, component, name, item);
    }
    let named = imports
        .iter()
        .filter(|(import, _)| missing.iter().any(|name| name == import));
    let mut named: Vec<String> = named
        .map(|(import, _)| format!("`{}`", text::sanitize(import, MAX_NAME_BYTES)))
        .collect();
    is_complete &= named.len() <= MAX_NAMED;
    named.truncate(MAX_NAMED);
    if !is_complete {
        named.push("others".to_owned());
    }
    let names = match named.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => named.concat(),
    };
    let is_newer = |name: &String| name.starts_with("wasi:") && name.contains("@0.3.");
    if !component.engine().get_concurrency_support() && missing.iter().any(is_newer) {
        return LoadError::NewerWasi(names);
    }
    LoadError::MissingCapability(names)
}

/// Defines an import, so that the next attempt to link finds the next one that is missing.
fn define(linker: &mut Linker<CallState>, component: &Component, name: &str, item: &ComponentItem) {
    match item {
        ComponentItem::ComponentInstance(interface) => {
            let Ok(mut instance) = linker.instance(name) else {
                return;
            };
            for (export, item) in interface.exports(component.engine()) {
                define_item(&mut instance, export, &item.ty);
            }
        }
        item => define_item(&mut linker.root(), name, item),
    }
}

/// Defines an item; one that is defined already stays as it is.
fn define_item(instance: &mut LinkerInstance<'_, CallState>, name: &str, item: &ComponentItem) {
    let defined = match item {
        ComponentItem::ComponentFunc(_) => instance
            .func_new(name, |_, _: types::ComponentFunc, _, _| {
                bail!("this function is never called")
            }),
        ComponentItem::Resource(_) => {
            instance.resource(name, ResourceType::host::<()>(), |_, _| Ok(()))
        }
        _ => Ok(()),
    };
    drop(defined);
}
