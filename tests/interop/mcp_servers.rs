//! Third-party MCP servers as tools of the program: what it lists, one call of each, and one server
//! that is killed during a call. `mcp_servers/servers.json` has a row for each server.

use agent_host_test_support::{
    Ran, TestEnv,
    http::Received,
    installed::{here, mcp_python, mcp_servers},
    running::{PATIENCE, Running},
};
use pretty_assertions::assert_eq;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, FileType, Mode, OFlags, mknodat, open},
    process::{Pid, Signal, kill_process},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::{BufReader, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// A server, what it lists, and the result of one call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    name: String,
    /// The SDK that it is made with, for readers of the table.
    #[serde(rename = "sdk")]
    _sdk: String,
    /// The packages that have it: `node`, or a list of `interop/python`.
    from: String,
    /// Its script in the directory of the packages, or its program beside a Python.
    program: String,
    arguments: Vec<String>,
    /// The directories that it is told to work in.
    #[serde(default)]
    roots: Vec<String>,
    /// The revision of the protocol that it and the program settle on.
    protocol: String,
    /// The warnings about its tools.
    notes: Vec<Value>,
    tools: Vec<String>,
    call: Call,
    /// The exit code of the call.
    code: i32,
    result: Value,
}

/// One call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    arguments: Value,
}

impl Server {
    /// Its command line; `None` if its packages cannot be installed.
    fn command(&self) -> Option<Vec<String>> {
        let mut command = if self.from == "node" {
            let packages = mcp_servers()?;
            let script = packages.directory.join(&self.program);
            vec![packages.node, script]
        } else {
            vec![mcp_python(&self.from)?.with_file_name(&self.program)]
        };
        command.extend(self.arguments.iter().map(PathBuf::from));
        let words = command.into_iter();
        Some(
            words
                .map(|word| word.to_str().unwrap().to_owned())
                .collect(),
        )
    }

    /// Lists its tools and makes the call.
    fn plays(&self, env: &TestEnv) {
        let Some(command) = self.command() else {
            return;
        };
        let Self { name, call, .. } = self;
        configure(env, name, &command, &self.roots);
        let listed = ask(env, &["inspect", name]);
        assert_eq!(listed.code, Some(0), "{name}: {}", listed.stderr);
        let listed = listed.json();
        let tools = listed["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = tools
            .map(|tool| {
                let listed = tool["name"].as_str().unwrap();
                listed.strip_prefix(&format!("{name}_")).unwrap()
            })
            .collect();
        assert_eq!(
            (names, &listed["protocol"], &listed["notes"]),
            (
                self.tools.iter().map(String::as_str).collect(),
                &json!(self.protocol),
                &json!(self.notes)
            ),
            "{name}"
        );
        let ran = ask(
            env,
            &["call", name, &call.tool, &call.arguments.to_string()],
        );
        assert_eq!(
            (ran.code, ran.json()),
            (Some(self.code), self.result.clone()),
            "{name}: {}",
            ran.stderr
        );
    }
}

/// Configures one server alone, with a home of its own.
fn configure(env: &TestEnv, name: &str, command: &[String], roots: &[String]) {
    let config = format!(
        "tool = []\n[[mcp]]\nname = {name:?}\ncommand = {}\nroots = {}\n\
         [[mcp.env]]\nname = \"HOME\"\nfrom-host = true\n",
        json!(command),
        json!(roots)
    );
    env.write("agent.toml", config);
    // Each server is pinned anew.
    let _ = fs::remove_file(env.work().join("agent.lock"));
}

fn ask(env: &TestEnv, arguments: &[&str]) -> Ran {
    let config = ["--config", "agent.toml", "--json"];
    env.run(&[arguments, &config].concat())
}

/// The rows of these packages, with the placeholders of the table replaced.
fn servers(env: &TestEnv, from: &[&str]) -> Vec<Server> {
    let table = fs::read_to_string(here("interop/mcp_servers/servers.json")).unwrap();
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let table = table
        .replace("{work}", env.work().to_str().unwrap())
        .replace("{tests}", here("interop/mcp_servers").to_str().unwrap())
        .replace("{page}", &serve_a_page())
        .replace("{date}", &now.strftime("%Y-%m-%d").to_string())
        .replace("{weekday}", &now.strftime("%A").to_string());
    let mut servers: Vec<Server> = serde_json::from_str(&table).unwrap();
    servers.retain(|server| from.contains(&server.from.as_str()));
    servers
}

/// Serves a page at every address but that of `robots.txt`, until the test's process ends. Returns
/// its address.
fn serve_a_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/page", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = Received::read(&mut BufReader::new(&stream)) else {
                continue;
            };
            let (status, body) = match request.target() {
                "/robots.txt" => ("404 Not Found", ""),
                _ => (
                    "200 OK",
                    "<html><body><article><p>alpha</p></article></body></html>",
                ),
            };
            let length = body.len();
            // The client may have hung up.
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

/// The files that the calls read.
fn write_files(env: &TestEnv) {
    env.write("docs/a.txt", "alpha\n");
    env.write("docs/dot.gif", b"GIF89a\x01\0\x01\0\0\0\0,");
    env.write("let.js", "let x = 1;\n");
    env.write(
        "eslint.config.mjs",
        "export default [{ rules: { \"prefer-const\": \"error\" } }];\n",
    );
    env.write(
        "one.drawio",
        "<mxfile><diagram id=\"a\" name=\"One\"><mxGraphModel><root/></mxGraphModel></diagram></mxfile>",
    );
    let database = rusqlite::Connection::open(env.work().join("one.db")).unwrap();
    let rows = "create table t (a integer, b text); insert into t values (1, 'one');";
    database.execute_batch(rows).unwrap();
    let repo = env.write("repo/new.txt", "x");
    let made = env
        .prepare(&mut Command::new("git"))
        .args(["init", "--quiet", "--initial-branch", "main"])
        .arg(repo.parent().unwrap())
        .status();
    assert!(made.unwrap().success());
}

/// The servers that are played at once. Each is started twice, and loads its packages for a second.
/// The first of Python (`aiotime`) answers no `server/discover`, which its client awaits for 10 s.
const AT_ONCE: usize = 3;

/// Plays every row of these packages; `count` of them.
fn play(from: &[&str], count: usize) {
    if from.contains(&"node")
        && let Some(packages) = mcp_servers()
    {
        // A script of ours finds its packages from its own directory.
        let script = "fastmcp_server.mjs";
        fs::copy(
            here("interop/mcp_servers").join(script),
            packages.directory.join(script),
        )
        .unwrap();
    }
    let (next, played) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let env = TestEnv::new();
                write_files(&env);
                let servers = servers(&env, from);
                assert_eq!(servers.len(), count);
                while let Some(server) = servers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    server.plays(&env);
                    played.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(played.into_inner(), count);
}

#[test]
fn typescript_servers_are_listed_and_called() {
    play(&["node"], 14);
}

#[test]
fn python_servers_are_listed_and_called() {
    play(&["sdk-1", "sdk-2", "fastmcp-2"], 15);
}

/// Waits for the text that a process writes into a FIFO.
fn text_from(fifo: &Path) -> String {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let mut fifo = File::from(open(fifo, flags, Mode::empty()).unwrap());
    let patience = Timespec::try_from(PATIENCE).unwrap();
    let mut readable = [PollFd::new(&fifo, PollFlags::IN)];
    assert_eq!(poll(&mut readable, Some(&patience)), Ok(1), "nothing came");
    let mut text = [0; 16];
    let length = fifo.read(&mut text).unwrap();
    String::from_utf8(text[..length].to_vec()).unwrap()
}

/// A server that is killed during a call: its result says that the effect is unknown.
#[test]
fn server_killed_during_a_call_leaves_its_effect_unknown() {
    let env = TestEnv::new();
    let all = servers(&env, &["node"]);
    let eslint = all.iter().find(|server| server.name == "eslint").unwrap();
    let Some(command) = eslint.command() else {
        return;
    };
    configure(&env, "eslint", &command, &[]);
    env.write("let.js", "let x = 1;\n");
    // The configuration is read during the call: it names the process, and never ends.
    env.write(
        "eslint.config.mjs",
        "import { writeFileSync } from 'node:fs'\n\
         writeFileSync('pid', String(process.pid))\n\
         await new Promise(() => setInterval(() => {}, 1000))\n",
    );
    let fifo = env.work().join("pid");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let input = json!({ "filePaths": [env.work().join("let.js")] }).to_string();
    let config = ["--config", "agent.toml", "--json"];
    let call = [&["call", "eslint", "lint-files", &input], &config[..]].concat();
    let running = Running::start(&mut env.command(&call));
    let server: i32 = text_from(&fifo).parse().unwrap();
    kill_process(Pid::from_raw(server).unwrap(), Signal::KILL).unwrap();
    let ran = running.end();
    let expected = json!({
        "type": "error-json",
        "value": {
            "code": "tool-unavailable",
            "message": format!(
                "The MCP server `eslint` is currently unavailable: it closed the connection, it exited (exit status: \
                 137), and its last line on stderr was: ESLint MCP server is running. cwd: {}. Whether the call took \
                 effect is not known.",
                env.work().display()
            ),
        },
    });
    assert_eq!(
        (ran.code, ran.json()),
        (Some(1), expected),
        "{}",
        ran.stderr
    );
}
