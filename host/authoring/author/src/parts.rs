//! Recognises composed components, and names their parts. The digests are of the bytes that are
//! there; the names are what the component says.

#[cfg(test)]
mod tests;

use crate::compose::MAX_NAME;
use agent_host_types::id::Digest;
use serde::Serialize;
use std::collections::BTreeMap;
use wasmparser::{
    BinaryReaderError, ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentName,
    ComponentOuterAliasKind, ComponentTypeRef, KnownCustom, Parser, Payload,
};

/// The interface through which a filter and the tool behind it are connected.
pub(crate) const TOOL: &str = "agent:tool/tool@0.1.0";

/// The maximum depth of composed components inside each other.
const MAX_DEPTH: usize = 8;

/// A part of a composed component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComposedPart {
    /// The name, as the composed component says; may be empty.
    pub name: String,
    /// The digest of the part's bytes.
    pub digest: Digest,
    /// The size of the part, in bytes.
    pub size_bytes: u64,
}

/// Returns the parts of a composed component, the outermost filter first and the tool last; none for
/// a component that is not composed.
///
/// A component counts as composed only if its parts are all that it consists of: each gets the
/// next one as its tool, and everything else directly from the host.
pub(crate) fn parts(component: &[u8]) -> Vec<ComposedPart> {
    parts_within(component, MAX_DEPTH).unwrap_or_default()
}

fn parts_within(component: &[u8], depth: usize) -> Option<Vec<ComposedPart>> {
    let outline = Outline::read(component).ok()?;
    let chain = outline.chain()?;
    let mut parts = Vec::new();
    for index in chain {
        let bytes = outline.components.get(index as usize).copied().flatten()?;
        let inner = depth
            .checked_sub(1)
            .and_then(|depth| parts_within(bytes, depth));
        let part = || ComposedPart {
            name: outline.names.get(&index).cloned().unwrap_or_default(),
            digest: Digest::of(bytes),
            size_bytes: bytes.len() as u64,
        };
        parts.extend(inner.unwrap_or_else(|| vec![part()]));
    }
    Some(parts)
}

/// An instance in a component.
enum Instance<'a> {
    /// It is imported.
    Imported,
    /// It is made of a component inside, with the instance that it gets as its tool; everything else
    /// that it gets is imported.
    Made { component: u32, behind: Option<u32> },
    /// It is the export of another instance.
    Export { of: u32, name: &'a str },
    /// Anything else.
    Other,
}

/// The parts of a component and their connections; of nested components, only the bytes.
#[derive(Default)]
struct Outline<'a> {
    /// The components inside, in the order of their indexes; none for one that is not inside.
    components: Vec<Option<&'a [u8]>>,
    instances: Vec<Instance<'a>>,
    /// The names of the components inside.
    names: BTreeMap<u32, String>,
    /// The instance that is exported as the tool.
    tool: Option<u32>,
    /// True if it has anything else that could run.
    has_others: bool,
}

impl<'a> Outline<'a> {
    fn read(component: &'a [u8]) -> Result<Self, BinaryReaderError> {
        let mut outline = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            let payload = payload?;
            match &payload {
                Payload::Version { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                _ if depth == 1 => outline.add(component, payload)?,
                _ => {}
            }
        }
        Ok(outline)
    }

    fn add(&mut self, component: &'a [u8], payload: Payload<'a>) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::ComponentSection {
                unchecked_range, ..
            } => self.components.push(component.get(unchecked_range)),
            Payload::ComponentImportSection(imports) => {
                for import in imports {
                    match import?.ty {
                        ComponentTypeRef::Instance(_) => self.instances.push(Instance::Imported),
                        ComponentTypeRef::Component(_) => self.components.push(None),
                        _ => {}
                    }
                }
            }
            Payload::ComponentInstanceSection(instances) => {
                for instance in instances {
                    let made = self.made(&instance?);
                    self.instances.push(made);
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases {
                    self.add_alias(&alias?);
                }
            }
            Payload::ComponentExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    match export.kind {
                        ComponentExternalKind::Instance => {
                            if export.name.name == TOOL {
                                self.tool = Some(export.index);
                            }
                            self.instances.push(Instance::Other);
                        }
                        ComponentExternalKind::Component => self.components.push(None),
                        _ => {}
                    }
                }
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::ComponentName(names) = section.as_known() {
                    self.add_names(names)?;
                }
            }
            Payload::ComponentTypeSection(_) => {}
            _ => self.has_others = true,
        }
        Ok(())
    }

    fn made(&self, instance: &ComponentInstance<'a>) -> Instance<'a> {
        let ComponentInstance::Instantiate {
            component_index,
            args,
        } = instance
        else {
            return Instance::Other;
        };
        let mut behind = None;
        for argument in args {
            let given = self.instances.get(argument.index as usize);
            match (argument.kind, given) {
                (ComponentExternalKind::Type, _) => {}
                (ComponentExternalKind::Instance, Some(Instance::Imported)) => {}
                (ComponentExternalKind::Instance, Some(_)) if argument.name == TOOL => {
                    behind = Some(argument.index);
                }
                _ => return Instance::Other,
            }
        }
        Instance::Made {
            component: *component_index,
            behind,
        }
    }

    fn add_alias(&mut self, alias: &ComponentAlias<'a>) {
        match *alias {
            ComponentAlias::InstanceExport {
                kind: ComponentExternalKind::Instance,
                instance_index: of,
                name,
            } => self.instances.push(Instance::Export { of, name }),
            ComponentAlias::InstanceExport {
                kind: ComponentExternalKind::Component,
                ..
            }
            | ComponentAlias::Outer {
                kind: ComponentOuterAliasKind::Component,
                ..
            } => self.components.push(None),
            _ => {}
        }
    }

    fn add_names(
        &mut self,
        names: wasmparser::ComponentNameSectionReader<'a>,
    ) -> Result<(), BinaryReaderError> {
        for name in names {
            let ComponentName::Components(names) = name? else {
                continue;
            };
            for naming in names {
                let naming = naming?;
                let name = naming.name.chars().take(MAX_NAME).collect();
                self.names.insert(naming.index, name);
            }
        }
        Ok(())
    }

    /// Returns the indexes of the components that are connected as tools, the outermost first; none
    /// unless there are several and the component consists of them.
    fn chain(&self) -> Option<Vec<u32>> {
        let mut chain = Vec::new();
        let mut next = self.tool;
        while let Some(index) = next {
            let Some(Instance::Export { of, name: TOOL }) = self.instances.get(index as usize)
            else {
                return None;
            };
            let Some(Instance::Made { component, behind }) = self.instances.get(*of as usize)
            else {
                return None;
            };
            // Also ends a chain that leads back to itself, which is malformed.
            if self.has_others || chain.contains(component) {
                return None;
            }
            chain.push(*component);
            next = *behind;
        }
        let instances = self.instances.iter();
        let made = instances.filter(|it| matches!(it, Instance::Made { .. }));
        let is_all = chain.len() == self.components.len() && chain.len() == made.count();
        (chain.len() > 1 && is_all).then_some(chain)
    }
}
