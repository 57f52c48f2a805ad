//! A source that fails when one part of what is read from it is too long: a value without an end
//! would fill the memory before a parser shows it.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// The longest value with what surrounds it, in bytes. A cell of a workbook has at most 32,767
/// characters.
pub(crate) const MAX_PART_BYTES: u64 = 1024 * 1024;

/// A source with a meter.
pub(crate) struct Metered<R> {
    source: R,
    meter: Meter,
}

/// The bytes that may still be read before the next reset.
#[derive(Clone)]
pub(crate) struct Meter(Rc<Cell<u64>>);

impl Meter {
    /// Starts a part.
    pub(crate) fn reset(&self) {
        self.0.set(MAX_PART_BYTES);
    }
}

impl<R> Metered<R> {
    pub(crate) fn new(source: R) -> (Self, Meter) {
        let meter = Meter(Rc::new(Cell::new(MAX_PART_BYTES)));
        let metered = Self {
            source,
            meter: meter.clone(),
        };
        (metered, meter)
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.meter.0.get() == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a value has more than {MAX_PART_BYTES} bytes"),
            ));
        }
        let count = self.source.read(buffer)?;
        self.meter
            .0
            .set(self.meter.0.get().saturating_sub(count as u64));
        Ok(count)
    }
}
