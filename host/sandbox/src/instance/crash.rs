//! The message with which a guest crashed. Runtimes write it to stderr before they trap, and a trap
//! itself has none.

#[cfg(test)]
mod tests;

/// The beginnings of a line with a message: of Go, of the SDK for C, and of those for Python and
/// JavaScript.
const MARKS: [&str; 3] = ["panic: ", "fatal error: ", "Uncaught "];

/// The part of the line before that with the message, of Rust.
const RUST_MARK: &str = " panicked at ";

/// Returns the first line of the last message of a crash in a guest's stderr. The place in the
/// source, the stack, and all else in stderr are for the tool's author alone.
pub(super) fn message(stderr: &str) -> Option<&str> {
    let mut found = None;
    let mut lines = stderr.lines();
    while let Some(line) = lines.next() {
        if line.contains(RUST_MARK) {
            found = lines.next().or(found);
        } else {
            let marked = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
            found = marked.or(found);
        }
    }
    found.map(str::trim).filter(|message| !message.is_empty())
}
