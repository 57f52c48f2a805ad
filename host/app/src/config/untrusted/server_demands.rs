//! Demands of the MCP servers of an untrusted file.

use super::{Danger, Review, demands::all_quoted, in_full, quoted};
use crate::config::raw::{RawMcp, RawOAuth};
use std::collections::BTreeMap;

impl Review<'_> {
    /// Demands what a server asks for.
    pub(super) fn server(&mut self, raw: &RawMcp) {
        let RawMcp {
            name,
            command,
            args,
            // Told with the program, or unused.
            dir,
            url,
            token,
            headers,
            oauth,
            roots,
            // The rest of the server's tools is left out.
            tools: _,
            read_only,
            approval,
            approvals,
            concurrent_calls,
            // Time limits, and whether a session runs without it.
            deadline_ms: _,
            connect_timeout_seconds: _,
            required: _,
            env,
        } = raw;
        let who = quoted(name);
        if let Some(command) = command {
            self.program(&who, &command.words(args), dir.as_deref());
        }
        self.address(&who, url.as_deref(), token.as_deref());
        self.login(&who, oauth);
        if !roots.is_empty() {
            let directories = all_quoted(roots, ", ");
            self.demand(
                Danger::Other,
                format!("tells the MCP server {who} to work in {directories}"),
            );
        }
        self.headers(&who, headers);
        if !read_only.is_empty() {
            let tools = all_quoted(read_only, ", ");
            self.demand(
                Danger::Unchecked,
                format!("runs these tools of {who} without asking, as read-only: {tools}"),
            );
        }
        self.approvals(&who, approval, approvals);
        self.calls_at_once(&who, *concurrent_calls);
        self.variables(&who, env);
    }

    /// Demands the start of a server.
    fn program(&mut self, who: &str, command: &[String], dir: Option<&str>) {
        let words: Vec<String> = command.iter().map(|word| in_full(word)).collect();
        let words = words.join(" ");
        let within = match dir {
            Some(dir) => {
                self.reach(dir);
                format!(" in {}", quoted(dir))
            }
            None => String::new(),
        };
        self.demand(
            Danger::Program,
            format!(
                "starts the program {words}{within} outside of the sandbox, as the MCP server {who}"
            ),
        );
    }

    /// Demands what is sent to the address of a server.
    fn address(&mut self, who: &str, url: Option<&str>, token: Option<&str>) {
        if let Some(url) = url.map(quoted) {
            self.demand(
                Danger::Network,
                format!("sends calls to {url} as the MCP server {who}"),
            );
        }
        if let Some(token) = token {
            let (danger, token) = (Danger::reading(token, Danger::Private), quoted(token));
            self.demand(
                danger,
                format!("sends the token from {token} to the MCP server {who}"),
            );
        }
    }

    /// Demands the headers that are sent to a server.
    fn headers(&mut self, who: &str, headers: &BTreeMap<String, String>) {
        for (header, value) in headers {
            let danger = Danger::reading(value, Danger::Network);
            let (header, value) = (quoted(header), quoted(value));
            self.demand(
                danger,
                format!("sends the header {header} with {value} to the MCP server {who}"),
            );
        }
    }

    /// Demands what a login to a server asks for.
    fn login(&mut self, who: &str, raw: &RawOAuth) {
        // A login is the user's own act, but not what protects it.
        let RawOAuth {
            client_id: _,
            client_secret,
            client_metadata_url: _,
            scopes: _,
            redirect_port: _,
            assume_pkce,
        } = raw;
        if *assume_pkce {
            self.demand(Danger::Unchecked, format!(
                "logs in to the MCP server {who} although its authorization server names no PKCE method"
            ));
        }
        if let Some(secret) = client_secret {
            let (danger, secret) = (Danger::reading(secret, Danger::Private), quoted(secret));
            self.demand(
                danger,
                format!(
                    "sends the client secret from {secret} to the authorization server of {who}"
                ),
            );
        }
    }
}
