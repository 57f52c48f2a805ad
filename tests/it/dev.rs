//! Tests `dev`: builds and cases after changes, a build that fails, tools that are served
//! meanwhile.

use super::author::install;
use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::{
    Ran, TestEnv,
    mcp_client::{Client, call, response, texts},
    running::Running,
};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;
use std::{path::PathBuf, process::Command};

/// A component whose tool `greet` returns this.
fn guest(text: &str) -> Vec<u8> {
    let guest = Guest {
        definitions: vec![Definition {
            name: "greet".to_owned(),
            ..Definition::default()
        }],
        ..Guest::returning(Body::Text(0, text.as_bytes()))
    };
    guest.bytes()
}

/// A project in Python whose compiler is a script: it makes the component of `tool.py`, which names
/// a file, and fails where there is none. A pipe `hold` makes it wait until it is written to.
struct Greeter {
    env: TestEnv,
    bin: PathBuf,
}

impl Greeter {
    fn new() -> Self {
        let env = TestEnv::new();
        let bin = env.outside().join("bin");
        let compiles = format!(
            "if [ \"$1\" = -c ]; then echo 0.25.0; exit; fi\n\
             cd '{}'\n\
             while [ \"$1\" != --out ]; do shift; done\n\
             name=$(/bin/cat greeter/tool.py)\n\
             echo \"compiling $name\" >&2\n\
             [ ! -p hold ] || : < hold\n\
             /bin/cp \"$name\" \"$2\"",
            env.work().display()
        );
        install(&bin, "python3", &compiles);
        let made = env.run(&["new", "greeter", "--lang", "python"]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let greeter = Self { env, bin };
        greeter.expect("one");
        greeter.source("one");
        greeter
    }

    /// Makes `tool.py` return this.
    fn source(&self, text: &str) {
        self.env.write(text, guest(text));
        // In one step, as editors do.
        let new = self.env.write("greeter/.new", text);
        std::fs::rename(new, self.env.work().join("greeter/tool.py")).unwrap();
    }

    /// Makes the only case expect this.
    fn expect(&self, text: &str) {
        let case = format!(
            "[[case]]\nname = 'greets'\ntool = 'greet'\ninput = {{}}\nexpect.text = '{text}'\n"
        );
        self.env.write("greeter/tests/greeter.toml", case);
    }

    /// Makes the next build wait.
    fn hold(&self) {
        let mut command = Command::new("mkfifo");
        let made = self.env.prepare(command.arg("hold")).status();
        assert!(made.unwrap().success());
    }

    /// Lets the build go on that waits, and those after it.
    fn release(&self) {
        let hold = self.env.work().join("hold");
        // Opens once the compiler reads.
        let open = std::fs::File::options().write(true).open(&hold).unwrap();
        std::fs::remove_file(hold).unwrap();
        drop(open);
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.env.command(&[&["dev", "greeter"], more].concat());
        command.env("PATH", &self.bin);
        command
    }
}

#[test]
fn change_is_built_and_tested_until_interrupted() {
    let greeter = Greeter::new();
    std::fs::remove_file(greeter.env.work().join("greeter/test_tool.py")).unwrap();
    let mut dev = Running::start(&mut greeter.command(&[]));
    assert!(dev.stderr.says("1 passed, 0 failed", 1));
    greeter.source("two");
    dev.stderr.until("compiling two");
    dev.stderr.until("+ text: two");
    dev.stderr.until("0 passed, 1 failed");
    // Cases alone are run without a build.
    greeter.expect("two");
    assert!(dev.stderr.says("1 passed, 0 failed", 2));
    // The component of the last good build stays.
    let component = greeter.env.work().join("greeter/dist/greeter.wasm");
    let good = std::fs::read(&component).unwrap();
    greeter.source("three");
    std::fs::remove_file(greeter.env.work().join("three")).unwrap();
    dev.stderr.until("not built; ");
    assert_eq!(std::fs::read(&component).unwrap(), good);
    dev.signal(Signal::INT);
    let ran = dev.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(
        ran.stderr.matches("compiling two").count(),
        1,
        "{}",
        ran.stderr
    );
}

#[test]
fn change_during_a_build_is_followed_by_another() {
    let greeter = Greeter::new();
    greeter.hold();
    let mut dev = Running::start(&mut greeter.command(&[]));
    dev.stderr.until("compiling one");
    greeter.source("two");
    greeter.expect("two");
    greeter.release();
    dev.stderr.until("compiling two");
    dev.stderr.until("1 passed, 0 failed");
}

/// A compiler that never ends is stopped with the program.
#[test]
fn interrupted_build_ends_at_once() {
    let greeter = Greeter::new();
    greeter.hold();
    let mut dev = Running::start(&mut greeter.command(&[]));
    dev.stderr.until("compiling one");
    dev.signal(Signal::TERM);
    // The compiler holds the outputs open until it ends.
    let Ran { code, .. } = dev.end();
    assert_eq!(code, Some(0));
    assert!(!greeter.env.work().join("greeter/dist").exists());
}

#[test]
fn rebuilt_tools_are_served_to_the_client() {
    let greeter = Greeter::new();
    let mut client = Client::of(&mut greeter.command(&["--mcp"])).initialized(json!({}));
    assert_eq!(
        client.ask(call(1, "greet", json!({}))),
        response(1, texts("text", &["one"]))
    );
    greeter.source("two");
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    assert_eq!(client.next(), changed);
    assert_eq!(
        client.ask(call(2, "greet", json!({}))),
        response(2, texts("text", &["two"]))
    );
    let ran = client.close();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn project_that_was_never_built_is_not_served() {
    let greeter = Greeter::new();
    std::fs::remove_file(greeter.env.work().join("one")).unwrap();
    let ran: Ran = greeter.command(&["--mcp"]).output().unwrap().into();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let why = "not built\nerror: there is nothing to serve: no build has succeeded yet; correct the project, and \
        start again\n";
    assert!(ran.stderr.ends_with(why), "{}", ran.stderr);
}
