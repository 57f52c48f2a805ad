//! The pattern that "always" proposes for a target. Pure.

/// Characters that have a meaning in a pattern.
const SPECIAL: [char; 9] = ['*', '?', '[', ']', '{', '}', '!', '\\', ','];

/// Returns a pattern of the targets near this one: those in the directory of a path, on the host
/// of an address, or only this one. `None` if the target cannot stand in a pattern.
pub(super) fn near(target: &str) -> Option<String> {
    let is_word = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_word || target.contains(SPECIAL) {
        return None;
    }
    if let Some((scheme, rest)) = target.split_once("://") {
        let host = rest.split(['/', '?', '#']).next()?;
        return (!host.is_empty()).then(|| format!("{scheme}://{host}/**"));
    }
    let path = target.strip_prefix("./").unwrap_or(target);
    match path.rsplit_once('/') {
        Some((directory, _)) if directory.contains(|c: char| !matches!(c, '.' | '/')) => {
            Some(format!("{directory}/**"))
        }
        _ => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::near;
    use pretty_assertions::assert_eq;

    #[test]
    fn pattern_is_directory_host_or_the_target_alone() {
        let cases = [
            ("src/a.rs", Some("src/**")),
            ("./src/deep/a.rs", Some("src/deep/**")),
            ("note.txt", Some("note.txt")),
            ("../x", Some("../x")),
            ("/etc/passwd", Some("/etc/**")),
            ("/x", Some("/x")),
            ("https://example.org/a/b?c=d", None),
            ("https://example.org/a/b", Some("https://example.org/**")),
            ("https://example.org", Some("https://example.org/**")),
            ("npm test", None),
            ("src/[a].rs", None),
            ("p\u{430}th", None),
            ("", None),
        ];
        for (target, expected) in cases {
            assert_eq!(near(target).as_deref(), expected, "{target:?}");
        }
    }
}
