//! Docker's credential helpers: programs that keep credentials. Only asked, never told to store.

use agent_host_process::{Child, ChildKind};
use agent_host_types::reason::Reason;
use secrecy::SecretString;
use serde::Deserialize;
use std::{
    io,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The time limit of a helper; the user may have to unlock a key ring meanwhile.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum of what a helper prints, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The start of what helpers print for a registry that they do not know.
const UNKNOWN: &str = "credentials not found";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    username: String,
    secret: String,
}

/// Asks the helper of this name for the credentials of a registry; absent if it has none.
///
/// # Errors
/// The name is none of a program, or it does not start, takes too long, prints too much, or fails.
pub(crate) async fn ask(
    name: &str,
    server: &str,
) -> Result<Option<(String, SecretString)>, Reason> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || !name.bytes().all(is_plain) {
        let shown = name.escape_debug();
        return Err(format!("the credential helper `{shown}` is not a plain name").into());
    }
    let program = format!("docker-credential-{name}");
    let fault = |reason: String| Reason::from(format!("{program} {reason}"));
    let run = run(&program, server);
    let ended = tokio::time::timeout(TIMEOUT, run).await.map_err(|_| {
        let limit = TIMEOUT.as_secs();
        fault(format!("took longer than {limit} s"))
    })?;
    let (succeeded, output) = ended.map_err(|error| fault(format!("does not run: {error}")))?;
    if output.len() as u64 > MAX_BYTES {
        return Err(fault(format!("printed more than {MAX_BYTES} bytes")));
    }
    if !succeeded {
        let text = String::from_utf8_lossy(&output);
        return match text.trim().starts_with(UNKNOWN) {
            true => Ok(None),
            false => Err(fault("failed; run it by hand to see why".to_owned())),
        };
    }
    // Its text may be the secret, so an error does not repeat it.
    let printed: Printed = serde_json::from_slice(&output)
        .map_err(|_| fault("printed something other than credentials".to_owned()))?;
    Ok(Some((printed.username, printed.secret.into())))
}

async fn run(program: &str, server: &str) -> io::Result<(bool, Vec<u8>)> {
    let mut command = Command::new(program);
    command
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let (mut child, pipes) = Child::spawn(command, ChildKind::Worker).await?;
    if let Some(mut input) = pipes.input {
        // A helper that does not read its input answers all the same.
        let _ = input.write_all(server.as_bytes()).await;
    }
    let mut output = Vec::new();
    if let Some(pipe) = pipes.output {
        pipe.take(MAX_BYTES + 1).read_to_end(&mut output).await?;
    }
    if output.len() as u64 > MAX_BYTES {
        return Ok((false, output));
    }
    let status = child.wait().await;
    Ok((status.is_some_and(|status| status.success()), output))
}
