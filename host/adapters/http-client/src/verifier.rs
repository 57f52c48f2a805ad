//! Checks the certificates of servers against [`roots`], which are read when the first server shows
//! one: the machine's store is hundreds of files, and most commands connect to no server.

use crate::roots::roots;
use rustls::{
    DigitallySignedStruct, Error, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use std::sync::{Arc, OnceLock};

/// The verifier that rustls makes of [`roots`], made at its first use.
#[derive(Debug)]
pub(crate) struct RootsVerifier {
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Result<Arc<WebPkiServerVerifier>, Error>>,
}

impl RootsVerifier {
    pub(crate) fn new(provider: Arc<CryptoProvider>) -> Self {
        Self {
            provider,
            verifier: OnceLock::new(),
        }
    }

    fn verifier(&self) -> Result<&WebPkiServerVerifier, Error> {
        let made = self.verifier.get_or_init(|| {
            WebPkiServerVerifier::builder_with_provider(roots(), Arc::clone(&self.provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))
        });
        made.as_deref().map_err(Clone::clone)
    }
}

impl ServerCertVerifier for RootsVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = self.verifier()?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
