use super::{Accepts, Publisher, RawAccept, RawPublisher, resolve};
use crate::config::{Environment, network::NetworkConfig, paths::Scope};
use pretty_assertions::assert_eq;

/// The public key of RFC 8410, section 10.1.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
    -----END PUBLIC KEY-----\n";

fn raw(components: &[&str], keys: &[&str], accept: RawAccept) -> RawPublisher {
    RawPublisher {
        name: "acme".to_owned(),
        components: components.iter().map(|&it| it.to_owned()).collect(),
        keys: keys.iter().map(|&it| it.to_owned()).collect(),
        accept,
    }
}

fn resolved(raw: RawPublisher) -> Result<Publisher, String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("acme.pub"), KEY).unwrap();
    std::fs::write(dir.path().join("damaged.pub"), "no key").unwrap();
    let environment = Environment {
        cwd: dir.path().to_owned(),
        ..Environment::default()
    };
    let scope = Scope {
        base: dir.path(),
        environment: &environment,
        network: &NetworkConfig::Environment,
    };
    let all = resolve(vec![raw], scope).map_err(|error| error.to_string())?;
    Ok(all.into_iter().next().unwrap())
}

#[test]
fn publisher_has_the_components_of_its_patterns() {
    let components = ["ghcr.io/acme/*", "ghcr.io/solo", "r.example:5000/*"];
    let publisher = resolved(raw(&components, &["acme.pub"], RawAccept::Signed)).unwrap();
    assert_eq!(
        publisher.accepts,
        Accepts::Signed(vec![KEY.parse().unwrap()])
    );
    let cases = [
        ("oci://ghcr.io/acme/resize:1", true),
        ("oci://GHCR.io/acme/deep/er:1", true),
        ("oci://ghcr.io/acme:1", false),
        ("oci://ghcr.io/acmex/resize:1", false),
        ("oci://ghcr.io/solo:1", true),
        ("oci://ghcr.io/solo/x:1", false),
        ("oci://ghcr.io.evil.example/acme/resize:1", false),
        ("oci://r.example:5000/a:1", true),
        ("oci://r.example/a:1", false),
        ("oci://r.example:50000/a:1", false),
    ];
    for (reference, expected) in cases {
        assert_eq!(
            publisher.has(&reference.parse().unwrap()),
            expected,
            "{reference}"
        );
    }
    let all = resolved(raw(&["*"], &[], RawAccept::None)).unwrap();
    assert_eq!(all.accepts, Accepts::None);
    assert!(all.has(&"oci://any.example/a:1".parse().unwrap()));
}

#[test]
fn publisher_that_means_nothing_is_refused() {
    let one = &["ghcr.io/acme/*"];
    let cases = [
        (
            raw(&[], &["acme.pub"], RawAccept::Signed),
            "has no components",
        ),
        (
            raw(&["ghcr.io/ac*"], &["acme.pub"], RawAccept::Signed),
            "does not name any components",
        ),
        (
            raw(&["oci://ghcr.io/a"], &["acme.pub"], RawAccept::Signed),
            "does not name any components",
        ),
        (
            raw(&["ghcr.io/a:1"], &["acme.pub"], RawAccept::Signed),
            "does not name any components",
        ),
        (
            raw(&["GHCR.io/a"], &["acme.pub"], RawAccept::Signed),
            "does not name any components",
        ),
        (
            raw(&["*/acme"], &["acme.pub"], RawAccept::Signed),
            "does not name any components",
        ),
        (raw(one, &[], RawAccept::Signed), "has no keys"),
        (
            raw(one, &["acme.pub"], RawAccept::Digest),
            "no signature is needed",
        ),
        (
            raw(one, &["absent.pub"], RawAccept::Signed),
            "cannot read the key",
        ),
        (
            raw(one, &["damaged.pub"], RawAccept::Signed),
            "is not a public key",
        ),
    ];
    for (raw, expected) in cases {
        let shown = format!("{raw:?}");
        let error = resolved(raw).unwrap_err();
        assert!(error.contains(expected), "{shown}: {error}");
    }
}
