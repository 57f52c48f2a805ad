//! Lists that are combined with other ones, each beyond its bound.

use super::Tree;
use crate::config::Overrides;

#[test]
fn list_beyond_its_bound_is_refused_by_its_key() {
    let tree = Tree::new();
    let tool = "[[tool]]\nname = \"t\"\ncomponent = \"builtin:files\"\n";
    let grants = [
        ("dir", "[[grants.dir]]\nhost = \".\"\n", 256),
        ("http", "[[grants.http]]\nhost = \"a.example\"\n", 256),
    ];
    let sections = [
        ("tool", tool, 256),
        (
            "external-tool",
            "[[external-tool]]\nname = \"e\"\ndescription = \"E.\"\neffect = \"read-only\"\ninput-schema = { type = \"object\" }\n",
            1_000,
        ),
        ("mcp", "[[mcp]]\nname = \"m\"\ncommand = [\"m\"]\n", 128),
        (
            "secret",
            "[[secret]]\nname = \"S\"\nfrom = \"env:S\"\naudience = \"a.example\"\n",
            256,
        ),
    ];
    let grants = grants.map(|(key, lines, most)| (format!("grants.{key}"), key, lines, most));
    let sections = sections.map(|(key, lines, most)| (key.to_owned(), key, lines, most));
    for (path, key, lines, most) in grants.into_iter().chain(sections) {
        let count = most + 1;
        let error = tree.load(&lines.repeat(count), &Overrides::default());
        let error = error.unwrap_err().to_string();
        let expected =
            format!("`{key}` has {count} entries, and the maximum is {most}; remove some of them");
        assert!(error.contains(&expected), "{path}: {error}");
        let within = tree.load(&lines.repeat(most), &Overrides::default());
        let within = within.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(
            !within.contains("entries, and the maximum is"),
            "{path}: {within}"
        );
    }
}
