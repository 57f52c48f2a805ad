//! Counts the items of a component before it is compiled. The compiler's time and memory are not
//! bounded by the size of its input, so components far larger than any toolchain's are refused.

#[cfg(test)]
mod tests;

use wasmparser::{BinaryReaderError, Encoding, FunctionBody, Operator, Parser, Payload};

/// The functions of all modules. Python and its standard library have 13,333. A million empty ones
/// take the compiler more than a gigabyte.
const MAX_FUNCTIONS: u64 = 200_000;

/// The body of one function, in bytes. Python's largest has 417 KiB. One of 7.6 MB keeps the
/// compiler busy for long.
const MAX_FUNCTION_BYTES: u64 = 1024 * 1024;

/// The loops of one function. Python has one with 81. The compiler's time grows with the square:
/// 10,000 loops take 7 seconds and fit into 30 KB.
const MAX_LOOPS: u64 = 1_000;

/// The blocks of all kinds in one function. Python has one with 3,112, because its interpreter
/// jumps to a block for each opcode.
const MAX_BLOCKS: u64 = 50_000;

/// The nesting of blocks in one function. Python has 781; Go nests a block for each point at which
/// a function can resume.
const MAX_DEPTH: u64 = 10_000;

/// The local variables of one function, without its parameters. Python has one with 271.
const MAX_LOCALS: u64 = 10_000;

/// The modules and components inside a component. Python has 17.
const MAX_PARTS: u64 = 256;

/// The nesting of components. All five languages have modules in components in a component.
const MAX_NESTING: u64 = 32;

/// The exports, and the imports, of all modules and components. Python's modules have 4,208
/// exports, for each other.
const MAX_EXPORTS: u64 = 100_000;
const MAX_IMPORTS: u64 = 100_000;

/// The entries of all sections: types, imports, exports, tables, memories, globals, elements, data,
/// instances, aliases and canonical functions.
const MAX_ENTRIES: u64 = 1_000_000;

/// The caps: each counted item, as errors name it, and its largest number.
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

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StructureError {
    CoreModule,
    /// With the parser's message.
    Malformed(String),
    TooMany {
        item: &'static str,
        max: u64,
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

/// Checks the structure of a component.
///
/// # Errors
/// The bytes are no component, or exceed a cap.
pub(crate) fn check(bytes: &[u8]) -> Result<(), StructureError> {
    let mut counts = Counts::default();
    let mut first = true;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let Payload::Version { encoding, .. } = &payload {
            if first && *encoding == Encoding::Module {
                return Err(StructureError::CoreModule);
            }
            first = false;
            counts.parts += 1;
            counts.nesting += 1;
        }
        let entries = entries(&payload);
        counts.entries = counts.entries.saturating_add(entries);
        match &payload {
            Payload::End(_) => counts.nesting = counts.nesting.saturating_sub(1),
            Payload::CodeSectionEntry(body) => {
                counts.functions += 1;
                FunctionCounts::read(body)?.check()?;
            }
            Payload::ExportSection(_) | Payload::ComponentExportSection(_) => {
                counts.exports = counts.exports.saturating_add(entries);
            }
            Payload::ImportSection(_) | Payload::ComponentImportSection(_) => {
                counts.imports = counts.imports.saturating_add(entries);
            }
            _ => {}
        }
        counts.check()?;
    }
    Ok(())
}

impl From<BinaryReaderError> for StructureError {
    fn from(error: BinaryReaderError) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// The counts of one function.
#[derive(Default)]
struct FunctionCounts {
    bytes: u64,
    locals: u64,
    loops: u64,
    blocks: u64,
    depth: u64,
}

impl FunctionCounts {
    fn read(body: &FunctionBody<'_>) -> Result<Self, StructureError> {
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

    fn check(&self) -> Result<(), StructureError> {
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
    fn check(&self) -> Result<(), StructureError> {
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

/// Refuses the first count over its cap.
fn within(counts: &[(&'static str, u64, u64)]) -> Result<(), StructureError> {
    match counts.iter().find(|(_, count, max)| count > max) {
        Some(&(item, _, max)) => Err(StructureError::TooMany { item, max }),
        None => Ok(()),
    }
}

/// Returns the number of entries of one section.
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
        // Other payloads have no entries or are counted elsewhere; the enum grows with proposals.
        _ => 0,
    };
    u64::from(count)
}
