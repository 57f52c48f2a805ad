//! The memory between a plugin and its host, the state of a call, and the way into the plugin.
#![expect(unsafe_code, reason = "the host uses these functions by their names")]

use crate::fail;
use std::{
    collections::BTreeMap,
    hint::black_box,
    ops::Range,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

/// The operations of the function in the slot of [`unlinked`].
const CALL: i32 = 0;
const LOAD: i32 = 1;
const STORE: i32 = 2;

/// The address of the first block. All are below 4 GiB, because plugins shorten them.
const FIRST: u64 = 16;

static KERNEL: LazyLock<Mutex<Kernel>> = LazyLock::new(Mutex::default);

/// The state that the functions of the ABI share.
#[derive(Default)]
pub(crate) struct Kernel {
    /// A line for each function that is called.
    functions: Vec<u8>,
    /// The blocks by their addresses, so that each address is checked.
    blocks: BTreeMap<u64, Vec<u8>>,
    /// The address of the input.
    pub(crate) input: u64,
    /// The address and the length of the output, which may be written later.
    pub(crate) output: (u64, u64),
    /// The address of the error; zero without one.
    pub(crate) error: u64,
    pub(crate) variables: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The status and header fields (as JSON) of the last response.
    pub(crate) status: u16,
    pub(crate) headers: String,
}

/// Locks the kernel. No lock is held while the plugin runs.
pub(crate) fn kernel() -> MutexGuard<'static, Kernel> {
    KERNEL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kernel {
    /// Returns the names of the functions that are called.
    pub(crate) fn functions(&self) -> Vec<String> {
        let names = String::from_utf8_lossy(&self.functions);
        let names = names.split('\n').filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// Allocates a block; an empty one has the address zero.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let last = self.blocks.last_key_value();
        let end = last.map_or(FIRST, |(at, block)| at + block.len() as u64);
        let (at, mut block) = (end.next_multiple_of(FIRST), Vec::new());
        match u32::try_from(at.saturating_add(bytes)) {
            _ if bytes == 0 => return 0,
            Ok(_) if block.try_reserve_exact(bytes as usize).is_ok() => (),
            _ => fail("the memory is full"),
        }
        block.resize(bytes as usize, 0);
        self.blocks.insert(at, block);
        at
    }

    /// Allocates a block with these bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.allocate(bytes.len() as u64);
        self.store(at, bytes);
        at
    }

    /// Takes a block out of the memory; empty if there is none. A function owns its arguments.
    pub(crate) fn take(&mut self, at: u64) -> Vec<u8> {
        self.blocks.remove(&at).unwrap_or_default()
    }

    /// Returns the length of a block; zero if there is none.
    pub(crate) fn length(&self, at: u64) -> u64 {
        self.blocks.get(&at).map_or(0, |block| block.len() as u64)
    }

    /// Reads bytes; `None` outside of a block.
    pub(crate) fn get(&self, at: u64, bytes: u64) -> Option<&[u8]> {
        let (start, block) = self.blocks.range(..=at).next_back()?;
        block.get(range(at - start, bytes))
    }

    /// Reads bytes; zeros outside of a block, as other hosts do.
    pub(crate) fn load<const N: usize>(&self, at: u64) -> [u8; N] {
        let bytes = self.get(at, N as u64).unwrap_or_default();
        bytes.try_into().unwrap_or([0; N])
    }

    /// Writes bytes; nothing outside of a block, as other hosts do.
    pub(crate) fn store(&mut self, at: u64, bytes: &[u8]) {
        let block = self.blocks.range_mut(..=at).next_back();
        let range = |start| range(at - start, bytes.len() as u64);
        if let Some(place) = block.and_then(|(start, block)| block.get_mut(range(*start))) {
            place.copy_from_slice(bytes);
        }
    }
}

/// Returns a range of a block.
fn range(start: u64, bytes: u64) -> Range<usize> {
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    index(start)..index(start.saturating_add(bytes))
}

/// Calls a function of the plugin; fails with its own error.
pub(crate) fn run(function: &str, input: &[u8]) -> Result<Vec<u8>, String> {
    let functions = kernel().functions();
    let mut functions = (0..).zip(functions);
    let Some((index, _)) = functions.find(|(_, name)| *name == function) else {
        return Err(format!("the plugin has no function `{function}`"));
    };
    let input = kernel().put(input);
    kernel().input = input;
    let code = slot(CALL, index, 0);
    let mut kernel = kernel();
    let (error, (at, bytes)) = (kernel.error, kernel.output);
    match (error, code) {
        (0, 0) if bytes == 0 => Ok(Vec::new()),
        (0, 0) => match kernel.get(at, bytes) {
            Some(output) => Ok(output.to_vec()),
            None => fail("the plugin's output is outside of its memory"),
        },
        (0, code) => Err(format!("the plugin returned the code {code} and no error")),
        (error, _) => Err(String::from_utf8_lossy(&kernel.take(error)).into_owned()),
    }
}

/// Reads bytes of the plugin's own memory.
pub(crate) fn load(at: i32, bytes: i32) -> Vec<u8> {
    let addresses = at..at.saturating_add(bytes);
    addresses.map(|at| slot(LOAD, at, 0) as u8).collect()
}

/// Writes bytes into the plugin's own memory.
pub(crate) fn store(at: i32, bytes: &[u8]) {
    for (at, byte) in (at..).zip(bytes) {
        slot(STORE, at, i32::from(*byte));
    }
}

fn slot(operation: i32, first: i32, second: i32) -> i32 {
    // The compiler must not see which function it is.
    let function: extern "C" fn(i32, i32, i32) -> i32 = black_box(unlinked);
    function(operation, first, second)
}

/// Stands in the slot until the host puts a function there.
extern "C" fn unlinked(_: i32, _: i32, _: i32) -> i32 {
    fail("the plugin uses WASI before it is linked")
}

/// Returns the slot: an index in the table of functions.
#[unsafe(no_mangle)]
extern "C" fn extism_slot() -> usize {
    unlinked as *const () as usize
}

/// Adds a byte to the names of the functions.
#[unsafe(no_mangle)]
extern "C" fn extism_name(byte: u8) {
    kernel().functions.push(byte);
}
