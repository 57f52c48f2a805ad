//! Counts what a component is made of, before the compiler sees it. The compiler's time and memory are not bounded by the bytes
//! of its input, so components far outside what real toolchains make are refused by their structure.

#[cfg(test)]
mod tests;

use wasmparser::{Encoding, Parser, Payload};

/// The functions of all modules. Python and its standard library have about 20,000.
const MAX_FUNCTIONS: u64 = 200_000;

/// The body of one function, in bytes. The interpreters' main loops have up to about 100 KiB.
const MAX_FUNCTION_BYTES: usize = 1024 * 1024;

/// The modules and components inside a component. Python's has 14.
const MAX_PARTS: u64 = 256;

/// The entries of all type, import, export, table, memory, global, element, data, instance, alias and canonical sections.
const MAX_ENTRIES: u64 = 1_000_000;

/// What is wrong with the structure.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StructureFault {
    /// It is a core module.
    #[error("it is a core WebAssembly module")]
    CoreModule,
    /// It cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// It is larger than what is compiled here.
    #[error("it has more than {most} {what}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much is taken.
        most: u64,
    },
}

#[derive(Default)]
struct Counts {
    functions: u64,
    parts: u64,
    entries: u64,
}

/// Reads the structure of a component, once from begin to end, and keeps nothing.
///
/// # Errors
/// When it is no component, or too large a one.
pub(crate) fn check(bytes: &[u8]) -> Result<(), StructureFault> {
    let mut counts = Counts::default();
    let mut first = true;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| StructureFault::Malformed(error.to_string()))?;
        if let Payload::Version { encoding, .. } = &payload {
            if first && *encoding == Encoding::Module {
                return Err(StructureFault::CoreModule);
            }
            first = false;
            counts.parts += 1;
        }
        if let Payload::CodeSectionEntry(body) = &payload {
            counts.functions += 1;
            if body.range().len() > MAX_FUNCTION_BYTES {
                return Err(StructureFault::TooMuch {
                    what: "bytes in one function",
                    most: MAX_FUNCTION_BYTES as u64,
                });
            }
        }
        counts.entries = counts.entries.saturating_add(entries(&payload));
        counts.check()?;
    }
    Ok(())
}

impl Counts {
    fn check(&self) -> Result<(), StructureFault> {
        for (what, count, most) in [
            ("functions", self.functions, MAX_FUNCTIONS),
            ("modules", self.parts, MAX_PARTS),
            ("entries in its sections", self.entries, MAX_ENTRIES),
        ] {
            if count > most {
                return Err(StructureFault::TooMuch { what, most });
            }
        }
        Ok(())
    }
}

/// The entries of one section.
fn entries(payload: &Payload<'_>) -> u64 {
    let count = match payload {
        Payload::TypeSection(section) => section.count(),
        Payload::ImportSection(section) => section.count(),
        Payload::FunctionSection(section) => section.count(),
        Payload::TableSection(section) => section.count(),
        Payload::MemorySection(section) => section.count(),
        Payload::GlobalSection(section) => section.count(),
        Payload::ExportSection(section) => section.count(),
        Payload::ElementSection(section) => section.count(),
        Payload::DataSection(section) => section.count(),
        Payload::InstanceSection(section) => section.count(),
        Payload::CoreTypeSection(section) => section.count(),
        Payload::ComponentInstanceSection(section) => section.count(),
        Payload::ComponentAliasSection(section) => section.count(),
        Payload::ComponentTypeSection(section) => section.count(),
        Payload::ComponentCanonicalSection(section) => section.count(),
        Payload::ComponentImportSection(section) => section.count(),
        Payload::ComponentExportSection(section) => section.count(),
        // wasmparser's enum grows with the proposals; what else there is has no entries or is counted above.
        _ => 0,
    };
    u64::from(count)
}
