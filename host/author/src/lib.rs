//! What a tool's author needs: a project to begin with, its build into a component, its tests, and what a component says of
//! itself. It runs compilers and tools; it grants nothing, and nothing of a session passes through it.

mod build;
mod carried;
mod componentize;
mod describe;
mod error;
mod language;
mod project;
mod sdk;
mod strip;
mod template;
pub mod test;
mod toolchain;
mod uses;
mod wit;

pub use build::{BuildOptions, Built, Candidate, compile};
pub use describe::{Description, Producers};
pub use error::AuthorError;
pub use language::set_up;
pub use project::{Language, Project};
pub use template::create;
