//! Reads a component's producers and interface from its untrusted bytes. The result is only
//! displayed.

#[cfg(test)]
mod tests;

use crate::{
    decode::decode,
    parts::{self, ComposedPart},
    toolchain_fault,
};
use agent_host_types::reason::Reason;
use serde::Serialize;
use std::collections::BTreeMap;
use wasmparser::{BinaryReaderError, ImportSectionReader, KnownCustom, Parser, Payload};
use wit_component::{DecodedWasm, WitPrinter};

/// The maximum of producers. Toolchains leave about 10.
const MAX_PRODUCERS: usize = 64;

/// The maximum of bytes of a producer's name and of its version.
const MAX_PRODUCER_BYTES: usize = 128;

/// The maximum of bytes of an interface. A tool that imports everything has 6 KiB.
const MAX_WIT_BYTES: usize = 256 * 1024;

/// The namespace of the standard interfaces, which are not printed.
const STANDARD: &str = "wasi";

/// The names and versions of the producers in the fields `language`, `processed-by` and `sdk`.
pub type Producers = BTreeMap<String, BTreeMap<String, String>>;

/// The language that a component was written in, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenIn {
    /// The languages, separated by commas.
    pub language: String,
    /// Where it is said.
    pub source: LanguageSource,
}

/// Where the language of a component is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LanguageSource {
    /// In the metadata of the component itself.
    Component,
    /// By the names in its modules, which are those of a toolchain that writes no metadata.
    Toolchain,
    /// In the metadata of the modules inside, which may be those of a runtime or an adapter.
    Modules,
}

/// The beginning of the names in the modules of a toolchain that does not say which language its
/// components are in; the modules inside name that of its runtime.
const RUNTIMES: [(&str, &str); 1] = [("libcomponentize_py_runtime.so", "Python")];

/// The field of a component's producers with its languages.
const LANGUAGE: &str = "language";

/// The description of a component. Each part is present or has the reason why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The producers of it and of the modules and components inside.
    pub producers: Result<Producers, Reason>,
    /// The language, if anything says it.
    pub written_in: Option<WrittenIn>,
    /// The imports and exports as WIT, with all packages except the standard ones.
    pub wit: Result<String, Reason>,
    /// The functions that are faulty by a known fault of its toolchain, each with the consequence.
    pub warnings: Vec<String>,
    /// The parts of a composed component, the outermost filter first and the tool last; none for one
    /// that is not composed.
    pub parts: Vec<ComposedPart>,
}

impl Description {
    /// Reads a component. It takes as long as validation, and the parsing libraries may panic on
    /// malformed bytes: call it where a panic is harmless.
    #[must_use]
    pub fn from_component(component: &[u8]) -> Self {
        let (producers, written_in) = match producers(component) {
            Ok((producers, written_in)) => (Ok(producers), written_in),
            Err(error) => (Err(error.to_string().into()), None),
        };
        let decoded = decode(component);
        let warnings = match (&producers, &decoded) {
            (Ok(producers), Ok(DecodedWasm::Component(resolve, world))) => {
                toolchain_fault::warnings(producers, resolve, *world)
            }
            _ => Vec::new(),
        };
        Self {
            producers,
            written_in,
            wit: decoded.and_then(|decoded| wit(&decoded)),
            warnings,
            parts: parts::parts(component),
        }
    }

    /// Returns a description with the reason `why` in place of each part.
    #[must_use]
    pub fn unreadable(why: &str) -> Self {
        Self {
            producers: Err(why.into()),
            written_in: None,
            wit: Err(why.into()),
            warnings: Vec::new(),
            parts: Vec::new(),
        }
    }
}

fn producers(component: &[u8]) -> Result<(Producers, Option<WrittenIn>), BinaryReaderError> {
    let mut found = Producers::new();
    let mut count = 0;
    let (mut depth, mut own, mut runtime) = (0_usize, None, None);
    // Nested modules and components come first, so the outermost value wins.
    for payload in Parser::new(0).parse_all(component) {
        let section = match payload? {
            Payload::Version { .. } => {
                depth += 1;
                continue;
            }
            Payload::End(_) => {
                depth = depth.saturating_sub(1);
                continue;
            }
            Payload::ImportSection(imports) if runtime.is_none() => {
                runtime = runtime_of(imports)?;
                continue;
            }
            Payload::CustomSection(section) => section,
            _ => continue,
        };
        let KnownCustom::Producers(fields) = section.as_known() else {
            continue;
        };
        for field in fields {
            let field = field?;
            for value in field.values {
                let value = value?;
                if count == MAX_PRODUCERS {
                    break;
                }
                count += 1;
                if depth == 1 && field.name == LANGUAGE {
                    own.get_or_insert_with(Vec::new)
                        .push(versioned(value.name, value.version));
                }
                let versions = found.entry(bounded(field.name)).or_default();
                versions.insert(bounded(value.name), bounded(value.version));
            }
        }
    }
    let modules = found.get(LANGUAGE).map(|names| {
        let names = names.iter();
        names
            .map(|(name, version)| versioned(name, version))
            .collect()
    });
    let written_in = match (own, runtime) {
        (Some(own), _) => Some((own, LanguageSource::Component)),
        (None, Some(language)) => Some((vec![language], LanguageSource::Toolchain)),
        (None, None) => modules.map(|names| (names, LanguageSource::Modules)),
    };
    let written_in = written_in.map(|(names, source): (Vec<String>, _)| WrittenIn {
        language: names.join(", "),
        source,
    });
    Ok((found, written_in))
}

/// Returns the language whose runtime a module imports from.
fn runtime_of(imports: ImportSectionReader<'_>) -> Result<Option<String>, BinaryReaderError> {
    for import in imports.into_imports() {
        let import = import?;
        let is_of = |(prefix, _): &&(&str, &str)| {
            import.module.starts_with(prefix) || import.name.starts_with(prefix)
        };
        if let Some((_, language)) = RUNTIMES.iter().find(is_of) {
            return Ok(Some((*language).to_owned()));
        }
    }
    Ok(None)
}

fn versioned(name: &str, version: &str) -> String {
    format!("{} {}", bounded(name), bounded(version))
        .trim_end()
        .to_owned()
}

fn bounded(text: &str) -> String {
    let mut text = text.to_owned();
    text.truncate(text.floor_char_boundary(MAX_PRODUCER_BYTES));
    text
}

fn wit(decoded: &DecodedWasm) -> Result<String, Reason> {
    let (resolve, root) = (decoded.resolve(), decoded.package());
    let others = resolve
        .packages
        .iter()
        .filter(|(id, package)| *id != root && package.name.namespace != STANDARD)
        .map(|(id, _)| id);
    let mut printer = WitPrinter::default();
    printer
        .print(resolve, root, &others.collect::<Vec<_>>())
        .map_err(|error| format!("{error:#}"))?;
    let mut text = String::from(printer.output);
    if text.len() > MAX_WIT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_WIT_BYTES));
        text.push_str("\n// The rest is truncated.\n");
    }
    Ok(text)
}
