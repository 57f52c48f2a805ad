//! Writes a component without its async functions.

use super::analysis::Scope;
use crate::instance::failure::ASYNC_TRAP_NAME;
use std::{collections::HashSet, convert::Infallible};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CodeSection, Component, ComponentAliasSection,
    ComponentDefinedTypeEncoder, ComponentExportSection, ComponentFuncTypeEncoder,
    ComponentImportSection, ComponentInstanceSection, ComponentSectionId, ComponentTypeSection,
    ExportKind, ExportSection, Function, FunctionSection, InstanceSection, ModuleArg,
    ModuleSection, NameMap, NameSection, NestedComponentSection, PrimitiveValType, RawSection,
    TypeSection,
    reencode::{
        Error, Reencode, ReencodeComponent, RoundtripReencoder,
        component_utils::{
            parse_component, parse_component_canonical, parse_component_defined_type,
            parse_component_export, parse_component_func_type, parse_component_instance,
            parse_component_payload,
        },
    },
};
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentAliasSectionReader, ComponentDefinedType,
    ComponentExport, ComponentExternalKind, ComponentFuncType, ComponentImportSectionReader,
    ComponentInstance, ComponentType, ComponentTypeRef, ComponentTypeSectionReader,
    CustomSectionReader, InstanceTypeDeclaration, Parser, Payload,
};

type EncodeResult<T = ()> = Result<T, Error<Infallible>>;

/// Writes the component; absent if it is malformed or has a part that cannot be written.
pub(super) fn encode(component: &[u8], scopes: Vec<Scope>) -> Option<Vec<u8>> {
    let mut encoder = ComponentWriter {
        scopes: scopes.into_iter(),
        open: Vec::new(),
    };
    let written = encoder.component(Parser::new(0), component, component);
    Some(written.ok()?.finish())
}

struct ComponentWriter<S> {
    /// The components that have not started, in order.
    scopes: S,
    open: Vec<OpenScope>,
}

/// A component that is being written.
struct OpenScope {
    scope: Scope,
    /// The number of functions of the original that are defined.
    functions: u32,
    /// The number of core functions that trap that are defined.
    traps: usize,
}

impl OpenScope {
    /// The number of core modules, and of core instances, before those of the original.
    fn shift(&self) -> u32 {
        u32::from(!self.scope.traps.is_empty())
    }

    /// Counts a function that the original defines here. Returns whether it is async.
    fn define_function(&mut self) -> bool {
        let is_async = self.scope.is_async(self.functions);
        self.functions += 1;
        is_async
    }
}

impl<S: Iterator<Item = Scope>> ComponentWriter<S> {
    fn component(&mut self, parser: Parser, data: &[u8], whole: &[u8]) -> EncodeResult<Component> {
        let scope = self.scopes.next().ok_or(Error::InvalidConstExpr)?;
        let mut component = Component::new();
        if !scope.traps.is_empty() {
            component.section(&ModuleSection(&trap_module(&scope)?));
            let mut instances = InstanceSection::new();
            instances.instantiate(0, std::iter::empty::<(&str, ModuleArg)>());
            component.section(&instances);
        }
        self.open.push(OpenScope {
            scope,
            functions: 0,
            traps: 0,
        });
        parse_component(self, &mut component, parser, data, whole)?;
        self.open.pop();
        Ok(component)
    }

    fn scope(&mut self) -> EncodeResult<&mut OpenScope> {
        self.open.last_mut().ok_or(Error::InvalidConstExpr)
    }

    fn is_async(&self, kind: ComponentExternalKind, index: u32) -> bool {
        let scope = self.open.last();
        kind == ComponentExternalKind::Func && scope.is_some_and(|open| open.scope.is_async(index))
    }

    /// Writes a canonical function, unless it makes an async function; or one that traps.
    fn canonical(
        &mut self,
        component: &mut Component,
        function: CanonicalFunction,
    ) -> EncodeResult {
        let open = self.scope()?;
        if matches!(function, CanonicalFunction::Lift { .. }) && open.define_function() {
            return Ok(());
        }
        if open.scope.is_trap(&function) {
            let name = open.traps.to_string();
            open.traps += 1;
            let mut aliases = ComponentAliasSection::new();
            aliases.alias(Alias::CoreInstanceExport {
                instance: 0,
                kind: ExportKind::Func,
                name: &name,
            });
            component.section(&aliases);
            return Ok(());
        }
        let mut section = CanonicalFunctionSection::new();
        parse_component_canonical(self, &mut section, function)?;
        component.section(&section);
        Ok(())
    }
}

/// Makes a module that exports a function that traps for each that a component needs, by number.
fn trap_module(scope: &Scope) -> EncodeResult<wasm_encoder::Module> {
    let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    let mut function_names = NameMap::new();
    for (index, ty) in (0_u32..).zip(&scope.traps) {
        types
            .ty()
            .func_type(&RoundtripReencoder.func_type(ty.clone())?);
        function_names.append(index, ASYNC_TRAP_NAME);
        functions.function(index);
        exports.export(&index.to_string(), ExportKind::Func, index);
        let mut body = Function::new([]);
        body.instructions().unreachable().end();
        code.function(&body);
    }
    let mut names = NameSection::new();
    names.functions(&function_names);
    let mut module = wasm_encoder::Module::new();
    module
        .section(&types)
        .section(&functions)
        .section(&exports)
        .section(&code)
        .section(&names);
    Ok(module)
}

impl<S> Reencode for ComponentWriter<S> {
    type Error = Infallible;
}

impl<S: Iterator<Item = Scope>> ReencodeComponent for ComponentWriter<S> {
    fn component_func_index(&mut self, index: u32) -> u32 {
        let open = self.open.last();
        open.map_or(index, |open| open.scope.index(index))
    }

    fn module_index(&mut self, index: u32) -> u32 {
        self.outer_module_index(0, index)
    }

    fn instance_index(&mut self, index: u32) -> u32 {
        index + self.open.last().map_or(0, OpenScope::shift)
    }

    fn outer_module_index(&mut self, count: u32, index: u32) -> u32 {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let outer = self.open.iter().rev().nth(count);
        index + outer.map_or(0, OpenScope::shift)
    }

    fn parse_component_payload(
        &mut self,
        component: &mut Component,
        payload: Payload<'_>,
        whole: &[u8],
    ) -> EncodeResult {
        let Payload::ComponentCanonicalSection(section) = payload else {
            return parse_component_payload(self, component, payload, whole);
        };
        for function in section {
            self.canonical(component, function?)?;
        }
        Ok(())
    }

    fn parse_component_submodule(
        &mut self,
        component: &mut Component,
        _: Parser,
        module: &[u8],
    ) -> EncodeResult {
        let id = ComponentSectionId::CoreModule.into();
        component.section(&RawSection { id, data: module });
        Ok(())
    }

    fn parse_component_subcomponent(
        &mut self,
        component: &mut Component,
        parser: Parser,
        nested: &[u8],
        whole: &[u8],
    ) -> EncodeResult {
        let nested = self.component(parser, nested, whole)?;
        component.section(&NestedComponentSection(&nested));
        Ok(())
    }

    /// Leaves them out: names of functions are by index, and nothing else concerns the compiler.
    fn parse_component_custom_section(
        &mut self,
        _: &mut Component,
        _: CustomSectionReader<'_>,
    ) -> EncodeResult {
        Ok(())
    }

    fn parse_component_type_section(
        &mut self,
        types: &mut ComponentTypeSection,
        section: ComponentTypeSectionReader<'_>,
    ) -> EncodeResult {
        let instance_types = self.scope()?.scope.instance_types.pop_front();
        let mut instance_types = instance_types.unwrap_or_default().into_iter();
        for ty in section {
            let left_out = instance_types.next().unwrap_or_default();
            self.parse_component_type(types.ty(), without(ty?, &left_out))?;
        }
        Ok(())
    }

    fn parse_component_func_type(
        &mut self,
        func: ComponentFuncTypeEncoder<'_>,
        ty: ComponentFuncType<'_>,
    ) -> EncodeResult {
        let ty = ComponentFuncType {
            async_: false,
            ..ty
        };
        parse_component_func_type(self, func, ty)
    }

    /// A stand-in for the types of async functions, which keeps the indices of types. No function
    /// that stays has it.
    fn parse_component_defined_type(
        &mut self,
        defined: ComponentDefinedTypeEncoder<'_>,
        ty: ComponentDefinedType<'_>,
    ) -> EncodeResult {
        match ty {
            ComponentDefinedType::Stream(_) | ComponentDefinedType::Future(_) => {
                defined.primitive(PrimitiveValType::U32);
                Ok(())
            }
            other => parse_component_defined_type(self, defined, other),
        }
    }

    fn component_primitive_val_type(
        &mut self,
        ty: wasmparser::PrimitiveValType,
    ) -> PrimitiveValType {
        match ty {
            wasmparser::PrimitiveValType::ErrorContext => PrimitiveValType::U32,
            other => other.into(),
        }
    }

    fn parse_component_import_section(
        &mut self,
        imports: &mut ComponentImportSection,
        section: ComponentImportSectionReader<'_>,
    ) -> EncodeResult {
        for import in section {
            let import = import?;
            let is_function = matches!(import.ty, ComponentTypeRef::Func(_));
            if !(is_function && self.scope()?.define_function()) {
                imports.import(import.name, self.component_type_ref(import.ty)?);
            }
        }
        Ok(())
    }

    fn parse_component_alias_section(
        &mut self,
        aliases: &mut ComponentAliasSection,
        section: ComponentAliasSectionReader<'_>,
    ) -> EncodeResult {
        for alias in section {
            let alias = alias?;
            let is_function = matches!(
                alias,
                ComponentAlias::InstanceExport {
                    kind: ComponentExternalKind::Func,
                    ..
                }
            );
            if !(is_function && self.scope()?.define_function()) {
                aliases.alias(self.component_alias(alias)?);
            }
        }
        Ok(())
    }

    fn parse_component_instance(
        &mut self,
        instances: &mut ComponentInstanceSection,
        instance: ComponentInstance<'_>,
    ) -> EncodeResult {
        let instance = match instance {
            ComponentInstance::Instantiate {
                component_index,
                args,
            } => {
                let mut args = args.into_vec();
                args.retain(|arg| !self.is_async(arg.kind, arg.index));
                ComponentInstance::Instantiate {
                    component_index,
                    args: args.into(),
                }
            }
            ComponentInstance::FromExports(exports) => {
                let mut exports = exports.into_vec();
                exports.retain(|export| !self.is_async(export.kind, export.index));
                ComponentInstance::FromExports(exports.into())
            }
        };
        parse_component_instance(self, instances, instance)
    }

    fn parse_component_export(
        &mut self,
        exports: &mut ComponentExportSection,
        export: ComponentExport<'_>,
    ) -> EncodeResult {
        // An export of a function defines another one.
        if export.kind == ComponentExternalKind::Func && self.scope()?.define_function() {
            return Ok(());
        }
        parse_component_export(self, exports, export)
    }
}

/// Removes functions from the type of an instance.
fn without<'a>(ty: ComponentType<'a>, left_out: &HashSet<String>) -> ComponentType<'a> {
    let ComponentType::Instance(declarations) = ty else {
        return ty;
    };
    let mut declarations = declarations.into_vec();
    declarations.retain(|declaration| match declaration {
        InstanceTypeDeclaration::Export {
            name,
            ty: ComponentTypeRef::Func(_),
        } => !left_out.contains(name.name),
        _ => true,
    });
    ComponentType::Instance(declarations.into())
}
