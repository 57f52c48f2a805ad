//! One row of the table: a guest, its grants, its limits, and the expected end of its call.

use agent_host_sandbox::LoadFault;
use agent_host_test_guests::Guest;
use agent_host_types::failure::ToolErrorCode;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The directory of the guests that have a file.
pub(crate) fn guests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/guests/hostile")
}

/// The source of a component.
pub(crate) enum Component {
    /// A file of `tests/guests/hostile`, by its name: the items of a core module, or a whole
    /// component.
    File(&'static str),
    /// Bytes without a readable text form.
    Bytes(Vec<u8>),
    /// The prebuilt component at this path.
    Prebuilt(PathBuf),
}

/// The expected end of a row. The texts are parts of messages.
pub(crate) enum Ends {
    /// The component is not loaded: exit code 2, the fault's name and this text on stderr, and no
    /// call.
    Refused(LoadFault, &'static str),
    /// The configuration is refused: exit code 2 and this text on stderr, and no call.
    Unusable(&'static str),
    /// Any end: only the invariants of every row are checked.
    Anyhow,
    /// The host ends the call with this code.
    Failed(ToolErrorCode, &'static str),
    /// The gate denied something, and the model sees it.
    Denied(&'static str),
    /// The call ends with exactly this result of the guest in the journal.
    Returned(Value),
    /// The call ends with a result of the guest, which this function checks.
    Checked(fn(&Value)),
}

impl Ends {
    /// Whether the call began, so that the journal has its intention.
    pub(crate) fn is_after_the_start(&self) -> bool {
        match self {
            Self::Failed(code, _) => !matches!(
                code,
                ToolErrorCode::InvalidInput | ToolErrorCode::UnknownTool
            ),
            Self::Refused(..) | Self::Unusable(_) => false,
            Self::Anyhow | Self::Denied(_) | Self::Returned(_) | Self::Checked(_) => true,
        }
    }
}

/// One row.
pub(crate) struct Case {
    /// The section of the list of hostile cases, from `A` to `I`.
    pub(crate) section: char,
    /// The guest's attempt in a few words; unique in the table.
    pub(crate) name: String,
    pub(crate) component: Component,
    /// The tool that the model calls, and its arguments.
    pub(crate) tool: String,
    pub(crate) input: String,
    /// Lines of `agent.toml`, in which, as in `input`, `{sink}` stands for the port on loopback
    /// that needs a grant, `{server}` for the malicious server's, and `{work}` for the working
    /// directory.
    pub(crate) config: String,
    /// The operator's grants on the command line, such as `dir:PATH`.
    pub(crate) grants: Vec<&'static str>,
    /// Prepares the working directory.
    pub(crate) prepare: fn(&Path),
    /// The paths that the call may change, as prefixes below the root of the test directory.
    pub(crate) may_change: Vec<&'static str>,
    /// The expected number of connections to the sink.
    pub(crate) contacts: usize,
    /// The line of shell that starts the program, as `"$0"` with `"$@"`, unless it starts directly.
    pub(crate) launcher: Option<&'static str>,
    /// The expected end of each of the calls that the model makes in one reply, in order.
    pub(crate) ends: Vec<Ends>,
}

impl Case {
    fn new(section: char, name: impl Into<String>, component: Component, ends: Ends) -> Self {
        Self {
            section,
            name: name.into(),
            component,
            tool: "hostile".to_owned(),
            input: "{}".to_owned(),
            config: String::new(),
            grants: Vec::new(),
            prepare: |_| (),
            may_change: Vec::new(),
            contacts: 0,
            launcher: None,
            ends: vec![ends],
        }
    }

    /// A row for a guest in a file; the row has the file's name.
    pub(crate) fn file(section: char, file: &'static str, ends: Ends) -> Self {
        Self::new(section, file, Component::File(file), ends)
    }

    /// A row for a generated guest.
    pub(crate) fn made(section: char, name: impl Into<String>, bytes: Vec<u8>, ends: Ends) -> Self {
        Self::new(section, name, Component::Bytes(bytes), ends)
    }

    /// A row for a prebuilt component.
    pub(crate) fn prebuilt(section: char, name: &str, path: PathBuf, ends: Ends) -> Self {
        Self::new(section, name, Component::Prebuilt(path), ends)
    }

    /// Sets another name, since several rows run the same guest.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.name = format!("{}, {name}", self.name);
        self
    }

    /// Sets limits, as lines of `[limits]`.
    pub(crate) fn limits(self, lines: &str) -> Self {
        self.config(&format!("[limits]\n{lines}\n"))
    }

    /// Adds lines of `agent.toml`.
    pub(crate) fn config(mut self, lines: &str) -> Self {
        self.config.push_str(lines);
        self.config.push('\n');
        self
    }

    /// Adds a grant on the command line.
    pub(crate) fn granted(mut self, grant: &'static str) -> Self {
        self.grants.push(grant);
        self
    }

    /// Sets the tool that the model calls, and its arguments.
    pub(crate) fn calling(mut self, tool: &str, input: &str) -> Self {
        self.tool = tool.to_owned();
        self.input = input.to_owned();
        self
    }

    /// Sets the function that prepares the working directory.
    pub(crate) fn prepared(mut self, prepare: fn(&Path)) -> Self {
        self.prepare = prepare;
        self
    }

    /// Allows changes to paths with these prefixes below the root of the test directory.
    pub(crate) fn changing(mut self, paths: &[&'static str]) -> Self {
        self.may_change.extend(paths);
        self
    }

    /// Sets the number of connections to the sink.
    pub(crate) fn contacting(mut self, contacts: usize) -> Self {
        self.contacts = contacts;
        self
    }

    /// Sets the line of shell that starts the program.
    pub(crate) fn launched(mut self, line: &'static str) -> Self {
        self.launcher = Some(line);
        self
    }

    /// Adds a call to the same reply, with its expected end.
    pub(crate) fn and(mut self, ends: Ends) -> Self {
        self.ends.push(ends);
        self
    }

    /// The component's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match &self.component {
            Component::Bytes(bytes) => bytes.clone(),
            Component::Prebuilt(path) => std::fs::read(path).unwrap(),
            Component::File(file) => {
                from_text(&std::fs::read_to_string(guests().join(file)).unwrap())
            }
        }
    }
}

/// The component that a file's text describes.
pub(crate) fn from_text(text: &str) -> Vec<u8> {
    if text.lines().any(|line| line.starts_with("(component")) {
        return wat::parse_str(text).unwrap();
    }
    Guest::from_text(text).bytes()
}
