use pretty_assertions::assert_eq;

use super::Filter;

#[test]
fn directories_without_a_match_are_known() {
    let cases = [
        ("*.rs", "any/where", true, None),
        ("src/*.rs", "src", true, Some("src")),
        ("src/*.rs", "src/deep", false, Some("src")),
        ("src/*.rs", "other", false, Some("src")),
        ("./src/**/*.rs", "src/deep/deeper", true, Some("src")),
        ("s*/x/*.rs", "src", true, None),
        ("s*/x/*.rs", "src/x", true, None),
        ("s*/x/*.rs", "src/y", false, None),
        ("**/x/*.rs", "a/b", true, None),
        ("{src,tests}/*.rs", "tests", true, None),
        ("{src,tests}/*.rs", "docs", false, None),
        ("{src/a,tests}/*.rs", "docs", true, None),
    ];
    for (glob, directory, can_match, only) in cases {
        let filter = Filter::new(glob).expect("a glob");
        assert_eq!(
            (filter.can_match_in(directory), filter.only_directory(0)),
            (can_match, only),
            "{glob} {directory}"
        );
    }
}

/// A file that matches is never in a directory that is left out.
#[test]
fn directories_of_a_match_are_entered() {
    let mut state = 11_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    let mut matched = 0;
    for _ in 0..50_000 {
        let mut join = |parts: &[&str]| {
            let names: Vec<&str> = (0..random(4) + 1)
                .map(|_| parts[random(parts.len())])
                .collect();
            names.join("/")
        };
        let glob = join(&["a", "b", "*", "**", "{a,b}", "{a/b,b}", "[ab]", "?", "a*"]);
        let path = join(&["a", "b", "ab"]);
        let name = path.rsplit('/').next().expect("a name");
        let filter = Filter::new(&glob).expect("a glob");
        if filter.matches(&path, name) {
            matched += 1;
            let names: Vec<&str> = path.split('/').collect();
            for depth in 1..names.len() {
                let directory = names[..depth].join("/");
                assert!(filter.can_match_in(&directory), "{glob} {path}");
                let only = filter.only_directory(depth - 1);
                assert!(
                    only.is_none_or(|only| only == names[depth - 1]),
                    "{glob} {path}"
                );
            }
        }
    }
    assert!(matched > 1_000, "{matched}");
}
