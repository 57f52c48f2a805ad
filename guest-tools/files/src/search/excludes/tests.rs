use super::*;

#[test]
fn last_excludes_file_of_the_core_section_is_taken() {
    let cases: [(&str, Option<&str>); 9] = [
        (
            "[core]\n\texcludesFile = ~/.ignored\n",
            Some("/home/ann/.ignored"),
        ),
        ("[core]\nexcludesfile=/etc/ignored", Some("/etc/ignored")),
        (
            "[CORE]\nExcludesFile = \"/a b/ignored\"\r\n",
            Some("/a b/ignored"),
        ),
        (
            "[core]\nexcludesFile = /one\nexcludesFile = /two\n",
            Some("/two"),
        ),
        ("[core]\neditor = vi\n[user]\nexcludesFile = /one\n", None),
        ("[core]\n# excludesFile = /one\n", None),
        ("[core]\nexcludesFile =\n", None),
        ("excludesFile = /one\n", None),
        ("", None),
    ];
    for (config, expected) in cases {
        assert_eq!(
            excludes_file(config, Some(Path::new("/home/ann"))),
            expected.map(PathBuf::from),
            "{config:?}"
        );
    }
    assert_eq!(
        excludes_file("[core]\nexcludesFile = ~/.ignored\n", None),
        None
    );
}
