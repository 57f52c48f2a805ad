//! Composes one component of a tool and of the filters in front of it. The parts are in it as they
//! are, byte by byte, so that their digests are known.

#[cfg(test)]
mod tests;

use crate::{
    decode::decode,
    error::AuthorError,
    parts::{ComposedPart, TOOL},
};
use agent_host_sandbox::{MAX_COMPONENT_BYTES, SKILL_SECTION, custom_section};
use agent_host_types::{id::Digest, reason::Reason};
use std::{collections::HashMap, fmt::Display, path::Path};
use wasm_encoder::{
    ComponentBuilder, ComponentExportKind, CustomSection,
    reencode::{ReencodeComponent as _, RoundtripReencoder},
};
use wasmparser::{
    ComponentType, ComponentTypeDeclaration, ComponentTypeRef, Parser, Payload, Validator,
};
use wit_component::DecodedWasm;
use wit_parser::{CloneMaps, Resolve, Span, WorldId, WorldKey};

/// The hooks that a component may export beside its tools.
const HOOKS: &str = "agent:tool/hook@0.1.0";

/// The interface through which a result reaches the host piece by piece, and no filter.
const PARTIAL: &str = "agent:tool/partial@0.1.0";

/// The maximum of characters of the name of a part.
pub(crate) const MAX_NAME: usize = 64;

/// The maximum of characters of a parser's error.
const MAX_REASON: usize = 300;

/// A component to compose, with its name for messages and descriptions.
#[derive(Clone, Debug)]
pub struct Part {
    /// The name: that of its file.
    pub name: String,
    /// The component.
    pub bytes: Vec<u8>,
}

impl Part {
    /// Returns a part with the name of its file, reduced to letters, digits, `.`, `_` and `-`.
    #[must_use]
    pub fn of_file(path: &Path, bytes: Vec<u8>) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let plain = |c: char| match c.is_ascii_alphanumeric() || "._-".contains(c) {
            true => c,
            false => '_',
        };
        Self {
            name: name.chars().take(MAX_NAME).map(plain).collect(),
            bytes,
        }
    }

    /// Describes it as a part of a composed component.
    #[must_use]
    pub fn describe(&self) -> ComposedPart {
        ComposedPart {
            name: self.name.clone(),
            digest: Digest::of(&self.bytes),
            size_bytes: self.bytes.len() as u64,
        }
    }
}

/// How to compose a part that gives its result piece by piece behind a filter, which does not see
/// the pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Not at all.
    Refused,
    /// The pieces go past the filters.
    Unfiltered,
}

/// A composed component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composed {
    /// The component.
    pub bytes: Vec<u8>,
    /// True if the tool exports hooks, which the composed component does not.
    pub leaves_hooks_out: bool,
}

/// Composes a tool and filters, the outermost first. The composed component imports what any part
/// imports, exports the outermost filter's tools, and has the tool's skill.
///
/// It takes as long as validation, and the parsing libraries may panic on malformed bytes: call it
/// where a panic is harmless.
///
/// # Errors
/// A part is not a component, or not what it is named as; it has a filter in front that would not
/// see its results; the parts do not fit together.
pub fn compose(tool: &Part, filters: &[Part], pieces: Pieces) -> Result<Composed, AuthorError> {
    let mut whole = Interface::of(tool, Role::Tool, 0)?;
    let leaves_hooks_out = whole.exports.iter().any(|name| name == HOOKS);
    let mut imports = vec![whole.imports.clone()];
    for (index, filter) in filters.iter().rev().enumerate() {
        let interface = Interface::of(filter, Role::Filter, index + 1)?;
        imports.push(interface.imports.clone());
        whole.merge(interface).map_err(|why| misfit(&why))?;
    }
    let inner_first = std::iter::once(tool).chain(filters.iter().rev());
    let mut filtered = inner_first.clone().zip(&imports).take(filters.len());
    let gives_pieces = filtered.find(|(_, imports)| imports.iter().any(|name| name == PARTIAL));
    if let (Some((part, _)), Pieces::Refused) = (gives_pieces, pieces) {
        return Err(AuthorError::Usage(format!(
            "cannot put a filter in front of `{}`: it imports `{PARTIAL}`, with which it gives results that no \
             filter sees; `--unfiltered-pieces` lets them go past the filters",
            part.name
        )));
    }
    let bytes = encode(&whole, inner_first.zip(&imports), tool).map_err(|why| misfit(&why))?;
    if bytes.len() as u64 > MAX_COMPONENT_BYTES {
        return Err(AuthorError::Usage(format!(
            "the composed component has {} bytes, and the maximum is {MAX_COMPONENT_BYTES}",
            bytes.len()
        )));
    }
    // Compares the types of each part's imports with those of what it gets.
    Validator::new()
        .validate_all(&bytes)
        .map_err(|error| misfit(&reason(error)))?;
    Ok(Composed {
        bytes,
        leaves_hooks_out,
    })
}

fn misfit(why: &Reason) -> AuthorError {
    AuthorError::Usage(format!("the components do not fit together: {why}"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Tool,
    Filter,
}

/// The decoded interface of a part, or the union of several.
struct Interface {
    resolve: Resolve,
    /// A world with the imports that the host gives; it has no exports.
    world: WorldId,
    /// The names of everything that the part imports.
    imports: Vec<String>,
    /// The names of everything that the part exports.
    exports: Vec<String>,
}

impl Interface {
    fn of(part: &Part, role: Role, index: usize) -> Result<Self, AuthorError> {
        let unusable =
            |why: &dyn Display| AuthorError::Usage(format!("cannot use `{}`: {why}", part.name));
        if Parser::is_core_wasm(&part.bytes) {
            return Err(unusable(&"it is a core module, not a component"));
        }
        if !Parser::is_component(&part.bytes) {
            return Err(unusable(&"it is not a WebAssembly component"));
        }
        let decoded = decode(&part.bytes).map_err(|error| unusable(&reason(error)))?;
        let DecodedWasm::Component(mut resolve, world) = decoded else {
            return Err(unusable(&"it is a WIT package, not a component"));
        };
        let Some(found) = resolve.worlds.get(world) else {
            return Err(unusable(&"it has no world"));
        };
        let names = |keys: Vec<_>| -> Vec<String> {
            let names = keys.into_iter().map(|key| resolve.name_world_key(key));
            names.collect()
        };
        let imports = names(found.imports.keys().collect());
        let exports = names(found.exports.keys().collect());
        check_role(&imports, &exports, role).map_err(|why| unusable(&why))?;
        reduce(&mut resolve, world, index).map_err(|why| unusable(&why))?;
        Ok(Self {
            resolve,
            world,
            imports,
            exports,
        })
    }

    /// Adds the imports of another part.
    fn merge(&mut self, other: Self) -> Result<(), Reason> {
        let remap = self.resolve.merge(other.resolve).map_err(reason)?;
        let other = remap.map_world(other.world, Span::default());
        self.resolve
            .merge_worlds(
                other.map_err(reason)?,
                self.world,
                &mut CloneMaps::default(),
            )
            .map_err(reason)
    }
}

/// Returns an error of a parser in one line, which may quote names of a component.
fn reason(error: impl Display) -> Reason {
    let text = format!("{error:#}");
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(MAX_REASON).collect::<String>().into()
}

/// Checks that a part is what it is named as.
fn check_role(imports: &[String], exports: &[String], role: Role) -> Result<(), Reason> {
    let of_contract = |name: &&String| name.starts_with("agent:tool/tool@");
    let imported = imports.iter().find(of_contract);
    let exported = exports.iter().find(of_contract);
    let other = [imported, exported].into_iter().flatten();
    if let Some(other) = other.clone().find(|name| *name != TOOL) {
        return Err(
            format!("it is built for `{other}`, and this program composes `{TOOL}`").into(),
        );
    }
    match (role, imported, exported) {
        (_, _, None) => {
            Err(format!("it does not export `{TOOL}`, which tools and filters do").into())
        }
        (Role::Tool, Some(_), _) => {
            Err("it is a filter, not a tool; name a tool, and the filter with `--with`".into())
        }
        (Role::Filter, None, _) => {
            Err(format!("it is a tool, not a filter: a filter imports `{TOOL}`, too").into())
        }
        (Role::Tool, None, Some(_)) | (Role::Filter, Some(_), Some(_)) => Ok(()),
    }
}

/// Reduces a part's world to the imports that the host gives. Its package gets a name of its own:
/// decoding gives the same one to all, and packages of one name are merged.
fn reduce(resolve: &mut Resolve, world: WorldId, index: usize) -> Result<(), Reason> {
    let keys: Vec<_> = match resolve.worlds.get(world) {
        Some(world) => world.imports.keys().cloned().collect(),
        None => return Err("it has no world".into()),
    };
    let is_tool = |key: &&WorldKey| resolve.name_world_key(key) == TOOL;
    let tool = keys.iter().find(is_tool);
    let Some(world) = resolve.worlds.get_mut(world) else {
        return Err("it has no world".into());
    };
    world.exports.clear();
    if let Some(tool) = tool {
        world.imports.shift_remove(tool);
    }
    let package = world.package.and_then(|id| resolve.packages.get_mut(id));
    let package = package.ok_or_else(|| Reason::from("it has no package"))?;
    let id = resolve.package_names.shift_remove(&package.name);
    package.name.name = format!("part{index}");
    if let Some(id) = id {
        resolve.package_names.insert(package.name.clone(), id);
    }
    Ok(())
}

/// Encodes the composed component from its parts, the innermost first, each with the names of its
/// imports.
fn encode<'a>(
    whole: &Interface,
    parts: impl Iterator<Item = (&'a Part, &'a Vec<String>)>,
    tool: &Part,
) -> Result<Vec<u8>, Reason> {
    let mut composed = ComponentBuilder::default();
    let given = encode_imports(whole, &mut composed)?;
    // The instance of `TOOL` that the next part gets.
    let mut behind = None;
    for (part, imports) in parts {
        let component = composed.component_raw(Some(&part.name), &part.bytes);
        let instance_of = |name: &String| match name == TOOL {
            true => behind.map(|index| (ComponentExportKind::Instance, index)),
            false => given.get(name).copied(),
        };
        let mut arguments = Vec::new();
        for name in imports {
            let (kind, index) = instance_of(name)
                .ok_or_else(|| format!("`{}` imports `{name}` in an unknown form", part.name))?;
            arguments.push((name, kind, index));
        }
        let instance = composed.instantiate(Some(&part.name), component, arguments);
        behind = Some(composed.alias_export(instance, TOOL, ComponentExportKind::Instance));
    }
    if let Some(outermost) = behind {
        composed.export(TOOL, ComponentExportKind::Instance, outermost, None);
    }
    composed.append_names();
    if let Some(skill) = custom_section(&tool.bytes, SKILL_SECTION) {
        composed.custom_section(&CustomSection {
            name: SKILL_SECTION.into(),
            data: skill.into(),
        });
    }
    Ok(composed.finish())
}

/// Encodes the imports of all parts, and returns each with its place in the composed component.
fn encode_imports(
    whole: &Interface,
    composed: &mut ComponentBuilder,
) -> Result<HashMap<String, (ComponentExportKind, u32)>, Reason> {
    let package = whole.resolve.worlds.get(whole.world);
    let package = package.and_then(|world| world.package);
    let package = package.ok_or_else(|| Reason::from("the parts have no world"))?;
    // The type of a world declares its imports as a component does: read back, its declarations
    // become the composed component's own.
    let encoded = wit_component::encode(&whole.resolve, package).map_err(reason)?;
    let mut given = HashMap::new();
    for payload in Parser::new(0).parse_all(&encoded) {
        let Payload::ComponentTypeSection(types) = payload.map_err(reason)? else {
            continue;
        };
        for ty in types {
            for declaration in world_of(ty.map_err(reason)?) {
                if let Some((name, kind, index)) = declare(composed, declaration)? {
                    given.insert(name, (kind, index));
                }
            }
        }
    }
    Ok(given)
}

/// Returns the declarations of a world, whose type is in a type of its own.
fn world_of(ty: ComponentType<'_>) -> Box<[ComponentTypeDeclaration<'_>]> {
    let ComponentType::Component(around) = ty else {
        return Box::default();
    };
    let mut around = around.into_iter();
    let world = around.find_map(|declaration| match declaration {
        ComponentTypeDeclaration::Type(ComponentType::Component(world)) => Some(world),
        _ => None,
    });
    world.unwrap_or_default()
}

/// Makes a declaration the component's own; returns the name and place of an import.
fn declare(
    composed: &mut ComponentBuilder,
    declaration: ComponentTypeDeclaration<'_>,
) -> Result<Option<(String, ComponentExportKind, u32)>, Reason> {
    // Indexes stay as they are, since the component has nothing before these declarations.
    let mut same = RoundtripReencoder;
    match declaration {
        ComponentTypeDeclaration::Type(ty) => {
            let (_, encoder) = composed.ty(None);
            same.parse_component_type(encoder, ty).map_err(reason)?;
        }
        ComponentTypeDeclaration::Alias(alias) => {
            let alias = same.component_alias(alias).map_err(reason)?;
            composed.alias(None, alias);
        }
        ComponentTypeDeclaration::Import(import) => {
            let kind = match import.ty {
                ComponentTypeRef::Instance(_) => ComponentExportKind::Instance,
                ComponentTypeRef::Func(_) => ComponentExportKind::Func,
                ComponentTypeRef::Type(_) => ComponentExportKind::Type,
                _ => return Err(format!("unknown import `{}`", import.name.name).into()),
            };
            let ty = same.component_type_ref(import.ty).map_err(reason)?;
            let index = composed.import(import.name, ty);
            return Ok(Some((import.name.name.to_owned(), kind, index)));
        }
        ComponentTypeDeclaration::CoreType(_) | ComponentTypeDeclaration::Export { .. } => {
            return Err("an import has an unknown type".into());
        }
    }
    Ok(None)
}
