//! `agent-host mcp config`: prints the entry for the configuration of a client, and says on stderr
//! where each client takes it from.

use super::configured;
use crate::{
    args::{McpArgs, McpClient},
    commands::explain::shell_quoted,
    exit::{Exit, Failure},
    terminal::{BOLD, Terminal, escape, escape_line, json_lines},
};
use agent_host_mcp::http;
use serde_json::{Map, Value, json};
use std::{net::SocketAddr, path::Path};

/// Prints the entry in the form of `client`, or in that of most clients.
pub(super) fn print(
    name: &str,
    http: Option<SocketAddr>,
    client: Option<McpClient>,
    served: &McpArgs,
    terminal: &Terminal,
) -> Result<Exit, Failure> {
    let server = match http {
        Some(address) => json!({
            "type": "http",
            "url": format!("http://{address}{}", http::PATH),
            "headers": { "Authorization": "Bearer TOKEN" },
        }),
        None => stdio_server(served, terminal)?,
    };
    let clients = client.map_or_else(|| McpClient::ALL.to_vec(), |client| vec![client]);
    let key = client.unwrap_or(McpClient::Claude).key();
    let servers = Map::from_iter([(name.to_owned(), server.clone())]);
    let document = Value::from(Map::from_iter([(key.to_owned(), servers.into())]));
    terminal.println(&json_lines(&document));
    if !served.quiet {
        let lines = clients
            .iter()
            .flat_map(|client| client.lines(name, &server));
        lines.for_each(|line| terminal.note(&line));
    }
    if http.is_some() {
        terminal.note("Replace TOKEN with the server's token.");
    }
    Ok(Exit::Done)
}

impl McpClient {
    const ALL: [Self; 5] = [
        Self::Claude,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::VsCode,
        Self::Zed,
    ];

    /// Returns the key of the servers in the client's file.
    fn key(self) -> &'static str {
        match self {
            // https://code.visualstudio.com/docs/copilot/chat/mcp-servers
            Self::VsCode => "servers",
            // https://zed.dev/docs/ai/mcp
            Self::Zed => "context_servers",
            // https://modelcontextprotocol.io/quickstart/user, https://cursor.com/docs/mcp
            Self::Claude | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
        }
    }

    /// Returns the client's name, and its file.
    fn file(self) -> (&'static str, &'static str) {
        match self {
            Self::Claude => ("Claude Code", ".mcp.json of the project"),
            Self::ClaudeDesktop => (
                "Claude Desktop",
                "~/.config/Claude/claude_desktop_config.json",
            ),
            Self::Cursor => (
                "Cursor",
                "~/.cursor/mcp.json, or .cursor/mcp.json of the project",
            ),
            Self::VsCode => ("VS Code", ".vscode/mcp.json of the project"),
            Self::Zed => ("Zed", "~/.config/zed/settings.json"),
        }
    }

    /// Returns the command that adds the server without editing a file.
    fn command(self, name: &str, server: &Value) -> Option<String> {
        match self {
            // https://code.claude.com/docs/en/mcp
            Self::Claude => Some(format!(
                "claude mcp add-json --scope user {} {}",
                shell_quoted(name),
                shell_quoted(&server.to_string())
            )),
            Self::VsCode => {
                let mut entry = server.clone();
                entry
                    .as_object_mut()?
                    .insert("name".to_owned(), name.into());
                Some(format!(
                    "code --add-mcp {}",
                    shell_quoted(&entry.to_string())
                ))
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Zed => None,
        }
    }

    /// Returns where the entry goes, and the command that puts it there.
    fn lines(self, name: &str, server: &Value) -> Vec<String> {
        let (client, file) = self.file();
        let key = match self.key() {
            "mcpServers" => String::new(),
            key => format!(", under `{key}`"),
        };
        let mut lines = vec![format!("{BOLD}{client:<15}{BOLD:#} {file}{key}")];
        let command = self.command(name, server);
        lines.extend(command.map(|command| format!("{:<15} {}", "", escape_line(&command))));
        lines
    }
}

/// Returns the entry that starts this program, with absolute paths, since a client starts it in any
/// directory.
fn stdio_server(served: &McpArgs, terminal: &Terminal) -> Result<Value, Failure> {
    let program = std::env::current_exe().map_err(Failure::failed)?;
    // Reports configuration errors here, where the user reads them.
    let config = configured(served)?;
    let mut args = vec!["mcp".to_owned()];
    let mut option = |name: &str, value: String| args.extend([name.to_owned(), value]);
    if let Some(file) = &config.file {
        option("--config", text(file)?);
        if served.config.config.is_none() {
            terminal.note(&escape(&format!(
                "The entry names {}, so its contents, now and later, are served without a trust question.",
                file.display()
            )));
        }
    }
    for tool in &served.tools {
        let tool = if tool.starts_with("builtin:") {
            tool.clone()
        } else {
            text(&config.working_dir.join(tool))?
        };
        option("--tool", tool);
    }
    for agent in &served.agents {
        config.agent(agent)?;
        option("--agent", agent.clone());
    }
    for grant in &served.config.grants {
        option("--grant", absolute_grant(grant, &config.working_dir)?);
    }
    // Names the implied grant: its directory would be another one where a client starts this.
    if config.implied_grant().is_some() {
        let mode = if served.config.write {
            ":read-write"
        } else {
            ""
        };
        let dir = text(&config.working_dir)?;
        option("--grant", format!("dir:{dir}{mode}"));
    } else if served.config.write {
        args.push("--write".to_owned());
    }
    if let Some(dir) = &served.config.state_dir {
        let dir = text(&config.working_dir.join(dir))?;
        args.extend(["--state-dir".to_owned(), dir]);
    }
    Ok(json!({ "command": text(&program)?, "args": args }))
}

/// Makes the path of a `dir:` grant absolute.
fn absolute_grant(grant: &str, base: &Path) -> Result<String, Failure> {
    match grant.strip_prefix("dir:") {
        Some(path) => Ok(format!("dir:{}", text(&base.join(path))?)),
        None => Ok(grant.to_owned()),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::usage(format!(
            "the path {} is not UTF-8, so it cannot be written as JSON; rename it",
            path.display()
        ))
    })
}
