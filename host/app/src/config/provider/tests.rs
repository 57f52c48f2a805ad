use super::ollama_url;
use pretty_assertions::assert_eq;

/// As Ollama's own clients read it.
#[test]
fn ollama_host_is_read_as_by_its_client() {
    for (host, url) in [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        (" '1.2.3.4:56789' ", "http://1.2.3.4:56789"),
        (":56789", "http://127.0.0.1:56789"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://127.0.0.1:8080"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[1:2::3]:56789/", "http://[1:2::3]:56789"),
        ("example.com", "http://example.com:11434"),
        ("example.com:56789/path/", "http://example.com:56789/path"),
        ("http://example.com", "http://example.com:80"),
        ("https://example.com", "https://example.com:443"),
        (
            "https://example.com:56789/a/b",
            "https://example.com:56789/a/b",
        ),
        ("https://[::1]", "https://[::1]:443"),
        ("example.com:high", "http://example.com:11434"),
        ("ftp://example.com", "ftp://example.com"),
        ("", "http://127.0.0.1:11434"),
    ] {
        assert_eq!(ollama_url(host), url, "{host:?}");
    }
}
