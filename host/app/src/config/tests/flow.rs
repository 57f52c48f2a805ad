//! Paths of files, by which flows know them.

use super::Tree;
use crate::config::Overrides;
use pretty_assertions::assert_eq;

/// A file that a tool may write has one path for all tools and agents, where flows decide.
#[test]
fn file_with_two_paths_is_refused_where_flows_decide() {
    let ask = "flow.mode = \"ask\"\n";
    let tool = |name: &str, host: &str, guest: &str, mode: &str| {
        format!(
            "[[tool]]\nname = {name:?}\ncomponent = \"builtin:files\"\ndir = [{{ host = {host:?}, guest = {guest:?}, mode = {mode:?} }}]\n"
        )
    };
    let (ro, rw) = ("read-only", "read-write");
    let files = tool("files", ".", "/workspace", rw);
    let agent = "[[agent]]\nname = \"a\"\ndescription = \"A.\"\n";
    let of_agent =
        "[[agent.grants.dir]]\nhost = \"data\"\nguest = \"/workspace\"\nmode = \"read-only\"\n";
    let data = "is `/workspace/data` in one grant and `/workspace` in another, so text in a file could lose its source; give \
                it one path: guest = \"/workspace/data\"";
    let other = "is `/workspace` in one grant and `/code` in another, so text in a file could lose its source; give it one \
                 path: guest = \"/workspace\"";
    let cases = [
        (
            format!("{ask}{files}{}", tool("t", "data", "/workspace", ro)),
            Some(data),
        ),
        (
            format!("{ask}{files}{}", tool("t", ".", "/code", ro)),
            Some(other),
        ),
        (format!("{ask}{files}{agent}{of_agent}"), Some(data)),
        (
            format!("{files}{agent}flow = \"quarantine\"\n{of_agent}"),
            Some(data),
        ),
        (
            format!("{ask}{files}{}", tool("t", "data", "/workspace/data", rw)),
            None,
        ),
        (
            format!("{ask}{files}{}", tool("t", "../other", "/workspace", rw)),
            None,
        ),
        // Nothing is written there.
        (
            format!(
                "{ask}{}{}",
                tool("s", ".", "/workspace", ro),
                tool("t", ".", "/code", ro)
            ),
            None,
        ),
        (
            format!(
                "flow.mode = \"observe\"\n{files}{}",
                tool("t", ".", "/code", ro)
            ),
            None,
        ),
    ];
    for (toml, expected) in cases {
        let tree = Tree::new();
        std::fs::create_dir_all(tree.root.join("home/ann/project/data")).unwrap();
        std::fs::create_dir_all(tree.root.join("home/ann/other")).unwrap();
        let loaded = tree.load(&toml, &Overrides::default());
        let error = loaded
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        match expected {
            Some(why) => assert!(error.contains(why), "{toml}: {error}"),
            None => assert_eq!(error, "", "{toml}"),
        }
    }
}
