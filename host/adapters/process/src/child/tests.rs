use super::*;
use pretty_assertions::assert_eq;
use std::{
    os::{fd::AsRawFd as _, unix::process::ExitStatusExt as _},
    process::Stdio,
    task::{Context, Waker},
};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

/// Starts a shell script whose output is read line by line. Its background processes hold the
/// output open, so its end is the end of all of them.
async fn shell(script: &str, kind: ChildKind) -> (Child, BufReader<pipe::Receiver>) {
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let (child, pipes) = Child::spawn(command, kind).await.unwrap();
    assert!(pipes.input.is_none() && pipes.errors.is_none());
    (child, BufReader::new(pipes.output.unwrap()))
}

async fn line(output: &mut BufReader<pipe::Receiver>) -> String {
    let mut line = String::new();
    output.read_line(&mut line).await.unwrap();
    line
}

async fn rest(mut output: BufReader<pipe::Receiver>) -> String {
    let mut rest = String::new();
    output.read_to_string(&mut rest).await.unwrap();
    rest
}

#[tokio::test]
async fn worker_drop_kills_its_group() {
    let script = "sleep 1000 & echo started; wait";
    let (child, mut output) = shell(script, ChildKind::Worker).await;
    assert_eq!(line(&mut output).await, "started\n");
    drop(child);
    assert_eq!(rest(output).await, "");
}

#[tokio::test]
async fn service_stop_terminates_its_leader_then_kills_the_rest() {
    let script = "trap 'echo terminated; exit 3' TERM; sleep 1000 & echo started; wait";
    let (mut child, mut output) = shell(script, ChildKind::Service).await;
    assert_eq!(line(&mut output).await, "started\n");
    child.stop();
    assert_eq!(rest(output).await, "terminated\n");
    assert_eq!(child.wait().await.and_then(|status| status.code()), Some(3));
}

#[tokio::test]
async fn foreground_child_is_in_the_group_of_its_parent() {
    let group = "cut -d' ' -f5 /proc/self/stat";
    let ours = rustix::process::getpgrp().as_raw_nonzero().to_string();
    let (_child, output) = shell(group, ChildKind::Foreground).await;
    assert_eq!(rest(output).await.trim(), ours);
    let (_child, output) = shell(group, ChildKind::Worker).await;
    assert_ne!(rest(output).await.trim(), ours);
}

#[tokio::test]
async fn foreground_stop_kills_the_child() {
    let (mut child, mut output) =
        shell("echo started; exec sleep 1000", ChildKind::Foreground).await;
    assert_eq!(line(&mut output).await, "started\n");
    child.stop();
    let status = child.wait().await.unwrap();
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    assert_eq!(child.status(), Some(status));
    // The id may be another process's now; nothing is signalled.
    child.stop();
}

#[tokio::test]
async fn spawn_error_is_that_of_the_system() {
    let command = Command::new("/nonexistent/program");
    let error = Child::spawn(command, ChildKind::Worker).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

/// The command holds the other end of a pipe until the program was started, here in vain.
#[tokio::test]
async fn start_dropped_halfway_is_waited_for() {
    let (ours, theirs) = io::pipe().unwrap();
    let link = |descriptor| std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok();
    let (pipe, other_end) = (link(ours.as_raw_fd()), theirs.as_raw_fd());
    let mut command = Command::new("/nonexistent/program");
    command.stdout(theirs);
    let mut start = Box::pin(Child::spawn(command, ChildKind::Worker));
    let mut context = Context::from_waker(Waker::noop());
    assert!(start.as_mut().poll(&mut context).is_pending());
    drop(start);
    assert_ne!(link(other_end), pipe);
}
