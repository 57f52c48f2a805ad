//! Tests `inspect` and `doctor`, which show a component before it is trusted.

use agent_host_sandbox::STRUCTURE_CAPS;
use agent_host_test_guests::{Definition, ECHO, Guest, PROGRESS};
use agent_host_test_support::TestEnv;
use agent_host_types::limits::Limits;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

#[test]
fn inspect_shows_tools_permissions_limits_and_digest() {
    let env = TestEnv::new();
    let shown = env.run(&["inspect", "builtin:fetch", "--json"]).json();
    let bytes = std::fs::read(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../guest-tools/dist/fetch.wasm"),
    )
    .unwrap();
    assert_eq!(
        shown["digest"],
        format!("sha256:{}", hex::encode(Sha256::digest(&bytes)))
    );
    assert_eq!(shown["size_bytes"], bytes.len());
    let tools: Vec<(&Value, &Value)> = shown["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (&tool["name"], &tool["effect"]))
        .collect();
    assert_eq!(
        tools,
        [
            (&json!("fetch"), &json!("read-only")),
            (&json!("http_post"), &json!("effectful"))
        ]
    );
    let permissions = shown["permissions"].as_array().unwrap();
    assert!(
        permissions.contains(&json!("HTTP requests (wasi:http)")),
        "{permissions:?}"
    );
    assert!(
        !permissions
            .iter()
            .any(|line| line.to_string().contains("filesystem")),
        "{permissions:?}"
    );
    assert_eq!(shown["limits"], json!(Limits::default()));
}

/// Nothing says what the functions of a plain component do, so its grants decide.
#[test]
fn plain_component_without_writable_grants_is_read_only() {
    let env = TestEnv::new();
    let component = wat::parse_str(
        r#"(component
            (import "wasi:random/insecure-seed@0.2.6"
                (instance (export "insecure-seed" (func (result (tuple u64 u64))))))
            (core module $m (func (export "f") (result i32) (i32.const 7)))
            (core instance $i (instantiate $m))
            (func (export "f") (result u32) (canon lift (core func $i "f"))))"#,
    );
    env.write("plain.wasm", component.unwrap());
    for (grants, effect) in [
        ("", "read-only"),
        ("[[tool.dir]]\nhost = \".\"\n", "read-only"),
        (
            "[[tool.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
            "effectful",
        ),
        (
            "[[tool.http]]\nhost = \"example.com\"\nmethods = [\"GET\"]\n",
            "effectful",
        ),
    ] {
        let tool = "[grants]\n[[tool]]\nname = \"p\"\ncomponent = \"plain.wasm\"\n";
        env.write("agent.toml", format!("{tool}{grants}"));
        let shown = env
            .run(&["inspect", "p", "--json", "--config", "agent.toml"])
            .json();
        assert_eq!(shown["tools"][0]["effect"], effect, "{grants}");
    }
}

/// The number of rules that may decide on each tool, as text and as JSON.
#[test]
fn inspect_counts_the_rules_of_each_tool() {
    let env = TestEnv::new();
    let rule = |tool: &str| format!("[[rule]]\ndecision = \"deny\"\ntool = \"{tool}\"\n");
    let rules = ["read_file", "read_*", "write_file"].map(rule).concat();
    env.configure(&rules);
    let shown = env.run(&["inspect", "builtin:files", "--json"]).json();
    let tools = shown["tools"].as_array().unwrap().iter();
    let counts: Vec<(&str, &Value)> = tools
        .map(|tool| (tool["name"].as_str().unwrap(), &tool["rules"]))
        .collect();
    let text = env.run(&["inspect", "builtin:files", "--schemas"]).stdout;
    for (name, count) in &counts {
        let expected = match *name {
            "read_file" => (json!(2), ", 2 rules"),
            "write_file" => (json!(1), ", 1 rule"),
            _ => (json!(0), ""),
        };
        assert_eq!(**count, expected.0, "{name}");
        let head = format!("{name} ");
        let line = text.lines().find(|line| line.starts_with(&head)).unwrap();
        assert!(line.ends_with(expected.1), "{line}");
        assert_eq!(line.contains("rule"), count.as_u64() != Some(0), "{line}");
    }
    assert!(counts.len() > 2, "{counts:?}");
}

#[test]
fn inspect_shows_limits_in_force() {
    let env = TestEnv::new();
    env.write(
        "agent.toml",
        "[limits]\ndeadline-ms = 1234\nfile-write-bytes = 2048\n[sandbox]\nconcurrent-calls = 3\nqueued-calls = 5\n\
         guest-threads = 2\n",
    );
    let shown = env.run(&["inspect", "builtin:files", "--json"]).json();
    let limits = Limits {
        deadline_ms: 1234,
        file_write_bytes: 2048,
        ..Limits::default()
    };
    assert_eq!(shown["limits"], json!(limits));
    assert_eq!(
        shown["sandbox"],
        json!({"concurrent-calls": 3, "queued-calls": 5, "guest-threads": 2, "stack-bytes": 1024 * 1024})
    );
    // Text output: each limit on a line of its own, with its unit.
    let shown = env.run(&["inspect", "builtin:files", "--limits"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let Value::Object(names) = json!(limits) else {
        panic!("limits are an object");
    };
    let line = |name: &str| {
        let mut lines = shown.stdout.lines().map(str::trim);
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.map(str::trim).unwrap_or_default().to_owned()
    };
    for name in names.keys() {
        assert_ne!(line(name), "", "no {name} in {}", shown.stdout);
    }
    assert_eq!(
        [
            "deadline-ms",
            "file-write-bytes",
            "queued-calls",
            "stack-bytes"
        ]
        .map(line),
        ["1234 ms", "2.0 KiB", "5", "1.0 MiB"]
    );
    for text in [
        "files and directories (wasi:filesystem)",
        "write_file      effectful",
    ] {
        assert!(
            shown.stdout.contains(text),
            "no {text:?} in {}",
            shown.stdout
        );
    }
}

#[test]
fn inspect_shows_grants_and_loading_limits() {
    let env = TestEnv::new();
    env.write("data/x", "");
    // Neither the file nor the variable with the values exists: `inspect` reads no values.
    env.write(
        "agent.toml",
        "[[grants.dir]]\nhost = \".\"\n[[tool]]\nname = \"web\"\ncomponent = \"builtin:fetch\"\nsecrets = [\"git\", \"key\"]\n\
         [[tool.dir]]\nhost = \"data\"\nguest = \"/data\"\nmode = \"read-write\"\nallow = [\"*.md\"]\ndeny = [\"a\", \"b\"]\n\
         mask = [\"c\"]\nquota = { creates = 3 }\n\
         [[tool.http]]\nhost = \"*.example.com\"\n[[tool.http]]\nhost = \"::1\"\nscheme = \"http\"\nport = 8080\nmethods = \
         [\"get\", \"HEAD\"]\npath = \"/v1/\"\n[[tool.env]]\nname = \"LANG\"\nvalue = \"hidden-value\"\n\
         [[secret]]\nname = \"git\"\nfrom = \"env:NOT_SET\"\naudience = \"https://api.example.com\"\n\
         [[secret]]\nname = \"key\"\nfrom = \"file:gone\"\naudience = \"http://[::1]:8080\"\nin-query = true\n\
         [sandbox]\ncompile-cpu-seconds = 7\n",
    );
    let shown = env
        .run(&["inspect", "web", "--config", "agent.toml", "--json"])
        .json();
    let data = env.work().join("data").canonicalize().unwrap();
    assert_eq!(
        shown["grants"],
        json!({
            "dir": [{
                "host": data, "guest": "/data", "mode": "read-write", "allow": ["*.md"], "deny": ["a", "b"],
                "mask": ["c", "agent.toml", "agent.lock"], "allow-run-later": [],
                "quota": { "write-bytes": null, "creates": 3 },
            }],
            "http": [
                { "scheme": null, "host": "*.example.com", "port": null, "methods": [], "path": null },
                { "scheme": "http", "host": "::1", "port": 8080, "methods": ["GET", "HEAD"], "path": "/v1/" },
            ],
            "env": ["LANG"],
            "secrets": [
                { "name": "git", "audience": "https://api.example.com:443", "in-query": false },
                { "name": "key", "audience": "http://[::1]:8080", "in-query": true },
            ],
        })
    );
    let mut loading = json!({
        "component-bytes": 64 * 1024 * 1024,
        "compile-memory-bytes": 2_147_483_648_u64,
        "compile-cpu-seconds": 7,
        "compile-deadline-ms": 900_000,
    });
    for (what, most) in STRUCTURE_CAPS {
        loading[what] = json!(most);
    }
    assert_eq!(shown["loading"], loading);

    let shown = env.run(&["inspect", "web", "--limits", "--config", "agent.toml"]);
    let granted = [
        "Is granted".to_owned(),
        format!(
            "  {} as /data, read-write, only *.md, not a b",
            data.display()
        ),
        "  *.example.com".to_owned(),
        "  http://[::1]:8080/v1/, only GET and HEAD".to_owned(),
        "  variable LANG".to_owned(),
        "  secret git, in header fields to https://api.example.com:443".to_owned(),
        "  secret key, in header fields and queries to http://[::1]:8080".to_owned(),
        String::new(),
    ];
    assert!(
        shown.stdout.contains(&granted.join("\n")),
        "{}",
        shown.stdout
    );
    for line in [
        "component-bytes",
        "compile-cpu-seconds",
        "loops in one function",
    ] {
        let found = shown
            .stdout
            .lines()
            .any(|shown| shown.trim().starts_with(line));
        assert!(found, "no {line} in {}", shown.stdout);
    }
    for absent in ["hidden-value", "no files", "no network"] {
        assert!(!shown.stdout.contains(absent), "{}", shown.stdout);
    }
    let bare = TestEnv::new().run(&["inspect", "builtin:image"]).stdout;
    assert!(bare.contains("read-only\n  no network\n\n"), "{bare}");
}

#[test]
fn inspect_shows_producers_and_interface() {
    let env = TestEnv::new();
    // The escape sequence would turn the terminal red.
    let guest = Guest {
        component: r#"(@producers (language "C\1b[31m" "17") (processed-by "clang" "20.1") (processed-by "ld" ""))"#,
        imports: &[PROGRESS],
        definitions: vec![Definition {
            output_schema: Some(r#"{"type":"integer"}"#.to_owned()),
            ..Definition::default()
        }],
        ..Guest::running(ECHO)
    };
    env.write("made.wasm", guest.bytes());
    let shown = env.run(&["inspect", "made.wasm", "--json"]).json();
    assert_eq!(
        shown["producers"],
        json!({"language": {"C\u{1b}[31m": "17"}, "processed-by": {"clang": "20.1", "ld": ""}})
    );
    assert_eq!(
        shown["tools"][0]["output_schema"],
        json!({"type": "integer"})
    );
    for part in ["producers_error", "wit_error"] {
        assert_eq!(shown[part], Value::Null, "{part}");
    }
    let wit = shown["wit"].as_str().unwrap();
    let world = "package root:component;

world root {
  import agent:tool/types@0.1.0;
  import agent:tool/progress@0.1.0;

  export agent:tool/tool@0.1.0;
}
";
    assert_eq!(wit.get(..world.len()), Some(world), "{wit}");

    let all = ["inspect", "made.wasm", "--schemas", "--wit", "--limits"];
    let text = env.run(&all).stdout;
    for part in [
        "  language    C\\u{1b}[31m 17\n  made with   clang 20.1, ld\n",
        "  gives\n  {\n    \"type\": \"integer\"\n  }\n",
        "Interface (WIT)\n  package root:component;\n  \n  world root {\n",
        "    report: func(message: string, fraction: option<f64>);\n",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// One screen without options: whether it is accepted, the worst it could do, and its tools.
#[test]
fn inspect_fits_on_one_screen() {
    let env = TestEnv::new();
    env.write("made.wasm", Guest::running(ECHO).bytes());
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"made\"\ncomponent = \"made.wasm\"\n",
    );
    let shown = |component: &str| {
        let ran = env.run(&["inspect", component, "--config", "agent.toml"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.lines().count() <= 40, "{}", ran.stdout);
        assert_eq!(
            ran.stderr,
            format!("\nMore: agent-host inspect {component} --schemas --limits --wit\n")
        );
        ran.stdout
    };
    let work = env.work().canonicalize().unwrap().display().to_string();
    let files = shown("builtin:files");
    assert!(
        files.contains("\n  accepted    yes: it comes with this program\n"),
        "{files}"
    );
    let worst = format!(
        "\nAt worst\n  reads every file that is not masked in {work}\n  takes 30.0 s and 256.0 MiB in each call\n"
    );
    assert!(files.contains(&worst), "{files}");
    let echo = shown("made");
    for part in [
        "\n  accepted    not yet: it is pinned in agent.lock when it is accepted or first run\n",
        "\nAt worst\n  only computes; it has no access to anything outside of its call\n",
    ] {
        assert!(echo.contains(part), "no {part:?} in {echo}");
    }
    let accepted = env.run(&["lock", "--accept", "--config", "agent.toml"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    let echo = shown("made");
    assert!(
        echo.contains("accepted    yes: it matches agent.lock\n"),
        "{echo}"
    );
    env.write(
        "made.wasm",
        Guest {
            component: "(@custom \"new\" \"x\")",
            ..Guest::running(ECHO)
        }
        .bytes(),
    );
    let echo = shown("made");
    assert!(
        echo.contains("accepted    no: it has changed since it was accepted"),
        "{echo}"
    );
}

/// The checks of `doctor` as JSON are those of its lines.
#[test]
fn doctor_checks_are_one_json_document() {
    let env = TestEnv::new();
    let marks = |checks: &[Value]| {
        let mark = |check: &Value| match check["status"].as_str().unwrap() {
            "ok" => "✓",
            "warning" => "!",
            "error" => "✗",
            other => panic!("{other}"),
        };
        let lines = checks.iter().map(|check| {
            let (name, text) = (
                check["check"].as_str().unwrap(),
                check["text"].as_str().unwrap(),
            );
            format!("{} {name:<14} {text}", mark(check))
        });
        lines.collect::<Vec<_>>()
    };
    for (toml, code) in [("", 0), ("model = \"openai-compat:m\"\n", 1)] {
        env.write("agent.toml", toml);
        let json = env.run(&["doctor", "--json"]);
        assert_eq!(json.code, Some(code), "{}", json.stderr);
        let document = json.json();
        assert_eq!(document["ok"], code == 0);
        let lines = env.run(&["doctor"]).stdout;
        let checks = document["checks"].as_array().unwrap();
        assert_eq!(marks(checks), lines.lines().collect::<Vec<_>>());
    }
}

#[test]
fn doctor_reports_present_and_missing_parts() {
    let env = TestEnv::new();
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for text in [
        "no agent.toml",
        "(0 sessions)",
        "0 remembered for this project",
        "none is configured",
        "list_directory",
    ] {
        assert!(ran.stdout.contains(text), "no {text:?} in {}", ran.stdout);
    }
    env.write("agent.toml", "model = \"openai-compat:m\"\n");
    let broken = env.run(&["doctor"]);
    assert_eq!(broken.code, Some(1), "{}", broken.stdout);
    assert!(broken.stdout.contains("base-url"), "{}", broken.stdout);
}
