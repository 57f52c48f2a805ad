use super::{NewTool, with_component, with_tool, without_tool};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const BLOCK: &str = "[[tool]]\nname = \"a\"\ncomponent = \"oci://r.example/a:1\"\n\
    dir = [] # it may ask for files: [{ host = \".\", mode = \"read-only\" }]\n\
    http = []\nenv = []\nsecrets = []\n";

fn tool<'a>(name: &'a str, imports: &'a [String]) -> NewTool<'a> {
    NewTool {
        name,
        component: "oci://r.example/a:1",
        imports,
        builtins: &[],
    }
}

#[test]
fn added_tool_leaves_the_rest_of_the_text() {
    let imports = ["wasi:filesystem/types@0.2.6".to_owned()];
    let cases = [
        ("", BLOCK.to_owned()),
        (
            "# mine\nmax-turns = 3",
            format!("# mine\nmax-turns = 3\n\n{BLOCK}"),
        ),
        (
            "[[tool]]\nname = \"b\" # b\ncomponent = \"b.wasm\"\n",
            format!("[[tool]]\nname = \"b\" # b\ncomponent = \"b.wasm\"\n\n{BLOCK}"),
        ),
        (
            "[limits]\nmemory-bytes = 1\n",
            format!("[limits]\nmemory-bytes = 1\n\n{BLOCK}"),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(
            with_tool(text, &tool("a", &imports)),
            Ok(expected),
            "{text}"
        );
    }
    let first = NewTool {
        builtins: &["files"],
        ..tool("a", &imports)
    };
    let expected = format!("[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\n{BLOCK}");
    assert_eq!(with_tool("", &first), Ok(expected));
    let listed = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n";
    let expected = format!("{listed}\n{BLOCK}");
    assert_eq!(with_tool(listed, &first), Ok(expected));
}

#[test]
fn tool_is_not_added_where_it_would_change_something_else() {
    let added = |text: &str| with_tool(text, &tool("a", &[]));
    let no_list = "its `tool` is not a list of tables; write each one under a `[[tool]]`";
    assert_eq!(added("tool = 1\n"), Err(no_list.into()));
    let table = added("[tool]\nname = \"b\"\n");
    assert_eq!(table, Err(no_list.into()));
    let form = with_tool("x = \"\"\"", &tool("a", &[])).unwrap_err();
    assert!(form.as_str().starts_with("it is not TOML: "));
    let exists = with_tool("[[tool]]\nname = \"a\"\n", &tool("a", &[]));
    let expected = "it already has `a`; choose another name (of a tool, with `--as NAME`)";
    assert_eq!(exists, Err(expected.into()));
}

#[test]
fn removed_tool_leaves_the_rest_of_the_text() {
    let before = "# top\nmax-turns = 3\n\n[[tool]]\nname = \"b\"\ncomponent = \"b.wasm\"\n\n";
    let after = "# about the limits\n[limits]\nmemory-bytes = 1\n";
    let own = "[[tool]] # one\nname = \"a\"\ncomponent = \"x\"\n[tool.limits]\noutput-bytes = 5\n[[tool.dir]]\nhost = \".\"\n";
    let text = format!("{before}# about it,\n# and more\n{own}\n{after}");
    assert_eq!(without_tool(&text, "a"), Ok(format!("{before}\n{after}")));
    let last = own.trim_end();
    assert_eq!(
        without_tool(&format!("{before}{last}"), "a").as_deref(),
        Ok(before)
    );
    let top = format!("# mine\n\n{own}");
    assert_eq!(without_tool(&top, "a").as_deref(), Ok("# mine\n\n"));
    // A header in a string is none.
    let tricky = format!("system = \"\"\"\n[[tool]]\nname = \"a\"\n\"\"\"\n{own}");
    let expected = "system = \"\"\"\n[[tool]]\nname = \"a\"\n\"\"\"\n";
    assert_eq!(without_tool(&tricky, "a").as_deref(), Ok(expected));
    let absent = without_tool(before, "a");
    assert_eq!(absent, Err("it has no tool `a`; the tools are: b".into()));
}

/// An inline list is closed for headers, so that tools are added and removed in it.
#[test]
fn tools_of_an_inline_list_are_edited_in_it() {
    let text =
        "max-turns = 3\ntool = [\n  { name = \"b\", component = \"b.wasm\" }, # b\n] # all\n";
    let imports = ["wasi:filesystem/types@0.2.6".to_owned()];
    let added = with_tool(text, &tool("a", &imports)).unwrap();
    let expected = "max-turns = 3\ntool = [\n  { name = \"b\", component = \"b.wasm\" }, \
        { name = \"a\", component = \"oci://r.example/a:1\", dir = [], http = [], env = [], secrets = [] }, # b\n] # all\n";
    assert_eq!(added, expected);
    let newer = with_component(&added, "a", "oci://r.example/a:2");
    assert_eq!(newer, Ok(expected.replace("a:1", "a:2")));
    let removed = without_tool(&added, "a").unwrap();
    let table = |text: &str| text.parse::<toml::Table>().unwrap();
    assert_eq!(table(&removed), table(text));
}

proptest! {
    /// A tool that is added and removed again leaves the configuration as it was.
    #[test]
    fn tool_entry_fuzz(name in "[a-z\"\\\\\u{e9}\n]{1,8}", lines in prop::collection::vec("(a = 1|#.{0,5}|\\[b\\]|\\[\\[tool\\]\\]|name = \"x\"|)", 0..6)) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if let Ok(added) = with_tool(&text, &tool(&name, &[])) {
            let removed = without_tool(&added, &name).unwrap();
            let table = |text: &str| text.parse::<toml::Table>().unwrap();
            prop_assert_eq!(table(&removed), table(&text));
        }
    }
}

#[test]
fn component_of_one_tool_is_replaced() {
    let old = "oci://a.example/a:1";
    let new = "oci://a.example/a:2";
    let one = |name: &str, component: &str| {
        format!("[[tool]] # {component}\nname = \"{name}\"\ncomponent = \"{component}\" # {old}\n")
    };
    let text = format!("{}\n{}", one("x", old), one("y", old));
    let expected = format!(
        "{}\n[[tool]] # {old}\nname = \"y\"\ncomponent = \"{new}\" # {old}\n",
        one("x", old)
    );
    assert_eq!(with_component(&text, "y", new), Ok(expected));
    let hook = format!("[[hook]]\nname = \"h\"\ncomponent = \"{old}\"\n");
    assert_eq!(with_component(&hook, "h", new), Ok(hook.replace(old, new)));
    let absent = with_component(&text, "z", new);
    let expected = "it has no tool `z`; the tools are: x, y";
    assert_eq!(absent, Err(expected.into()));
    // The value is replaced however it is written.
    let escaped = "[[tool]]\r\nname = 'x'\r\ncomponent = \"oci:\\u002F/a.example/a:1\"\r\n";
    let expected = format!("[[tool]]\r\nname = 'x'\r\ncomponent = \"{new}\"\r\n");
    assert_eq!(with_component(escaped, "x", new), Ok(expected));
}
