//! A component that reads the history of a Git repository: log, commits, files, differences
//! and the origins of lines.
//!
//! It reads objects and references alone: no configuration, no hook, no index, and no program. The
//! host's default mask of `.git/config` is no obstacle.

mod blame;
mod commit;
mod diff;
mod error;
mod log;
mod object;
mod pack;
mod refs;
mod repository;
mod show;
mod tree;

agent_tool::export!(
    log::git_log,
    show::git_show,
    diff::git_diff,
    blame::git_blame
);
