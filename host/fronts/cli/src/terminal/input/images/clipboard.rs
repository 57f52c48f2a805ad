//! The image of the clipboard, by the program of the desktop that reads it. It runs for a key of the
//! user alone.

use std::{
    env,
    io::Read as _,
    process::{Command, Stdio},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

/// The largest image, in bytes, as for all files of a message.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The time for the program, which waits for the one that has the image.
const PATIENCE: Duration = Duration::from_secs(3);

/// The variable that a desktop sets, and the program that reads its clipboard.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("WAYLAND_DISPLAY", &["wl-paste", "--type", "image/png"]),
    (
        "DISPLAY",
        &[
            "xclip",
            "-selection",
            "clipboard",
            "-target",
            "image/png",
            "-out",
        ],
    ),
];

/// Returns the clipboard's image; an error is a sentence.
pub(super) fn image() -> Result<Vec<u8>, String> {
    let is_set =
        |(variable, _): &&(&str, _)| env::var_os(variable).is_some_and(|it| !it.is_empty());
    let Some((_, [program, arguments @ ..])) = PROGRAMS.iter().find(is_set) else {
        return Err(
            "No clipboard: this terminal runs on no desktop. Paste the path of a file.".into(),
        );
    };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|error| {
        format!("The clipboard is read by `{program}`, which cannot run ({error}); install it.")
    })?;
    let output = child.stdout.take();
    let (sender, receiver) = channel();
    // It ends when no process writes any more, which may be later than the program.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.map(|output| output.take(MAX_BYTES + 1).read_to_end(&mut bytes));
        // No one waits for it after a while.
        let _ = sender.send(read.transpose().map(|_| bytes));
    });
    let read = receiver.recv_timeout(PATIENCE);
    // It may have more to write, or wait for the one that has the image.
    let _ = child.kill();
    let _ = child.wait();
    match read {
        Ok(Ok(bytes)) if !bytes.is_empty() => Ok(bytes),
        _ => Err("The clipboard has no image.".into()),
    }
}
