use super::*;

#[test]
fn address_of_a_proxy_is_checked() {
    let server: Url = "https://models.example/v1".parse().unwrap();
    let apply = |url: &str| {
        let proxy = ProxySetting::Url {
            url: url.into(),
            except: vec!["a.example".to_owned(), "10.0.0.0/8".to_owned()],
        };
        proxy.client(&server, |builder| builder).map(drop)
    };
    assert!(apply("http://user:password@proxy.example:3128").is_ok());
    for url in ["", "http://", "http://user:the-password@"] {
        let error = apply(url).unwrap_err().to_string();
        assert!(!error.contains("the-password"), "{error}");
    }
}

#[test]
fn hosts_of_a_proxy_are_known_without_its_password() {
    let proxy = |url: &str| ProxySetting::Url {
        url: url.into(),
        except: Vec::new(),
    };
    assert_eq!(
        proxy("http://u:p@proxy.example:3128").hosts(),
        ["proxy.example"]
    );
    assert_eq!(proxy("proxy.example:3128").hosts(), ["proxy.example"]);
    assert_eq!(ProxySetting::Off.hosts(), Vec::<String>::new());
}

#[test]
fn loopback_addresses_stay_on_this_machine() {
    for (url, expected) in [
        ("http://localhost:1", true),
        ("http://127.8.9.1", true),
        ("http://[::1]:1", true),
        ("http://localhost.example", false),
        ("http://192.168.0.1", false),
    ] {
        assert_eq!(is_loopback(&url.parse().unwrap()), expected, "{url}");
    }
}
