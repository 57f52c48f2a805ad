use super::newer_tag;
use pretty_assertions::assert_eq;

#[test]
fn newest_version_among_tags_is_found() {
    let tags = [
        "latest",
        "1",
        "1.9.0",
        "1.10.0",
        "v1.2.0",
        "2.0.0-rc.1",
        "0.9.0",
        "sha256-00",
        "\u{1b}",
    ];
    let tags: Vec<String> = tags.map(str::to_owned).into();
    let cases = [
        ("1.9.0", Some("1.10.0")),
        ("v1.0.0", Some("1.10.0")),
        ("1.10.0", None),
        ("2.0.0-beta", Some("2.0.0-rc.1")),
        ("2.0.0", None),
        ("latest", None),
        ("1", None),
    ];
    for (current, expected) in cases {
        assert_eq!(newer_tag(current, &tags), expected, "{current}");
    }
}
