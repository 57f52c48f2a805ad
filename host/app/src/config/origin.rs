//! The origin of each part of a merged configuration.

use std::{collections::BTreeMap, fmt, path::PathBuf};

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The machine's file.
    System(PathBuf),
    /// The user's file.
    User(PathBuf),
    /// The file of the project, or the one that `--config` names.
    Project(PathBuf),
    /// An environment variable.
    Variable(String),
    /// An option of the command line.
    Option(String),
    /// The program.
    BuiltIn,
}

impl fmt::Display for Origin {
    /// Writes the file, the variable or the option. The text is not escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(path) | Self::User(path) | Self::Project(path) => path.display().fmt(f),
            Self::Variable(name) | Self::Option(name) => f.write_str(name),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// The layer of each part, and the path of the part there, by its path in the merged table.
#[derive(Debug, Default)]
pub(super) struct Origins(BTreeMap<String, (usize, String)>);

impl Origins {
    pub(super) fn add(&mut self, merged: String, layer: usize, local: String) {
        self.0.insert(merged, (layer, local));
    }

    /// Returns the index of the layer that a part is from, and the path of the part there.
    pub(super) fn of(&self, key: &str) -> Option<(usize, String)> {
        let mut end = key.len();
        loop {
            let (head, rest) = key.split_at_checked(end)?;
            if let Some((layer, local)) = self.0.get(head) {
                return Some((*layer, format!("{local}{rest}")));
            }
            end = head.rfind(['.', '['])?;
        }
    }
}
