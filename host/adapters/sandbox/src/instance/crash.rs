//! The message with which a guest crashed. Runtimes write it to stderr before they trap, and a trap
//! itself has none.

#[cfg(test)]
mod tests;

/// The beginnings of a line with a message: of Go, of C++, of the SDK for C, and of those for
/// Python and JavaScript.
const MARKS: [&str; 4] = ["panic: ", "fatal error: ", "libc++abi: ", UNCAUGHT];

/// The mark of our SDKs, whose components crash by their runtime's own means after it.
const UNCAUGHT: &str = "Uncaught ";

/// The part of the line before that with the message, of Rust.
const RUST_MARK: &str = " panicked at ";

/// The beginning of a line of C's `assert`, which ends with the place in the source.
const ASSERT_MARK: &str = "Assertion failed: ";

/// The message with which componentize-py panics after it printed an exception of Python, and the
/// line before the frames of one.
const PYTHON_PANIC: &str = "Python function threw an unexpected exception";
const PYTHON_MARK: &str = "Traceback (most recent call last):";

/// The line with which the engine of componentize-js aborts after it printed what was thrown; the
/// line before the frames of an error; and the beginning of that of its cause.
const JAVASCRIPT_ABORT: &str = "Redirecting call to abort() to mozalloc_abort";
const JAVASCRIPT_STACK: &str = "Stack:";
const JAVASCRIPT_CAUSE: &str = "Caused by: ";

/// Returns the first line of the last message of a crash in a guest's stderr. The place in the
/// source, the stack, and all else in stderr are for the tool's author alone.
pub(super) fn message(stderr: &str) -> Option<&str> {
    let mut found = None;
    let mut python = None;
    let mut all = Vec::new();
    let mut lines = stderr.lines();
    while let Some(line) = lines.next() {
        if line.contains(RUST_MARK) {
            let panic = lines.next();
            let is_python = panic.is_some_and(|panic| panic.trim() == PYTHON_PANIC);
            found = python.filter(|_| is_python).or(panic).or(found);
        } else if line == PYTHON_MARK {
            python = lines.find(|line| !line.starts_with(' ')).or(python);
        } else if let Some(assertion) = line.strip_prefix(ASSERT_MARK) {
            found = Some(without_place(assertion));
        } else if line == JAVASCRIPT_ABORT {
            let is_told = all.iter().any(|line: &&str| line.starts_with(UNCAUGHT));
            found = found.filter(|_| is_told).or_else(|| thrown(&all)).or(found);
        } else {
            let marked = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
            found = marked.or(found);
        }
        all.push(line);
    }
    found.map(str::trim).filter(|message| !message.is_empty())
}

/// Removes the place at the end of a failed assertion: `x > 0 (tool.c: run: 3)`.
fn without_place(assertion: &str) -> &str {
    match assertion.rsplit_once(" (") {
        Some((expression, place)) if place.ends_with(')') => expression,
        _ => assertion,
    }
}

/// Returns what a function of JavaScript threw: the last line before the frames, or before the end
/// for a value without a stack.
fn thrown<'s>(lines: &[&'s str]) -> Option<&'s str> {
    let stacks = lines.windows(2).rev();
    let errors = stacks.filter_map(|pair| match pair {
        [error, JAVASCRIPT_STACK] => Some(*error),
        _ => None,
    });
    let last = lines
        .iter()
        .rev()
        .find(|line| !line.trim().is_empty())
        .copied();
    let is_frame = last.is_some_and(|line| line.starts_with("  ") && line.contains('@'));
    let mut errors = errors.skip_while(|error| error.starts_with(JAVASCRIPT_CAUSE));
    if is_frame { errors.next() } else { last }
}
