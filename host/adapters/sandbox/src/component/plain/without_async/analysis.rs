//! Finds the async functions of a component and of those nested in it.

use super::super::wit_type::SignatureError;
use std::collections::{HashMap, HashSet, VecDeque};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentExport, ComponentExternalKind, CompositeInnerType,
    Encoding, FuncType, Parser, Payload, PrimitiveValType, ValidPayload, Validator, WasmFeatures,
    component_types::{
        ComponentAnyTypeId, ComponentDefinedType, ComponentDefinedTypeId, ComponentEntityType,
        ComponentFuncTypeId, ComponentInstanceTypeId, ComponentValType,
    },
    types::TypesRef,
};

/// The deepest nesting of types that is searched; the validator has the same bound on components.
const MAX_DEPTH: usize = 100;

/// One component: the outermost, or one nested in it.
#[derive(Default)]
pub(super) struct Scope {
    /// For each of its functions, whether it is async.
    is_async: Vec<bool>,
    /// The index of each function without the async ones before it.
    index: Vec<u32>,
    /// For each section of types in order, and each type in it, the names of the async functions
    /// that an instance of that type has.
    pub(super) instance_types: VecDeque<Vec<HashSet<String>>>,
    /// The types of the core functions that trap, in the order of their definitions.
    pub(super) traps: Vec<FuncType>,
    /// The exported async functions: interface, name and reason.
    pub(super) exports: Vec<(Option<String>, String, SignatureError)>,
}

/// A component that is being read.
#[derive(Default)]
struct ReadScope {
    /// The first type index of each section of types, and the number of types in it.
    type_sections: Vec<(u32, u32)>,
    /// The canonical functions that are core functions, with their indices.
    core_functions: Vec<(CanonicalFunction, u32)>,
    exports: Vec<(String, ComponentExternalKind, u32)>,
}

impl Scope {
    pub(super) fn is_async(&self, function: u32) -> bool {
        let function = usize::try_from(function).ok();
        let found = function.and_then(|function| self.is_async.get(function));
        found.copied().unwrap_or_default()
    }

    /// Returns the new index of a function that stays.
    pub(super) fn index(&self, function: u32) -> u32 {
        let index = usize::try_from(function).ok();
        let found = index.and_then(|index| self.index.get(index));
        found.copied().unwrap_or(function)
    }

    /// Returns whether a canonical function that is a core function becomes one that traps. Those
    /// that stay are named, so that one of a later proposal traps.
    pub(super) fn is_trap(&self, function: &CanonicalFunction) -> bool {
        match function {
            CanonicalFunction::Lower {
                func_index,
                options,
            } => self.is_async(*func_index) || options.contains(&CanonicalOption::Async),
            CanonicalFunction::Lift { .. }
            | CanonicalFunction::ResourceNew { .. }
            | CanonicalFunction::ResourceDrop { .. }
            | CanonicalFunction::ResourceRep { .. } => false,
            _ => true,
        }
    }
}

/// Reads all components in the order in which they start; absent for an invalid one.
pub(super) fn scopes(component: &[u8]) -> Option<Vec<Scope>> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let mut scopes = Vec::new();
    // The index in `scopes` of each component that is open; absent for a module.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut reading: Vec<ReadScope> = Vec::new();
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.ok()?;
        if let Payload::Version { encoding, .. } = &payload {
            let is_component = *encoding == Encoding::Component;
            open.push(is_component.then_some(scopes.len()));
            if is_component {
                scopes.push(Scope::default());
                reading.push(ReadScope::default());
            }
        }
        if let Some(scope) = reading.last_mut() {
            read(scope, &payload, &validator)?;
        }
        if let ValidPayload::End(types) = validator.payload(&payload).ok()?
            && let Some(at) = open.pop()?
        {
            *scopes.get_mut(at)? = reading.pop()?.finish(types.as_ref())?;
        }
    }
    Some(scopes)
}

/// Reads a section before it is validated, when the counts are those before it.
fn read(scope: &mut ReadScope, payload: &Payload<'_>, validator: &Validator) -> Option<()> {
    match payload {
        Payload::ComponentTypeSection(section) => {
            let first = validator.types(0)?.component_type_count();
            scope.type_sections.push((first, section.count()));
        }
        Payload::ComponentCanonicalSection(section) => {
            let mut next = validator.types(0)?.function_count();
            for function in section.clone() {
                let function = function.ok()?;
                if !matches!(function, CanonicalFunction::Lift { .. }) {
                    scope.core_functions.push((function, next));
                    next += 1;
                }
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section.clone() {
                let ComponentExport {
                    name, kind, index, ..
                } = export.ok()?;
                scope.exports.push((name.name.to_owned(), kind, index));
            }
        }
        _ => {}
    }
    Some(())
}

impl ReadScope {
    fn finish(self, types: TypesRef<'_>) -> Option<Scope> {
        let mut search = Search {
            types,
            known: HashMap::new(),
        };
        let mut scope = Scope::default();
        let mut next = 0;
        for function in 0..types.component_function_count() {
            let is_async = search
                .function(types.component_function_at(function))
                .is_some();
            scope.is_async.push(is_async);
            scope.index.push(next);
            next += u32::from(!is_async);
        }
        for (first, count) in self.type_sections {
            let section = (first..first.checked_add(count)?).map(|index| {
                match types.component_any_type_at(index) {
                    ComponentAnyTypeId::Instance(instance) => {
                        let functions = search.instance(instance).into_iter();
                        functions.map(|(name, _)| name).collect()
                    }
                    _ => HashSet::new(),
                }
            });
            scope.instance_types.push_back(section.collect());
        }
        for (function, index) in self.core_functions {
            if scope.is_trap(&function) {
                let ty = types.get(types.core_function_at(index))?;
                let CompositeInnerType::Func(ty) = &ty.composite_type.inner else {
                    return None;
                };
                scope.traps.push(ty.clone());
            }
        }
        for (name, kind, index) in self.exports {
            match kind {
                ComponentExternalKind::Func => {
                    let error = search.function(types.component_function_at(index));
                    scope.exports.extend(error.map(|error| (None, name, error)));
                }
                ComponentExternalKind::Instance => {
                    let functions = search.instance(types.component_instance_at(index));
                    let functions = functions.into_iter();
                    scope.exports.extend(
                        functions.map(|(function, error)| (Some(name.clone()), function, error)),
                    );
                }
                _ => {}
            }
        }
        Some(scope)
    }
}

/// Searches types for what is async.
struct Search<'a> {
    types: TypesRef<'a>,
    /// The types that were searched; each may be used many times.
    known: HashMap<ComponentDefinedTypeId, Option<SignatureError>>,
}

impl Search<'_> {
    fn function(&mut self, function: ComponentFuncTypeId) -> Option<SignatureError> {
        let types = self.types;
        let function = types.get(function)?;
        if function.async_ {
            return Some(SignatureError::Async);
        }
        let params = function.params.iter().map(|(_, ty)| ty);
        params
            .chain(&function.result)
            .find_map(|ty| self.value(ty, 0))
    }

    /// Returns the async functions of an instance.
    fn instance(&mut self, instance: ComponentInstanceTypeId) -> Vec<(String, SignatureError)> {
        let types = self.types;
        let exports = types.get(instance).into_iter().flat_map(|ty| &ty.exports);
        let functions = exports.filter_map(|(name, item)| match item.ty {
            ComponentEntityType::Func(function) => Some((name.clone(), self.function(function)?)),
            _ => None,
        });
        functions.collect()
    }

    fn value(&mut self, ty: &ComponentValType, depth: usize) -> Option<SignatureError> {
        let id = match ty {
            ComponentValType::Primitive(primitive) => return of_primitive(*primitive),
            ComponentValType::Type(id) => *id,
        };
        if depth > MAX_DEPTH {
            return Some(SignatureError::TooDeep);
        }
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let found = self.defined(id, depth + 1);
        self.known.insert(id, found);
        found
    }

    fn defined(&mut self, id: ComponentDefinedTypeId, depth: usize) -> Option<SignatureError> {
        let types = self.types;
        match types.get(id)? {
            ComponentDefinedType::Primitive(primitive) => of_primitive(*primitive),
            ComponentDefinedType::Record(record) => {
                let mut fields = record.fields.values();
                fields.find_map(|ty| self.value(ty, depth))
            }
            ComponentDefinedType::Variant(variant) => {
                let mut cases = variant.cases.values().filter_map(|case| case.ty.as_ref());
                cases.find_map(|ty| self.value(ty, depth))
            }
            ComponentDefinedType::Tuple(tuple) => {
                tuple.types.iter().find_map(|ty| self.value(ty, depth))
            }
            ComponentDefinedType::List { element: ty, .. }
            | ComponentDefinedType::FixedLengthList { element: ty, .. }
            | ComponentDefinedType::Option { ty, .. } => self.value(ty, depth),
            ComponentDefinedType::Map { key, value, .. } => {
                self.value(key, depth).or_else(|| self.value(value, depth))
            }
            ComponentDefinedType::Result { ok, err, .. } => {
                let mut both = ok.iter().chain(err);
                both.find_map(|ty| self.value(ty, depth))
            }
            ComponentDefinedType::Future { .. } => Some(SignatureError::AsyncType("a future")),
            ComponentDefinedType::Stream { .. } => Some(SignatureError::AsyncType("a stream")),
            ComponentDefinedType::Flags(_)
            | ComponentDefinedType::Enum(_)
            | ComponentDefinedType::Own(_)
            | ComponentDefinedType::Borrow(_) => None,
        }
    }
}

fn of_primitive(primitive: PrimitiveValType) -> Option<SignatureError> {
    (primitive == PrimitiveValType::ErrorContext)
        .then_some(SignatureError::NoJsonForm("an error-context"))
}
