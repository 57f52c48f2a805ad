//! `agent-host mcp` with the tools that the conformance suite calls, for third-party clients.

use super::{TestEnv, installed::here, running::Running};

/// The token of servers on HTTP.
pub const TOKEN: &str = "a-token-that-only-these-tests-know";

/// The variable that the program reads it from.
pub const TOKEN_VARIABLE: &str = "AGENT_HOST_MCP_TOKEN";

/// The arguments that serve these components of `guests/dist`. Naming a component accepts it.
pub fn serve(guests: &[&str]) -> Vec<String> {
    let mut arguments = vec!["mcp".to_owned()];
    for guest in guests {
        let component = here("guests/dist").join(guest).with_extension("wasm");
        arguments.extend(["--tool".to_owned(), component.display().to_string()]);
    }
    arguments
}

/// A server on HTTP. It ends when this is dropped.
pub struct Served {
    /// Its URL.
    pub url: String,
    _running: Running,
}

impl Served {
    /// Serves these components of `guests/dist` on a free port of loopback.
    pub fn start(env: &TestEnv, guests: &[&str]) -> Self {
        let mut arguments = serve(guests);
        arguments.extend(["--http", "127.0.0.1:0"].map(str::to_owned));
        let mut command = env.command(&arguments);
        let mut running = Running::start(command.env(TOKEN_VARIABLE, TOKEN));
        let line = running.stderr.line_with("http://");
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        Self {
            url: url.unwrap().to_owned(),
            _running: running,
        }
    }
}
