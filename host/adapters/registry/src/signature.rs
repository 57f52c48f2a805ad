//! Signatures of cosign by a key: a Sigstore bundle with a DSSE envelope, which cosign 3 writes,
//! and the older simple-signing payload. Both say which manifest they are of; a valid signature of
//! something else, such as an attested list of parts, is none of the artifact.

#[cfg(test)]
mod tests;

use crate::{MAX_DOCUMENT_BYTES, PublicKey, SigningKey, media_type};
use agent_host_types::{id::Digest, reason::Reason};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of an in-toto statement.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The predicate type of a signature of cosign.
pub(crate) const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// The type of a simple-signing payload of cosign.
const SIMPLE_TYPE: &str = "cosign container image signature";

/// The form of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureForm {
    /// A Sigstore bundle with a DSSE envelope.
    Bundle,
    /// A simple-signing payload.
    Simple,
}

/// The reasons for which a signature is not one of the artifact.
pub(crate) const OTHER_BUNDLE: &str = "it is not a Sigstore bundle of version 0.3";
const OTHER_KEY: &str = "it is from another key, or damaged";
const OTHER_STATEMENT: &str = "it is another kind of statement, not a signature";
pub(crate) const OTHER_ARTIFACT: &str = "it is for another artifact";

pub(crate) fn signature_count(count: usize) -> Reason {
    format!("it has {count} signatures instead of one").into()
}

pub(crate) fn malformed(why: &str) -> Reason {
    format!("it is malformed ({why})").into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct Subject {
    digest: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct SimplePayload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    image: SimpleImage,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SimpleImage {
    docker_manifest_digest: String,
}

/// Verifies that a bundle is the signature of the manifest with this digest by one of the keys, and
/// returns that key.
///
/// # Errors
/// It is not.
pub fn verify_bundle<'k>(
    bundle: &[u8],
    manifest: Digest,
    keys: &'k [PublicKey],
) -> Result<&'k PublicKey, Reason> {
    check_length(bundle)?;
    let bundle: Bundle =
        serde_json::from_slice(bundle).map_err(|_| malformed("its bundle is not valid JSON"))?;
    if bundle.media_type != media_type::BUNDLE {
        return Err(OTHER_BUNDLE.into());
    }
    let envelope = bundle
        .dsse_envelope
        .ok_or_else(|| malformed("it has no envelope"))?;
    let signature = match envelope.signatures.as_slice() {
        [one] => decode(&one.sig)?,
        several => return Err(signature_count(several.len())),
    };
    if envelope.payload_type != media_type::IN_TOTO {
        return Err("its payload is not an in-toto statement".into());
    }
    let payload = decode(&envelope.payload)?;
    // The signature first: nothing of a payload is read that no accepted key signed.
    let message = pre_authentication_encoding(&envelope.payload_type, &payload);
    let key = key_of(&message, &signature, keys)?;
    let statement: Statement = serde_json::from_slice(&payload)
        .map_err(|_| malformed("its statement is not valid JSON"))?;
    if statement.kind != STATEMENT || statement.predicate_type != PREDICATE {
        return Err(OTHER_STATEMENT.into());
    }
    match statement.subject.as_slice() {
        [one] if one.digest.get("sha256") == Some(&manifest.hex()) => Ok(key),
        _ => Err(OTHER_ARTIFACT.into()),
    }
}

/// Verifies that a simple-signing payload is of the manifest with this digest, and that
/// `signature`, in base64, is of it by one of the keys; returns that key.
///
/// # Errors
/// It is not.
pub fn verify_simple<'k>(
    payload: &[u8],
    signature: &str,
    manifest: Digest,
    keys: &'k [PublicKey],
) -> Result<&'k PublicKey, Reason> {
    check_length(payload)?;
    check_length(signature.as_bytes())?;
    let key = key_of(payload, &decode(signature)?, keys)?;
    let payload: SimplePayload =
        serde_json::from_slice(payload).map_err(|_| malformed("its payload is not valid JSON"))?;
    if payload.critical.kind != SIMPLE_TYPE {
        return Err(OTHER_STATEMENT.into());
    }
    match payload.critical.image.docker_manifest_digest == manifest.to_string() {
        true => Ok(key),
        false => Err(OTHER_ARTIFACT.into()),
    }
}

/// Signs the manifest with this digest. Returns a bundle in the form of cosign 3.
pub(crate) fn sign(manifest: Digest, key: &SigningKey) -> Result<Vec<u8>, Reason> {
    let statement = json!({
        "_type": STATEMENT,
        "subject": [{ "digest": { "sha256": manifest.hex() } }],
        "predicateType": PREDICATE,
        "predicate": {},
    });
    let payload = statement.to_string().into_bytes();
    let message = pre_authentication_encoding(media_type::IN_TOTO, &payload);
    let signature = key.sign(&message)?;
    let hint = STANDARD.encode(key.public().fingerprint().into_bytes());
    let bundle: Value = json!({
        "mediaType": media_type::BUNDLE,
        "verificationMaterial": { "publicKey": { "hint": hint } },
        "dsseEnvelope": {
            "payload": STANDARD.encode(payload),
            "payloadType": media_type::IN_TOTO,
            "signatures": [{ "sig": STANDARD.encode(signature) }],
        },
    });
    Ok(bundle.to_string().into_bytes())
}

/// Returns the bytes that a signature of DSSE is over, by its
/// [protocol](https://github.com/secure-systems-lab/dsse/blob/master/protocol.md).
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let (type_bytes, bytes) = (payload_type.len(), payload.len());
    let head = format!("DSSEv1 {type_bytes} {payload_type} {bytes} ");
    [head.as_bytes(), payload].concat()
}

fn key_of<'k>(
    message: &[u8],
    signature: &[u8],
    keys: &'k [PublicKey],
) -> Result<&'k PublicKey, Reason> {
    let mut keys = keys.iter();
    keys.find(|key| key.verifies(message, signature))
        .ok_or_else(|| OTHER_KEY.into())
}

fn check_length(bytes: &[u8]) -> Result<(), Reason> {
    match bytes.len() as u64 <= MAX_DOCUMENT_BYTES {
        true => Ok(()),
        false => Err(format!("it has more than {MAX_DOCUMENT_BYTES} bytes").into()),
    }
}

fn decode(text: &str) -> Result<Vec<u8>, Reason> {
    STANDARD.decode(text).map_err(|_| malformed("not base64"))
}
