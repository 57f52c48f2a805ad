//! The main job as a new user tries it: `run "What is in this folder?"`, with no key and no network.

use crate::support::{
    Place, of_kind,
    pictures::{png, png_size},
};
use pretty_assertions::assert_eq;

/// A folder with something in it: a README, two pictures at different depths, a secret that is masked.
fn furnished() -> Place {
    let place = Place::new();
    place.write(
        "README.md",
        "# The Lighthouse Project\n\nKeeps ships off the rocks.\n",
    );
    place.write("src/main.rs", "fn main() {}\n");
    place.write("small.png", png(8, 8));
    place.write("pictures/lamp.png", png(640, 400));
    place.write(".env", "TOKEN=not-for-guests\n");
    place
}

#[test]
fn the_tour_tells_what_is_in_this_folder() {
    let place = furnished();
    let ran = place.run(&["run", "What is in this folder?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for fact in [
        "The Lighthouse Project",
        "lamp.png",
        "640",
        "400",
        "4 files",
        "2 folders",
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
fn the_tour_is_journaled_with_its_denial_and_its_thumbnail() {
    let place = furnished();
    assert_eq!(place.run(&["run", "What is in this folder?"]).code, Some(0));
    let events = place.events();

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
    for call in &settled {
        assert_eq!(call["accounting"]["limits"]["deadline-ms"], 30_000);
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
    let blob = place
        .command(&["sessions", "blob", digest])
        .output()
        .unwrap();
    let (width, height) = png_size(&blob.stdout);
    assert!(
        width < 640 && height < 400 && width * 400 / 640 == height,
        "{width}x{height}"
    );
}

#[test]
fn the_tour_works_in_folders_that_lack_things() {
    let empty = Place::new();
    let no_readme = Place::new();
    no_readme.write("photo.png", png(30, 20));
    let no_image = Place::new();
    no_image.write("README.txt", "Just words.\n");
    let odd_names = Place::new();
    odd_names.write("{{ 7 * 191 }} \"quoted\".md", "x");
    odd_names.write("{% raw %}.png", png(5, 5));
    for (place, fact) in [
        (&empty, "the folder is empty"),
        (&no_readme, "30"),
        (&no_image, "1 file"),
        (&odd_names, "2 files"),
    ] {
        let ran = place.run(&["run", "What is in this folder?"]);
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
fn json_is_one_document_and_stream_json_is_the_journal() {
    let place = furnished();
    let json = place
        .run(&["run", "What is here?", "--output-format", "json"])
        .json();
    assert_eq!(json["outcome"]["type"], "done");
    assert!(
        json["outcome"]["text"]
            .as_str()
            .unwrap()
            .contains("The Lighthouse Project")
    );

    let streamed = place.run(&[
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
    assert_eq!(durable, place.events());
}

#[test]
fn sessions_are_listed_and_shown_with_timings_and_limits() {
    let place = furnished();
    assert_eq!(place.run(&["run", "What is in this folder?"]).code, Some(0));
    let list = place.run(&["sessions", "list", "--json"]).json_lines();
    assert_eq!(list.len(), 1);
    assert_eq!(list[0]["title"], "What is in this folder?");
    assert_eq!(list[0]["outcome"], "done");

    let id = list[0]["session"].as_str().unwrap();
    let shown = place.run(&["sessions", "show", &id[..13]]);
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

#[test]
fn a_session_goes_on_where_it_was() {
    let place = furnished();
    assert_eq!(place.run(&["run", "first"]).code, Some(0));
    let ran = place.run(&["run", "second", "--resume", "latest"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let events = place.events();
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
