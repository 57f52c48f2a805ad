//! Components that are small to send and costly to compile, generated as bytes since their text
//! would be larger.

use super::case::from_text;

/// The first bytes of a core module and of a component: magic number, version, layer.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Section numbers, of core modules and of components.
mod id {
    pub(super) const CUSTOM: u8 = 0;
    pub(super) const TYPE: u8 = 1;
    pub(super) const FUNCTION: u8 = 3;
    pub(super) const EXPORT: u8 = 7;
    pub(super) const CODE: u8 = 10;
    pub(super) const CORE_MODULE: u8 = 1;
    pub(super) const INNER_COMPONENT: u8 = 4;
    pub(super) const COMPONENT_EXPORT: u8 = 11;
}

const NOP: u8 = 0x01;
const BLOCK_EMPTY: [u8; 2] = [0x02, 0x40];
const LOOP_EMPTY: [u8; 2] = [0x03, 0x40];
const END: u8 = 0x0b;
const I32: u8 = 0x7f;

/// An unsigned number in LEB128.
fn leb(mut number: usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            out.push(low);
            return out;
        }
        out.push(low | 0x80);
    }
}

/// Bytes prefixed with their length.
fn counted(bytes: &[u8]) -> Vec<u8> {
    [leb(bytes.len()).as_slice(), bytes].concat()
}

fn section(id: u8, body: &[u8]) -> Vec<u8> {
    [&[id], counted(body).as_slice()].concat()
}

/// A component around a core module of these sections.
fn component(sections: &[Vec<u8>]) -> Vec<u8> {
    let module = [MODULE, sections.concat().as_slice()].concat();
    [COMPONENT, section(id::CORE_MODULE, &module).as_slice()].concat()
}

/// The sections of a module with `n` functions of this body, without parameters and results.
fn functions(count: usize, body: &[u8]) -> Vec<Vec<u8>> {
    let types = [1, 0x60, 0, 0];
    let declared = [leb(count), vec![0; count]].concat();
    let code = [leb(count), counted(body).repeat(count)].concat();
    vec![
        section(id::TYPE, &types),
        section(id::FUNCTION, &declared),
        section(id::CODE, &code),
    ]
}

/// A function body without locals.
fn body(code: &[u8]) -> Vec<u8> {
    [&[0], code, &[END]].concat()
}

/// Functions that do nothing.
pub(crate) fn empty_functions(count: usize) -> Vec<u8> {
    component(&functions(count, &body(&[])))
}

/// Functions with consecutive empty loops.
pub(crate) fn flat_loops(count: usize, loops: usize) -> Vec<u8> {
    let code = [LOOP_EMPTY[0], LOOP_EMPTY[1], END].repeat(loops);
    component(&functions(count, &body(&code)))
}

/// One function with nested loops.
pub(crate) fn nested_loops(depth: usize) -> Vec<u8> {
    component(&functions(1, &body(&nested(LOOP_EMPTY, depth))))
}

/// Functions with nested blocks.
pub(crate) fn nested_blocks(count: usize, depth: usize) -> Vec<u8> {
    component(&functions(count, &body(&nested(BLOCK_EMPTY, depth))))
}

fn nested(begin: [u8; 2], depth: usize) -> Vec<u8> {
    [begin.repeat(depth), vec![END; depth]].concat()
}

/// One function of `n` instructions.
pub(crate) fn long_function(instructions: usize) -> Vec<u8> {
    component(&functions(1, &body(&vec![NOP; instructions])))
}

/// Functions with `n` locals each.
pub(crate) fn locals(count: usize, locals: usize) -> Vec<u8> {
    let body = [&[1], leb(locals).as_slice(), &[I32, END]].concat();
    component(&functions(count, &body))
}

/// A module that exports one function under many names.
pub(crate) fn exports(count: usize) -> Vec<u8> {
    let mut sections = functions(1, &body(&[]));
    let mut names = leb(count);
    for index in 0..count {
        names.extend(counted(format!("{index:x}").as_bytes()));
        names.extend([0, 0]);
    }
    sections.insert(2, section(id::EXPORT, &names));
    component(&sections)
}

/// Nested components.
pub(crate) fn nested_components(depth: usize) -> Vec<u8> {
    let mut inner = COMPONENT.to_vec();
    for _ in 0..depth {
        inner = [COMPONENT, section(id::INNER_COMPONENT, &inner).as_slice()].concat();
    }
    inner
}

/// Functions that do nothing, each with a name of `n` letters.
pub(crate) fn named_functions(count: usize, letters: usize) -> Vec<u8> {
    /// The part of a name section that names functions.
    const FUNCTION_NAMES: u8 = 1;
    let mut names = leb(count);
    for index in 0..count {
        names.extend(leb(index));
        names.extend(counted(format!("{index:0letters$}").as_bytes()));
    }
    let section_of_names = [counted(b"name"), section(FUNCTION_NAMES, &names)].concat();
    let module = [
        MODULE.to_vec(),
        functions(count, &body(&[])).concat(),
        section(id::CUSTOM, &section_of_names),
    ]
    .concat();
    [good(), section(id::CORE_MODULE, &module)].concat()
}

/// A valid guest with a custom section of this name and size at its end.
pub(crate) fn with_custom_section(name: &str, bytes: usize) -> Vec<u8> {
    let content = [counted(name.as_bytes()), vec![b'x'; bytes]].concat();
    [good(), section(id::CUSTOM, &content)].concat()
}

/// A harmless guest: it returns its arguments.
pub(crate) fn good() -> Vec<u8> {
    from_text("")
}

/// The offsets of a component's sections, up to its export, the last one that is not a custom
/// section.
pub(crate) fn borders(component: &[u8]) -> Vec<usize> {
    let mut at = COMPONENT.len();
    let mut borders = vec![at];
    while component[at] != id::COMPONENT_EXPORT {
        let (mut length, mut shift) = (0, 0);
        at += 1;
        loop {
            let byte = component[at];
            at += 1;
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        at += length;
        borders.push(at);
    }
    borders
}

/// Copies of a component with one byte changed in each, the same in every run.
pub(crate) fn mutations(component: &[u8], count: usize) -> Vec<(usize, Vec<u8>)> {
    // Numerical Recipes' linear congruential generator: the bytes need to be spread, not
    // unpredictable.
    let mut state: u32 = 20_261_121;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    (0..count)
        .map(|_| {
            let mut copy = component.to_vec();
            let at = next() as usize % copy.len();
            let flip = u8::try_from(1 + next() % 255).unwrap();
            copy[at] ^= flip;
            (at, copy)
        })
        .collect()
}
