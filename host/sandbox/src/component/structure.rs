//! Counts what a component is made of, before the compiler sees it. The compiler's time and memory are not bounded by the bytes
//! of its input, so components far outside what real toolchains make are refused by their structure.

#[cfg(test)]
mod tests;

use wasmparser::{BinaryReaderError, Encoding, FunctionBody, Operator, Parser, Payload};

/// The functions of all modules. Python and its standard library have 13,333. A million empty ones take the compiler more than a
/// gigabyte.
const MAX_FUNCTIONS: u64 = 200_000;

/// The body of one function, in bytes. The largest of Python's has 417 KiB. One of 7.6 MB keeps the compiler busy for long.
const MAX_FUNCTION_BYTES: u64 = 1024 * 1024;

/// The loops of one function. Python has one with 81. The compiler's time grows with the square of their number: 10,000 take it
/// 7 seconds, and they fit into 30 KB.
const MAX_LOOPS: u64 = 1_000;

/// The blocks of all kinds in one function. Python has one with 3,112, since it has a place to jump to for each instruction of
/// its own.
const MAX_BLOCKS: u64 = 50_000;

/// How deep blocks are nested in one function. Python has 781; Go nests a block for each place at which a function can resume.
const MAX_DEPTH: u64 = 10_000;

/// The local variables of one function, without its parameters. Python has one with 271.
const MAX_LOCALS: u64 = 10_000;

/// The modules and components inside a component. Python's has 17.
const MAX_PARTS: u64 = 256;

/// How deep components are nested. All five languages have modules in components in a component.
const MAX_NESTING: u64 = 32;

/// The exports, and the imports, of all modules and components. Python's modules have 4,208 exports, for each other.
const MAX_EXPORTS: u64 = 100_000;
const MAX_IMPORTS: u64 = 100_000;

/// The entries of all type, import, export, table, memory, global, element, data, instance, alias and canonical sections.
const MAX_ENTRIES: u64 = 1_000_000;

/// The caps, by the words of the errors: what is counted, and the most that is taken of it.
pub const STRUCTURE_CAPS: [(&str, u64); 11] = [
    ("functions", MAX_FUNCTIONS),
    ("modules", MAX_PARTS),
    ("components inside each other", MAX_NESTING),
    ("exports", MAX_EXPORTS),
    ("imports", MAX_IMPORTS),
    ("entries in its sections", MAX_ENTRIES),
    ("bytes in one function", MAX_FUNCTION_BYTES),
    ("local variables in one function", MAX_LOCALS),
    ("loops in one function", MAX_LOOPS),
    ("blocks in one function", MAX_BLOCKS),
    ("blocks inside each other", MAX_DEPTH),
];

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
    nesting: u64,
    exports: u64,
    imports: u64,
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
        let payload = payload?;
        if let Payload::Version { encoding, .. } = &payload {
            if first && *encoding == Encoding::Module {
                return Err(StructureFault::CoreModule);
            }
            first = false;
            counts.parts += 1;
            counts.nesting += 1;
        }
        match &payload {
            Payload::End(_) => counts.nesting = counts.nesting.saturating_sub(1),
            Payload::CodeSectionEntry(body) => {
                counts.functions += 1;
                Body::read(body)?.check()?;
            }
            _ => {}
        }
        let (exports, imports) = names(&payload);
        counts.exports = counts.exports.saturating_add(exports);
        counts.imports = counts.imports.saturating_add(imports);
        counts.entries = counts.entries.saturating_add(entries(&payload));
        counts.check()?;
    }
    Ok(())
}

impl From<BinaryReaderError> for StructureFault {
    fn from(error: BinaryReaderError) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// What one function is made of.
#[derive(Default)]
struct Body {
    bytes: u64,
    locals: u64,
    loops: u64,
    blocks: u64,
    depth: u64,
}

impl Body {
    fn read(body: &FunctionBody<'_>) -> Result<Self, StructureFault> {
        let mut counts = Self {
            bytes: body.range().len() as u64,
            ..Self::default()
        };
        if counts.bytes > MAX_FUNCTION_BYTES {
            return Ok(counts);
        }
        for local in body.get_locals_reader()? {
            counts.locals = counts.locals.saturating_add(local?.0.into());
        }
        let mut depth = 0_u64;
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Loop { .. } => {
                    counts.loops += 1;
                    counts.blocks += 1;
                    depth += 1;
                }
                Operator::Block { .. } | Operator::If { .. } | Operator::TryTable { .. } => {
                    counts.blocks += 1;
                    depth += 1;
                }
                Operator::End => depth = depth.saturating_sub(1),
                _ => {}
            }
            counts.depth = counts.depth.max(depth);
        }
        Ok(counts)
    }

    fn check(&self) -> Result<(), StructureFault> {
        within(&[
            ("bytes in one function", self.bytes, MAX_FUNCTION_BYTES),
            ("local variables in one function", self.locals, MAX_LOCALS),
            ("loops in one function", self.loops, MAX_LOOPS),
            ("blocks in one function", self.blocks, MAX_BLOCKS),
            ("blocks inside each other", self.depth, MAX_DEPTH),
        ])
    }
}

impl Counts {
    fn check(&self) -> Result<(), StructureFault> {
        within(&[
            ("functions", self.functions, MAX_FUNCTIONS),
            ("modules", self.parts, MAX_PARTS),
            ("components inside each other", self.nesting, MAX_NESTING),
            ("exports", self.exports, MAX_EXPORTS),
            ("imports", self.imports, MAX_IMPORTS),
            ("entries in its sections", self.entries, MAX_ENTRIES),
        ])
    }
}

/// Refuses the first of these that there is too much of.
fn within(counts: &[(&'static str, u64, u64)]) -> Result<(), StructureFault> {
    match counts.iter().find(|(_, count, most)| count > most) {
        Some(&(what, _, most)) => Err(StructureFault::TooMuch { what, most }),
        None => Ok(()),
    }
}

/// The exports and the imports of one section.
fn names(payload: &Payload<'_>) -> (u64, u64) {
    let (exports, imports) = match payload {
        Payload::ExportSection(section) => (section.count(), 0),
        Payload::ComponentExportSection(section) => (section.count(), 0),
        Payload::ImportSection(section) => (0, section.count()),
        Payload::ComponentImportSection(section) => (0, section.count()),
        _ => (0, 0),
    };
    (exports.into(), imports.into())
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
