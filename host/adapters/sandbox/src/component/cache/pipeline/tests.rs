use super::*;
use pretty_assertions::assert_eq;

/// Returns `bytes` bytes that depend on their offset, a thousand at a time, then ends or fails.
struct Source {
    bytes: usize,
    given: usize,
    fails: bool,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.bytes - self.given;
        if left == 0 && self.fails {
            return Err(io::Error::other("the source failed"));
        }
        let size = buffer.len().min(left).min(1000);
        for (byte, offset) in buffer.iter_mut().zip(self.given..self.given + size) {
            *byte = value(offset);
        }
        self.given += size;
        Ok(size)
    }
}

fn expected(bytes: usize) -> Vec<u8> {
    (0..bytes).map(value).collect()
}

fn value(offset: usize) -> u8 {
    u8::try_from(offset % 251).unwrap()
}

/// Takes at most `capacity` bytes.
struct Sink {
    capacity: usize,
    taken: Vec<u8>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.taken.len() + bytes.len() > self.capacity {
            return Err(io::Error::other("the sink is full"));
        }
        self.taken.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn copied(bytes: usize, fails: bool, capacity: usize) -> Result<Vec<u8>, String> {
    let mut source = Source {
        bytes,
        given: 0,
        fails,
    };
    let mut sink = Sink {
        capacity,
        taken: Vec::new(),
    };
    copy(&mut source, &mut sink)
        .map(|()| sink.taken)
        .map_err(|error| error.to_string())
}

#[test]
fn copy_preserves_all_bytes_in_order() {
    for bytes in [
        0,
        1,
        CHUNK_BYTES - 1,
        CHUNK_BYTES,
        CHUNK_BYTES + 1,
        7 * CHUNK_BYTES + 3,
    ] {
        let arrived = copied(bytes, false, usize::MAX).unwrap();
        assert!(arrived == expected(bytes), "{bytes} bytes");
    }
}

#[test]
fn error_of_either_side_ends_the_copy() {
    let cases = [
        (1, true, usize::MAX, "the source failed"),
        (CHUNK_BYTES, true, usize::MAX, "the source failed"),
        (9 * CHUNK_BYTES, true, usize::MAX, "the source failed"),
        (1, false, 0, "the sink is full"),
        (9 * CHUNK_BYTES, false, 0, "the sink is full"),
        (9 * CHUNK_BYTES, false, 2 * CHUNK_BYTES, "the sink is full"),
    ];
    for (bytes, fails, capacity, why) in cases {
        assert_eq!(
            copied(bytes, fails, capacity),
            Err(why.to_owned()),
            "{bytes} {capacity}"
        );
    }
}
