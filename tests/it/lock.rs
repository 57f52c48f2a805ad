//! Tests `agent.lock`: accepted components run, changed ones are refused with a difference, and one
//! command accepts them.

use agent_host_test_guests::{Definition, Guest, RANDOM, STATE_GET};
use agent_host_test_support::{Ran, TestEnv, dist, program};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::os::unix::fs::PermissionsExt as _;

const CONFIG: &str = "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n";

/// A test directory with one component.
fn env(component: &[u8]) -> TestEnv {
    let env = TestEnv::new();
    env.write("mine.wasm", component);
    env.configure(CONFIG);
    env
}

/// The same component with other bytes: one more custom section, which no engine reads.
fn same_with_other_bytes(component: &[u8]) -> Vec<u8> {
    const CUSTOM_SECTION: [u8; 7] = [0, 5, 4, b'm', b'a', b'r', b'k'];
    [component, &CUSTOM_SECTION].concat()
}

fn digest(component: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(component)))
}

fn defining(definitions: Vec<Definition>) -> Vec<u8> {
    Guest {
        definitions,
        ..Guest::default()
    }
    .bytes()
}

fn ends_well(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// The file has every definition that `inspect` shows, in a form to review.
#[test]
fn component_is_pinned_at_first_use() {
    let component = std::fs::read(dist().join("files.wasm")).unwrap();
    let env = env(&component);
    ends_well(&env.run(&["run", "look"]));

    let path = env.work().join("agent.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    let lock: toml::Table = text.parse().unwrap();
    let seen = env.run(&["inspect", "mine", "--json"]).json();
    let tools: serde_json::Map<String, Value> = seen["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let mut pinned = json!({
                "effect": tool["effect"],
                "description": tool["description"],
                "input-schema": format!("{:#}", tool["input_schema"]),
            });
            if let Some(title) = tool.get("title") {
                pinned["title"] = title.clone();
            }
            if let Some(schema) = tool.get("output_schema") {
                pinned["output-schema"] = json!(format!("{schema:#}"));
            }
            (tool["name"].as_str().unwrap().to_owned(), pinned)
        })
        .collect();
    let mut imports: Vec<&str> = seen["imports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|import| import.as_str().unwrap())
        .collect();
    imports.sort_unstable();
    assert_eq!(
        serde_json::to_value(&lock).unwrap(),
        json!({"version": 1, "tool": {"mine": {
            "component": digest(&component), "imports": imports, "tools": tools,
        }}})
    );
    assert!(text.contains("\n  \"type\": \"object\"\n"), "{text}");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);

    let status = env.run(&["lock"]);
    assert_eq!(
        (status.code, status.stdout),
        (
            Some(0),
            format!("{:<20} {:<35} {}\n", "mine", "accepted", digest(&component))
        )
    );
}

/// The accepted component, and its replacement.
fn changes(accepted: &[u8]) -> Vec<(Vec<u8>, &'static [&'static str])> {
    let echo = Definition::default;
    vec![
        (same_with_other_bytes(accepted), &[]),
        (
            defining(vec![Definition {
                title: Some("Echo".to_owned()),
                description: "Returns its arguments.\nAsk no one.".to_owned(),
                effect: 2,
                ..echo()
            }]),
            &[
                "  tool `echo`, title:",
                "  + Echo",
                "  tool `echo`, effect: read-only -> effectful",
                "  tool `echo`, description:",
                "  - Returns its arguments.",
                "  + Returns its arguments.",
                "  + Ask no one.",
            ],
        ),
        (
            defining(vec![Definition {
                input_schema: r#"{"required":["to"],"type":"object"}"#.to_owned(),
                output_schema: Some("true".to_owned()),
                ..echo()
            }]),
            &[
                "  tool `echo`, input schema:",
                "    {",
                "  +   \"required\": [",
                "  +     \"to\"",
                "  +   ],",
                "      \"type\": \"object\"",
                "    }",
                "  tool `echo`, output schema:",
                "  + true",
            ],
        ),
        (
            defining(vec![
                echo(),
                Definition {
                    name: "send".to_owned(),
                    ..echo()
                },
            ]),
            &[
                "  tool `send`, effect:",
                "  + read-only",
                "  tool `send`, description:",
                "  + Returns its arguments.",
                "  tool `send`, input schema:",
                "  + {",
                "  +   \"type\": \"object\"",
                "  + }",
            ],
        ),
        (
            Guest {
                imports: &[STATE_GET],
                ..Guest::default()
            }
            .bytes(),
            &["  import:", "  + agent:tool/state@0.1.0"],
        ),
    ]
}

#[test]
fn changed_component_is_refused_until_accepted() {
    let accepted = Guest::default().bytes();
    for (changed, expected) in changes(&accepted) {
        let env = env(&accepted);
        ends_well(&env.run(&["run", "look"]));
        env.write("mine.wasm", &changed);
        let code = format!("  code: {} -> {}", digest(&accepted), digest(&changed));
        let expected: Vec<&str> = std::iter::once(code.as_str())
            .chain(expected.iter().copied())
            .collect();

        let refusal = format!(
            "error: the component `mine` has changed since it was accepted in {}/agent.lock (changed-since-approval), so \
             nothing runs:\n{}\nRun `agent-host lock --accept mine` to accept it, or restore the old component\n",
            env.work().display(),
            expected.join("\n")
        );
        for args in [&["run", "look"][..], &["call", "mine", "echo", "{}"]] {
            let refused = env.run(args);
            assert_eq!(
                (refused.code, refused.stdout.as_str()),
                (Some(2), ""),
                "{}",
                refused.stderr
            );
            assert_eq!(refused.stderr, refusal);
        }
        ends_well(&env.run(&["inspect", "mine"]));

        let shown = env.run(&["lock"]);
        let status = "changed since accepted";
        assert_eq!(
            (shown.code, shown.stdout),
            (
                Some(5),
                format!(
                    "{:<20} {status:<35} {}\n{}\n",
                    "mine",
                    digest(&changed),
                    expected.join("\n")
                )
            )
        );
        ends_well(&env.run(&["lock", "--accept"]));
        ends_well(&env.run(&["call", "mine", "echo", r#"{"to": "you"}"#]));
    }
}

#[test]
fn lock_json_lists_status_of_each_component() {
    let [accepted, other] = [
        Guest::default().bytes(),
        defining(vec![Definition {
            description: "Other.".to_owned(),
            ..Definition::default()
        }]),
    ];
    let table = |name: &str| format!("[[tool]]\nname = \"{name}\"\ncomponent = \"{name}.wasm\"\n");
    let second = defining(vec![Definition {
        name: "second".to_owned(),
        ..Definition::default()
    }]);
    let env = env(&accepted);
    env.write("second.wasm", &second);
    env.configure(format!("{}{}", table("mine"), table("second")));
    ends_well(&env.run(&["lock", "--accept"]));
    env.write("mine.wasm", &other);
    env.write(
        "new.wasm",
        std::fs::read(dist().join("files.wasm")).unwrap(),
    );
    env.configure(format!("{}{}", table("mine"), table("new")));

    let line = |name: &str, status: &str, changes: Value| {
        let component = std::fs::read(env.work().join(format!("{name}.wasm"))).unwrap();
        json!({
            "name": name, "component": digest(&component), "status": status, "changes": changes,
            "accepted_now": false,
        })
    };
    let changed = json!([
        {"aspect": "code", "before": digest(&accepted), "after": digest(&other)},
        {"tool": "echo", "aspect": "description", "before": "Returns its arguments.", "after": "Other."},
    ]);
    let expect = |args: &[&str], code: i32, lines: &[Value]| {
        let shown = env.run(args);
        assert_eq!(shown.code, Some(code), "{}", shown.stderr);
        assert_eq!(
            shown.json(),
            json!({"lock": env.work().join("agent.lock"), "components": lines})
        );
    };
    let mut lines = [
        line("mine", "changed", changed),
        line("new", "new", json!([])),
        line("second", "gone", json!([])),
    ];
    expect(&["lock", "--json"], 5, &lines);
    // Accepting one component leaves the others unchanged; entries that are no longer configured
    // can be removed.
    lines[0]["accepted_now"] = json!(true);
    lines[2]["accepted_now"] = json!(true);
    expect(&["lock", "--json", "--accept", "mine", "second"], 5, &lines);
    lines[0] = line("mine", "same", json!([]));
    expect(&["lock", "--json"], 5, &lines[..2]);

    let unknown = env.run(&["lock", "--accept", "mine", "others"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        unknown.stderr,
        "error: there is no component, MCP server or skill `others` to accept; available: mine, new\n"
    );
    expect(&["lock", "--json"], 5, &lines[..2]);
}

/// A component that returns other definitions each time is asked once, and the accepted ones are
/// used. When an empty cache forces another request, the new definitions are refused.
#[test]
fn definitions_changing_between_loads_are_refused() {
    // The memory image of the default definition: the description follows the name, and the list is
    // last.
    const CODE: &str = "(local $i i32)
        (call $random (i64.const 8) (i32.const 16))
        (loop $next
            (i32.store8 (i32.add (i32.const 4104) (local.get $i))
                (i32.add (i32.const 97) (i32.and (i32.const 15)
                    (i32.load8_u (i32.add (i32.load (i32.const 16)) (local.get $i))))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $i) (i32.const 8))))
        (i32.const 4208)";
    let component = Guest {
        definitions_code: Some(CODE),
        imports: &[RANDOM],
        ..Guest::default()
    }
    .bytes();
    let env = env(&component);
    let call = |cache: &str| {
        let mut command = env.command(&["call", "mine", "echo", "{}"]);
        command.env("XDG_CACHE_HOME", env.outside().join(cache));
        Ran::from(command.output().unwrap())
    };
    for _ in 0..2 {
        ends_well(&call("first"));
    }
    let refused = call("second");
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (Some(2), ""),
        "{}",
        refused.stderr
    );
    let says: Vec<&str> = refused.stderr.lines().collect();
    assert_eq!(says.len(), 3, "{}", refused.stderr);
    assert!(says[0].contains("(changed-since-approval)"), "{}", says[0]);
    assert!(
        says[1].starts_with("  tool `echo`, description: ") && says[1].ends_with("its arguments."),
        "{}",
        says[1]
    );
    ends_well(&call("first"));
}

#[test]
fn unusable_lock_stops_every_command() {
    let env = env(&Guest::default().bytes());
    let long = format!("version = 1\n{}\n", "y".repeat(100_000));
    for (text, says) in [
        ("version = \n", "is not a lock file"),
        ("", "is not a lock file"),
        ("version = 1\ntrusted = true\n", "is not a lock file"),
        (
            "version = 9\n",
            "has version 9, and this program reads version 1",
        ),
        (
            "version = 2\n",
            "has version 2, and this program reads version 1",
        ),
        ("\u{0}", "is not a lock file"),
        (long.as_str(), "is not a lock file: line 2: "),
    ] {
        env.write("agent.lock", text);
        for args in [&["run", "look"][..], &["lock", "--accept"]] {
            let refused = env.run(args);
            assert_eq!(
                (refused.code, refused.stdout.as_str()),
                (Some(2), ""),
                "{}",
                refused.stderr
            );
            assert!(refused.stderr.len() < 1_000, "{}", refused.stderr);
            for says in [says, "delete it, and accept them again"] {
                assert!(refused.stderr.contains(says), "{}", refused.stderr);
            }
        }
    }
}

/// With `--locked` nothing new runs, not even to be looked at, and the file is not written.
#[test]
fn locked_run_refuses_what_the_lock_does_not_have() {
    let skill = "---\nname: notes\ndescription: Notes.\n---\nRead them.\n";
    let server = "[[mcp]]\nname = \"mine\"\ncommand = \"touch\"\nargs = [\"started\"]\n";
    let hook = "[[hook]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\npoints = [\"before-tool\"]\n";
    let kinds = [
        ("component", CONFIG),
        ("component", hook),
        ("MCP server", server),
        ("skill", "skills = [\"mine\"]\n"),
    ];
    for (kind, config) in kinds {
        let env = env(&defining(Vec::new()));
        env.write("mine/SKILL.md", skill.replace("notes", "mine"));
        env.configure(config);
        let ran = env.run(&["run", "--locked", "look"]);
        let lock = env.work().join("agent.lock");
        let why = format!(
            "error: the {kind} `mine` is not in {}, and `--locked` accepts nothing new, so nothing runs. Review it \
             with `agent-host inspect mine`, then accept it with `agent-host lock --accept mine`\n",
            lock.display()
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), why.as_str()));
        assert!(!lock.exists() && !env.work().join("started").exists());
    }
}

#[test]
fn locked_run_uses_what_is_accepted() {
    let env = env(&std::fs::read(dist().join("files.wasm")).unwrap());
    ends_well(&env.run(&["lock", "--accept"]));
    let path = env.work().join("agent.lock");
    let accepted = std::fs::read(&path).unwrap();
    ends_well(&env.run(&["run", "--locked", "look"]));
    assert_eq!(std::fs::read(&path).unwrap(), accepted);
    // Nor does another command write it.
    let ran = env.run(&["lock", "--accept", "--locked"]);
    let why = format!(
        "error: `--locked` leaves {} as it is; run this command without it\n",
        path.display()
    );
    assert_eq!((ran.code, ran.stderr), (Some(2), why));
    assert_eq!(std::fs::read(&path).unwrap(), accepted);
}

/// Without an agent.toml nothing is locked, so nothing but built-ins runs.
#[test]
fn locked_commands_without_a_configuration_refuse_components() {
    let env = TestEnv::new();
    env.write(
        "mine.wasm",
        std::fs::read(dist().join("files.wasm")).unwrap(),
    );
    let refused: [&[&str]; 2] = [
        &["run", "--locked", "--tool", "mine.wasm", "look"],
        &["call", "--locked", "mine.wasm", "list_directory", "path=."],
    ];
    for command in refused {
        let ran = env.run(command);
        let why = "agent.lock, and `--locked` accepts nothing new, so nothing runs";
        assert!(ran.code == Some(2) && ran.stderr.contains(why), "{ran:?}");
    }
    ends_well(&env.run(&["run", "--locked", "look"]));
    ends_well(&env.run(&[
        "call",
        "--locked",
        "builtin:files",
        "list_directory",
        "path=.",
    ]));
}

/// A server's command line is compared before it starts: the new one would run on the machine.
#[test]
fn changed_command_of_a_server_is_refused_before_it_starts() {
    let env = TestEnv::new();
    let configure = |args: &str| {
        let mcp =
            format!("[[mcp]]\nname = \"mine\"\ncommand = \"sh\"\nargs = [\"-c\", {args:?}]\n");
        env.configure(mcp);
    };
    let server = format!(
        "mkdir -p other && cd other && exec {} mcp --state-dir state",
        program()
    );
    configure(&server);
    ends_well(&env.run(&["run", "look"]));
    configure(&format!("touch started; {server}"));
    let ran = env.run(&["run", "look"]);
    assert!(
        ran.stderr
            .contains("the MCP server `mine` has changed since it was accepted"),
        "{ran:?}"
    );
    assert_eq!(ran.code, Some(2));
    assert!(!env.work().join("started").exists());
}
