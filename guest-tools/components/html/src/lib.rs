//! A component that turns HTML into Markdown for a model to read.
//!
//! The parser is that of browsers' standard; the tree is bounded while it grows, and walked without
//! recursion. Nothing of the page runs, and nothing that it names is fetched.

mod charset;
mod convert;
mod element;
mod link;
mod table;
mod tool;
mod tree;
mod writer;

agent_tool::export!(tool::html_to_markdown);
