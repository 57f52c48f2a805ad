//! Tests the way of requests: proxies, and the authorities of certificates.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer},
    has_python,
    running::Running,
};
use pretty_assertions::assert_eq;
use std::process::Command;

const RUN: [&str; 6] = [
    "run",
    "--config",
    "agent.toml",
    "--model",
    "openai-compat:m",
    "hi",
];

const ELSEWHERE: &str = "http://model.invalid/v1";

/// The proxy is a server that is sent the whole address, so it answers as the model would.
#[test]
fn model_requests_use_the_proxy_except_on_this_machine() {
    const PROXY: &str = "From the proxy.\n";
    const SERVER: &str = "From the server.\n";
    // HTTP_PROXY is set, `[network]`, the server's address if it is not on this machine.
    let rows = [
        (true, "", Some(ELSEWHERE), PROXY),
        (true, "", None, SERVER),
        (true, "proxy = \"off\"", None, SERVER),
        (true, "proxy = \"off\"", Some(ELSEWHERE), ""),
        (false, "proxy = \"ADDRESS\"", Some(ELSEWHERE), PROXY),
        (false, "proxy = \"ADDRESS\"", None, SERVER),
        (
            false,
            "proxy = \"ADDRESS\"\nno-proxy = [\"model.invalid\"]",
            Some(ELSEWHERE),
            "",
        ),
        (false, "proxy = \"env:CONFIGURED\"", Some(ELSEWHERE), PROXY),
        (true, "proxy = \"http://127.0.0.1:1\"", Some(ELSEWHERE), ""),
    ];
    for (has_variable, network, base_url, expected) in rows {
        let proxy = ChatServer::start(vec![Answer::text(PROXY.trim_end())]);
        let server = ChatServer::start(vec![Answer::text(SERVER.trim_end())]);
        let address = proxy.base_url.trim_end_matches("/v1");
        let env = TestEnv::new();
        let network = network.replace("ADDRESS", address);
        env.write(
            "agent.toml",
            format!("[openai-compat]\nretries = 0\n[network]\n{network}\n"),
        );
        let mut command = env.command(&RUN);
        command
            .env(
                "OPENAI_COMPAT_BASE_URL",
                base_url.unwrap_or(&server.base_url),
            )
            .env("CONFIGURED", address);
        if has_variable {
            command.env("HTTP_PROXY", address);
        }
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.stdout, expected, "{network}: {}", ran.stderr);
        let asked = (proxy.requests().len(), server.requests().len());
        let counts = (
            usize::from(expected == PROXY),
            usize::from(expected == SERVER),
        );
        assert_eq!(asked, counts, "{network}");
    }
}

/// An MCP server elsewhere is reached through the same proxy.
#[test]
fn mcp_requests_use_the_proxy() {
    let proxy = ChatServer::start(vec![Answer::text("no MCP server")]);
    let address = proxy.base_url.trim_end_matches("/v1");
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        format!(
            "[network]\nproxy = \"{address}\"\n[[mcp]]\nname = \"far\"\nurl = \"http://mcp.invalid/mcp\"\n\
             connect-timeout-seconds = 5\n"
        ),
    );
    let ran = env.run(&["doctor", "--config", "agent.toml"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let asked = proxy.requests();
    assert_eq!(asked[0]["jsonrpc"], "2.0", "{asked:?}");
}

/// A server whose authority the machine does not know is refused, and used once `SSL_CERT_FILE`
/// names the authority.
#[test]
fn authorities_of_the_machine_are_trusted() {
    if !has_python() {
        return;
    }
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/it/tls");
    let server = format!("{directory}/server.py");
    let mut server = Running::start(Command::new("python3").arg(server));
    let base_url = format!("https://127.0.0.1:{}/v1", server.stdout.next_line().trim());
    let ask = |authority: Option<&str>| {
        let env = TestEnv::new();
        env.write("agent.toml", "[openai-compat]\nretries = 0\n");
        let mut command = env.command(&RUN);
        command.env("OPENAI_COMPAT_BASE_URL", &base_url);
        if let Some(authority) = authority {
            command.env("SSL_CERT_FILE", format!("{directory}/{authority}"));
        }
        Ran::from(command.output().unwrap())
    };
    let unknown = ask(None);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(1), ""));
    let why = "is from an authority that this machine does not trust (set SSL_CERT_FILE to the authority's \
        certificate)";
    assert!(unknown.stderr.contains(why), "{}", unknown.stderr);
    let known = ask(Some("ca.pem"));
    assert_eq!(
        (known.code, known.stdout.as_str()),
        (Some(0), "Over TLS.\n"),
        "{}",
        known.stderr
    );
    let missing = ask(Some("no-such.pem"));
    assert_eq!(missing.code, Some(1));
    assert!(
        missing
            .stderr
            .contains("the system's certificates are not used"),
        "{}",
        missing.stderr
    );
}

/// The machine's store of certificates is hundreds of files.
#[test]
fn command_without_connection_reads_no_certificates() {
    let env = TestEnv::new();
    let arguments = ["call", "builtin:files", "list_directory", r#"{"path":"."}"#];
    let mut command = env.command(&arguments);
    command.env("SSL_CERT_FILE", "no-such.pem");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}
