//! Checks that every relative link, heading anchor, path and code reference in Markdown exists, and
//! that prose stays within its bounds.

use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// The root of the checkout.
pub(crate) static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    root.canonicalize().unwrap()
});

/// The suffixes by which a code span counts as a path of this repository.
const SUFFIXES: [&str; 13] = [
    ".c", ".go", ".h", ".js", ".json", ".md", ".mjs", ".py", ".rs", ".sh", ".toml", ".ts", ".wit",
];

/// The maximum length of the README at the root, in lines.
const README_LINES: usize = 120;

/// The maximum width of prose, in columns. Tables, code blocks and lines with links may be wider.
const PROSE_COLUMNS: usize = 100;

/// Paths in prose that are a guest's or are made at run time.
const EXAMPLES: [&str; 4] = ["NAME/", "builds/", "mise/config.toml", "moving/"];

/// The files that git tracks or would track, relative to [`ROOT`].
pub(crate) fn files() -> BTreeSet<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(&*ROOT)
        .output()
        .unwrap();
    assert!(listed.status.success(), "the tests need git and a checkout");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let files = listed.lines().map(PathBuf::from);
    files.filter(|file| ROOT.join(file).exists()).collect()
}

/// The references in one Markdown file.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    spans: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        for event in Parser::new(text) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors
                        .extend(heading.take().map(|text| anchor(&text)));
                }
                Event::Text(text) => heading.iter_mut().for_each(|it| it.push_str(&text)),
                Event::Code(code) => {
                    heading.iter_mut().for_each(|it| it.push_str(&code));
                    page.spans.push(code.into_string());
                }
                _ => {}
            }
        }
        page
    }
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Whether a code span names a file or directory of this repository.
fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    span.contains('/')
        && span.chars().all(plain)
        && !span.starts_with(['/', '.', '-'])
        && (span.ends_with('/') || SUFFIXES.iter().any(|suffix| span.ends_with(suffix)))
        && !EXAMPLES.contains(&span)
}

/// The identifiers of a code span such as `Agent::run_turn` or `agent_host_app::Host`; empty for
/// other spans.
fn identifiers(span: &str) -> Vec<&str> {
    let span = span.trim_end_matches("()");
    let parts: Vec<&str> = span.split("::").collect();
    let word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if parts.len() > 1 && parts.iter().all(|part| word(part)) {
        parts
    } else {
        Vec::new()
    }
}

#[test]
fn links_and_references_in_markdown_exist() {
    let files = files();
    let pages: BTreeMap<&PathBuf, Page> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|it| it == "md"))
        .map(|file| {
            (
                file,
                Page::parse(&fs::read_to_string(ROOT.join(file)).unwrap()),
            )
        })
        .collect();
    let is_source = |file: &&PathBuf| {
        let name = file.to_string_lossy();
        [".rs", ".wit", ".py", ".ts", ".js", ".go", ".h", ".c"]
            .iter()
            .any(|it| name.ends_with(it))
    };
    let sources: Vec<String> = files
        .iter()
        .filter(is_source)
        .map(|file| fs::read_to_string(ROOT.join(file)).unwrap_or_default())
        .collect();
    let words: BTreeSet<&str> = sources
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .chain(["std", "self"])
        .collect();
    let mut wrong = Vec::new();
    for (file, page) in &pages {
        let directory = ROOT.join(file).parent().unwrap().to_owned();
        for link in &page.links {
            if let Some(fault) = broken_link(link, file, &directory, &pages) {
                wrong.push(format!("{}: link `{link}`: {fault}", file.display()));
            }
        }
        let bases = [
            directory.clone(),
            directory.join("src"),
            directory.join("../src"),
            ROOT.clone(),
            ROOT.join("host"),
            ROOT.join("guest-tools"),
        ];
        for span in &page.spans {
            if is_path(span) && !bases.iter().any(|base| base.join(span).exists()) {
                wrong.push(format!("{}: no such path: `{span}`", file.display()));
            }
            if let Some(unknown) = identifiers(span).iter().find(|it| !words.contains(**it)) {
                wrong.push(format!(
                    "{}: `{span}`: no source has `{unknown}`",
                    file.display()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} broken references:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The picture that the scripted tour finds in a clone: the largest within the three levels that it
/// lists.
#[test]
fn tour_finds_the_drawing_in_a_clone() {
    let is_picture = |file: &PathBuf| {
        let extension = file.extension().and_then(|it| it.to_str());
        let is_listed = file.components().count() <= 3;
        is_listed && extension.is_some_and(|it| ["png", "jpg", "jpeg", "gif"].contains(&it))
    };
    let pictures = files().into_iter().filter(is_picture);
    let size = |file: &PathBuf| fs::metadata(ROOT.join(file)).unwrap().len();
    let largest = pictures.max_by_key(size);
    assert_eq!(largest, Some(PathBuf::from("docs/page.png")));
}

/// The reference of commands, keys and events is that of the program. Update it with
/// `agent-host reference > host/REFERENCE.md`.
#[test]
fn reference_is_current() {
    let printed = TestEnv::new().run(&["reference"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let kept = fs::read_to_string(ROOT.join("host/REFERENCE.md")).unwrap();
    assert_eq!(
        kept, printed.stdout,
        "run: agent-host reference > host/REFERENCE.md"
    );
}

/// The README's table of commands has each command of the program, and no other.
#[test]
fn readme_names_every_command() {
    let printed = TestEnv::new().run(&["reference"]).stdout;
    let headings = printed
        .lines()
        .filter_map(|line| line.strip_prefix("### agent-host "));
    let commands: BTreeSet<&str> = headings.filter(|name| !name.contains(' ')).collect();
    let readme = fs::read_to_string(ROOT.join("README.md")).unwrap();
    let table = readme
        .split("\n## ")
        .find(|part| part.starts_with("Commands\n"));
    let rows = table
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let named: BTreeSet<&str> = cells
        .flat_map(|cell| cell.trim_end_matches('`').split("`, `"))
        .collect();
    assert_eq!(named, commands);
}

#[test]
fn prose_is_wrapped_and_readme_is_short() {
    let readme = fs::read_to_string(ROOT.join("README.md")).unwrap();
    let lines = readme.lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines");
    let mut wide = Vec::new();
    let pages = files().into_iter();
    for file in pages.filter(|file| file.extension().is_some_and(|it| it == "md")) {
        let text = fs::read_to_string(ROOT.join(&file)).unwrap();
        let mut in_code = false;
        for (index, line) in text.lines().enumerate() {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            let is_exempt = in_code || line.trim_start().starts_with('|');
            let has_link = line.contains("](") || line.contains("://");
            if !is_exempt && !has_link && line.chars().count() > PROSE_COLUMNS {
                wide.push(format!("{}:{}: {line}", file.display(), index + 1));
            }
        }
    }
    assert_eq!(wide, Vec::<String>::new());
}

/// The reason why a link is broken; `None` for a valid one or one that leaves the repository.
fn broken_link(
    link: &str,
    file: &PathBuf,
    directory: &Path,
    pages: &BTreeMap<&PathBuf, Page>,
) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, wanted) = link
        .split_once('#')
        .map_or((link, None), |(path, it)| (path, Some(it)));
    let target = if path.is_empty() {
        ROOT.join(file)
    } else {
        directory.join(path)
    };
    let Ok(target) = target.canonicalize() else {
        return Some("no such file".to_owned());
    };
    let wanted = wanted?;
    let target = target.strip_prefix(&*ROOT).ok()?.to_owned();
    let page = pages.get(&target)?;
    (!page.anchors.contains(wanted)).then(|| format!("no heading `#{wanted}`"))
}
