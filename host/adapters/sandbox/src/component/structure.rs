//! Counts the items of a component before it is compiled. The compiler's time and memory are not
//! bounded by the size of its input, so components far larger than any toolchain's are refused.

#[cfg(test)]
mod tests;

use crate::component::{code::shorten, error::LoadError};
use wasmparser::{BinaryReaderError, Encoding, FunctionBody, Operator, Parser, Payload};

/// A counted item, as errors name it, and its largest number.
type Cap = (&'static str, u64);

/// The functions of all modules. Python and its standard library have 13,333. A million empty ones
/// take the compiler more than a gigabyte.
const FUNCTIONS: Cap = ("functions", 200_000);

/// The body of one function, in bytes. Python's largest has 417 KiB. One of 7.6 MB keeps the
/// compiler busy for long.
const FUNCTION_BYTES: Cap = ("bytes in one function", 1024 * 1024);

/// The loops of one function. Python has one with 81. The compiler's time grows with the square:
/// 10,000 loops take 7 seconds and fit into 30 KB.
const LOOPS: Cap = ("loops in one function", 1_000);

/// The blocks of all kinds in one function. Python has one with 3,112, because its interpreter
/// jumps to a block for each opcode.
const BLOCKS: Cap = ("blocks in one function", 50_000);

/// The nesting of blocks in one function. Python has 781; Go nests a block for each point at which
/// a function can resume.
const DEPTH: Cap = ("blocks inside each other", 10_000);

/// The local variables of one function, without its parameters. Python has one with 271.
const LOCALS: Cap = ("local variables in one function", 10_000);

/// The modules and components inside a component. Python has 17.
const MODULES: Cap = ("modules", 256);

/// The nesting of components. All five languages have modules in components in a component.
const NESTING: Cap = ("components inside each other", 32);

/// The exports, and the imports, of all modules and components. Python's modules have 4,208
/// exports, for each other.
const EXPORTS: Cap = ("exports", 100_000);
const IMPORTS: Cap = ("imports", 100_000);

/// The entries of all sections: types, imports, exports, tables, memories, globals, elements, data,
/// instances, aliases and canonical functions.
const ENTRIES: Cap = ("entries in its sections", 1_000_000);

/// The caps: each counted item, as errors name it, and its largest number.
pub const STRUCTURE_CAPS: [Cap; 11] = [
    FUNCTIONS,
    MODULES,
    NESTING,
    EXPORTS,
    IMPORTS,
    ENTRIES,
    FUNCTION_BYTES,
    LOCALS,
    LOOPS,
    BLOCKS,
    DEPTH,
];

/// Checks the structure of a component in one pass and constant memory.
///
/// # Errors
/// The bytes are no component, or exceed a cap.
pub(crate) fn check(bytes: &[u8]) -> Result<(), LoadError> {
    let (mut functions, mut modules, mut nesting) = (0, 0, 0_u64);
    let (mut exports, mut imports, mut entries) = (0, 0, 0);
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        let section = section_entries(&payload);
        match &payload {
            Payload::Version { encoding, .. } => {
                if modules == 0 && *encoding == Encoding::Module {
                    return Err(LoadError::CoreModule);
                }
                add(&mut modules, 1, MODULES)?;
                add(&mut nesting, 1, NESTING)?;
            }
            Payload::End(_) => nesting = nesting.saturating_sub(1),
            Payload::CodeSectionEntry(body) => {
                add(&mut functions, 1, FUNCTIONS)?;
                check_function(body)?;
            }
            Payload::ExportSection(_) | Payload::ComponentExportSection(_) => {
                add(&mut exports, section, EXPORTS)?;
            }
            Payload::ImportSection(_) | Payload::ComponentImportSection(_) => {
                add(&mut imports, section, IMPORTS)?;
            }
            _ => {}
        }
        add(&mut entries, section, ENTRIES)?;
    }
    Ok(())
}

impl From<BinaryReaderError> for LoadError {
    fn from(error: BinaryReaderError) -> Self {
        Self::NotAComponent(shorten(&error.to_string()))
    }
}

fn check_function(body: &FunctionBody<'_>) -> Result<(), LoadError> {
    let (mut locals, mut loops, mut blocks, mut depth) = (0, 0, 0, 0_u64);
    add(&mut 0, body.range().len() as u64, FUNCTION_BYTES)?;
    for local in body.get_locals_reader()? {
        add(&mut locals, local?.0.into(), LOCALS)?;
    }
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        match operator {
            Operator::Loop { .. }
            | Operator::Block { .. }
            | Operator::If { .. }
            | Operator::TryTable { .. } => {
                if matches!(operator, Operator::Loop { .. }) {
                    add(&mut loops, 1, LOOPS)?;
                }
                add(&mut blocks, 1, BLOCKS)?;
                add(&mut depth, 1, DEPTH)?;
            }
            Operator::End => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Adds to a count.
///
/// # Errors
/// The count is over its cap.
fn add(count: &mut u64, more: u64, (item, max): Cap) -> Result<(), LoadError> {
    *count = count.saturating_add(more);
    if *count > max {
        return Err(LoadError::TooComplex { item, max });
    }
    Ok(())
}

/// Returns the number of entries of one section.
fn section_entries(payload: &Payload<'_>) -> u64 {
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
