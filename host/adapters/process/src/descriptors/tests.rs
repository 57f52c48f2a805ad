use super::raise_descriptor_limit;
use crate::{Child, ChildKind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::{Command, Stdio};
use tokio::io::AsyncReadExt as _;

/// Returns the soft limit of a child that is asked for it.
async fn soft_limit_of_child() -> String {
    let mut command = Command::new("sh");
    // It asks once it was told to, by when the limit is set.
    command.args(["-c", "read line; ulimit -Sn"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let (_child, pipes) = Child::spawn(command, ChildKind::Worker).await.unwrap();
    drop(pipes.input);
    let mut printed = String::new();
    let mut output = pipes.output.unwrap();
    output.read_to_string(&mut printed).await.unwrap();
    printed.trim().to_owned()
}

#[tokio::test]
async fn raised_descriptor_limit_is_not_that_of_children() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let low = Rlimit {
        current: Some(512),
        maximum,
    };
    setrlimit(Resource::Nofile, low).unwrap();
    assert_eq!(soft_limit_of_child().await, "512");
    raise_descriptor_limit();
    assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    assert_eq!(soft_limit_of_child().await, "512");
}
