use super::{
    server::{Answer, answer},
    setup::{COMPONENT, Setup, on},
};
use crate::{ClientConfig, CredentialSource, PinnedUrl};
use agent_host_types::id::Digest;
use pretty_assertions::assert_eq;
use secrecy::SecretString;

fn at(setup: &Setup, path: &str) -> PinnedUrl {
    let digest = Digest::of(COMPONENT).hex();
    let text = format!("http://{}{path}#sha256={digest}", setup.server.registry());
    text.parse().unwrap()
}

#[tokio::test]
async fn component_at_an_address_is_loaded_once() {
    let setup = Setup::new();
    setup
        .server
        .answer_with(on("/moved", answer(200, &[], COMPONENT)));
    let redirected = answer(302, &[("location", "/moved?signature=x")], "");
    setup.server.answer_with(on("/a.wasm", redirected));
    let config = ClientConfig {
        credentials: CredentialSource {
            variable: Some(SecretString::from(format!(
                "{}=ann:x",
                setup.server.registry()
            ))),
            docker_config: None,
        },
        ..ClientConfig::default()
    };
    let url = at(&setup, "/files/a.wasm");
    for _ in 0..2 {
        assert_eq!(url.load(&config, &setup.blobs).await.unwrap(), COMPONENT);
    }
    let received = setup.server.received();
    let seen: Vec<(&str, Option<&str>)> = received
        .iter()
        .map(|it| (it.target.as_str(), it.authorization.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [("/files/a.wasm", None), ("/moved?signature=x", None)]
    );
}

#[tokio::test]
async fn other_answer_than_the_component_is_refused_and_not_kept() {
    let endless = Answer {
        endless: true,
        ..answer(200, &[], vec![0; 1 << 16])
    };
    let announced = Answer {
        endless: true,
        ..answer(200, &[("content-length", "67108865")], "x")
    };
    let cases = [
        (
            answer(200, &[], "other"),
            "/a.wasm of R has the digest sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa \
             instead of sha256:H, so it was discarded: it was damaged or replaced in transit",
        ),
        (
            endless,
            "/a.wasm of R is longer than 67108864 bytes, so it was discarded",
        ),
        (
            announced,
            "/a.wasm of R is longer than 67108864 bytes, so it was discarded",
        ),
        (
            answer(401, &[("www-authenticate", "Basic realm=x")], ""),
            "R answered 401 to a request for /a.wasm",
        ),
        (
            answer(404, &[], "<html>"),
            "R answered 404 to a request for /a.wasm",
        ),
        (
            answer(302, &[("location", "http://169.254.169.254/x")], ""),
            "R points to http://169.254.169.254, which is neither https nor on the same machine as its server",
        ),
        (
            answer(302, &[("location", "https://10.0.0.1/x")], ""),
            "R points to https://10.0.0.1, which is in a different network from its server",
        ),
        (
            answer(302, &[("location", "/a.wasm")], ""),
            "R sent an unusable answer: it redirects in a loop",
        ),
    ];
    for (said, expected) in cases {
        let setup = Setup::new();
        setup.server.answer_with(on("/a.wasm", said));
        let (url, config) = (at(&setup, "/a.wasm"), ClientConfig::default());
        let error = url
            .load(&config, &setup.blobs)
            .await
            .unwrap_err()
            .to_string();
        let error = error.replace(&setup.server.registry(), "R");
        let error = error.replace(&Digest::of(COMPONENT).hex(), "H");
        assert_eq!(error, expected);
        assert_eq!(setup.kept(), Vec::<std::path::PathBuf>::new());
    }
}
