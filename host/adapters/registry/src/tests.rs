//! The client against servers of the tests: a registry in memory that also misbehaves.

mod client;
mod download;
mod login;
mod server;
mod setup;
mod signatures;

use crate::SigningKey;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair},
};

fn key(der: &[u8]) -> SigningKey {
    let body = STANDARD.encode(der);
    let text = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    text.parse().unwrap()
}

/// Makes a key.
pub(crate) fn p256_key() -> SigningKey {
    let random = SystemRandom::new();
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
    key(der.unwrap().as_ref())
}

/// Makes a key.
pub(crate) fn ed25519_key() -> SigningKey {
    key(Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
        .unwrap()
        .as_ref())
}
