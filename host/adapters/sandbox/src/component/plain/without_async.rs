//! Rewrites a component without its async functions, so that its plain functions can be tools on an
//! engine without component-model-async: the engine keeps no tasks, streams or waitables, whose
//! number and size the limits of a call do not cover.
//!
//! A function is async here if its type is, or has a stream, a future or an error-context. Each
//! place that defines such a function, and each that passes it on by name, is left out. A core
//! function of the host that belongs to it (a lowered import, `stream.new`, `waitable-set.wait`)
//! becomes one that traps. Everything else stays, module by module and byte by byte.
//!
//! The compiler validates the result like any other component. So a component that is rewritten
//! wrongly, or that has async functions in unusual places, does not load; it gains nothing.

mod analysis;
mod encoder;

use super::{MAX_FUNCTIONS, SignatureError, check_path, names::FunctionPath, reason};
use analysis::Scope;

/// A component without its async functions.
pub(crate) struct WithoutAsync {
    pub(crate) component: Vec<u8>,
    /// The exported functions that were left out, each with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Rewrites a component that is valid with every feature; absent if that cannot be done.
pub(crate) fn without_async(component: &[u8]) -> Option<WithoutAsync> {
    let scopes = analysis::scopes(component)?;
    let left_out = left_out(scopes.first()?);
    let component = encoder::encode(component, scopes)?;
    Some(WithoutAsync {
        component,
        left_out,
    })
}

/// Returns the async functions among the exports of the outermost component.
fn left_out(root: &Scope) -> Vec<String> {
    let exports = root.exports.iter();
    let reasons = exports.map(|(interface, function, error)| {
        let path = FunctionPath {
            interface: interface.as_deref().map(Into::into),
            function: function.clone(),
        };
        let error: SignatureError = check_path(&path).err().unwrap_or(*error);
        reason(&path, &error.to_string())
    });
    reasons.take(MAX_FUNCTIONS).collect()
}
