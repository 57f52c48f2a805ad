//! Images that are pasted into a conversation.

use crate::conversation::{CHAT, CTRL_D, begin, paste};
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    pictures::png,
    screen::OnScreen,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

/// The content of the last message of a request.
fn sent(request: &Value) -> Value {
    request["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

fn with_image(png: &[u8], text: &str) -> Value {
    let url = format!("data:image/png;base64,{}", STANDARD.encode(png));
    json!([
        { "type": "image_url", "image_url": { "url": url } },
        { "type": "text", "text": text },
    ])
}

fn answers(texts: &[&str]) -> ChatServer {
    ChatServer::start(texts.iter().map(|text| Answer::text(text)).collect())
}

#[test]
fn dropped_image_goes_with_its_message_alone() {
    let env = TestEnv::new();
    let picture = png(9, 4);
    let file = env.write("my chart.png", &picture);
    let server = answers(&["Grey.", "Yes."]);
    let mut screen = begin(&env, &server, 80);
    screen.types(paste(&format!("'{}'", file.display())));
    screen.until_last_row("> [image 1: my chart.png, 9x4]");
    screen.types("what is it?\r");
    screen.until_row("Grey.");
    screen.until_last_row(">");
    screen.types("sure?\r");
    screen.until_row("Yes.");
    screen.until_last_row(">");
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
    let requests = server.requests();
    let text = "[image 1: my chart.png, 9x4] what is it?";
    assert_eq!(sent(&requests[0]), with_image(&picture, text));
    assert_eq!(sent(&requests[1]), json!("sure?"));
}

/// Backspace removes a whole placeholder, and any change of one its image.
#[test]
fn removed_placeholder_removes_the_image() {
    let env = TestEnv::new();
    let picture = png(9, 4);
    env.write("a.png", &picture);
    let server = answers(&["None.", "One."]);
    let mut screen = begin(&env, &server, 80);
    screen.types(paste("a.png"));
    screen.until_last_row("> [image 1: a.png, 9x4]");
    screen.types("\u{7f}\u{7f}");
    screen.until_last_row(">");
    screen.types(format!("{}{}", paste("a.png"), "\u{7f}\u{7f}hello\r"));
    screen.until_row("None.");
    screen.until_last_row(">");
    screen.types(format!("{}{}", paste("a.png"), paste("./a.png")));
    screen.until_last_row("> [image 1: a.png, 9x4] [image 2: a.png, 9x4]");
    // The first bracket.
    screen.types("\u{1}\u{4}\r");
    screen.until_row("One.");
    screen.until_last_row(">");
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
    let requests = server.requests();
    assert_eq!(sent(&requests[0]), json!("hello"));
    let text = "image 1: a.png, 9x4] [image 2: a.png, 9x4] ";
    assert_eq!(sent(&requests[1]), with_image(&picture, text));
}

#[test]
fn file_that_is_no_image_stays_a_path_with_a_reason() {
    let env = TestEnv::new();
    env.write("no.png", "\u{1b}]0;title\u{7} plain text");
    env.write("cut.png", &png(9, 4)[..20]);
    fs::create_dir(env.work().join("\u{1b}[2J.png")).unwrap();
    let server = answers(&["Done."]);
    let mut screen = begin(&env, &server, 80);
    let cases = [
        ("./no.png", "it is not a PNG, JPEG, GIF or WebP image."),
        ("./cut.png", "cut.png is not attached: "),
        ("/gone.png", "gone.png is not attached: it is not a file."),
    ];
    for (path, why) in cases {
        screen.types(format!("see {}", paste(path)));
        screen.until_text(why);
        assert!(screen.rows().contains(&format!("> see {path}")));
        screen.types("\u{15}");
        screen.until_last_row(">");
    }
    let hostile = env.work().join("\u{1b}[2J.png");
    screen.types(format!("see {}", paste(&hostile.display().to_string())));
    screen.until_text("\\u{1b}[2J.png is not attached: it is not a file.");
    screen.types("\u{15}hello\r");
    screen.until_row("Done.");
    screen.until_last_row(">");
    screen.types(CTRL_D);
    let written = String::from_utf8_lossy(&screen.written).into_owned();
    assert_eq!(screen.end(), Some(0));
    assert_eq!(sent(&server.requests()[0]), json!("hello"));
    for part in ["title", "\u{1b}[2J.png"] {
        assert!(!written.contains(part), "{written}");
    }
}

/// A message that got no answer is sent again with its image.
#[test]
fn message_without_an_answer_keeps_its_image() {
    let env = TestEnv::new();
    env.configure("[openai-compat]\nretries = 0\n");
    let picture = png(9, 4);
    env.write("a.png", &picture);
    let server = ChatServer::start(vec![
        Answer::status("403 Forbidden", &json!({})),
        Answer::text("Grey."),
    ]);
    let mut screen = begin(&env, &server, 80);
    screen.types(format!("{}what?\r", paste("a.png")));
    screen.until_text("Press Enter, or type /retry");
    screen.until_last_row("> [image 1: a.png, 9x4] what?");
    screen.types("\r");
    screen.until_row("Grey.");
    screen.until_last_row(">");
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
    for request in server.requests() {
        let text = "[image 1: a.png, 9x4] what?";
        assert_eq!(sent(&request), with_image(&picture, text));
    }
}

#[test]
fn clipboard_image_is_attached_by_its_key() {
    let env = TestEnv::new();
    let picture = png(9, 4);
    env.write("clip", &picture);
    let program = env.write(
        "wl-paste",
        "#!/bin/sh\nexec cat \"$(dirname \"$0\")/clip\"\n",
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = "WAYLAND_DISPLAY=w PATH=\"$PWD:$PATH\"";
    let server = answers(&["Grey."]);
    let mut screen = OnScreen::start_with(&env, &server, 80, settings, &CHAT);
    screen.until_last_row(">");
    screen.types("\u{16}");
    screen.until_last_row("> [image 1: clipboard.png, 9x4]");
    env.write("clip", "no image");
    screen.types("\u{16}");
    screen.until_text("clipboard.png is not attached: it is not a PNG, JPEG, GIF or WebP image.");
    env.write("clip", "");
    screen.types("\u{16}");
    screen.until_text("The clipboard has no image.");
    screen.types("what?\r");
    screen.until_row("Grey.");
    screen.until_last_row(">");
    screen.types(CTRL_D);
    assert_eq!(screen.end(), Some(0));
    let text = "[image 1: clipboard.png, 9x4] what?";
    assert_eq!(sent(&server.requests()[0]), with_image(&picture, text));
}
