//! What a tool's author needs: a project to begin with, its build into a component, its tests, and what a component says of
//! itself. It runs compilers and tools; it grants nothing, and nothing of a session passes through it.

mod carried;
mod componentize;
mod error;
mod project;
mod strip;
pub mod test;
mod uses;
mod wit;

pub use error::AuthorError;
pub use project::{Language, Project};
pub use strip::Names;
