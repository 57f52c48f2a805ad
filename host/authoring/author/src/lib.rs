//! Creates, builds, tests and describes tool components. Runs compilers; grants nothing and takes
//! no part in sessions.

mod build;
mod componentize;
mod compose;
mod decode;
mod describe;
mod embedded;
mod error;
mod inputs;
mod language;
mod package;
mod parts;
mod project;
mod sdk;
mod strip;
mod template;
pub mod test;
mod toolchain;
mod toolchain_fault;
mod wit;
mod wit_usage;

pub use build::{BuildOptions, Built, Candidate, compile};
pub use componentize::component_of_module;
pub use compose::{Composed, Part, Pieces, compose};
pub use describe::{Description, LanguageSource, Producers, WrittenIn};
pub use error::AuthorError;
pub use inputs::ProjectFiles;
pub use language::set_up;
pub use package::PackageInfo;
pub use parts::ComposedPart;
pub use project::{Language, Project};
pub use template::create;
pub use wit::{ContractPackage, contract_package, contract_text, write_contract};
