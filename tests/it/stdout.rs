//! Tests failing stdout and stderr: a full disk and a closed reader have different exit codes in
//! every command, and a failing stderr changes nothing.

use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use std::{
    fs::{File, OpenOptions},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
};

const FULL: &str =
    "error: could not write the answer to stdout: No space left on device (os error 28)";

/// The commands that write to stdout, each in its own way. They find one session.
const COMMANDS: [&[&str]; 20] = [
    &["--help"],
    &["help", "run"],
    &["--version"],
    &["completions", "bash"],
    &["man"],
    &["run", "What is in this directory?"],
    &["run", "--output-format", "json", "hello"],
    &["run", "--output-format", "stream-json", "hello"],
    &[
        "call",
        "builtin:files",
        "list_directory",
        r#"{"path": "."}"#,
    ],
    &[
        "call",
        "--json",
        "builtin:files",
        "list_directory",
        r#"{"path": "."}"#,
    ],
    &["inspect", "builtin:files"],
    &["sessions", "list"],
    &["sessions", "show", "latest"],
    &["sessions", "show", "--json", "latest"],
    &["sessions", "export", "latest"],
    &["sessions", "fork", "latest"],
    &["explain", "latest"],
    &["mcp", "config"],
    &["doctor"],
    &["cache", "list"],
];

/// A test directory with one session.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("README.md", "hello");
    let ran = env.run(&["run", "hello"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    env
}

/// A stream whose reader is closed. The end of a pipe would stay open in a child that another test
/// starts just now.
fn closed() -> OwnedFd {
    let (reader, writer) = UnixStream::pair().unwrap();
    reader.shutdown(Shutdown::Both).unwrap();
    writer.into()
}

/// A file that accepts no byte, like one on a full disk.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// The exit code, and stderr.
fn end(command: &mut Command, stdout: impl Into<Stdio>) -> (Option<i32>, String) {
    let output = command.stdout(stdout).stderr(Stdio::piped());
    let output = output.spawn().unwrap().wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), stderr)
}

fn errors(stderr: &str) -> Vec<&str> {
    let is_error = |line: &&str| line.starts_with("error:") || line.contains("panicked");
    stderr.lines().filter(is_error).collect()
}

#[test]
fn stdout_on_a_full_disk_exits_1_with_one_line() {
    let env = env();
    for args in COMMANDS {
        let (code, stderr) = end(&mut env.command(args), full());
        let came = (code, stderr.lines().last(), errors(&stderr).len());
        assert_eq!(came, (Some(1), Some(FULL), 1), "{args:?}: {stderr}");
    }
}

/// A closed reader gives exit code 141, as for a program that SIGPIPE ends, and no message.
#[test]
fn stdout_with_closed_reader_exits_141_silently() {
    let env = env();
    for args in COMMANDS {
        let (code, stderr) = end(&mut env.command(args), closed());
        let none: [&str; 0] = [];
        assert_eq!(
            (code, errors(&stderr)),
            (Some(141), none.to_vec()),
            "{args:?}: {stderr}"
        );
        assert!(!stderr.contains("ipe"), "{args:?}: {stderr}");
    }
}

#[test]
fn stderr_that_fails_changes_neither_answer_nor_code() {
    let env = env();
    for (args, code) in [
        (&["run", "What is in this directory?"] as &[&str], 0),
        (&["--log", "trace", "run", "What is in this directory?"], 0),
        (&["doctor"], 0),
        (&["sessions", "show", "nothing-of-this-name"], 2),
        (&["run", "--no-such-option"], 2),
    ] {
        let healthy = env.run(args);
        assert_eq!(healthy.code, Some(code), "{}", healthy.stderr);
        let output = env.command(args).stderr(full()).output().unwrap();
        let came = (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        );
        assert_eq!(came, (Some(code), healthy.stdout), "{args:?}");
    }
}

/// A client that closes its side is done; a full disk behind a redirection is an error.
#[test]
fn mcp_distinguishes_full_disk_from_closed_client() {
    let env = TestEnv::new();
    // It is answered with an error, whatever came before it.
    let input = env.write("input", "no JSON\n");
    let served = || {
        let mut command = env.command(&["mcp", "--quiet"]);
        command.stdin(File::open(&input).unwrap());
        command
    };
    let fault = "error: could not write to the client: No space left on device (os error 28)\n";
    assert_eq!(end(&mut served(), full()), (Some(1), fault.to_owned()));
    assert_eq!(end(&mut served(), closed()), (Some(0), String::new()));
}
