//! Faults of toolchains: functions that a component of one of their versions answers with other
//! values than its author's code gives.

#[cfg(test)]
mod tests;

use crate::describe::Producers;
use std::collections::HashMap;
use wit_parser::{
    Function, Resolve, Type, TypeDefKind, WorldId, WorldItem, WorldKey, abi::AbiVariant,
};

/// The most warnings about one component.
const MAX_WARNINGS: usize = 16;

/// A fault of a toolchain.
struct ToolchainFault {
    /// The name of the toolchain in the metadata of its components.
    toolchain: &'static str,
    /// The versions that were tried and have it.
    versions: &'static [&'static str],
    kind: FaultKind,
}

/// The functions with a fault.
enum FaultKind {
    /// Those with such a type in their flat parameters, and the consequence.
    Parameter(Type, &'static str),
    /// Those that return such a type as a core value, and the consequence.
    Result(Type, &'static str),
    /// Those of two exported interfaces of one name in different packages.
    SameInterface,
}

/// The known faults. Values in lists are right, and so are results of more than one core value,
/// which are stored in memory.
const FAULTS: [ToolchainFault; 4] = [
    ToolchainFault {
        toolchain: "ComponentizeJS",
        versions: &["0.23.0"],
        kind: FaultKind::Result(
            Type::U32,
            "a u32 of 2147483648 or more is returned as another number",
        ),
    },
    ToolchainFault {
        toolchain: "ComponentizeJS",
        versions: &["0.23.0"],
        kind: FaultKind::Result(Type::S64, "it crashes when it returns a negative s64"),
    },
    ToolchainFault {
        toolchain: "ComponentizeJS",
        versions: &["0.23.0"],
        kind: FaultKind::Parameter(
            Type::S64,
            "a negative s64 arrives as a large positive number",
        ),
    },
    ToolchainFault {
        toolchain: "ComponentizeJS",
        versions: &["0.23.0"],
        kind: FaultKind::SameInterface,
    },
];

/// Returns a warning for each function of a component that is known to be faulty.
pub(crate) fn warnings(producers: &Producers, resolve: &Resolve, world: WorldId) -> Vec<String> {
    let Some(world) = resolve.worlds.get(world) else {
        return Vec::new();
    };
    let made_with = |fault: &&ToolchainFault| {
        let mut versions = producers.values().filter_map(|of| of.get(fault.toolchain));
        versions.any(|version| fault.versions.contains(&version.as_str()))
    };
    let mut found = Vec::new();
    for fault in FAULTS.iter().filter(made_with) {
        let with = producers.values().find_map(|of| of.get(fault.toolchain));
        let with = format!("{} {}", fault.toolchain, with.map_or("", String::as_str));
        let faulty = match &fault.kind {
            FaultKind::SameInterface => shared_interfaces(resolve, &world.exports),
            kind => faulty_functions(resolve, &world.exports, kind),
        };
        let faulty = faulty.into_iter();
        found.extend(
            faulty.map(|(what, why)| format!("`{what}`: {why}, because of a bug in {with}")),
        );
    }
    found.truncate(MAX_WARNINGS);
    found
}

type Exports = wit_parser::IndexMap<WorldKey, WorldItem>;

/// Returns the functions with a fault of their types, each with the consequence.
fn faulty_functions(
    resolve: &Resolve,
    exports: &Exports,
    kind: &FaultKind,
) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (key, item) in exports {
        let name = resolve.name_world_key(key);
        match item {
            WorldItem::Function(function) => {
                found.extend(consequence(resolve, function, kind).map(|why| (name, why)));
            }
            WorldItem::Interface { id, .. } => {
                let functions = resolve
                    .interfaces
                    .get(*id)
                    .map(|interface| &interface.functions);
                for (function, ty) in functions.into_iter().flatten() {
                    let why = consequence(resolve, ty, kind);
                    found.extend(why.map(|why| (format!("{name}#{function}"), why)));
                }
            }
            WorldItem::Type { .. } => {}
        }
    }
    found
}

fn consequence(resolve: &Resolve, function: &Function, kind: &FaultKind) -> Option<&'static str> {
    let signature = resolve.wasm_signature(AbiVariant::GuestExport, function);
    match kind {
        FaultKind::Parameter(ty, why) => {
            let mut types = function.params.iter().map(|param| &param.ty);
            let is_faulty = !signature.indirect_params && types.any(|of| has(resolve, of, *ty, 0));
            is_faulty.then_some(*why)
        }
        FaultKind::Result(ty, why) => {
            let result = function.result.as_ref();
            let is_faulty = !signature.retptr && result.is_some_and(|of| has(resolve, of, *ty, 0));
            is_faulty.then_some(*why)
        }
        FaultKind::SameInterface => None,
    }
}

/// The deepest nesting of types that is looked into; validation bounds it, too.
const MAX_DEPTH: usize = 100;

/// Returns whether the core values of a type have one of type `wanted`.
fn has(resolve: &Resolve, ty: &Type, wanted: Type, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let has = |ty: &Type| has(resolve, ty, wanted, depth + 1);
    let Type::Id(id) = ty else {
        return *ty == wanted;
    };
    let Some(definition) = resolve.types.get(*id) else {
        return false;
    };
    match &definition.kind {
        TypeDefKind::Type(ty) | TypeDefKind::Option(ty) => has(ty),
        TypeDefKind::Record(record) => record.fields.iter().any(|field| has(&field.ty)),
        TypeDefKind::Tuple(tuple) => tuple.types.iter().any(has),
        TypeDefKind::Variant(variant) => {
            let types = variant.cases.iter().filter_map(|case| case.ty.as_ref());
            types.into_iter().any(has)
        }
        TypeDefKind::Result(result) => [&result.ok, &result.err].into_iter().flatten().any(has),
        // Lists are in memory, and others have no such values.
        _ => false,
    }
}

/// Returns the exported interfaces that share their own name with another one.
fn shared_interfaces(resolve: &Resolve, exports: &Exports) -> Vec<(String, &'static str)> {
    let names = exports.iter().filter_map(|(key, item)| match item {
        WorldItem::Interface { id, .. } => {
            let own = resolve.interfaces.get(*id)?.name.clone()?;
            Some((resolve.name_world_key(key), own))
        }
        WorldItem::Function(_) | WorldItem::Type { .. } => None,
    });
    let names: Vec<(String, String)> = names.collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for (_, own) in &names {
        *count.entry(own).or_default() += 1;
    }
    let shared = names
        .iter()
        .filter(|(_, own)| count.get(own.as_str()) > Some(&1));
    let why =
        "another exported interface has the same name, and its functions may run in place of these";
    shared.map(|(name, _)| (name.clone(), why)).collect()
}
