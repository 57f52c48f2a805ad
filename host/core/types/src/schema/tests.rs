use super::*;
use pretty_assertions::assert_eq;

#[test]
fn links_of_doc_comments_become_their_texts() {
    let cases = [
        ("no link", "no link"),
        ("see [`A`]", "see `A`"),
        ("see [`A`](crate::A), and [`B`]", "see `A`, and `B`"),
        ("[`A`](crate::A) (once)", "`A` (once)"),
        ("[`unclosed", "[`unclosed"),
        ("`a[0]`", "`a[0]`"),
    ];
    for (text, plain) in cases {
        assert_eq!(without_links(text), plain, "{text}");
    }
}
