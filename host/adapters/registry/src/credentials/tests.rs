use super::{CredentialSource, NOT_A_LIST};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

async fn find(source: &CredentialSource, registry: &str) -> Option<(String, String)> {
    let found = source.find(registry).await.unwrap()?;
    let password = found.secret.expose_secret().to_owned();
    Some((found.name, password))
}

fn pair(name: &str, password: &str) -> Option<(String, String)> {
    Some((name.to_owned(), password.to_owned()))
}

#[tokio::test]
async fn credentials_are_of_exactly_one_registry() {
    let auth = |text: &str| json!({ "auth": STANDARD.encode(text) });
    let config = json!({
        "auths": {
            "ghcr.io": auth("ann:to:ken"),
            "https://quay.io/v1/": auth("bea:x"),
            "https://index.docker.io/v1/": auth("hub:y"),
            "127.0.0.1:5000": { "username": "cy", "password": "z" },
            "empty.example": {},
        },
        "other": [1],
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    std::fs::write(&path, config.to_string()).unwrap();
    let source = CredentialSource {
        variable: Some(SecretString::from("a.example=dee:p=q:r quay.io=eve:w")),
        docker_config: Some(path),
    };
    let cases = [
        ("ghcr.io", pair("ann", "to:ken")),
        ("quay.io", pair("eve", "w")),
        ("a.example", pair("dee", "p=q:r")),
        ("docker.io", pair("hub", "y")),
        ("127.0.0.1:5000", pair("cy", "z")),
        ("127.0.0.1:5001", None),
        ("127.0.0.1", None),
        ("empty.example", None),
        ("evil-ghcr.io", None),
        ("ghcr.io.evil.example", None),
        ("b.a.example", None),
    ];
    for (registry, expected) in cases {
        assert_eq!(find(&source, registry).await, expected, "{registry}");
    }
}

#[tokio::test]
async fn unusable_source_is_an_error_without_its_content() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    let source = CredentialSource {
        variable: None,
        docker_config: Some(path.clone()),
    };
    assert!(find(&source, "ghcr.io").await.is_none());
    let cases = [
        "SECRET".to_owned(),
        json!({ "auths": { "ghcr.io": { "auth": "SECRET" } } }).to_string(),
        json!({ "auths": { "ghcr.io": { "auth": STANDARD.encode("SECRET") } } }).to_string(),
        json!({ "credHelpers": { "ghcr.io": "../SECRET/x" } }).to_string(),
        json!({ "credsStore": "agent-host-absent" }).to_string(),
        " ".repeat(1024 * 1024 + 1),
    ];
    for text in &cases {
        std::fs::write(&path, text).unwrap();
        let error = source.find("ghcr.io").await.unwrap_err().to_string();
        let is_name = error.contains("is not a plain name");
        assert!(is_name || !error.contains("SECRET"), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let error = source.find("ghcr.io").await.unwrap_err().to_string();
    let file = path.display();
    assert_eq!(error, format!("{file}: it is not a regular file"));
    for text in ["SECRET", "a=b", "a:b"] {
        let source = CredentialSource {
            variable: Some(SecretString::from(text)),
            docker_config: None,
        };
        let error = source.find("ghcr.io").await.unwrap_err();
        assert_eq!(error.as_str(), NOT_A_LIST, "{text}");
    }
}
