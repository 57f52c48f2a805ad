//! Tests the driver that runs hostile guests through any MCP server (`hostile/mcp.py`): it
//! distinguishes a live server from one that hangs, dies, floods its output or uses up memory. Also
//! tests its guests, which need no contract of this project.
//!
//! The driver is Python, so that it runs on a machine with another host and without this
//! repository's toolchain.

use agent_host_sandbox::LoadFault;
use agent_host_test_support::{TestEnv, has_python, repository};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The expected verdict for each behaviour of `hostile/fake_mcp.py`, and whether it counts as
/// survival.
const BEHAVIOURS: [(&str, &str, bool); 16] = [
    ("asks-back", "answered-ok", true),
    ("babbles", "garbage", false),
    ("behaves", "answered-ok", true),
    ("crashes", "died", false),
    ("crashes-later", "died", false),
    ("exits", "died", false),
    ("fails", "answered-error", true),
    ("faults", "answered-error", true),
    ("floods", "hung", false),
    ("grows", "memory", false),
    ("hangs-for-ever", "hung", false),
    ("hangs-in-a-call", "hung", false),
    ("is-empty", "refused", true),
    ("refuses-by-error", "refused", true),
    ("refuses-by-exit", "refused", true),
    ("two words", "answered-ok", true),
];

fn tests() -> PathBuf {
    repository().join("tests/security")
}

/// Runs the driver on the fake server with these guests; returns its exit code and JSON report.
fn drive(guests: &Path) -> (Option<i32>, Value) {
    let server = format!(
        "python3 '{}' {{component}}",
        tests().join("hostile/fake_mcp.py").display()
    );
    let ran = Command::new("python3")
        .arg(tests().join("hostile/mcp.py"))
        .args(["--server", &server, "--guests"])
        .arg(guests)
        .args(["--deadline", "5", "--max-memory", "128", "--json"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let document = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}{stderr}", String::from_utf8_lossy(&ran.stdout))
    });
    (ran.status.code(), document)
}

#[test]
fn driver_reports_survivors() {
    if !has_python() {
        return;
    }
    let guests = tempfile::tempdir().unwrap();
    for (behaviour, _, _) in BEHAVIOURS {
        fs::write(guests.path().join(format!("{behaviour}.wasm")), "").unwrap();
    }
    let (code, document) = drive(guests.path());
    let rows = document["guests"].as_array().unwrap();
    let seen: Vec<(&str, &str, bool)> = rows
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            (
                text("guest"),
                text("outcome"),
                row["survived"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(seen, BEHAVIOURS, "{document:#}");
    assert_eq!(code, Some(1), "somebody did not survive");
    for row in rows {
        let peak = row["peak_mib"].as_f64().unwrap();
        let grew = row["outcome"] == "memory";
        assert!(row["seconds"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(peak > 128.0, grew, "{row}");
        assert!(!row["said"].as_str().unwrap().contains('\u{1b}'), "{row}");
    }
    let crashed = rows.iter().find(|row| row["guest"] == "crashes").unwrap();
    assert_eq!(crashed["said"], "by signal SIGSEGV");
}

#[test]
fn driver_exits_0_if_server_survives_all() {
    if !has_python() {
        return;
    }
    let guests = tempfile::tempdir().unwrap();
    for behaviour in ["behaves", "fails"] {
        fs::write(guests.path().join(format!("{behaviour}.wasm")), "").unwrap();
    }
    let (code, document) = drive(guests.path());
    let said: Vec<&Value> = document["guests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["said"])
        .collect();
    assert_eq!(
        (code, said),
        (
            Some(0),
            vec![&json!("did  [31mbehaves"), &json!("did  [31mfails")]
        )
    );
}

#[test]
fn driver_rejects_wrong_command_line() {
    if !has_python() {
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    let guests = empty.path().to_str().unwrap();
    let cases = [
        (vec!["--guests", guests], "--server"),
        (
            vec!["--server", "host", "--guests", guests],
            "no {component}",
        ),
        (
            vec!["--server", "host {component}", "--guests", guests],
            "no *.wasm",
        ),
    ];
    for (args, says) in cases {
        let ran = Command::new("python3")
            .arg(tests().join("hostile/mcp.py"))
            .args(&args)
            .output()
            .unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(
            (ran.status.code(), ran.stdout.len()),
            (Some(2), 0),
            "{args:?}: {stderr}"
        );
        assert!(stderr.contains(says), "{args:?}: no {says:?} in {stderr}");
    }
}

/// A component that exports `run: func()`, with these items in its one core module.
fn around(items: &str) -> Vec<u8> {
    let text = format!(
        "(component (core module $code (func (export \"run\")) {items}) (core instance $code (instantiate $code)) \
         (func (export \"run\") (canon lift (core func $code \"run\"))))"
    );
    wat::parse_str(text).unwrap()
}

/// The guests without text form: malformed components and compile bombs.
fn made() -> Vec<(&'static str, Vec<u8>)> {
    let whole = around("");
    let functions = "(func)".repeat(400_000);
    let loops = format!("(func {})", "(loop)".repeat(500_000));
    let nested = format!("(func {} {})", "loop ".repeat(8_000), "end ".repeat(8_000));
    let locals = format!("(func (local {}))", "i64 ".repeat(49_000)).repeat(200);
    // An invalid name section.
    let names = r#"(@custom "name" "\01\ff\ff\ff\ff\0f")"#;
    vec![
        ("empty", Vec::new()),
        ("elf", b"\x7fELF\x02\x01\x01\0garbage".to_vec()),
        (
            "core-module",
            wat::parse_str("(module (func (export \"run\")))").unwrap(),
        ),
        ("half", whole[..whole.len() / 2].to_vec()),
        ("header-only", whole[..8].to_vec()),
        ("bomb-functions", around(&functions)),
        ("bomb-loops", around(&loops)),
        ("bomb-nested", around(&nested)),
        ("bomb-locals", around(&locals)),
        ("bad-names", around(names)),
    ]
}

/// Writes every guest to the directory that `tests/security/hostile/README.md` names, and returns
/// it with their names.
fn write_guests() -> (PathBuf, Vec<String>) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plain-guests");
    fs::create_dir_all(&directory).unwrap();
    let mut guests: Vec<(String, Vec<u8>)> = made()
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect();
    for entry in fs::read_dir(repository().join("tests/guests/plain")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let bytes = wat::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        guests.push((name.to_owned(), bytes));
    }
    for (name, bytes) in &guests {
        fs::write(directory.join(format!("{name}.wasm")), bytes).unwrap();
    }
    (
        directory,
        guests.into_iter().map(|(name, _)| name).collect(),
    )
}

/// The expected end of a plain guest in this host.
enum End {
    /// Loading fails.
    Refused(LoadFault),
    /// Its call fails with this code.
    Fails(&'static str),
    /// Its call succeeds; the result needs escaping when shown.
    Succeeds,
}

const ENDS: [(&str, End); 21] = [
    ("bad-names", End::Succeeds),
    ("bomb-functions", End::Refused(LoadFault::CompileLimit)),
    ("bomb-locals", End::Refused(LoadFault::CompileLimit)),
    ("bomb-loops", End::Refused(LoadFault::CompileLimit)),
    ("bomb-nested", End::Refused(LoadFault::CompileLimit)),
    ("core-module", End::Refused(LoadFault::NotAComponent)),
    ("elf", End::Refused(LoadFault::NotAComponent)),
    ("empty", End::Refused(LoadFault::NotAComponent)),
    // The guest continues when it gets no more memory.
    ("grow", End::Fails("timeout")),
    ("half", End::Refused(LoadFault::NotAComponent)),
    ("header-only", End::Refused(LoadFault::ContractMismatch)),
    ("huge-string", End::Fails("out-of-memory")),
    ("many-memories", End::Fails("out-of-memory")),
    ("not-utf-8", End::Fails("invalid-output")),
    ("recurse", End::Fails("stack-overflow")),
    ("spin", End::Fails("timeout")),
    ("spin-at-start", End::Fails("timeout")),
    ("stdout-flood", End::Fails("timeout")),
    ("terminal", End::Succeeds),
    ("trap", End::Fails("trap")),
    ("wild-string", End::Fails("invalid-output")),
];

#[test]
fn plain_guests_are_written_and_survived() {
    let (directory, mut names) = write_guests();
    names.sort();
    let expected: Vec<&str> = ENDS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected);
    let env = TestEnv::new();
    // For guests without an end of their own; the others get the time that they need.
    env.write("short.toml", "[limits]\ndeadline-ms = 500");
    for (name, end) in ENDS {
        let guest = directory.join(format!("{name}.wasm"));
        let mut call = vec!["call", guest.to_str().unwrap(), "run", "{}", "--json"];
        if matches!(end, End::Fails("timeout")) {
            call.extend(["--config", "short.toml"]);
        }
        let ran = env.run(&call);
        match end {
            End::Refused(fault) => {
                assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}");
                let found: Vec<LoadFault> = LoadFault::ALL
                    .into_iter()
                    .filter(|fault| ran.stderr.contains(&format!("({fault})")))
                    .collect();
                assert_eq!(found, [fault], "{name}: {}", ran.stderr);
            }
            End::Fails(code) => {
                assert_eq!(ran.code, Some(1), "{name}: {}", ran.stderr);
                assert_eq!(ran.json()["value"]["code"], code, "{name}");
            }
            End::Succeeds => assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr),
        }
        let steers = |text: char| text.is_control() && !matches!(text, '\n' | '\t');
        assert!(!ran.stderr.chars().any(steers), "{name}: {:?}", ran.stderr);
    }
}
