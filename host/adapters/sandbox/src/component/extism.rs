//! Plugins of the Extism ABI (<https://extism.org>): core modules that import `extism:host/env`. When
//! one is loaded, it becomes a component of `agent:tool`: `guest-tools/extism`, the kernel, with the
//! module and one that links both. So all else is the same as for other components.

#![expect(clippy::indexing_slicing, reason = "each id of a type has one")]

#[cfg(test)]
mod tests;

use crate::{
    component::{code::shorten, error::LoadError},
    text,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use wasm_encoder::{
    Alias, BlockType, CodeSection, ComponentAliasSection, ComponentExportKind,
    ComponentExportSection, ComponentSection, ComponentSectionId, ElementSection, Elements,
    EntityType, ExportKind, Function, FunctionSection, ImportSection, InstanceSection,
    InstructionSink as Sink, MemArg, MemoryType, Module, ModuleArg, ModuleSection, RawSection,
    StartSection, TableType, TypeSection, ValType,
};
use wasmparser::{
    Parser, ValidPayload, Validator, WasmFeatures,
    types::{EntityType as Type, Types},
};

/// The component that a plugin becomes a part of: the functions of the ABI, as tools.
pub(super) const KERNEL: &[u8] = include_bytes!("../../extism.wasm");

/// The kernel's exports for this module: what it puts a function into, and what it calls.
const TABLE: &str = "__indirect_function_table";
const SLOT: &str = "extism_slot";
const NAME: &str = "extism_name";

/// The operations of the function in the slot.
const CALL: i32 = 0;
const LOAD: i32 = 1;
const STORE: i32 = 2;

/// The modules that a plugin may import, with the prefix of their functions in the kernel.
const IMPORTS: [(&str, &str); 3] = [
    ("extism:host/env", "env_"),
    ("extism:host/user", "user_"),
    ("wasi_snapshot_preview1", "wasi_"),
];

/// The kinds of plugins that describe their tools, with the functions that do so and that are called.
const KINDS: [(&str, [&str; 2]); 2] = [
    ("hyper-mcp-v1", ["describe", "call"]),
    ("hyper-mcp-v2", ["list_tools", "call_tool"]),
];

/// The start of the name under which a component exports its plugin. The rest is the kind.
const MARK: &str = "extism-";

/// The functions that prepare a plugin; the first one that it exports is called.
const INITIALISERS: [&str; 2] = ["__wasm_call_ctors", "_initialize"];

/// The bound on names that a plugin chose, in bytes.
const MAX_NAMES_BYTES: usize = 500;

/// Returns a plugin as a component, with a note on its functions that are not offered; fails if this
/// host does not run it. Other bytes stay as they are.
pub(super) fn compose(module: Bytes) -> Result<(Bytes, Option<String>), LoadError> {
    let host = "extism:host/";
    let mut parts = module.windows(host.len());
    if !Parser::is_core_wasm(&module) || !parts.any(|part| part == host.as_bytes()) {
        return Ok((module, None));
    }
    let types = validate(&module)?;
    let types = types.as_ref();
    let imports: Vec<_> = types.core_imports().into_iter().flatten().collect();
    if !imports.iter().any(|(from, ..)| from.starts_with(host)) {
        return Ok((module, None));
    }
    let exports: BTreeMap<_, _> = types.core_exports().into_iter().flatten().collect();
    let has = |name: &&str| exports.contains_key(name);
    let kind = KINDS.iter().find(|(_, called)| called.iter().all(has));
    let (mut tools, mut others) = (Vec::new(), Vec::new());
    for (name, ty) in &exports {
        let Type::Func(id) = ty else { continue };
        let ty = types[*id].unwrap_func();
        let is_tool = match kind {
            _ if name.starts_with('_') || name.contains('\n') => continue,
            Some((_, called)) => called.contains(name),
            None => ty.params().is_empty() && ty.results() == [wasmparser::ValType::I32],
        };
        if is_tool { &mut tools } else { &mut others }.push(*name);
    }
    let kind = kind.map_or("functions", |(kind, _)| kind);
    let link = Link {
        tools,
        initialiser: INITIALISERS.into_iter().find(has),
        memory: match exports.get("memory") {
            Some(Type::Memory(memory)) => Some(*memory),
            _ => None,
        },
    };
    let component = encode(&module, &imports, kind, &link)?;
    let others = text::sanitize(&others.join(", "), MAX_NAMES_BYTES);
    let note = (!others.is_empty()).then(|| format!("functions that are not tools: {others}"));
    // The functions have the types that both expect.
    validate(&component)?;
    Ok((component.into(), note))
}

/// Returns the format of a component with these exports, if it is a plugin.
pub(super) fn format(exports: &[&str]) -> Option<String> {
    let kind = exports.iter().find_map(|name| name.strip_prefix(MARK));
    kind.map(|kind| format!("Extism plugin ({kind})"))
}

/// Validates all but the bodies of functions, which the compiler does within its limits.
fn validate(bytes: &[u8]) -> Result<Types, LoadError> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut types = None;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.and_then(|payload| validator.payload(&payload));
        let payload = payload.map_err(|error| LoadError::Plugin(shorten(&error.to_string())))?;
        if let ValidPayload::End(found) = payload {
            types = Some(found);
        }
    }
    types.ok_or(LoadError::HostFailed)
}

/// Appends a plugin to the kernel.
fn encode(
    plugin: &[u8],
    imports: &[(&str, &str, Type)],
    kind: &str,
    link: &Link<'_>,
) -> Result<Vec<u8>, LoadError> {
    let types = validate(KERNEL)?;
    let types = types.as_ref();
    let exports = |instance| types[types.core_instance_at(instance)].exports(types);
    let mut kernels = 0..types.core_instance_count();
    let kernel = kernels.find_map(|instance| match exports(instance).get(TABLE)? {
        Type::Table(table) if exports(instance).contains_key(SLOT) => {
            Some((instance, TableType::try_from(*table).ok()?))
        }
        _ => None,
    });
    let (kernel, table) = kernel.ok_or(LoadError::HostFailed)?;
    let (mut aliases, mut modules) = (ComponentAliasSection::new(), BTreeMap::new());
    for ((from, name, _), index) in imports.iter().zip(types.function_count()..) {
        let prefix = IMPORTS.iter().find(|(module, _)| module == from);
        let function = prefix.map(|(_, prefix)| format!("{prefix}{name}"));
        let function = function.filter(|function| exports(kernel).contains_key(function));
        let function = function.ok_or_else(|| {
            let import = text::sanitize(&format!("{from} {name}"), MAX_NAMES_BYTES);
            LoadError::Plugin(format!("it imports `{import}`, which is not offered"))
        })?;
        aliases.alias(Alias::CoreInstanceExport {
            instance: kernel,
            kind: ExportKind::Func,
            name: &function,
        });
        let functions: &mut BTreeMap<_, _> = modules.entry(from).or_default();
        functions.insert(name, (name, ExportKind::Func, index));
    }
    let (mut instances, mut arguments) = (InstanceSection::new(), Vec::new());
    for ((from, functions), index) in modules.into_iter().zip(types.core_instance_count()..) {
        instances.export_items(functions.into_values());
        arguments.push((from, ModuleArg::Instance(index)));
    }
    let (module, instance) = (types.module_count(), types.core_instance_count());
    let plugin_instance = instance + arguments.len() as u32;
    let linked = [("kernel", kernel), ("plugin", plugin_instance)];
    let linked = linked.map(|(name, instance)| (name, ModuleArg::Instance(instance)));
    instances.instantiate(module, arguments);
    instances.instantiate(module + 1, linked);
    let (mut mark, name) = (ComponentExportSection::new(), format!("{MARK}{kind}"));
    mark.export(&name, ComponentExportKind::Module, module, None);
    let id = ComponentSectionId::CoreModule.into();
    let (plugin, link) = (RawSection { id, data: plugin }, link.module(table));
    let sections: [&dyn ComponentSection; 5] =
        [&aliases, &plugin, &ModuleSection(&link), &instances, &mark];
    let mut component = KERNEL.to_vec();
    for section in sections {
        section.append_to_component(&mut component);
    }
    Ok(component)
}

/// The parts of a plugin that the module uses which links the kernel to it.
struct Link<'a> {
    tools: Vec<&'a str>,
    initialiser: Option<&'a str>,
    memory: Option<wasmparser::MemoryType>,
}

impl Link<'_> {
    /// Encodes the module. Its start function tells the kernel the names of the functions, and puts
    /// the function of [`Self::operations`] into its slot.
    fn module(&self, table: TableType) -> Module {
        let (mut types, mut imports) = (TypeSection::new(), ImportSection::new());
        let (nothing, code, byte, operation) = (0, 1, 2, 3);
        types.ty().function([], []);
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I32], []);
        types.ty().function([ValType::I32; 3], [ValType::I32]);
        imports.import("kernel", SLOT, EntityType::Function(code));
        imports.import("kernel", NAME, EntityType::Function(byte));
        let mut count = 2;
        let initialiser = self.initialiser.iter().map(|name| (name, nothing));
        for (name, ty) in initialiser.chain(self.tools.iter().map(|name| (name, code))) {
            imports.import("plugin", name, EntityType::Function(ty));
            count += 1;
        }
        imports.import("kernel", TABLE, table);
        if let Some(memory) = self.memory {
            imports.import("plugin", "memory", MemoryType::from(memory));
        }
        let mut functions = FunctionSection::new();
        functions.function(operation).function(nothing);
        let mut elements = ElementSection::new();
        elements.declared(Elements::Functions([count].as_slice().into()));
        let mut start = Function::new([]);
        let mut body = start.instructions();
        body.call(0).ref_func(count).table_set(0);
        for byte in self.tools.join("\n").into_bytes() {
            body.i32_const(byte.into()).call(1);
        }
        body.end();
        let mut code = CodeSection::new();
        code.function(&self.operations(2)).function(&start);
        let start = StartSection {
            function_index: count + 1,
        };
        let mut module = Module::new();
        module.section(&types).section(&imports).section(&functions);
        module.section(&start).section(&elements).section(&code);
        module
    }

    /// Encodes the function in the slot: it calls a function of the plugin, from the given index on,
    /// and reads and writes a byte of the plugin's memory.
    fn operations(&self, mut called: u32) -> Function {
        let byte = MemArg {
            offset: 0,
            align: 0,
            memory_index: 0,
        };
        let mut function = Function::new([]);
        let mut body = function.instructions();
        if self.memory.is_some() {
            case(&mut body, 0, LOAD).local_get(1).i32_load8_u(byte);
            body.return_().end();
            let store = case(&mut body, 0, STORE).local_get(1).local_get(2);
            store.i32_store8(byte).i32_const(0).return_().end();
        }
        case(&mut body, 0, CALL);
        if self.initialiser.is_some() {
            body.call(called);
            called += 1;
        }
        for (index, tool) in (0..).zip(called..).take(self.tools.len()) {
            case(&mut body, 1, index).call(tool).return_().end();
        }
        body.end().unreachable().end();
        function
    }
}

/// Begins a block for one value of a parameter.
fn case<'a, 'b>(body: &'a mut Sink<'b>, parameter: u32, value: i32) -> &'a mut Sink<'b> {
    let body = body.local_get(parameter).i32_const(value).i32_eq();
    body.if_(BlockType::Empty)
}
