//! Tests deployments: another user, a read-only working directory, no `HOME`, little address space,
//! and SIGTERM.

use agent_host_test_support::{
    Ran, TestEnv, of_kind, program,
    running::{PATIENCE, Running},
};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

/// The user that the program runs as when the tests run as root: `nobody`.
const NOBODY: u32 = 65_534;

/// A user without other processes, for limits per user.
const LONER: u32 = 65_533;

/// The program's address space, in bytes.
const ADDRESS_SPACE_BYTES: u64 = 512 * 1024 * 1024;

struct Deployment {
    env: TestEnv,
    state: PathBuf,
}

impl Deployment {
    fn new(config: &str) -> Self {
        Self::of(NOBODY, config)
    }

    /// A test directory whose state directory belongs to a user.
    fn of(user: u32, config: &str) -> Self {
        let env = TestEnv::new();
        env.write("README.md", "# Deployed\n");
        let state = env.outside().join("state");
        std::fs::create_dir(&state).unwrap();
        env.write(
            "agent.toml",
            format!("state-dir = \"{}\"\n{config}", state.display()),
        );
        if geteuid().is_root() {
            chown(&state, Some(user), Some(user)).unwrap();
        }
        std::fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
        for directory in [env.outside().to_owned(), env.work()] {
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o555)).unwrap();
        }
        Self { env, state }
    }

    /// The program as its own user, with an empty environment and little address space.
    fn command(&self, args: &[&str]) -> Command {
        self.limited(NOBODY, &format!("--as={ADDRESS_SPACE_BYTES}"), args)
    }

    /// The program as a user, with a limit in the syntax of `prlimit`.
    fn limited(&self, user: u32, limit: &str, args: &[&str]) -> Command {
        let mut command = if geteuid().is_root() {
            let mut command = Command::new("/usr/bin/setpriv");
            let user = user.to_string();
            command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
            command.arg("/usr/bin/prlimit");
            command
        } else {
            Command::new("/usr/bin/prlimit")
        };
        command
            .args([limit, program()])
            .args(args)
            .env_clear()
            .current_dir(self.env.work())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }
}

impl Drop for Deployment {
    /// Allows the directory to be removed.
    fn drop(&mut self) {
        for directory in [self.env.outside().to_owned(), self.env.work()] {
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
}

#[test]
fn run_as_other_user_with_read_only_directories() {
    let deployment = Deployment::new("");
    let ran = deployment.run(&[
        "run",
        "--config",
        "agent.toml",
        "What is in this directory?",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("Deployed"), "{}", ran.stdout);
    assert!(deployment.state.join("agent-host.db").exists());
    let doctor = deployment.run(&["doctor", "--config", "agent.toml"]);
    assert!(doctor.stdout.contains("on demand"), "{}", doctor.stdout);
}

#[test]
fn sigterm_drains_and_second_cancels() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let deployment = Deployment::new(&format!(
        "[[grants.http]]\nhost = \"127.0.0.1\"\nscheme = \"http\"\nport = {port}\n"
    ));
    let script = deployment.state.join("slow.toml");
    std::fs::write(
        &script,
        format!("[[turn]]\n[[turn.call]]\ntool = \"fetch\"\ninput = '{{\"url\": \"http://127.0.0.1:{port}/\"}}'\n"),
    )
    .unwrap();
    let model = format!("script:{}", script.display());
    let mut child = deployment
        .command(&["run", "--config", "agent.toml", "--model", &model, "wait"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();

    // The request has arrived and is never answered, so the call is certainly running.
    let (arrived, first_line) = mpsc::channel();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream.try_clone().unwrap())
            .read_line(&mut line)
            .unwrap();
        // The connection stays open as long as the test has it.
        arrived.send((line, stream)).unwrap();
    });
    let Ok((line, _stream)) = first_line.recv_timeout(PATIENCE) else {
        child.kill().unwrap();
        panic!(
            "no request: {:?}",
            Ran::from(child.wait_with_output().unwrap())
        );
    };
    assert_eq!(line, "GET / HTTP/1.1\r\n");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    // The call never ends, so the first signal waits for it.
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while !stderr.contains("A second SIGTERM") {
        assert_ne!(said.read_line(&mut stderr).unwrap(), 0, "{stderr}");
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    said.read_to_string(&mut stderr).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("--resume"), "{stderr}");

    let shown = deployment.run(&[
        "sessions",
        "show",
        "latest",
        "--json",
        "--config",
        "agent.toml",
    ]);
    let events = shown.json_lines();
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0]["output"]["value"]["code"], "cancelled");
    assert_eq!(
        of_kind(&events, "turn-ended")[0]["outcome"]["type"],
        "cancelled"
    );
}

/// Whether it runs or ends, it gives the reason in one sentence with the limit to raise; it neither
/// panics nor hangs.
#[test]
fn low_process_limits_are_one_sentence_errors() {
    let deployment = Deployment::of(LONER, "");
    let args = ["run", "--quiet", "--config", "agent.toml", "hello"];
    // Compiles the tools, which needs a child process and most of the time.
    let enough: Ran = deployment
        .limited(LONER, "--nproc=1000", &args)
        .output()
        .unwrap()
        .into();
    assert_eq!((enough.code, enough.stderr.as_str()), (Some(0), ""));
    let mib = |count: u64| (count * 1024 * 1024).to_string();
    let program_mib = std::fs::metadata(program()).unwrap().len() / (1024 * 1024);
    let threads: Vec<String> = (1..=20).map(|count| count.to_string()).collect();
    // The `prlimit` name, the values, how many of them are certainly too low, and the limit's name
    // in the message.
    let kib = |count: u64| (count * 1024).to_string();
    let table: [(&str, Vec<String>, usize, &str); 4] = [
        (
            "stack",
            [64, 128, 256, 512, 1023].map(kib).to_vec(),
            5,
            "(`ulimit -s`",
        ),
        ("nproc", threads, 8, "(`ulimit -u`"),
        (
            "as",
            // An unoptimized program is a few times larger, and is itself in the address space.
            [18, 58, 98, 118, 158, 218]
                .map(|more| mib(program_mib + more))
                .to_vec(),
            4,
            "(`ulimit -v`",
        ),
        (
            "nofile",
            [8, 12, 24, 63].map(|count: u64| count.to_string()).to_vec(),
            4,
            "(`ulimit -n`",
        ),
    ];
    for (name, values, too_low, names) in table {
        for (env, value) in values.iter().enumerate() {
            let limit = format!("--{name}={value}");
            let ran =
                Running::start_without_input(&mut deployment.limited(LONER, &limit, &args)).end();
            if env >= too_low && ran.code == Some(0) {
                continue;
            }
            let sentence = ran.stderr.strip_suffix('\n').unwrap();
            assert_eq!(
                (ran.code, sentence.lines().count()),
                (Some(1), 1),
                "{limit}: {ran:?}"
            );
            assert!(
                sentence.starts_with("error: ") && sentence.contains(names),
                "{limit}: {ran:?}"
            );
            assert!(!sentence.contains("fault"), "{limit}: {ran:?}");
        }
    }
}
