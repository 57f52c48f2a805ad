use super::*;
use pretty_assertions::assert_eq;

fn url(base_url: &str) -> Result<String, ModelError> {
    let endpoint = Endpoint {
        base_url: base_url.to_owned(),
        key: None,
        key_source: "THE_KEY".to_owned(),
        extras: RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    endpoint
        .url("chat/completions")
        .map(|url| url.to_string())
        .map_err(|error| EndpointError::from(error).into())
}

#[test]
fn base_urls_are_extended() {
    for (base, expected) in [
        (
            "http://127.0.0.1:11434/v1",
            "http://127.0.0.1:11434/v1/chat/completions",
        ),
        (
            "http://127.0.0.1:11434/v1/",
            "http://127.0.0.1:11434/v1/chat/completions",
        ),
        (
            " https://api.example.com/v1\n",
            "https://api.example.com/v1/chat/completions",
        ),
        ("http://localhost", "http://localhost/chat/completions"),
    ] {
        assert_eq!(url(base), Ok(expected.to_owned()), "{base}");
    }
}

#[test]
fn invalid_base_url_is_refused_unquoted() {
    for (base, why) in [
        ("", "is empty"),
        ("not a url", "is not a URL (relative URL without a base)"),
        (
            "localhost:11434/v1",
            "does not begin with http:// or https://",
        ),
        (
            "file:///etc/passwd",
            "does not begin with http:// or https://",
        ),
        (
            "https://me:sesame@example.com/v1",
            "contains a user name or a password; a key belongs in THE_KEY",
        ),
        (
            "https://example.com/v1?key=sesame",
            "contains a `?` or a `#`",
        ),
        ("https://example.com/v1#x", "contains a `?` or a `#`"),
    ] {
        let expected = format!(
            "The base URL of the model server {why}. Set it to the server's address including the API version, such \
             as `http://127.0.0.1:11434/v1`."
        );
        let expected = ModelError::new(ModelErrorKind::InvalidRequest, expected);
        assert_eq!(url(base), Err(expected), "{base}");
    }
}

#[test]
fn only_loopback_is_this_machine() {
    let table = [
        ("http://127.0.0.1:11434/v1", true),
        ("http://127.9.9.9", true),
        ("http://[::1]:1", true),
        (" https://localhost/v1 ", true),
        ("http://0.0.0.0:1", false),
        ("http://10.0.0.1", false),
        ("http://localhost.example", false),
        ("http://127.0.0.1.example", false),
        ("http://127.0.0.1@example.com", false),
        ("127.0.0.1:11434", false),
        ("", false),
    ];
    for (url, expected) in table {
        assert_eq!(is_on_this_machine(url), expected, "{url:?}");
    }
}
