//! Standard input as data, which answers no prompt.

use crate::exit::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::{self, Read as _},
    time::Duration,
};

/// Returns whether standard input has bytes, or ends, within this time.
pub(crate) fn arrives_within(time: Duration) -> bool {
    let stdin = io::stdin();
    let time = Timespec::try_from(time).ok();
    let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], time.as_ref());
    !matches!(ready, Ok(0))
}

/// Reads at most `max_bytes` of standard input as data. An error names the data as `what`.
///
/// # Errors
/// When stdin cannot be read, has more bytes, or is not UTF-8.
pub(crate) fn data(max_bytes: u64, what: &str) -> Result<String, Failure> {
    let refuse = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("cannot read {what} from standard input: {why}"))
    };
    let mut bytes = Vec::new();
    let mut input = io::stdin().take(max_bytes.saturating_add(1));
    input
        .read_to_end(&mut bytes)
        .map_err(|error| refuse(&error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(refuse(&format!(
            "it has more than {max_bytes} bytes; give the model a file that its tools can read, or a part of it"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(&format!(
            "it is not UTF-8 from byte {at} on; convert it, such as with `iconv -t UTF-8`"
        ))
    })
}
