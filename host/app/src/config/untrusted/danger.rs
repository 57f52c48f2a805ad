//! The danger of a demand, which decides where it is shown.

/// The danger of a demand, from the greatest to the least. Demands are listed in this order, so
/// that a list that shows only the first ones hides none that is more dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Danger {
    /// Starts a program outside of the sandbox: an MCP server, a command that prints a key.
    Program,
    /// Runs a component in the sandbox.
    Component,
    /// Changes or removes data of the user.
    Writes,
    /// Sends data to a server of the file's choice, or accepts requests from one.
    Network,
    /// Reads secrets, variables, or files that the default keeps from tools.
    Private,
    /// Skips a check: an approval, a signature, a hook.
    Unchecked,
    /// The rest: limits, budgets, settings.
    Other,
}

impl Danger {
    /// Returns the danger of reading a value from a source, which may be a command.
    pub(super) fn reading(source: &str, otherwise: Self) -> Self {
        match source.starts_with("cmd:") {
            true => Self::Program,
            false => otherwise,
        }
    }
}

/// Something that a file asks for beyond the defaults.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) danger: Danger,
    /// The end of a sentence that begins with "it".
    pub(super) text: String,
}
