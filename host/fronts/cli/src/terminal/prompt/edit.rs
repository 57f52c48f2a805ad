//! Other arguments of a call: in the user's editor, or on one line.

use super::{BOLD, Review, answer, tool_name};
use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    process::Command,
};

/// The terminal of this process, whatever its standard streams are.
const TTY: &str = "/dev/tty";

/// The name of the edited file, by which editors choose a syntax.
const FILE: &str = "arguments.json";

/// The maximum size of edited arguments, in bytes.
const MAX_EDITED_BYTES: u64 = 16 * 1024 * 1024;

/// The end of an edit.
pub(super) enum Edited {
    /// The text, which may be no valid arguments.
    Text(String),
    /// The user goes back.
    Back,
    /// The input ended.
    End,
}

impl Review<'_> {
    /// Has the user edit arguments, or enter them.
    pub(super) fn read_edited(&self, before: &str) -> Edited {
        let heading = tool_name(&self.call.tool);
        let Some(editor) = editor() else {
            let question = format!(
                "{BOLD}Run {heading}, with which arguments?{BOLD:#} On one line, as a JSON object; an empty line cancels:"
            );
            return match answer(self.terminal, &question) {
                None => Edited::End,
                Some(line) if line.trim().is_empty() => Edited::Back,
                Some(line) => Edited::Text(line),
            };
        };
        let question = format!(
            "{BOLD}Edit the arguments of {heading}?{BOLD:#} [y] open the editor  [n] no, back"
        );
        match answer(self.terminal, &question).as_deref().map(str::trim) {
            None => return Edited::End,
            Some("y" | "yes") => {}
            Some(_) => return Edited::Back,
        }
        match edited(&editor, before) {
            Ok(text) => Edited::Text(text),
            Err(error) => {
                self.terminal.note(&format!(
                    "The editor cannot be used ({error}); set VISUAL or EDITOR to another command."
                ));
                Edited::Back
            }
        }
    }
}

/// Returns the command of the user's editor.
fn editor() -> Option<OsString> {
    let set = ["VISUAL", "EDITOR"].map(std::env::var_os);
    set.into_iter()
        .flatten()
        .find(|command| !command.is_empty())
}

/// Runs the editor on a file that no other user may read, and returns its text.
fn edited(editor: &OsString, before: &str) -> io::Result<String> {
    let directory = tempfile::Builder::new()
        .prefix("agent-host-")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()?;
    let path = directory.path().join(FILE);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    writeln!(file, "{before}")?;
    drop(file);
    let tty = || OpenOptions::new().read(true).write(true).open(TTY);
    // The variable is a command with arguments, as for git.
    let status = Command::new("sh")
        .args(["-c", "eval \"$0 \\\"\\$1\\\"\""])
        .arg(editor)
        .arg(&path)
        .stdin(tty()?)
        .stdout(tty()?)
        .stderr(tty()?)
        .status()?;
    if !status.success() {
        return Err(io::Error::other(format!("it ended with {status}")));
    }
    let mut text = String::new();
    let mut bounded = File::open(&path)?.take(MAX_EDITED_BYTES + 1);
    bounded.read_to_string(&mut text)?;
    if text.len() as u64 > MAX_EDITED_BYTES {
        let why = format!("the file has more than {MAX_EDITED_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}
