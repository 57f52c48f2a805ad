use super::*;
use rustls::pki_types::pem::PemObject as _;

#[test]
fn authorities_of_the_machine_join_those_of_the_program() {
    let bundled = with_bundled(Vec::new()).len();
    assert_eq!(bundled, webpki_roots::TLS_SERVER_ROOTS.len());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/it/tls/ca.pem");
    let own = CertificateDer::from_pem_file(file).unwrap();
    let broken = CertificateDer::from(b"no certificate".to_vec());
    assert_eq!(with_bundled(vec![broken, own]).len(), bundled + 1);
}
