//! The vocabulary of a script. Paths, URLs and names go to the host exactly as they are written.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One attempt; in JSON an object whose `op` says which, beside its fields.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Op {
    /// The names of the granted directories.
    Roots {},
    /// Opens, and keeps open until the call ends.
    Open {
        path: Location,
        #[serde(default)]
        how: Vec<How>,
        #[serde(default = "yes")]
        follow: bool,
    },
    /// Opens and reads as text.
    Read {
        path: Location,
        #[serde(default = "yes")]
        follow: bool,
        #[serde(default = "read_bytes")]
        max_bytes: u64,
    },
    /// Opens and writes `text`, `times` times, from the beginning; through a stream if `stream`.
    Write {
        path: Location,
        text: String,
        #[serde(default = "once")]
        times: u64,
        #[serde(default = "create")]
        how: Vec<How>,
        #[serde(default = "yes")]
        follow: bool,
        #[serde(default)]
        stream: bool,
    },
    /// Writes at the end, through a stream.
    Append {
        path: Location,
        text: String,
    },
    /// Writes zeros through a stream, by the host's own call for it.
    Zeroes {
        path: Location,
        bytes: u64,
    },
    /// Copies from one file to another without touching the bytes.
    Splice {
        from: Location,
        to: Location,
        bytes: u64,
    },
    /// The names in a directory.
    List {
        path: Location,
    },
    /// Kind and size.
    Stat {
        path: Location,
        #[serde(default = "yes")]
        follow: bool,
    },
    /// Requests the hash of the metadata.
    Hash {
        path: Location,
    },
    Rename {
        from: Location,
        to: Location,
    },
    /// A hard link at `to`.
    Link {
        from: Location,
        to: Location,
        #[serde(default)]
        follow: bool,
    },
    /// A symbolic link at `path`.
    Symlink {
        target: String,
        path: Location,
    },
    Readlink {
        path: Location,
    },
    Unlink {
        path: Location,
    },
    Mkdir {
        path: Location,
    },
    Rmdir {
        path: Location,
    },
    /// Opens with these flags and sets the size.
    Truncate {
        path: Location,
        #[serde(default)]
        size: u64,
        #[serde(default = "write_only")]
        how: Vec<How>,
    },
    /// Sets both times to now.
    Touch {
        path: Location,
        #[serde(default = "yes")]
        follow: bool,
    },

    /// Sends a request and reads the answer.
    Http {
        #[serde(default = "get")]
        method: String,
        /// `SCHEME://AUTHORITY/TARGET`, cut at these places and not looked at otherwise.
        url: String,
        /// The request target, where it differs from the URL.
        #[serde(default)]
        target: Option<String>,
        #[serde(default)]
        headers: Vec<(String, String)>,
        #[serde(default)]
        body: String,
        /// The number of times that the body is sent.
        #[serde(default = "once")]
        times: u64,
        #[serde(default = "read_bytes")]
        max_bytes: u64,
        /// Keeps the answer unread until the call ends.
        #[serde(default)]
        keep: bool,
    },
    /// A TCP connection, to `IP:PORT`.
    Connect {
        address: String,
    },
    /// A TCP socket bound to `IP:PORT`.
    Bind {
        address: String,
    },
    /// A UDP socket bound to `IP:PORT`.
    BindUdp {
        address: String,
    },
    /// The addresses of a name.
    Lookup {
        name: String,
    },

    Env {},
    Args {},
    Cwd {},
    Stdin {},
    /// Writes `text`, `times` times.
    Stdout {
        text: String,
        #[serde(default = "once")]
        times: u64,
    },
    /// Writes `text`, `times` times.
    Stderr {
        text: String,
        #[serde(default = "once")]
        times: u64,
    },
    Terminal {},
    Random {
        bytes: u64,
    },
    Sleep {
        ms: u64,
    },
    /// Creates `count` pollables of `ms`, and waits for the first.
    Poll {
        count: u32,
        ms: u64,
    },
    Progress {
        message: String,
    },
    StateGet {},
    StateMerge {
        delta: Map<String, Value>,
    },
    Ask {
        prompt: String,
    },
    ContextGet {},
    Halt {
        message: String,
    },
    /// The names of the artifacts.
    ArtifactList {},
    ArtifactGet {
        name: String,
    },
    /// Stores `text`, `times` times.
    ArtifactPut {
        name: String,
        #[serde(default = "text_plain")]
        media_type: String,
        text: String,
        #[serde(default = "once")]
        times: u64,
    },
    ArtifactDelete {
        name: String,
    },

    /// Allocates and touches.
    Alloc {
        bytes: usize,
    },
    Recurse {},
    Spin {},
    Panic {
        message: String,
    },
    Exit {
        ok: bool,
    },
    /// Counts a byte string in the guest's own memory. It is given in hexadecimal with every bit
    /// inverted, so that the script itself does not contain it.
    Scan {
        inverted: String,
    },

    /// Makes an attempt `count` times, with `{n}` replaced by its number in every string, and
    /// counts the outcomes.
    Repeat {
        count: u64,
        each: Value,
    },
    /// Ends the script with a given result.
    Return {
        output: Returned,
    },
}

/// The result of a script that ends with `return`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Returned {
    /// `text`, `times` times.
    Text {
        text: String,
        #[serde(default = "once")]
        times: u64,
    },
    Json {
        value: Value,
    },
    Error {
        text: String,
    },
    Denied {
        reason: String,
    },
    /// A file part; its bytes in hexadecimal.
    File {
        media_type: String,
        hex: String,
    },
}

/// A location: a path in the first granted directory; or the name of a granted directory, paths of
/// directories to open one after the other, and a path in the last of them.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum Location {
    First(String),
    Through(Vec<String>),
}

impl TryFrom<Value> for Location {
    type Error = serde_json::Error;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::String(path) => Ok(Self::First(path)),
            other => serde_json::from_value(other).map(Self::Through),
        }
    }
}

/// Reads an attempt.
pub(crate) fn parse(attempt: Value) -> Result<Op, String> {
    let Value::Object(mut fields) = attempt else {
        return Err("an attempt is an object".to_owned());
    };
    let Some(Value::String(op)) = fields.remove("op") else {
        return Err("an attempt has an `op`".to_owned());
    };
    // The form that serde reads with the least code: every kilobyte of this component is in the
    // repository.
    serde_json::from_value(json!({ op: fields })).map_err(|error| error.to_string())
}

/// The flags of an open.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum How {
    Read,
    Write,
    Mutate,
    Create,
    Exclusive,
    Truncate,
    Directory,
}

fn yes() -> bool {
    true
}

fn text_plain() -> String {
    "text/plain".to_owned()
}

fn once() -> u64 {
    1
}

fn read_bytes() -> u64 {
    64 * 1024
}

fn create() -> Vec<How> {
    vec![How::Write, How::Create]
}

fn write_only() -> Vec<How> {
    vec![How::Write]
}

fn get() -> String {
    "GET".to_owned()
}
