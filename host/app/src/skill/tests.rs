use super::*;
use agent_host_engine::{
    flow::CallFlow,
    tool::Invocation,
    tool_set::{Offer, ToolSet},
};
use agent_host_types::{
    id::{CallId, SessionId},
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::{os::unix::fs::symlink, sync::Arc};
use tempfile::TempDir;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Writes a skill `pdf` with this `SKILL.md`.
fn skill_in(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().canonicalize().unwrap().join("pdf");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join(SKILL_FILE), text).unwrap();
    (root, directory)
}

fn write(directory: &Path, path: &str, bytes: impl AsRef<[u8]>) {
    let file = directory.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, bytes).unwrap();
}

const SKILL: &str = "---\nname: pdf\ndescription: >\n  Fills forms.\n  Use it for PDF files.\nlicense: MIT\n\
    compatibility: Needs git.\nallowed-tools: Bash(git:*) Read\nmetadata:\n  author: ann\n---\n\n# Steps\nRead forms.md.\n";

#[test]
fn skill_is_read_with_its_files() {
    let (_root, directory) = skill_in(SKILL);
    write(&directory, "forms.md", "Fill them.");
    write(&directory, "scripts/fill.py", "print()");
    write(&directory, ".git/HEAD", "hidden");
    let skill = Skill::read(&directory).unwrap();
    let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
    let expected = Skill {
        name: "pdf".to_owned(),
        description: "Fills forms. Use it for PDF files.".to_owned(),
        license: Some("MIT".to_owned()),
        compatibility: Some("Needs git.".to_owned()),
        metadata: Map::from_iter([("author".to_owned(), json!("ann"))]),
        allowed_tools: vec!["Bash(git:*)".to_owned(), "Read".to_owned()],
        directory: Some(directory.clone()),
        instructions: "# Steps\nRead forms.md.".to_owned(),
        files: BTreeMap::from([
            file(SKILL_FILE, SKILL),
            file("forms.md", "Fill them."),
            file("scripts/fill.py", "print()"),
        ]),
    };
    assert_eq!(skill, expected);
    assert_eq!(skill.size_bytes(), SKILL.len() as u64 + 17);
    let locked = skill.locked();
    assert_eq!(locked.files["forms.md"], Digest::of(b"Fill them."));
    assert_eq!(locked.description, skill.description);
    // What `sha256sum SKILL.md forms.md scripts/fill.py | sha256sum` prints.
    let line = |path: &str| format!("{}  {path}\n", Digest::of(&skill.files[path]).hex());
    let lines = ["SKILL.md", "forms.md", "scripts/fill.py"]
        .map(line)
        .concat();
    assert_eq!(locked.digest(), Digest::of(lines.as_bytes()));
    // Windows' line ends, a mark of the byte order and a list of tools.
    // The value of `act` is an object in components of other hosts.
    let text = "\u{feff}---\r\nname: pdf\r\ndescription: D\r\nlicense:\r\nmetadata:\r\n  act: {}\r\n\
        allowed-tools: [a, b]\r\n---\r\nDo.\r\n";
    let (_root, directory) = skill_in(text);
    let skill = Skill::read(&directory).unwrap();
    assert_eq!(skill.allowed_tools, ["a", "b"]);
    assert_eq!(skill.metadata["act"], json!({}));
    assert_eq!(
        (skill.license.as_ref(), skill.text().as_ref()),
        (None, "Do.")
    );
}

#[test]
fn unusable_front_matter_is_refused() {
    let with = |fields: &str| format!("---\n{fields}\n---\nDo.").into_bytes();
    let long = "d".repeat(1_025);
    let cases = [
        (b"Do.".to_vec(), "SKILL.md has no front matter"),
        (
            b"---\nname: pdf\ndescription: d\n".to_vec(),
            "SKILL.md has no front matter",
        ),
        (vec![0xff, 0xfe], "SKILL.md is not UTF-8 text"),
        (with("name: pdf"), "the front matter of SKILL.md: "),
        (
            with("name: [pdf]\ndescription: d"),
            "the front matter of SKILL.md: ",
        ),
        (
            with("name: pdf\nname: pdf\ndescription: d"),
            "the front matter of SKILL.md: ",
        ),
        (
            with("a: &a [x]\nb: [*a, *a, *a, *a]\nname: &n pdf\ndescription: *m"),
            "the front matter of SKILL.md: ",
        ),
        (
            with("name: PDF\ndescription: d"),
            "its name \"PDF\" is not 1 to 64 lower-case letters",
        ),
        (
            with("name: -pdf\ndescription: d"),
            "its name \"-pdf\" is not",
        ),
        (
            with("name: p--f\ndescription: d"),
            "its name \"p--f\" is not",
        ),
        (
            with("name: \"p\\e[2Jf\"\ndescription: d"),
            "its name \"p\u{fffd}[2Jf\" is not",
        ),
        (
            with("name: other\ndescription: d"),
            "its name is `other`, and its directory is \"pdf\"",
        ),
        (
            with("name: pdf\ndescription: \" \""),
            "its description has 0 characters",
        ),
        (
            with("name: pdf\ndescription: \"a\\u202Eb\""),
            "its description has 3 characters, or control characters",
        ),
        (
            with("name: pdf\ndescription: d\nlicense: [MIT]"),
            "`license` in the front matter of SKILL.md is a list, but must be text",
        ),
        (
            with("name: pdf\ndescription: d\nlicense: \"a\\u202Eb\""),
            "its license has 3 characters, or control characters",
        ),
        (
            with("name: pdf\ndescription: d\ncompatibility: 3"),
            "`compatibility` in the front matter of SKILL.md is a number, but must be text",
        ),
        (
            with(&format!(
                "name: pdf\ndescription: d\ncompatibility: {}",
                "c".repeat(501)
            )),
            "its compatibility has 501 characters, or control characters",
        ),
        (
            with("name: pdf\ndescription: d\nmetadata: ann"),
            "`metadata` in the front matter of SKILL.md is text, but must be a map",
        ),
        (
            with("name: pdf\ndescription: d\nallowed-tools: [a, 1]"),
            "`allowed-tools` in the front matter of SKILL.md is a list, but must be text with",
        ),
        (
            with("name: pdf\ndescription: d\nallowed-tools: {a: b}"),
            "`allowed-tools` in the front matter of SKILL.md is a map, but must be text with",
        ),
        (
            with(&format!("name: pdf\ndescription: {long}")),
            "its description has 1025 characters",
        ),
        (
            with(&format!(
                "name: pdf\ndescription: d\nx: {}",
                "x".repeat(17_000)
            )),
            "the front matter of SKILL.md has more than 16384 bytes",
        ),
    ];
    for (text, says) in cases {
        let (_root, directory) = skill_in(&text);
        let error = Skill::read(&directory).unwrap_err();
        assert!(error.reason.starts_with(says), "{says}: {error}");
        assert!(error.to_string().len() < 600, "{error}");
    }
}

#[test]
fn files_that_are_not_plain_are_refused() {
    let refused = |make: &dyn Fn(&Path)| {
        let (_root, directory) = skill_in(SKILL);
        make(&directory);
        Skill::read(&directory).unwrap_err().reason
    };
    let link = |directory: &Path| symlink("/etc/passwd", directory.join("passwd")).unwrap();
    assert_eq!(
        refused(&link),
        "its file \"passwd\" is a link or not a regular file"
    );
    let link = |directory: &Path| symlink("/etc", directory.join("etc")).unwrap();
    assert_eq!(
        refused(&link),
        "its file \"etc\" is a link or not a regular file"
    );
    let pipe = |directory: &Path| {
        let _listener = std::os::unix::net::UnixListener::bind(directory.join("s")).unwrap();
    };
    assert_eq!(
        refused(&pipe),
        "its file \"s\" is a link or not a regular file"
    );
    let many = |directory: &Path| (0..256).for_each(|n| write(directory, &format!("{n}"), ""));
    assert_eq!(refused(&many), "it has more than 256 files");
    let hidden = |directory: &Path| (0..4_096).for_each(|n| write(directory, &format!(".{n}"), ""));
    assert_eq!(
        refused(&hidden),
        "it has more than 4096 files and directories"
    );
    let large = |directory: &Path| write(directory, "large", vec![0; 9 << 20]);
    assert!(refused(&large).starts_with("its file \"large\": it is longer than"));
    let deep = |directory: &Path| write(directory, "1/2/3/4/5/6/7/8/9/a", "");
    assert_eq!(
        refused(&deep),
        "its file \"1/2/3/4/5/6/7/8/9\" is more than 8 directories deep"
    );
    let long = |directory: &Path| {
        write(
            directory,
            &format!("{}/{}", "d".repeat(155), "f".repeat(100)),
            "",
        )
    };
    assert_eq!(
        refused(&long),
        "the path of one of its files has more than 255 bytes"
    );
    let spoof = |directory: &Path| write(directory, "a\u{202e}b", "");
    assert_eq!(
        refused(&spoof),
        "the name of one of its files is not valid text"
    );
    let open = |directory: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        write(directory, "open", "");
        let all = fs::Permissions::from_mode(0o666);
        fs::set_permissions(directory.join("open"), all).unwrap();
    };
    assert!(
        refused(&open).starts_with("its file \"open\": every user of this machine can write to it")
    );
}

fn read(tools: &ToolSet, input: Value) -> ToolResultOutput {
    let Value::Object(input) = input else {
        panic!("no object");
    };
    let input = tools.accept(READ_SKILL, &input).unwrap();
    let invocation = Invocation {
        session: SessionId::new(),
        call_id: CallId("c".to_owned()),
        tool: READ_SKILL.to_owned(),
        input,
        idempotency_key: String::new(),
        shared: Arc::default(),
        context: Arc::default(),
        answers: Vec::new(),
        artifacts: None,
        agent_depth: 0,
        traceparent: None,
        sources: Vec::new(),
        flow: CallFlow::default(),
        can_ask: false,
        cancel: tokio_util::sync::CancellationToken::new(),
    };
    let mut end = tools.run(invocation, &|_| {});
    let waker = std::task::Waker::noop();
    let polled = end
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    let std::task::Poll::Ready(end) = polled else {
        panic!("it waits");
    };
    end.settled().unwrap().output
}

#[test]
fn reader_returns_instructions_and_files() {
    let (_root, directory) = skill_in(SKILL);
    let long = "é".repeat(30_000);
    for (path, bytes) in [
        ("a/long.txt", long.as_bytes()),
        ("form.png", PNG),
        ("data.bin", &[0xff, 0xfe]),
    ] {
        write(&directory, path, bytes);
    }
    let skill = Arc::new(Skill::read(&directory).unwrap());
    let reader = skill_reader(&[skill]).unwrap();
    let definition = &reader.tool.definition;
    assert_eq!(definition.name, READ_SKILL);
    let list = "The skills:\n- pdf: Fills forms. Use it for PDF files.";
    assert!(definition.description.ends_with(list), "{definition:?}");
    assert_eq!(reader.offer, Offer::Always);
    let tools = ToolSet::from_iter([reader.clone()]);
    let files = "a/long.txt (60000 bytes), data.bin (2 bytes), form.png (16 bytes)";
    let text = |text: &str| ToolResultOutput::Text(text.to_owned());
    let error = |text: String| ToolResultOutput::ErrorText(text);
    let start = "é".repeat(20_480);
    let cases = [
        (
            json!({"skill": "pdf"}),
            text(&format!(
                "[What this needs: Needs git.]\n\n# Steps\nRead forms.md.\n\n[Files of this skill, which \
                 `read_skill` returns by `path`: {files}]"
            )),
        ),
        (json!({"skill": "pdf", "path": SKILL_FILE}), text(SKILL)),
        (
            json!({"skill": "pdf", "path": "a/long.txt"}),
            text(&format!(
                "{start}\n[19040 more bytes: continue with `offset` 40960]"
            )),
        ),
        (
            json!({"skill": "pdf", "path": "a/long.txt", "offset": 59_997}),
            text("é"),
        ),
        (
            json!({"skill": "pdf", "path": "a/long.txt", "offset": u64::MAX}),
            text(""),
        ),
        (
            json!({"skill": "pdf", "path": "form.png"}),
            ToolResultOutput::Content(vec![ContentPart::File(FilePart {
                media_type: "image/png".to_owned(),
                data: FileData::Bytes(PNG.to_vec()),
                filename: Some("form.png".to_owned()),
            })]),
        ),
        (
            json!({"skill": "pdf", "path": "data.bin"}),
            error("The file has 2 bytes and is neither text nor an image.".to_owned()),
        ),
        (
            json!({"skill": "pdf", "path": "../../etc/passwd"}),
            error(format!(
                "The skill has no such file. Its files are: {files}."
            )),
        ),
        (
            json!({"skill": "other"}),
            error("Unknown skill. The skills are: pdf.".to_owned()),
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(read(&tools, input.clone()), expected, "{input}");
    }
}

#[test]
fn list_of_skills_is_bounded() {
    let skills: Vec<Arc<Skill>> = (0..64)
        .map(|n| {
            Arc::new(Skill {
                name: format!("skill-{n}"),
                description: "d".repeat(1_000),
                ..Skill::default()
            })
        })
        .collect();
    let reader = skill_reader(&skills).unwrap();
    let description = &reader.tool.definition.description;
    assert!(description.len() < 20_000, "{}", description.len());
    assert!(description.ends_with("skill-62, skill-63"), "{description}");
    // Without skills there is no reader.
    assert!(skill_reader(&[]).is_none());
}

#[test]
fn skill_of_a_project_is_packed_into_its_component() {
    let (_root, project) = skill_in(SKILL);
    for (path, text) in [
        ("references/forms.md", "Fill them."),
        ("scripts/fill.py", "print()"),
        ("assets/.hidden", "hidden"),
        ("tool.py", "The source of the tool."),
        ("Cargo.toml", "[package]"),
    ] {
        write(&project, path, text);
    }
    let archive = Skill::pack(&project).unwrap().unwrap();
    assert_eq!(Skill::pack(&project).unwrap().unwrap(), archive);
    let skill = Skill::in_component("forms", &archive).unwrap();
    assert_eq!((skill.name.as_str(), skill.directory), ("forms/pdf", None));
    let paths: Vec<&String> = skill.files.keys().collect();
    assert_eq!(
        paths,
        [SKILL_FILE, "references/forms.md", "scripts/fill.py"]
    );
    // The directory of a project may have any name, and its own scripts where it has no skill.
    let (_root, project) = skill_in("no skill");
    let error = Skill::pack(&project).unwrap_err();
    assert_eq!(error.reason, "SKILL.md has no front matter");
    fs::remove_file(project.join(SKILL_FILE)).unwrap();
    symlink("/etc", project.join("scripts")).unwrap();
    assert_eq!(Skill::pack(&project).unwrap(), None);
    let error = Skill::in_component("forms", &[0; 1_024]).unwrap_err();
    assert_eq!(error.reason, "it has no SKILL.md");
}
