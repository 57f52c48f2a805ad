//! The built-in component `files`: five tools over the directories that the operator granted.
//!
//! Every tool is bounded by named constants and says when it left something out and how to get the
//! rest. No tool follows a symbolic link that it meets in a walk, and none decides what may be
//! opened: the host's policy does.

mod budget;
mod disk;
mod ends;
mod failure;
mod list;
mod read;
mod search;
mod text;
mod walk;
mod write;

use list::list_directory;
use read::read_file;
use search::search_files;
use write::{edit_file, write_file};

agent_tool::export!(
    list_directory,
    read_file,
    search_files,
    write_file,
    edit_file
);
