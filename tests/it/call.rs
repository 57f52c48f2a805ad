//! Tests `agent-host call`: arguments in words, lists of tools, near names, and saved files.

use agent_host_test_guests::{Body, Guest};
use agent_host_test_support::{
    Ran, TestEnv,
    pictures::{png, png_size},
};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn key_value_words_have_the_types_of_the_schema() {
    let env = TestEnv::new();
    env.write("7", "seven\n");
    env.write("a/b/c.txt", "deep");
    let read = env.run(&["call", "builtin:files", "read_file", "path=7"]);
    assert_eq!(
        (read.code, read.stdout.trim()),
        (Some(0), "seven"),
        "{}",
        read.stderr
    );
    let listed = |arguments: &[&str]| {
        let args = [&["call", "builtin:files", "list_directory"], arguments].concat();
        let ran = env.run(&[&args[..], &["--json"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.json()
    };
    assert_eq!(
        listed(&["path=a", "depth=2"]),
        listed(&[r#"{"path": "a", "depth": 2}"#])
    );
    for (arguments, message) in [
        (
            &["depth=two"][..],
            "error: the value of `depth` must be a whole number, and `two` is not\n",
        ),
        (
            &["path=a", "b"],
            "error: the argument `b` is not `KEY=VALUE`; put a value with spaces in quotes, like `query='two words'`\n",
        ),
    ] {
        let args = [&["call", "builtin:files", "list_directory"], arguments].concat();
        let ran = env.run(&args);
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (Some(2), message),
            "{arguments:?}"
        );
    }
}

#[test]
fn component_without_a_tool_lists_its_tools() {
    let env = TestEnv::new();
    let ran = env.run(&["call", "builtin:image"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let names: Vec<&str> = ran
        .stdout
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    let listed = env.run(&["call", "builtin:image", "--json"]).json();
    assert_eq!(listed["component"], "builtin:image");
    let tools = listed["tools"].as_array().unwrap().iter();
    let expected: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected);
    assert!(names.contains(&"image_info"), "{names:?}");
    // The commands that it names work.
    assert!(
        ran.stderr
            .contains("agent-host inspect builtin:image --schemas"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        env.run(&["inspect", "builtin:image", "--schemas"]).code,
        Some(0)
    );
}

#[test]
fn near_name_of_a_tool_is_suggested() {
    let env = TestEnv::new();
    let ran = env.run(&["call", "builtin:files", "read_fiel", "path=a"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (
            Some(2),
            "error: `builtin:files` has no tool `read_fiel`; did you mean `read_file`?\n"
        )
    );
}

#[test]
fn files_of_a_result_are_saved() {
    let env = TestEnv::new();
    env.write("in.png", png(640, 400));
    env.write("out/kept", "");
    let thumbnail = [
        "call",
        "builtin:image",
        "image_thumbnail",
        "path=in.png",
        "max_width=64",
        "max_height=64",
    ];
    let to_file = env.run(&[&thumbnail[..], &["-o", "small.png"]].concat());
    assert_eq!(to_file.code, Some(0), "{}", to_file.stderr);
    assert!(
        to_file.stderr.starts_with("saved small.png (image/png, "),
        "{}",
        to_file.stderr
    );
    let small = std::fs::read(env.work().join("small.png")).unwrap();
    assert_eq!(png_size(&small), (64, 40));
    // Twice into a directory: no file is overwritten.
    for _ in 0..2 {
        let ran = env.run(&[&thumbnail[..], &["-o", "out"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let saved = std::fs::read_dir(env.work().join("out")).unwrap();
    let saved = saved.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let mut saved: Vec<Vec<u8>> = saved.collect();
    saved.sort();
    assert_eq!(saved, [vec![], small.clone(), small]);

    let refused = env.run(&[&thumbnail[..], &["-o", "small.png"]].concat());
    assert_eq!(
        (refused.code, refused.stderr.as_str()),
        (
            Some(2),
            "error: cannot write small.png: it already exists; choose a new file, or a directory\n"
        )
    );
    // A result without files is written itself.
    let text = env.run(&[
        "call",
        "builtin:files",
        "list_directory",
        "path=out",
        "-o",
        "list.json",
    ]);
    assert_eq!(
        (text.code, text.stdout.as_str()),
        (Some(0), ""),
        "{}",
        text.stderr
    );
    let list = std::fs::read(env.work().join("list.json")).unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["truncated"], json!(false));
}

#[test]
fn component_without_files_runs_above_the_home_directory() {
    let env = TestEnv::new();
    let outside = env.outside().to_owned();
    env.write(
        "../fine.wasm",
        Guest::returning(Body::Text(0, b"fine")).bytes(),
    );
    for directory in [outside.join("home"), outside.clone(), "/".into()] {
        let component = outside.join("fine.wasm");
        let run = |component: &str, tool: &str| -> Ran {
            let mut command = env.command(&["call", component, tool, "{}"]);
            command.current_dir(&directory).output().unwrap().into()
        };
        let called = run(component.to_str().unwrap(), "echo");
        assert_eq!(
            (called.code, called.stdout.trim()),
            (Some(0), "fine"),
            "{}",
            called.stderr
        );
        let refused = run("builtin:files", "list_directory");
        assert_eq!(refused.code, Some(2), "{directory:?}");
        assert!(
            refused
                .stderr
                .contains("is not granted to the tools by default"),
            "{}",
            refused.stderr
        );
    }
}
