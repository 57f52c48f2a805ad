//! Child processes that end with their owner, and the bounded lines that processes exchange. The
//! compile worker, MCP servers and key commands run on [`Child`]; both sides of MCP over stdio read
//! with [`LineDecoder`].
//!
//! ```
//! use agent_host_process::{Child, ChildKind};
//! use std::process::{Command, Stdio};
//! use tokio::io::AsyncReadExt as _;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let mut command = Command::new("echo");
//! command.arg("hello").stdout(Stdio::piped());
//! let (mut child, pipes) = Child::spawn(command, ChildKind::Worker).await?;
//!
//! let mut text = String::new();
//! if let Some(mut output) = pipes.output {
//!     output.read_to_string(&mut text).await?;
//! }
//! assert_eq!(text, "hello\n");
//! assert!(child.wait().await.is_some_and(|status| status.success()));
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod child;
mod descriptors;
mod lines;

pub use child::{Child, ChildKind, Pipes};
pub use descriptors::raise_descriptor_limit;
pub use lines::{Line, LineDecoder};
