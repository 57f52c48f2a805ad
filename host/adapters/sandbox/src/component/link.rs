//! Checks a component's imports and exports against the contract and links them. A linked import is
//! not allowed yet: the gate decides on its use.

mod missing;

use crate::{
    bindings::{HookHostPre, HostPre},
    component::{
        act::{self, ActComponent},
        code::shorten,
        error::LoadError,
        extism,
        plain::PlainComponent,
        program::ProgramEntry,
    },
    engine::Allocator,
    instance::{linker::linker, store::CallState},
    text,
};
use wasmtime::component::{Component, types::ComponentItem};

/// The package of the contract, and its version.
const PACKAGE: &str = "agent:tool/";
pub(super) const CONTRACT_VERSION: &str = "0.1.0";

/// The export of a component that implements the contract.
pub(super) const EXPORT: &str = "agent:tool/tool@0.1.0";

/// The export of a component with hooks.
const HOOK_EXPORT: &str = "agent:tool/hook@0.1.0";

/// The interfaces of the package that a component can import. Those of types have no
/// functions, but bindings import them.
const OFFERED: [&str; 10] = [
    "types",
    "hook-types",
    "progress",
    "partial",
    "state",
    "human",
    "context",
    "control",
    "artifacts",
    "tools",
];

/// The bound on a name that a component chose, in bytes.
const MAX_NAME_BYTES: usize = 120;

pub(crate) enum EntryPoint {
    Contract(HostPre<CallState>),
    Plain(PlainComponent),
    /// A component of ACT.
    Act(ActComponent),
    /// It has hooks, and no tools.
    Hooks,
    /// It is a program, and has no tools, for this reason.
    Program(String),
}

/// A checked and linked component.
pub(crate) struct LinkedComponent {
    pub(crate) entry_point: EntryPoint,
    /// Its hooks, if it has some.
    pub(crate) hook: Option<HookHostPre<CallState>>,
    /// Its format as users see it, if it is a plugin or of the contract.
    pub(crate) format: String,
    /// The way into it, if it is a program.
    pub(crate) program: Option<ProgramEntry>,
    pub(crate) imports: Vec<String>,
    pub(crate) allocator: Allocator,
}

/// Checks and links a component; `left_out` are the exports that it was compiled without.
///
/// # Errors
/// `contract-mismatch` and `missing-capability`, naming the import or export.
pub(crate) fn link(
    component: &Component,
    allocator: Allocator,
    left_out: &[String],
) -> Result<LinkedComponent, LoadError> {
    let ty = component.component_type();
    let mut reaches_outside = false;
    let mut imports = Vec::new();
    let mut missing = Vec::new();
    for (name, item) in ty.imports(component.engine()) {
        let types_only = is_types_only(component, &item.ty);
        if !is_offered(name, types_only)? {
            missing.push(name.to_owned());
        }
        reaches_outside |= !types_only;
        // Types need no permission. The contract's are listed all the same, because locks pin the
        // list.
        if !types_only || name.starts_with(PACKAGE) {
            imports.push(name.to_owned());
        }
    }
    let linker = linker(component.engine()).map_err(|error| link_error(&error))?;
    if missing.iter().any(|name| name == EXPORT) {
        return Err(LoadError::UncomposedFilter);
    }
    if !missing.is_empty() {
        return Err(missing::error(component, linker, missing));
    }
    let exports = ty.exports(component.engine()).map(|(name, _)| name);
    let exports: Vec<&str> = exports.collect();
    let has_hooks = exports.contains(&HOOK_EXPORT);
    let is_contract = check_exports(&exports, left_out)?;
    let is_act = exports.contains(&act::EXPORT);
    // It was compiled without its functions, which are async.
    if is_act && !is_contract && !component.engine().get_concurrency_support() {
        return Err(LoadError::ActIsOff);
    }
    let pre = match linker.instantiate_pre(component) {
        Ok(pre) => pre,
        Err(error) if missing::missing_import(&error).is_some() => {
            return Err(missing::error(component, linker, missing));
        }
        Err(error) => return Err(link_error(&error)),
    };
    let hook = has_hooks.then(|| HookHostPre::new(pre.clone()));
    let hook = hook
        .transpose()
        .map_err(|error| mismatch(HOOK_EXPORT, &error))?;
    let program = ProgramEntry::find(&pre, &exports);
    let program = program.map_err(|(export, error)| mismatch(export, &error))?;
    let entry_point = if is_contract {
        EntryPoint::Contract(HostPre::new(pre).map_err(|error| mismatch(EXPORT, &error))?)
    } else if is_act {
        EntryPoint::Act(ActComponent::new(pre).map_err(|error| mismatch(act::EXPORT, &error))?)
    } else if has_hooks {
        EntryPoint::Hooks
    } else {
        match PlainComponent::new(pre, reaches_outside, left_out) {
            Ok(plain) => EntryPoint::Plain(plain),
            Err(LoadError::Functions(why)) if program.is_some() => EntryPoint::Program(why),
            Err(error) => return Err(error),
        }
    };
    Ok(LinkedComponent {
        entry_point,
        hook,
        format: extism::format(&exports)
            .unwrap_or_else(|| format!("agent:tool@{CONTRACT_VERSION}")),
        program,
        imports,
        allocator,
    })
}

/// True if an import has value types and nothing else; signatures of exported functions use those.
fn is_types_only(component: &Component, item: &ComponentItem) -> bool {
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

/// Returns whether this host may offer an import of this name. The linker checks which WASI
/// interfaces exist.
fn is_offered(name: &str, types_only: bool) -> Result<bool, LoadError> {
    let Some(own) = name.strip_prefix(PACKAGE) else {
        return Ok(types_only || name.starts_with("wasi:"));
    };
    let (interface, version) = own.split_once('@').unwrap_or((own, ""));
    if !OFFERED.contains(&interface) {
        return Ok(false);
    }
    if version != CONTRACT_VERSION {
        return Err(LoadError::ContractMismatch(format!(
            "it imports `{}`",
            text::sanitize(name, MAX_NAME_BYTES)
        )));
    }
    Ok(true)
}

/// Returns true for the contract's export, and false for other exports, which may be functions.
fn check_exports(names: &[&str], left_out: &[String]) -> Result<bool, LoadError> {
    if names.contains(&EXPORT) {
        return Ok(true);
    }
    if names.is_empty() && left_out.is_empty() {
        return Err(LoadError::ContractMismatch("it exports nothing".to_owned()));
    }
    let mut names = names.iter();
    let is_other = |name: &&&str| {
        (name.starts_with("agent:tool/tool") || name.starts_with("agent:tool/hook"))
            && **name != HOOK_EXPORT
    };
    if let Some(other) = names.clone().find(|name| act::is_other_version(name)) {
        return Err(LoadError::ContractMismatch(format!(
            "it exports `{}`, and the version of ACT that this host runs is `{}`",
            text::sanitize(other, MAX_NAME_BYTES),
            act::EXPORT
        )));
    }
    match names.find(is_other) {
        Some(other) => Err(LoadError::ContractMismatch(format!(
            "it exports `{}`",
            text::sanitize(other, MAX_NAME_BYTES)
        ))),
        None => Ok(false),
    }
}

/// Returns the error of an export whose types are not those of the contract.
fn mismatch(export: &str, error: &wasmtime::Error) -> LoadError {
    LoadError::ContractMismatch(format!(
        "its export `{export}` does not have the types of the contract: {}",
        shorten(&error.root_cause().to_string())
    ))
}

/// Explains the linker's first error: an interface that has other types.
fn link_error(error: &wasmtime::Error) -> LoadError {
    let item = shorten(&error.to_string());
    let cause = shorten(&error.root_cause().to_string());
    LoadError::ContractMismatch(format!("{item}: {cause}"))
}
