//! Tests images and files as arguments: sent to the model, made smaller, refused.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    pictures::{png, png_size},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The files of a request as bytes, in order.
fn images(request: &Value) -> Vec<Vec<u8>> {
    let messages = request["messages"].as_array().unwrap().iter();
    let parts = messages.filter_map(|message| message["content"].as_array());
    let urls = parts
        .flatten()
        .filter_map(|part| part["image_url"]["url"].as_str());
    urls.map(|url| {
        let (_, data) = url.split_once(";base64,").unwrap();
        STANDARD.decode(data).unwrap()
    })
    .collect()
}

#[test]
fn image_arguments_reach_the_model() {
    let env = TestEnv::new();
    let (one, two) = (png(9, 4), png(5, 5));
    env.write("one.png", &one);
    // The file name does not affect the result.
    env.write("two.txt", &two);
    let server = ChatServer::start(vec![Answer::text("Grey.")]);
    let ran = ask(
        &env,
        &server,
        &["--image", "one.png", "--image", "two.txt", "what is it?"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = &server.requests()[0];
    assert_eq!(images(request), [one, two]);
    // Behind the system prompt.
    let said = request["messages"][1]["content"].as_array().unwrap();
    assert_eq!(
        said.last(),
        Some(&json!({ "type": "text", "text": "what is it?" }))
    );
    let events = env.events();
    let kept = &of_kind(&events, "input-received")[0]["message"]["content"];
    let (name, kind) = (&kept[1]["filename"], &kept[1]["data"]["type"]);
    assert_eq!((name, kind), (&json!("two.txt"), &json!("blob")));
}

/// Text goes whole and fenced, a PDF as a document where the model reads them.
#[test]
fn file_arguments_reach_the_model() {
    let env = TestEnv::new();
    let pdf = b"%PDF-1.7\n%\xe2\xe3\n";
    env.write("paper.bin", pdf);
    let text = format!("```\n{}\n", "long ".repeat(50_000));
    env.write("notes.txt", &text);
    env.write("one.png", png(9, 4));
    let sound = b"ID3\x04\0\0\0\0\0\0";
    env.write("a.mp3", sound);
    let files = "--file notes.txt --file paper.bin --file one.png --file a.mp3 read";
    let args: Vec<&str> = files.split(' ').collect();
    env.write(
        "agent.toml",
        "[openai-compat]\ndocuments = true\naudio = true\n",
    );
    let server = ChatServer::start(vec![Answer::text("Read.")]);
    let ran = ask(&env, &server, &args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = &server.requests()[0];
    let content = &request["messages"][1]["content"];
    let fenced = format!("The file \"notes.txt\":\n````\n{text}````");
    assert_eq!(content[0], json!({ "type": "text", "text": fenced }));
    let data = format!("data:application/pdf;base64,{}", STANDARD.encode(pdf));
    assert_eq!(content[1]["file"]["file_data"], data);
    assert_eq!(content[1]["file"]["filename"], "paper.bin");
    assert_eq!(images(request), [png(9, 4)]);
    let data = STANDARD.encode(sound);
    let heard = json!({ "type": "input_audio", "input_audio": { "data": data, "format": "mp3" } });
    assert_eq!(content[3], heard);
    assert_eq!(content[4], json!({ "type": "text", "text": "read" }));
    // Without documents or sound nothing is asked; other files have no part in any prompt.
    env.write("agent.toml", "");
    env.write("a.zip", b"PK\x03\x04\0\0\0\0\0\0");
    env.write("zeros", [0; 9]);
    for (file, says) in [
        (
            "paper.bin",
            "`openai-compat:m` is not known to accept PDF documents",
        ),
        (
            "a.mp3",
            "`openai-compat:m` is not known to accept audio recordings",
        ),
        ("a.zip", "cannot use the file a.zip: it is application/zip"),
        ("zeros", "its type is unknown"),
    ] {
        let ran = ask(&env, &server, &["--file", file, "read"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "no {says:?} in {}", ran.stderr);
    }
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn text_only_model_gets_note_for_image() {
    let env = TestEnv::new();
    let image = png(9, 4);
    env.write("one.png", &image);
    env.write("agent.toml", "[openai-compat]\nvision = false\n");
    let server = ChatServer::start(vec![Answer::text("I cannot see.")]);
    let ran = ask(&env, &server, &["--image", "one.png", "what is it?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let request = server.requests()[0].to_string();
    let note = format!("image/png, {} bytes, `one.png`", image.len());
    assert!(
        request.contains(&note) && !request.contains("base64"),
        "{request}"
    );
}

/// Images of the user and of tools are converted alike; the session keeps the originals.
#[test]
fn oversized_images_are_downscaled_with_note() {
    let env = TestEnv::new();
    let (given, read) = (png(3000, 1500), png(30, 2100));
    env.write("given.png", &given);
    env.write("read.png", &read);
    let server = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({ "path": "read.png" }))]),
        Answer::text("Grey."),
    ]);
    let ran = ask(
        &env,
        &server,
        &["--image", "given.png", "look at read.png, too"],
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = server.requests();
    let sizes = |request: &Value| -> Vec<(u32, u32)> {
        images(request)
            .iter()
            .map(|image| png_size(image))
            .collect()
    };
    assert_eq!(sizes(&requests[0]), [(2048, 1024)]);
    assert_eq!(sizes(&requests[1]), [(2048, 1024), (29, 2048)]);
    assert_eq!(images(&requests[0])[0], images(&requests[1])[0]);
    for (name, from, to) in [
        (
            "given.png",
            format!("3000x1500 in {} bytes", given.len()),
            "2048x1024",
        ),
        (
            "read.png",
            format!("30x2100 in {} bytes", read.len()),
            "29x2048",
        ),
    ] {
        let said = format!(
            "the image `{name}` is larger than the model accepts, so it was reduced: from {from} to {to} in"
        );
        assert_eq!(ran.stderr.matches(&said).count(), 1, "{}", ran.stderr);
    }
    let events = env.events();
    let kept = &of_kind(&events, "input-received")[0]["message"]["content"][0]["data"]["value"];
    assert_eq!(kept["size"], given.len());
}

#[test]
fn unusable_images_are_refused_first() {
    let env = TestEnv::new();
    env.write("note.txt", "no picture");
    env.write("paper.png", "%PDF-1.7\n");
    env.write("one.png", png(1, 1));
    let cases: [(&[&str], &str); 5] = [
        (&["--image", "gone.png", "x"], "No such file"),
        (&["--image", "note.txt", "x"], "it is not an image"),
        (
            &["--image", "one.png", "--image", "paper.png", "x"],
            "paper.png: it is application/pdf",
        ),
        (&["--image", ".", "x"], "directory"),
        (&["--image", "one.png"], "there is no prompt"),
    ];
    for (args, says) in cases {
        let ran = env.run(&[&["run"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?} {}", ran.stderr);
        assert!(ran.stderr.contains(says), "no {says:?} in {}", ran.stderr);
    }
    assert_eq!(env.run(&["sessions", "list", "--json"]).stdout, "");
}
