use super::*;
use agent_host_engine::spill::{spill_output, unquoted_preview};
use agent_host_types::output::{FileData, FilePart};
use pretty_assertions::assert_eq;
use serde_json::Value;

const TOOLS: [&str; 4] = [
    "list_directory",
    "read_file",
    "image_info",
    "image_thumbnail",
];

const END: &str = "

No language model was involved: this answer was put together by the built-in script `script:tour`, while the tools, their \
sandbox and the denial are real.

Three commands to try:

- `agent-host sessions show latest`: who said what, each call, what was denied
- `agent-host explain latest`: the smallest grant that would allow what was denied
- `agent-host init`: a language model instead of this script";

const DENIED: &str = "- **Denied**: reading `/etc/hostname`, which is outside your directory. The host's reason: no grant \
covers /etc/hostname";

/// A directory as tools report it.
struct Directory {
    entries: Vec<(&'static str, &'static str, u64)>,
    truncated: bool,
    readme: ToolResultOutput,
    info: ToolResultOutput,
    outside: ToolResultOutput,
}

impl Directory {
    fn of(entries: &[(&'static str, &'static str, u64)]) -> Self {
        Self {
            entries: entries.to_vec(),
            truncated: false,
            readme: ToolResultOutput::Text("intro\n# My *project*\n".to_owned()),
            info: ToolResultOutput::json(
                json!({"format": "png", "width": 640, "height": 480, "bytes": 2048, "color": "rgb8"}),
            ),
            outside: ToolResultOutput::ExecutionDenied(Some(
                "no grant covers /etc/hostname".to_owned(),
            )),
        }
    }

    fn list(&self, deep: bool) -> ToolResultOutput {
        let entries: Vec<Value> = self
            .entries
            .iter()
            .filter(|(name, _, _)| deep || !name.contains('/'))
            .map(|(name, kind, size)| match *kind {
                "file" => json!({"name": name, "kind": kind, "size_bytes": size}),
                // A file whose size could not be read, and everything else, comes without one.
                "sizeless" => json!({"name": name, "kind": "file"}),
                _ => json!({"name": name, "kind": kind}),
            })
            .collect();
        let truncated = deep && self.truncated;
        let json = json!({"path": ".", "entries": entries, "truncated": truncated});
        let spilled = spill_output(ToolResultOutput::json(json), "results/a");
        let read = unquoted_preview(&spilled.output, spilled.whole.as_ref());
        read.unwrap_or(spilled.output)
    }

    fn answer(&self, call: &ToolCall) -> ToolResultOutput {
        let input = call.input.as_ref().unwrap();
        let path = input["path"].as_str().unwrap();
        let known = self.entries.iter().any(|(name, _, _)| *name == path);
        match call.name.as_str() {
            "list_directory" => self.list(input["depth"] == 3),
            "read_file" if path == "/etc/hostname" => self.outside.clone(),
            "read_file" if known => self.readme.clone(),
            "image_info" if known => self.info.clone(),
            "image_thumbnail" if known => ToolResultOutput::Content(vec![
                ContentPart::Text {
                    text: "640x480 -> 256x192".to_owned(),
                },
                ContentPart::File(FilePart {
                    media_type: "image/png".to_owned(),
                    data: FileData::Bytes(vec![0; 1536]),
                    filename: None,
                }),
            ]),
            name => panic!("{name} is asked for {path:?}, which is not there"),
        }
    }
}

async fn tour(directory: &Directory, tools: &[&str]) -> (Vec<(String, Value)>, String) {
    let model = Scripted::builtin("tour").unwrap();
    let mut messages = vec![Message::text(Role::User, "What is in this directory?")];
    let (calls, text) = play(&model, &mut messages, tools, &|call| directory.answer(call))
        .await
        .unwrap();
    let begin = "You asked: \"What is in this directory?\". This is what the tools found in your directory:\n\n";
    let text = text.strip_prefix(begin).unwrap().strip_suffix(END).unwrap();
    (calls, text.to_owned())
}

#[tokio::test]
async fn ordinary_directory_is_described() {
    let directory = Directory::of(&[
        (".git", "directory", 0),
        ("README.md", "file", 100),
        ("big.png", "file", 2048),
        ("link.png", "symlink", 9_999_999),
        ("notes.txt", "file", 10),
        ("odd.png", "sizeless", 0),
        ("readme.txt", "file", 10),
        ("src", "directory", 0),
        ("src/deep", "directory", 0),
        ("src/deep/small.JPG", "file", 1000),
    ]);
    let (calls, text) = tour(&directory, &TOOLS).await;
    assert_eq!(
        calls,
        [
            (
                "list_directory".to_owned(),
                json!({"path": ".", "depth": 3})
            ),
            ("read_file".to_owned(), json!({"path": "README.md"})),
            ("image_info".to_owned(), json!({"path": "big.png"})),
            (
                "image_thumbnail".to_owned(),
                json!({"path": "big.png", "max_width": 256, "max_height": 256})
            ),
            ("read_file".to_owned(), json!({"path": "/etc/hostname"})),
        ]
    );
    assert_eq!(
        text,
        format!(
            "- **Content**: 5 files and 2 directories at the top level.
  Down to three levels: 6 files and 3 directories, 3.1 KiB in all, without what is in .git and node_modules.
- **README**: `README.md`, titled \"My *project*\".
- **Largest image**: `big.png`, 2.0 KiB.
  It is 640 x 480 pixels, png.
  Its thumbnail is 1.5 KiB of image/png, kept with the session (640x480 -> 256x192).
{DENIED}"
        )
    );
}

#[tokio::test]
async fn empty_directory_is_reported() {
    let (calls, text) = tour(&Directory::of(&[]), &TOOLS).await;
    assert_eq!(calls.len(), 2);
    assert_eq!(
        text,
        format!(
            "- **Content**: nothing; the directory is empty.
- **README**: there is none at the top level.
- **Images**: no PNG, JPEG or GIF file.
{DENIED}"
        )
    );
}

#[tokio::test]
async fn readme_without_title_not_text_or_denied() {
    let read = |readme| Directory {
        readme,
        ..Directory::of(&[("readme", "file", 3), ("sub/README.md", "file", 3)])
    };
    for (readme, expected) in [
        (
            ToolResultOutput::Text("a\nb".to_owned()),
            "`readme`, 2 lines without a title.",
        ),
        (
            ToolResultOutput::Content(vec![]),
            "`readme` is not a text file.",
        ),
        (
            ToolResultOutput::ExecutionDenied(None),
            "`readme` could not be read: Tool call execution denied.",
        ),
        (
            ToolResultOutput::error_json(json!({"code": "timeout", "message": "too slow"})),
            "`readme` could not be read: too slow",
        ),
    ] {
        let (_, text) = tour(&read(readme), &TOOLS).await;
        assert_eq!(
            text,
            format!(
                "- **Content**: 1 file and 0 directories at the top level.
  Down to three levels: 2 files and 0 directories, 6 bytes in all.
- **README**: {expected}
- **Images**: no PNG, JPEG or GIF file.
{DENIED}"
            )
        );
    }
}

#[tokio::test]
async fn file_names_are_never_templates() {
    let weird = "\"{{ 7 * 7 }}' {% raw %}\n\u{1b}[31m.png";
    let directory = Directory {
        readme: ToolResultOutput::Text("# {{ prompt }} {% if %}".to_owned()),
        ..Directory::of(&[("README", "file", 1), (weird, "file", 1)])
    };
    let (calls, text) = tour(&directory, &TOOLS).await;
    assert_eq!(calls[2], ("image_info".to_owned(), json!({"path": weird})));
    assert_eq!(
        text,
        format!(
            "- **Content**: 2 files and 0 directories at the top level.
  Down to three levels: 2 files and 0 directories, 2 bytes in all.
- **README**: `README`, titled \"{{{{ prompt }}}} {{% if %}}\".
- **Largest image**: `\"{{{{ 7 * 7 }}}}' {{% raw %}}\\n\\u{{1b}}[31m.png`, 1 byte.
  It is 640 x 480 pixels, png.
  Its thumbnail is 1.5 KiB of image/png, kept with the session (640x480 -> 256x192).
{DENIED}"
        )
    );
}

#[tokio::test]
async fn truncated_listing_is_followed_by_top_level() {
    let directory = Directory {
        truncated: true,
        ..Directory::of(&[
            ("a/x.gif", "file", 5),
            ("b.txt", "file", 1),
            ("README.md", "file", 1),
        ])
    };
    let (calls, text) = tour(&directory, &TOOLS).await;
    assert_eq!(
        calls[1],
        (
            "list_directory".to_owned(),
            json!({"path": ".", "depth": 1})
        )
    );
    assert_eq!(
        text,
        format!(
            "- **Content**: 2 files and 0 directories at the top level.
  Down to three levels: at least 3 files and 0 directories, at least 7 bytes in all.
- **README**: `README.md`, titled \"My *project*\".
- **Largest image**: `a/x.gif`, 5 bytes.
  It is 640 x 480 pixels, png.
  Its thumbnail is 1.5 KiB of image/png, kept with the session (640x480 -> 256x192).
{DENIED}"
        )
    );
}

/// Names that together are longer than a result may be that a model sees.
fn many(prefix: &str) -> Vec<(&'static str, &'static str, u64)> {
    (0..2_000)
        .map(|number| {
            let name: &'static str = format!("{prefix}{number:040}").leak();
            (name, "file", 1)
        })
        .collect()
}

#[tokio::test]
async fn too_long_listing_is_followed_by_top_level() {
    let mut directory = Directory::of(&many("deep/"));
    directory.entries.push(("README.md", "file", 1));
    let (calls, text) = tour(&directory, &TOOLS).await;
    assert_eq!(calls.len(), 4);
    assert_eq!(
        text,
        format!(
            "- **Content**: 1 file and 0 directories at the top level.
- **README**: `README.md`, titled \"My *project*\".
- **Images**: no PNG, JPEG or GIF file in what was listed.
{DENIED}"
        )
    );
}

#[tokio::test]
async fn too_long_top_level_is_reported() {
    let (calls, text) = tour(&Directory::of(&many("")), &TOOLS).await;
    assert_eq!(calls.len(), 3);
    assert_eq!(
        text,
        format!(
            "- **Content**: more entries than one listing holds, even at the top level.\n{DENIED}"
        )
    );
}

#[tokio::test]
async fn invalid_image_or_missing_tools_are_reported() {
    let mut directory = Directory::of(&[("x.gif", "file", 5)]);
    let content = "- **Content**: 1 file and 0 directories at the top level.
  Down to three levels: 1 file and 0 directories, 5 bytes in all.
- **README**: there is none at the top level.
- **Largest image**: `x.gif`, 5 bytes.";
    let (calls, text) = tour(&directory, &["list_directory", "read_file"]).await;
    assert_eq!(calls.len(), 2);
    assert_eq!(text, format!("{content}\n{DENIED}"));

    directory.info = ToolResultOutput::ErrorText("not a GIF image".to_owned());
    let (_, text) = tour(&directory, &["image_info"]).await;
    assert_eq!(
        text,
        format!("{content}\n  It could not be read as an image: not a GIF image\n{DENIED}")
    );
}

#[tokio::test]
async fn read_outside_that_succeeds_is_reported() {
    for (outside, expected) in [
        (
            ToolResultOutput::Text("machine".to_owned()),
            "- **Not denied**: reading `/etc/hostname` was allowed, so a grant of this run covers it.",
        ),
        (
            ToolResultOutput::ErrorText("no such file".to_owned()),
            "- **Outside**: reading `/etc/hostname` failed: no such file",
        ),
    ] {
        let directory = Directory {
            outside,
            ..Directory::of(&[])
        };
        let (_, text) = tour(&directory, &TOOLS).await;
        assert_eq!(text.lines().last(), Some(expected));
    }
}

#[tokio::test]
async fn unlistable_directory_is_reported() {
    let model = Scripted::builtin("tour").unwrap();
    let mut messages = vec![Message::text(Role::User, "Hello?")];
    let denied = ToolResultOutput::ExecutionDenied(Some("no directory is granted".to_owned()));
    let (calls, text) = play(&model, &mut messages, &[], &|_| denied.clone())
        .await
        .unwrap();
    assert_eq!(calls.len(), 2);
    let expected = "- **Content**: the directory could not be listed: no directory is granted
- **Denied**: reading `/etc/hostname`, which is outside your directory. The host's reason: no directory is granted";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn second_prompt_restarts_tour_with_new_ids() {
    let model = Scripted::builtin("tour").unwrap();
    let directory = Directory::of(&[("README.md", "file", 1)]);
    let mut messages = Vec::new();
    let mut texts = Vec::new();
    for _ in 0..2 {
        messages.push(Message::text(Role::User, "again"));
        let answer = |call: &ToolCall| directory.answer(call);
        texts.push(play(&model, &mut messages, &TOOLS, &answer).await.unwrap());
    }
    assert_eq!(texts[0], texts[1]);
    let ids: Vec<&str> = messages
        .iter()
        .flat_map(|message| &message.tool_calls)
        .map(|call| call.id.0.as_str())
        .collect();
    assert_eq!(
        ids,
        ["call-1", "call-2", "call-3", "call-4", "call-5", "call-6"]
    );
}
