//! Keys of signatures: P-256 and Ed25519, in PEM.

use agent_host_types::{id::Digest, reason::Reason};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair as _, UnparsedPublicKey,
    },
};
use std::{fmt, str::FromStr};

/// The longest text of a key, in bytes.
const MAX_PEM_BYTES: usize = 16 * 1024;

/// The DER form of a `SubjectPublicKeyInfo` up to the key itself, of a P-256 key with its point
/// uncompressed ([RFC 5480](https://www.rfc-editor.org/rfc/rfc5480)).
const P256_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The same part of an Ed25519 key ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
const ED25519_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// The bytes of a P-256 point, uncompressed, and of an Ed25519 key.
const P256_BYTES: usize = 65;
const ED25519_BYTES: usize = 32;

/// The first byte of an uncompressed point.
const UNCOMPRESSED: u8 = 4;

/// A key that verifies signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// The key without its DER prefix.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    P256,
    Ed25519,
}

/// The reasons for which a text is not a key.
pub(crate) const NOT_PEM: &str = "it is not one PEM block (`-----BEGIN PUBLIC KEY-----` and so on)";
pub(crate) const OTHER_ALGORITHM: &str = "it is damaged, or neither a P-256 nor an Ed25519 key";

/// A key that signs.
pub struct SigningKey(Pair);

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl PublicKey {
    /// Returns true if this is the signature of the message by this key: in ASN.1 DER for P-256, 64
    /// bytes for Ed25519.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self.algorithm {
            Algorithm::P256 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.bytes)
                .verify(message, signature),
            Algorithm::Ed25519 => {
                UnparsedPublicKey::new(&ED25519, &self.bytes).verify(message, signature)
            }
        };
        verified.is_ok()
    }

    /// True for a key of Ed25519, false for one of P-256.
    #[must_use]
    pub fn is_ed25519(&self) -> bool {
        self.algorithm == Algorithm::Ed25519
    }

    /// Returns the digest of the key's DER form (`SubjectPublicKeyInfo`), which names the key.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        Digest::of(&self.der())
    }

    fn der(&self) -> Vec<u8> {
        let prefix: &[u8] = match self.algorithm {
            Algorithm::P256 => &P256_PREFIX,
            Algorithm::Ed25519 => &ED25519_PREFIX,
        };
        [prefix, &self.bytes].concat()
    }
}

impl FromStr for PublicKey {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        let hint = "write it with `openssl pkey -in KEY -pubout`";
        let der = pem(text, "PUBLIC KEY", hint)?;
        let key = |algorithm, bytes: &[u8]| Self {
            algorithm,
            bytes: bytes.to_vec(),
        };
        if let Some(bytes) = der.strip_prefix(&P256_PREFIX)
            && bytes.len() == P256_BYTES
            && bytes.first() == Some(&UNCOMPRESSED)
        {
            return Ok(key(Algorithm::P256, bytes));
        }
        match der.strip_prefix(&ED25519_PREFIX) {
            Some(bytes) if bytes.len() == ED25519_BYTES => Ok(key(Algorithm::Ed25519, bytes)),
            _ => Err(OTHER_ALGORITHM.into()),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}

impl fmt::Display for PublicKey {
    /// Writes PEM.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = STANDARD.encode(self.der());
        f.write_str("-----BEGIN PUBLIC KEY-----\n")?;
        for line in encoded.as_bytes().chunks(64) {
            writeln!(f, "{}", String::from_utf8_lossy(line))?;
        }
        f.write_str("-----END PUBLIC KEY-----\n")
    }
}

impl SigningKey {
    /// Signs a message.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Reason> {
        match &self.0 {
            Pair::P256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message);
                let signature =
                    signature.map_err(|_| "the system cannot provide random numbers")?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }

    /// Returns the key that verifies its signatures.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let (algorithm, bytes) = match &self.0 {
            Pair::P256(pair) => (Algorithm::P256, pair.public_key().as_ref()),
            Pair::Ed25519(pair) => (Algorithm::Ed25519, pair.public_key().as_ref()),
        };
        PublicKey {
            algorithm,
            bytes: bytes.to_vec(),
        }
    }
}

impl FromStr for SigningKey {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        let hint = "write it with `openssl pkcs8 -topk8 -nocrypt -in KEY`, or make one with \
                    `openssl genpkey -algorithm ed25519`";
        let der = pem(text, "PRIVATE KEY", hint)?;
        // openssl writes no public key into those of Ed25519, so it is computed.
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            return Ok(Self(Pair::Ed25519(pair)));
        }
        let random = SystemRandom::new();
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &der, &random)
            .map(|pair| Self(Pair::P256(pair)))
            .map_err(|_| OTHER_ALGORITHM.into())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey of {:?}", self.public())
    }
}

/// Returns the bytes of the only PEM block in a text.
fn pem(text: &str, expected: &'static str, hint: &'static str) -> Result<Vec<u8>, Reason> {
    if text.len() > MAX_PEM_BYTES {
        return Err(NOT_PEM.into());
    }
    let (_, rest) = text.split_once("-----BEGIN ").ok_or(NOT_PEM)?;
    let (label, rest) = rest.split_once("-----").ok_or(NOT_PEM)?;
    let end = format!("-----END {label}-----");
    let (body, after) = rest.split_once(&end).ok_or(NOT_PEM)?;
    if after.contains("-----BEGIN ") {
        return Err(NOT_PEM.into());
    }
    if label != expected {
        let found = label.chars().take(40).flat_map(char::escape_debug);
        let found: String = found.collect();
        let why = format!("it is a PEM block `{found}`, and `{expected}` is needed; {hint}");
        return Err(why.into());
    }
    let body: String = body.split_ascii_whitespace().collect();
    STANDARD.decode(body).map_err(|_| NOT_PEM.into())
}
