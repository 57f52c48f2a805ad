use super::*;
use agent_host_engine::policy::{Grants, HttpGrant};
use agent_host_types::{accounting::AuditVerdict, limits::Limits, tool::Effect};
use pretty_assertions::assert_eq;

/// Converts an image at this URL in a call that may reach `https://good.example/pictures/`.
fn judged(url: &str) -> (ContentPart, Vec<(AuditVerdict, String)>) {
    let grants = Grants {
        http: vec![HttpGrant {
            scheme: Some("https".to_owned()),
            host: "good.example".to_owned(),
            path_prefix: Some("/pictures/".to_owned()),
            ..HttpGrant::default()
        }],
        ..Grants::default()
    };
    let gate = Gate::new(Arc::new(grants), Effect::ReadOnly, &Limits::default());
    let mut output = ToolResultOutput::Content(vec![image(url)]);
    replace_denied(&mut output, &gate);
    let ToolResultOutput::Content(mut parts) = output else {
        panic!("another variant");
    };
    let audit = gate.stats().audit;
    let audit = audit.into_iter().map(|entry| (entry.verdict, entry.rule));
    (parts.pop().unwrap(), audit.collect())
}

fn image(url: &str) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Url(url.to_owned()),
        filename: None,
    })
}

#[test]
fn result_link_allowed_is_normalized() {
    for (url, kept) in [
        (
            "https://good.example/pictures/a.png",
            "https://good.example/pictures/a.png",
        ),
        (
            " HTTPS://GOOD.example:443/pictures/a.png?x=1",
            "https://good.example/pictures/a.png?x=1",
        ),
        (
            "ht\ntps://good.example/pictures/b",
            "https://good.example/pictures/b",
        ),
    ] {
        let allowed = vec![(AuditVerdict::Allowed, "grants.http[0]".to_owned())];
        assert_eq!(judged(url), (image(kept), allowed), "{url:?}");
    }
}

#[test]
fn result_link_denied_becomes_a_note() {
    for (url, rule) in [
        ("https://evil.example/?all=of-it", Some("default-deny")),
        ("http://good.example/pictures/a.png", Some("default-deny")),
        ("https://good.example/other", Some("default-deny")),
        (
            "https://good.example/pictures/../other",
            Some("default-deny"),
        ),
        (
            "https://good.example@evil.example/pictures/",
            Some("url.userinfo"),
        ),
        ("\thttps://evil.example/", Some("default-deny")),
        ("hTTps:evil.example", Some("default-deny")),
        ("h\tttps://evil.example/", Some("default-deny")),
        ("http://169.254.169.254/latest/", Some("default-deny")),
        // Other parsers may read it differently.
        ("https://[evil", None),
        ("https:", None),
    ] {
        let note = format!(
            "[image/png, at {url}; it is not fetched, since this tool may not reach that address]"
        );
        let denied = rule.map(|rule| (AuditVerdict::Denied, rule.to_owned()));
        let expected = (ContentPart::Text { text: note }, Vec::from_iter(denied));
        assert_eq!(judged(url), expected, "{url:?}");
    }
}

#[test]
fn result_link_not_fetched_is_kept() {
    for url in [
        "data:image/png;base64,AAAA",
        "file-id:f1",
        "ftp://a/b",
        "a.png",
        "",
    ] {
        assert_eq!(judged(url), (image(url), vec![]), "{url:?}");
    }
}
