//! A component that lists, reads and extracts ZIP, tar and gzip archives.
//!
//! Archives are hostile: every count, size and name in them is checked before it is used. No link
//! is followed or made, nothing is written outside the directory that the model names, and nothing
//! is written at all before the whole archive was looked through.

mod archive;
mod extract;
mod gzip;
mod list;
mod member;
mod read;
mod tarball;

agent_tool::export!(
    list::list_archive,
    read::read_member,
    extract::extract_archive
);
