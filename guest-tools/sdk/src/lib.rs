//! Write a tool for agent-host as a plain function.
//!
//! A tool is a function over a typed input. `#[tool]` makes its doc comment the description that
//! the model reads, and the type of its input the JSON Schema that the host checks every call
//! against. [`export!`] makes the crate a component.
//!
//! ```
//! use agent_tool::{Json, input, output, tool};
//!
//! #[input]
//! struct Text {
//!     /// The text to count in.
//!     text: String,
//! }
//!
//! #[output]
//! struct Count {
//!     words: usize,
//! }
//!
//! /// Counts the words of a text. Words are separated by white space.
//! #[tool(effect = "read-only")]
//! fn count_words(input: Text) -> Json<Count> {
//!     Json(Count { words: input.text.split_whitespace().count() })
//! }
//!
//! agent_tool::export!(count_words);
//!
//! // The function is still a function: `cargo test` needs neither a host nor WebAssembly.
//! # fn main() {
//! assert_eq!(count_words(Text { text: "one two".to_owned() }).0.words, 2);
//! # }
//! ```
//!
//! `Cargo.toml` needs `crate-type = ["cdylib"]` and this crate;
//! `cargo build --release --target wasm32-wasip2` makes the component.
//!
//! # Results
//! Anything that is [`IntoOutput`]: a `String` or `&str` is text, [`Json`] is JSON, a [`Part`] or a
//! `Vec` of them is content (images and files among text), and [`Output`] is any of the union's
//! variants. In a `Result`, an error becomes the text of a failed call, so `?` works with every
//! error that can be displayed. Write errors for the model: what went wrong, and what it should do
//! next. A panic ends the call as a `trap`; its message goes to stderr, which the author sees and
//! the model does not.
//!
//! # Effects
//! `effect = "read-only"`, `"idempotent"` or `"effectful"`. The host enforces it: a read-only tool
//! gets read-only files and only GET and HEAD, and may run beside others and again.
//!
//! # Hooks
//! A crate with a [`hook::Hook`] and [`export_hook!`] is a hook: it judges model calls and tool
//! calls, and has no tools. It is named under `[[hook]]` of `agent.toml`.
//!
//! # Host functions
//! [`progress::report`] shows the progress of a call, [`partial`] adds to its result while it runs,
//! [`state`] is what the tools of a session
//! share, and [`ask()`] and [`ask_form()`] ask the user. [`context`] is what the operator says of
//! the request, [`artifacts`] are the files of the session, and [`control::halt`] ends the run. A
//! component imports what it uses and nothing else, and its imports are its permission request.
//! Files, clocks and randomness are `std`'s; [`workspace`] turns a path that a model wrote into the
//! one to open. Outside WebAssembly, [`testing`] stands in for the host.

pub mod artifacts;
pub mod context;
pub mod control;
pub mod filter;
pub mod hook;
#[cfg(feature = "http")]
pub mod http;
pub mod partial;
pub mod progress;
pub mod state;
pub mod tools;
pub mod workspace;

mod call;
mod human;
mod output;
mod prose;
mod schema;

#[cfg(any(target_family = "wasm", test))]
mod bindings;
#[cfg(any(target_family = "wasm", test))]
mod component;
#[cfg(any(target_family = "wasm", test))]
mod filter_component;
#[cfg(any(target_family = "wasm", test))]
mod hook_component;
#[cfg(not(target_family = "wasm"))]
pub mod testing;

pub use agent_tool_macros::{input, output, tool};
pub use call::{Call, Effect, Tool};
pub use human::{Answer, FormAnswer, Question, ask, ask_form};
pub use output::{Data, IntoOutput, Json, Output, Part};

/// Makes the crate a component with the named tools:
/// `agent_tool::export!(count_words, other::tool)`.
///
/// Each name is that of a function with `#[tool]`. Use it once, in the crate's root.
#[macro_export]
macro_rules! export {
    ($($tool:path),+ $(,)?) => {
        const _: () = {
            const TOOLS: &[$crate::Tool] = &[$(<$tool as $crate::__private::Described>::TOOL),+];
            $crate::__export_component!(TOOLS);
        };
    };
}

/// Outside WebAssembly, no component is made, and the compiler still checks the list of tools.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export_component {
    ($tools:ident) => {
        const _: &[$crate::Tool] = $tools;
    };
}

/// The example of the crate's page compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;

/// Items that the macros use. They are not for authors and may change.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;

    #[cfg(any(target_family = "wasm", test))]
    pub use crate::bindings::{generated, generated_hook};
    pub use crate::call::{Described, NoInput, run};
    #[cfg(any(target_family = "wasm", test))]
    pub use crate::component::{call, definitions};
    #[cfg(any(target_family = "wasm", test))]
    pub use crate::filter_component::{call as filter_call, definitions as filter_definitions};
    #[cfg(any(target_family = "wasm", test))]
    pub use crate::hook_component::{after_model, after_tool, before_model, before_tool};
    pub use crate::schema::{input_schema, output_schema};
}
