//! Path patterns.

use super::rules;
use crate::policy::PathRules;
use pretty_assertions::assert_eq;

#[test]
fn pattern_matches_paths_and_their_descendants() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            ".env*",
            &[".env", ".env.local", "a/b/.env", ".envs/x", "a/.env/b/c"],
            &["env", "a.env", "a/x.env"],
        ),
        (
            ".ssh/",
            &[".ssh", ".ssh/id", "a/.ssh/b/c"],
            &["ssh", ".sshx", "a/.sshx/b"],
        ),
        (
            ".git/config",
            &[".git/config", ".git/config/x"],
            &["config", ".git", "a/.git/config", ".git/configs"],
        ),
        ("/a/*.key", &["a/x.key", "a/.key"], &["a/b/x.key", "x.key"]),
        (
            "**/b/c",
            &["b/c", "a/b/c", "a/a/b/c/d"],
            &["c", "ab/c", "b/d"],
        ),
        ("a/**", &["a/b", "a/b/c"], &["b", "ab"]),
        ("./x", &["x", "x/y"], &["a/x"]),
        ("{a,b}.txt", &["a.txt", "c/b.txt"], &["c.txt"]),
    ];
    for (pattern, covered, others) in table {
        let rules = rules(&[pattern]);
        for path in *covered {
            assert_eq!(
                rules.first_match(path),
                Some(*pattern),
                "{pattern} on {path}"
            );
        }
        for path in *others {
            assert_eq!(rules.first_match(path), None, "{pattern} on {path}");
        }
    }
}

#[test]
fn pattern_is_found_below_its_ancestors() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (".ssh", &[], &[".ssh", "a", "a/.ssh"]),
        (".git/config", &[".git"], &["a", "a/.git", ".git/config"]),
        ("a/b/*.key", &["a", "a/b"], &["b", "a/c", "a/b/c"]),
        ("**/b/c", &["b", "a/b"], &["a", "c"]),
        ("a/**/k", &["a", "a/x", "a/x/y"], &["b"]),
    ];
    for (pattern, above, others) in table {
        let rules = rules(&[pattern]);
        for path in *above {
            assert_eq!(
                rules.first_below(path),
                Some(*pattern),
                "{pattern} on {path}"
            );
        }
        for path in *others {
            assert_eq!(rules.first_below(path), None, "{pattern} on {path}");
        }
    }
}

#[test]
fn first_match_returns_the_pattern_that_matched() {
    let rules = rules(&["one", "two/x/y", "three/z"]);
    assert_eq!(
        (
            rules.first_match("a/one"),
            rules.first_match("two/x/y"),
            rules.first_match("three/z/q")
        ),
        (Some("one"), Some("two/x/y"), Some("three/z"))
    );
    assert_eq!(
        (
            rules.first_below("two"),
            rules.first_below("two/x"),
            rules.first_below("three")
        ),
        (Some("two/x/y"), Some("two/x/y"), Some("three/z"))
    );
    assert_eq!(rules.patterns(), ["one", "two/x/y", "three/z"]);
    assert_eq!(
        (rules.is_empty(), PathRules::default().is_empty()),
        (false, true)
    );
}

#[test]
fn pattern_that_cannot_match_is_refused() {
    let relative = "write it relative to the granted directory, such as `docs/*.md`";
    let table = [
        ("", format!("the path pattern `` names nothing; {relative}")),
        (
            "/",
            format!("the path pattern `/` names nothing; {relative}"),
        ),
        (
            "../x",
            format!("the path pattern `../x` leaves the directory with `..`; {relative}"),
        ),
        (
            "{a,b/c}",
            format!(
                "the path pattern `{{a,b/c}}` has a `/` inside braces; write two patterns instead; {relative}"
            ),
        ),
        (
            "[a",
            "the path pattern `[a` is not a glob: unclosed character class; missing ']'".to_owned(),
        ),
    ];
    for (pattern, text) in table {
        let error = PathRules::new(&[pattern]).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
}
