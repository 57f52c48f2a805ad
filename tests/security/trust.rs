//! Tests configuration that came with a directory: its rights before the user trusts it, how trust
//! is given, and when it ends.

use agent_host_test_support::{
    Ran, TestEnv, at_once,
    chat::{Answer, ChatServer},
    terminal::on_a_terminal,
};
use pretty_assertions::assert_eq;
use rustix::process::geteuid;
use std::{
    fs,
    net::TcpListener,
    os::unix::fs::{chown, symlink},
    path::PathBuf,
    process::Command,
};

/// Another user of the machine where the tests run as root: `nobody`.
const NOBODY: u32 = 65_534;

/// It asks for one thing.
pub(super) const ASKING: &str = "[[grants.http]]\nhost = \"127.0.0.1\"\n";
pub(super) const DEMAND: &str = "it lets every tool send HTTP requests to \"127.0.0.1\"";

pub(super) fn trust_file(env: &TestEnv) -> PathBuf {
    let home = env.outside().join("home");
    home.join(".local/state/agent-host/trust.json")
}

/// The run refuses untrusted configuration in one sentence with the reason and the next step.
fn is_refused(ran: &Ran, demand: &str) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(2), ""),
        "{}",
        ran.stderr
    );
    for says in [
        "is not trusted, and it",
        demand,
        "review it, then run `agent-host trust",
        "pass `--trust` for this run",
    ] {
        assert!(ran.stderr.contains(says), "no {says:?} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("KEY=1"), "{}", ran.stderr);
}

/// The attacks of an untrusted file, each a call that shows what the file would gain. The expected
/// text is absent before trust.
#[test]
fn untrusted_attacks_are_refused_until_trusted() {
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    sink.set_nonblocking(true).unwrap();
    let url = format!("{{\"url\": \"http://{}/\"}}", sink.local_addr().unwrap());
    let read = "{\"path\": \".env\"}".to_owned();
    let fetch = |host: &str| format!("[[grants.http]]\nhost = \"{host}\"\n");
    let table: [(String, &str, &str, &str, &str); 6] = [
        (
            fetch("127.0.0.1"),
            "builtin:fetch",
            "fetch",
            &url,
            "to \"127.0.0.1\"",
        ),
        (fetch("*"), "builtin:fetch", "fetch", &url, "to \"*\""),
        (
            fetch("169.254.169.254"),
            "builtin:fetch",
            "fetch",
            &url,
            "to \"169.254.169.254\"",
        ),
        (
            "[[grants.dir]]\nhost = \".\"\nmask = []\n".to_owned(),
            "builtin:files",
            "read_file",
            &read,
            "lets every tool read \".\", with nothing hidden (mask = [])",
        ),
        (
            "[[grants.dir]]\nhost = \"link\"\n".to_owned(),
            "builtin:files",
            "read_file",
            "{\"path\": \"key\"}",
            "lets every tool read \"link\" outside of its directory",
        ),
        (
            "[limits]\nmemory-bytes = 9007199254740992\n".to_owned(),
            "builtin:files",
            "list_directory",
            "{}",
            "raises memory-bytes to 9007199254740992 (the default is 268435456)",
        ),
    ];
    for (toml, component, tool, input, demand) in table {
        let env = TestEnv::new();
        env.write(".env", "KEY=1\n");
        let private = env.outside().join("private");
        fs::create_dir(&private).unwrap();
        fs::write(private.join("key"), "KEY=1\n").unwrap();
        symlink(&private, env.work().join("link")).unwrap();
        env.write("agent.toml", &toml);
        is_refused(&env.run(&["call", component, tool, input]), demand);
        is_refused(&env.run(&["run", "look"]), demand);
        assert!(sink.accept().is_err(), "{toml}");
        let trusted = env.run(&["trust", "--yes"]);
        let said = format!(
            "trusted {}\n",
            env.work()
                .canonicalize()
                .unwrap()
                .join("agent.toml")
                .display()
        );
        assert_eq!(
            (trusted.code, trusted.stdout),
            (Some(0), said),
            "{}",
            trusted.stderr
        );
        assert!(trusted.stderr.contains(demand), "{}", trusted.stderr);
        let ran = env.run(&["run", "look"]);
        assert_eq!(ran.code, Some(0), "{toml}: {}", ran.stderr);
        if tool == "read_file" {
            let ran = env.run(&["call", component, tool, input]);
            assert_eq!(
                (ran.code, ran.stdout.contains("KEY=1")),
                (Some(0), true),
                "{ran:?}"
            );
        }
    }
}

/// Other files of the directory, which are no configuration of the program, have no effect.
#[test]
fn other_files_configure_nothing() {
    let env = TestEnv::new();
    env.write(".env", "AGENT_HOST_STATE_DIR=here\nANTHROPIC_API_KEY=k\n");
    env.write("agent.lock", "not a lock\n");
    env.write("trust.json", "{}");
    let ran = env.run(&["run", "look"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!env.work().join("here").exists());
}

/// A command that acts on the configuration refuses it if no user can be asked; `--config` and
/// `--trust` allow it. `looking.rs` has all commands.
#[test]
fn untrusted_config_without_terminal_is_refused() {
    let env = TestEnv::new();
    env.write("agent.toml", ASKING);
    let commands: [&[&str]; 5] = [
        &["run", "look"],
        &["call", "builtin:files", "list_directory"],
        &["mcp"],
        &["mcp", "config"],
        &["lock", "--accept"],
    ];
    for command in commands {
        is_refused(&env.run(command), DEMAND);
    }
    assert!(!env.work().join("agent.lock").exists());
    for answer in [&["--trust"][..], &["--config", "agent.toml"]] {
        let ran = env.run(&[&["sessions", "list"], answer].concat());
        assert_eq!(ran.code, Some(0), "{answer:?}: {}", ran.stderr);
        assert_eq!(
            ran.stderr
                .contains(&format!("  - {DEMAND}\nIt is trusted for this run.")),
            answer == ["--trust"],
            "{}",
            ran.stderr
        );
    }
    // The answer is not remembered.
    assert!(!trust_file(&env).exists());
    is_refused(&env.run(&["run", "look"]), DEMAND);
}

/// `lock` writes `agent.lock` without trusting a configuration.
#[test]
fn lock_of_an_untrusted_directory_trusts_nothing() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n",
    );
    let component = fs::read(agent_host_test_support::dist().join("files.wasm")).unwrap();
    env.write("mine.wasm", component);
    let demand = "it runs the component \"mine.wasm\" as \"mine\"";
    is_refused(&env.run(&["lock", "--accept"]), demand);
    let locked = env.run(&["lock", "--accept", "--trust"]);
    assert_eq!(locked.code, Some(0), "{}", locked.stderr);
    assert!(env.work().join("agent.lock").exists());
    is_refused(&env.run(&["run", "look"]), demand);
}

#[test]
fn trust_ends_on_authority_change_and_revoke() {
    let env = TestEnv::new();
    let ends = |code| {
        let ran = env.run(&["run", "look"]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
    };
    env.configure(format!("system = \"Be brief.\"\n{ASKING}"));
    ends(0);
    // Another layout, and another system prompt.
    env.write(
        "agent.toml",
        "system = \"Be kind.\"\n# Ours.\n[grants]\nhttp = [ { host = '127.0.0.1' } ]\n",
    );
    ends(0);
    env.write("agent.toml", ASKING.replace("127.0.0.1", "*"));
    ends(2);
    env.write("agent.toml", ASKING);
    ends(0);
    let path = env.work().canonicalize().unwrap().join("agent.toml");
    let listed = env.run(&["trust", "--list"]).stdout;
    assert!(
        listed.ends_with(&format!("  {}\n", path.display())),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), 1);
    let again = env.run(&["trust", "--yes"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""));
    let revoked = env.run(&["trust", "--revoke"]);
    assert_eq!(revoked.stdout, format!("revoked {}\n", path.display()));
    ends(2);
    assert_eq!(env.run(&["trust", "--list"]).stdout, "");
}

/// The same text in another directory is another file.
#[test]
fn trust_is_limited_to_its_directory() {
    let env = TestEnv::new();
    env.configure(ASKING);
    let other = env.write("other/agent.toml", ASKING);
    let mut command = env.command(&["run", "look"]);
    command.current_dir(other.parent().unwrap());
    is_refused(&command.output().unwrap().into(), DEMAND);
}

/// On a terminal the prompt quotes the file, and only `yes` accepts it.
#[test]
fn trust_is_offered_on_a_terminal_and_remembered() {
    let reply = || ChatServer::start(vec![Answer::text("That is all.")]);
    let cases = [
        ("n\n", 2, "is not trusted"),
        ("\n", 2, "is not trusted"),
        ("yes please\n", 2, "is not trusted"),
        ("y\n", 0, "That is all."),
    ];
    at_once(cases, |(keys, code, says)| {
        let env = TestEnv::new();
        env.write(
            "agent.toml",
            "[[grants.http]]\nhost = \"a\\u001b[2J\\nHost: allowed\"\n[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
        );
        if code == 0 {
            env.write("agent.toml", format!("skills = [\"skills\"]\n{ASKING}"));
            let skill = "---\nname: greet\ndescription: Says how.\n---\nSay hello.";
            env.write("skills/greet/SKILL.md", skill);
            env.write("skills/greet/words.md", "Good day.");
        }
        let ran = on_a_terminal(&env, &reply(), "run --model openai-compat:m hi", keys);
        assert_eq!(ran.code, Some(code), "{keys:?}: {ran:?}");
        let path = env.work().canonicalize().unwrap();
        let question = format!("Do you trust {}?", path.display());
        for shown in [
            "is not trusted yet and asks for:",
            "  - it lets every tool send HTTP requests to \"",
            &question,
            says,
        ] {
            assert!(ran.stdout.contains(shown), "no {shown:?} in {}", ran.stdout);
        }
        if code == 2 {
            let quoted = "\"a\\u{1b}[2J\\nHost: allowed\"";
            assert!(ran.stdout.contains(quoted), "{}", ran.stdout);
            assert!(
                ran.stdout
                    .contains("it lets every tool read and change \".\""),
                "{}",
                ran.stdout
            );
            assert!(!ran.stdout.contains("\u{1b}[2J"), "{}", ran.stdout);
        }
        assert_eq!(trust_file(&env).exists(), code == 0);
        let skills = "Its skills are read anyway, as text that grants nothing: greet (2 files)";
        assert_eq!(ran.stdout.contains(skills), code == 0, "{}", ran.stdout);
        if code == 0 {
            let again = on_a_terminal(&env, &reply(), "run --model openai-compat:m hi", "");
            assert_eq!(again.code, Some(0), "{again:?}");
            assert!(!again.stdout.contains("Do you trust"), "{}", again.stdout);
        }
    });
}

/// A list too long for the screen is refused without a prompt.
#[test]
fn trust_is_not_offered_for_more_than_one_screen() {
    let env = TestEnv::new();
    env.write("agent.toml", ASKING.repeat(31));
    let server = ChatServer::start(Vec::new());
    let ran = on_a_terminal(&env, &server, "run --model openai-compat:m hi", "y\n");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stdout.contains("and 1 more; see the file"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("Do you trust"), "{}", ran.stdout);
}

/// `--config` and trust do not excuse a file that others can change.
#[test]
fn files_of_another_user_are_refused() {
    if !geteuid().is_root() {
        return;
    }
    let env = TestEnv::new();
    let config = env.write("agent.toml", "max-turns = 3\n");
    let lock = env.write("agent.lock", "version = 1\n");
    let mut ways = vec![(&config, vec!["run", "look"])];
    ways.push((&config, vec!["run", "look", "--trust"]));
    ways.push((&config, vec!["run", "look", "--config", "agent.toml"]));
    ways.push((&lock, vec!["run", "look"]));
    for (file, args) in ways {
        assert_eq!(env.run(&args).code, Some(0));
        chown(file, Some(NOBODY), None).unwrap();
        let ran = env.run(&args);
        let says = "it belongs to another user of this machine (user id 65534; yours is 0)";
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
        chown(file, Some(0), None).unwrap();
    }
    // A found configuration that is not a regular file is refused without waiting for it.
    fs::remove_file(&config).unwrap();
    let made = Command::new("mkfifo").arg(&config).status().unwrap();
    assert!(made.success());
    let ran = env.run(&["run", "look"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("it is not a regular file"),
        "{}",
        ran.stderr
    );
}

/// The cases of a project came with it, too.
#[test]
fn test_cases_that_ask_for_more_need_trust() {
    let case = "[[case]]\nname = \"lists\"\ntool = \"list_directory\"\n[case.expect]\nvariant = \"json\"\n";
    let secret =
        "[[secret]]\nname = \"s\"\nfrom = \"cmd:touch ran\"\naudience = \"https://a.example\"\n";
    let table: [(&str, &[&str], &str); 6] = [
        (
            "[[grants.dir]]\nhost = \"../..\"\n",
            &[],
            "it lets every tool read \"../..\" outside of its directory",
        ),
        (
            "[[grants.dir]]\nhost = \"..\"\nmask = []\n",
            &[],
            "it lets every tool read \"..\", with nothing hidden (mask = [])",
        ),
        (
            "[[grants.env]]\nname = \"HOME\"\nfrom-host = true\n",
            &[],
            "it passes the environment variable \"HOME\" to every tool",
        ),
        (
            "[limits]\nmemory-bytes = 9007199254740992\n",
            &[],
            "it raises memory-bytes to 9007199254740992",
        ),
        (
            secret,
            &["--record"],
            "it reads the secret \"s\" from \"cmd:touch ran\" (a command, which runs outside of the sandbox) and sends it to \"https://a.example\"",
        ),
        (
            "[[grants.http]]\nhost = \"127.0.0.1\"\n",
            &["--record"],
            DEMAND,
        ),
    ];
    for (toml, more, demand) in table {
        let env = TestEnv::new();
        env.write("project/tests/a.toml", format!("{toml}{case}"));
        let args = [&["test", "project", "--component", "builtin:files"], more].concat();
        is_refused(&env.run(&args), demand);
        let trusted = env.run(&[&args[..], &["--trust"]].concat());
        assert!(
            trusted.stderr.contains("It is trusted for this run."),
            "{}",
            trusted.stderr
        );
        assert!(trusted.stdout.contains("lists"), "{}", trusted.stderr);
        let named = [&args[..], &["--cases", "project/tests/a.toml"]].concat();
        assert!(env.run(&named).stdout.contains("lists"));
        assert!(!env.work().join("project/ran").exists());
    }
    // Paths in a linked file start at the file that the link leads to.
    let env = TestEnv::new();
    env.write(
        "project/a.toml",
        format!("[[grants.dir]]\nhost = \"..\"\n{case}"),
    );
    fs::create_dir(env.work().join("project/tests")).unwrap();
    symlink("../a.toml", env.work().join("project/tests/a.toml")).unwrap();
    let ran = env.run(&["test", "project", "--component", "builtin:files"]);
    is_refused(
        &ran,
        "it lets every tool read \"..\" outside of its directory",
    );
    // A case that uses no server and no secret, reads the project, and writes to copies needs no
    // trust.
    let env = TestEnv::new();
    let fixture = "[[grants.dir]]\nhost = \"..\"\nmode = \"read-write\"\n[[grants.http]]\nhost = \"a.example\"\n";
    env.write("project/tests/a.toml", format!("{fixture}{secret}{case}"));
    let ran = env.run(&["test", "project", "--component", "builtin:files"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

/// Links of a project do not lead its cases elsewhere: not to read, to show or to write.
#[test]
fn test_cases_stay_in_their_project() {
    let env = TestEnv::new();
    let outside = env.outside().join("home");
    fs::write(outside.join("key"), "KEY=1\n").unwrap();
    fs::write(outside.join("cases.toml"), "").unwrap();
    env.write("project/tests/fixtures/a.txt", "a");
    let tests = env.work().join("project/tests");
    symlink(&outside, tests.join("fixtures/link")).unwrap();
    symlink(&outside, tests.join("golden")).unwrap();
    symlink(outside.join("made"), tests.join("new.txt")).unwrap();
    let case = "[[grants.dir]]\nhost = \"fixtures\"\nmode = \"read-write\"\n[[case]]\nname = \"lists\"\ntool = \"list_directory\"\n[case.expect]\n";
    let table = [
        (
            "golden = \"golden/out.txt\"",
            Some(2),
            "must be a file below the directory of its cases",
        ),
        (
            "golden = \"new.txt\"",
            Some(2),
            "must be a file below the directory of its cases",
        ),
        (
            "variant = \"json\"\nfiles = { \"/workspace/link/key\" = \"x\" }",
            Some(1),
            "it leads out of the granted directory",
        ),
        (
            "variant = \"json\"\nfiles = { \"/workspace/../../key\" = \"x\" }",
            Some(1),
            "it leads out of the granted directory",
        ),
    ];
    let args = [
        "test",
        "project",
        "--component",
        "builtin:files",
        "--update",
    ];
    for (expected, code, says) in table {
        env.write("project/tests/a.toml", format!("{case}{expected}\n"));
        let ran = env.run(&args);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{all}");
        assert!(all.contains(says) && !all.contains("KEY=1"), "{all}");
        assert!(!outside.join("out.txt").exists() && !outside.join("made").exists());
    }
    fs::remove_file(tests.join("a.toml")).unwrap();
    symlink(outside.join("cases.toml"), tests.join("a.toml")).unwrap();
    let ran = env.run(&args);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("is a link out of the project"),
        "{}",
        ran.stderr
    );
}
