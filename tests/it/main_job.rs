//! Tests the first run of a new user, `run "What is in this directory?"`, without a key or network.

use agent_host_test_support::{
    TestEnv, of_kind,
    pictures::{png, png_size},
};
use pretty_assertions::assert_eq;

/// A directory with a README, two images at different depths, and a masked secret.
fn furnished() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "README.md",
        "# The Lighthouse Project\n\nKeeps ships off the rocks.\n",
    );
    env.write("src/main.rs", "fn main() {}\n");
    env.write("small.png", png(8, 8));
    env.write("pictures/lamp.png", png(640, 400));
    env.write(".env", "TOKEN=not-for-guests\n");
    env
}

#[test]
fn first_run_describes_the_directory() {
    let env = furnished();
    let ran = env.run(&["run", "What is in this directory?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for fact in [
        "The Lighthouse Project",
        "lamp.png",
        "640",
        "400",
        "4 files",
        "2 directories",
    ] {
        assert!(
            ran.stdout.contains(fact),
            "no {fact:?} in the answer:\n{}",
            ran.stdout
        );
    }
    for note in [
        "No model is configured",
        "No language model is involved",
        "openai-compat:NAME",
        "read-only",
        "no network",
    ] {
        assert!(
            ran.stderr.contains(note),
            "no {note:?} on stderr:\n{}",
            ran.stderr
        );
    }
    assert!(
        !ran.stdout.contains("not-for-guests") && !ran.stdout.contains('\u{1b}'),
        "{}",
        ran.stdout
    );
}

#[test]
fn tour_is_journaled_with_denial_and_thumbnail() {
    let env = furnished();
    assert_eq!(
        env.run(&["run", "What is in this directory?"]).code,
        Some(0)
    );
    let events = env.events();

    let settled = of_kind(&events, "call-settled");
    let tools: Vec<&str> = settled
        .iter()
        .map(|event| event["tool"].as_str().unwrap())
        .collect();
    assert_eq!(
        tools,
        [
            "list_directory",
            "read_file",
            "image_info",
            "image_thumbnail",
            "read_file"
        ]
    );
    let tags: Vec<&str> = settled
        .iter()
        .map(|event| event["output"]["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        tags,
        ["json", "text", "json", "content", "execution-denied"]
    );

    let denied: Vec<_> = settled[4]["audit"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["verdict"] == "denied")
        .collect();
    assert_eq!(denied.len(), 1, "{}", settled[4]);
    assert_eq!(denied[0]["rule"], "default-deny");
    assert!(
        settled[4]["output"]["reason"]
            .as_str()
            .unwrap()
            .contains("default-deny")
    );
    // The second call of `read_file` has the limits of the first, which are not repeated.
    for (number, call) in settled.iter().enumerate() {
        let deadline = &call["accounting"]["limits"]["deadline-ms"];
        assert_eq!(deadline.as_u64(), (number < 4).then_some(30_000));
        assert!(call["accounting"]["wall_us"].as_u64().unwrap() > 0);
        assert!(call["accounting"]["peak_memory_bytes"].as_u64().unwrap() > 0);
    }

    let image = settled[3]["output"]["value"]
        .as_array()
        .unwrap()
        .iter()
        .find(|part| part["media_type"] == "image/png")
        .unwrap();
    assert_eq!(image["data"]["type"], "blob");
    let digest = image["data"]["value"]["digest"].as_str().unwrap();
    let blob = env.command(&["sessions", "blob", digest]).output().unwrap();
    let (width, height) = png_size(&blob.stdout);
    assert!(
        width < 640 && height < 400 && width * 400 / 640 == height,
        "{width}x{height}"
    );
}

#[test]
fn first_run_works_without_files_or_images() {
    let empty = TestEnv::new();
    let no_readme = TestEnv::new();
    no_readme.write("photo.png", png(30, 20));
    let no_image = TestEnv::new();
    no_image.write("README.txt", "Just words.\n");
    let odd_names = TestEnv::new();
    odd_names.write("{{ 7 * 191 }} \"quoted\".md", "x");
    odd_names.write("{% raw %}.png", png(5, 5));
    for (env, fact) in [
        (&empty, "the directory is empty"),
        (&no_readme, "30"),
        (&no_image, "1 file"),
        (&odd_names, "2 files"),
    ] {
        let ran = env.run(&["run", "What is in this directory?"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(fact), "no {fact:?} in:\n{}", ran.stdout);
        assert!(
            !ran.stdout.contains("1337"),
            "a file name was executed:\n{}",
            ran.stdout
        );
    }
}

#[test]
fn json_is_one_document_stream_json_the_journal() {
    let env = furnished();
    let json = env
        .run(&["run", "What is here?", "--output-format", "json"])
        .json();
    assert_eq!(json["outcome"]["type"], "done");
    assert!(
        json["outcome"]["text"]
            .as_str()
            .unwrap()
            .contains("The Lighthouse Project")
    );

    let streamed = env.run(&[
        "run",
        "What is here?",
        "--output-format",
        "stream-json",
        "--quiet",
    ]);
    assert_eq!(streamed.stderr, "");
    let durable: Vec<_> = streamed
        .json_lines()
        .into_iter()
        .filter(|line| line.get("live").is_none())
        .collect();
    assert_eq!(durable, env.events());
}

#[test]
fn sessions_are_listed_and_shown_with_timings_and_limits() {
    let env = furnished();
    assert_eq!(
        env.run(&["run", "What is in this directory?"]).code,
        Some(0)
    );
    let list = env.run(&["sessions", "list", "--json"]).json_lines();
    assert_eq!(list.len(), 1);
    assert_eq!(list[0]["title"], "What is in this directory?");
    assert_eq!(list[0]["outcome"], "done");

    let id = list[0]["session"].as_str().unwrap();
    let shown = env.run(&["sessions", "show", "--events", &id[..13]]);
    for text in [
        "list_directory",
        "of at most 30000 ms",
        "of at most 256.0 MiB memory",
        "denied",
        "by default-deny",
        "turn ended done",
    ] {
        assert!(
            shown.stdout.contains(text),
            "no {text:?} in:\n{}",
            shown.stdout
        );
    }
}

/// A session is told as a story: who said what, each call in words, what was denied and changed.
#[test]
fn session_is_shown_as_a_story_with_its_totals() {
    let env = furnished();
    env.run(&["run", "What is in this directory?"]);
    let shown = env.run(&["sessions", "show", "latest"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let found: Vec<Option<usize>> = [
        " started by agent-host ",
        "\nYou: What is in this directory?\n",
        "\n✓ Listed .  6 entries\n",
        "\n⊘ Read /etc/hostname  denied: ",
        "\n    denied read ",
        "by default-deny",
        " model calls · ",
        " tool calls, 1 denied · ",
    ]
    .map(|text| shown.stdout.find(text))
    .to_vec();
    assert!(
        found.iter().all(Option::is_some) && found.is_sorted(),
        "{found:?}\n{}",
        shown.stdout
    );
    for text in ["turn ended", "deadline", "tokens out", "memory"] {
        assert!(!shown.stdout.contains(text), "{text}: {}", shown.stdout);
    }
    assert!(
        shown
            .stderr
            .contains("every event: agent-host sessions show ")
    );
}

#[test]
fn session_resumes_where_it_stopped() {
    let env = furnished();
    assert_eq!(env.run(&["run", "first"]).code, Some(0));
    let ran = env.run(&["run", "second", "--resume", "latest"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let events = env.events();
    let inputs: Vec<&str> = of_kind(&events, "input-received")
        .iter()
        .map(|event| event["message"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(inputs, ["first", "second"]);
    let seqs: Vec<u64> = events
        .iter()
        .map(|record| record["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (0..events.len() as u64).collect::<Vec<_>>());
}
