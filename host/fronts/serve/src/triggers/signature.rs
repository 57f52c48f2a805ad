//! Signatures of deliveries, by HMAC with SHA-256: those of Standard Webhooks
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>)
//! and GitHub's
//! (<https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>).

use agent_host_app::config::SignatureScheme;
use agent_host_types::id::Digest;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;
use ring::hmac::{self, Key};

/// The headers of Standard Webhooks.
pub(super) const ID: &str = "webhook-id";
pub(super) const TIMESTAMP: &str = "webhook-timestamp";
pub(super) const SIGNATURE: &str = "webhook-signature";

/// GitHub's header.
const GITHUB: &str = "x-hub-signature-256";

/// The version of a signature of Standard Webhooks with a shared key.
const VERSION: &str = "v1";

/// How far the time of a delivery may be from that of this machine, in seconds.
const TOLERANCE: u64 = 5 * 60;

/// The longest id, in bytes.
const MAX_ID_BYTES: usize = 255;

/// The most signatures that are looked at: a sender has more than one while it changes its key.
const MAX_SIGNATURES: usize = 8;

/// Makes the key of signatures from its bytes.
pub(super) fn key(bytes: &[u8]) -> Key {
    Key::new(hmac::HMAC_SHA256, bytes)
}

/// Returns the key of a delivery, which is the same whenever it is sent again; `None` if it is not
/// signed as it should be, or too old.
///
/// GitHub signs neither an id nor a time, so that the body names its delivery: who replays one
/// cannot make it another.
pub(super) fn verify(
    scheme: SignatureScheme,
    key: &Key,
    headers: &HeaderMap,
    body: &[u8],
    now_ms: u64,
) -> Option<String> {
    match scheme {
        SignatureScheme::Standard => verify_standard(key, headers, body, now_ms / 1000),
        SignatureScheme::Github => {
            let signature = text(headers, GITHUB)?.strip_prefix("sha256=")?;
            let signature = hex::decode(signature).ok()?;
            hmac::verify(key, body, &signature).ok()?;
            Some(Digest::of(body).to_string())
        }
    }
}

fn verify_standard(key: &Key, headers: &HeaderMap, body: &[u8], now: u64) -> Option<String> {
    let (id, timestamp) = (text(headers, ID)?, text(headers, TIMESTAMP)?);
    let is_id = (1..=MAX_ID_BYTES).contains(&id.len());
    let sent: u64 = timestamp.parse().ok()?;
    if !is_id || sent.abs_diff(now) > TOLERANCE {
        return None;
    }
    let signed = signed(id, timestamp, body);
    let signatures = text(headers, SIGNATURE)?.split(' ').take(MAX_SIGNATURES);
    let is_valid = |signature: &str| {
        let encoded = signature.split_once(',').filter(|(v, _)| *v == VERSION);
        let signature = encoded.and_then(|(_, encoded)| STANDARD.decode(encoded).ok());
        signature.is_some_and(|signature| hmac::verify(key, &signed, &signature).is_ok())
    };
    // All of them are looked at, so that the time does not tell which one is valid.
    let valid = signatures.filter(|signature| is_valid(signature)).count();
    (valid > 0).then(|| id.to_owned())
}

/// Returns the signature of a message by Standard Webhooks, with its version.
pub(super) fn sign(key: &Key, id: &str, timestamp: u64, body: &[u8]) -> String {
    let tag = hmac::sign(key, &signed(id, &timestamp.to_string(), body));
    format!("{VERSION},{}", STANDARD.encode(tag))
}

fn signed(id: &str, timestamp: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat()
}

/// Returns the only field of a name, of visible ASCII and spaces.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut fields = headers.get_all(name).iter();
    let field = fields.next()?;
    match fields.next() {
        None => field.to_str().ok(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{key, sign, verify};
    use agent_host_app::config::SignatureScheme;
    use agent_host_types::id::Digest;
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use http::HeaderMap;
    use pretty_assertions::assert_eq;

    /// The example of the reference libraries of Standard Webhooks.
    const STANDARD_KEY: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const SENT: u64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    /// The example of GitHub's documentation.
    const GITHUB_KEY: &[u8] = b"It's a Secret to Everybody";
    const GITHUB_BODY: &[u8] = b"Hello, World!";
    const GITHUB_SIGNED: &str =
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn standard(fields: &[(&'static str, &str)], body: &[u8], now: u64) -> Option<String> {
        let key = key(&STANDARD.decode(STANDARD_KEY).unwrap());
        let scheme = SignatureScheme::Standard;
        verify(scheme, &key, &headers(fields), body, now * 1000)
    }

    #[test]
    fn standard_example_is_signed_and_verified() {
        let key = key(&STANDARD.decode(STANDARD_KEY).unwrap());
        assert_eq!(sign(&key, ID, SENT, BODY), SIGNED);
        let sent = SENT.to_string();
        let fields = |id, sent, signature| {
            [
                ("webhook-id", id),
                ("webhook-timestamp", sent),
                ("webhook-signature", signature),
            ]
        };
        let whole = fields(ID, &sent, SIGNED);
        let encoded = SIGNED.strip_prefix("v1,").unwrap();
        let other = format!("v1a,AAAA v2,{encoded} {SIGNED} v1,!");
        let valid = Some(ID.to_owned());
        for (fields, body, now, expected) in [
            (whole, BODY, SENT, &valid),
            (whole, BODY, SENT + 300, &valid),
            (whole, BODY, SENT - 300, &valid),
            (fields(ID, &sent, &other), BODY, SENT, &valid),
            (whole, BODY, SENT + 301, &None),
            (whole, BODY, SENT - 301, &None),
            (whole, b"{}".as_slice(), SENT, &None),
            (fields("msg_other", &sent, SIGNED), BODY, SENT, &None),
            (fields(ID, "1614265331", SIGNED), BODY, SENT, &None),
            (fields(ID, "+1614265330", SIGNED), BODY, SENT, &None),
            (fields(ID, "now", SIGNED), BODY, SENT, &None),
            (fields("", &sent, SIGNED), BODY, SENT, &None),
            (fields(ID, &sent, encoded), BODY, SENT, &None),
            (fields(ID, &sent, "v1,"), BODY, SENT, &None),
            (fields(ID, &sent, ""), BODY, SENT, &None),
        ] {
            assert_eq!(&standard(&fields, body, now), expected, "{fields:?} {now}");
        }
        for missing in 0..3 {
            let mut fields = whole.to_vec();
            fields.remove(missing);
            assert_eq!(standard(&fields, BODY, SENT), None, "{missing}");
            let mut fields = whole.to_vec();
            fields.push(whole[missing]);
            assert_eq!(standard(&fields, BODY, SENT), None, "{missing} twice");
        }
    }

    #[test]
    fn github_example_is_verified() {
        let github = |value: &str, body| {
            let fields = headers(&[("x-hub-signature-256", value)]);
            verify(SignatureScheme::Github, &key(GITHUB_KEY), &fields, body, 0)
        };
        let delivery = Some(Digest::of(GITHUB_BODY).to_string());
        assert_eq!(github(GITHUB_SIGNED, GITHUB_BODY), delivery);
        let digits = GITHUB_SIGNED.strip_prefix("sha256=").unwrap();
        let upper = format!("sha256={}", digits.to_uppercase());
        assert_eq!(github(&upper, GITHUB_BODY), delivery);
        assert_eq!(github(GITHUB_SIGNED, b"Hello, World."), None);
        for value in [
            "",
            "sha256=",
            "sha256=7",
            "sha1=757107ea0eb2509fc211221cce984b8a37570b6d",
            digits,
            GITHUB_SIGNED.get(..70).unwrap(),
            &format!("{GITHUB_SIGNED}00"),
        ] {
            assert_eq!(github(value, GITHUB_BODY), None, "{value}");
        }
    }
}
