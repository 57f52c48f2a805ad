//! A registry of the tests with a client, a cache and a component.

use super::server::{Answer, Received, Server};
use crate::{
    Blobs, Client, ClientConfig, CredentialSource, Package, PublicKey, Pushed, Reference,
    RegistryError, Resolved, SignatureForm, WasmInterface,
};
use bytes::Bytes;
use secrecy::SecretString;
use std::path::PathBuf;

pub(super) const COMPONENT: &[u8] = b"\0asm component";

/// A registry, a reference in it, and an empty cache.
pub(super) struct Setup {
    pub(super) server: Server,
    pub(super) reference: Reference,
    pub(super) parent: tempfile::TempDir,
    pub(super) blobs: Blobs,
}

impl Setup {
    pub(super) fn new() -> Self {
        let server = Server::start();
        let parent = tempfile::tempdir().unwrap();
        Self {
            reference: format!("oci://{}/acme/a:1", server.registry())
                .parse()
                .unwrap(),
            server,
            blobs: Blobs::open(&parent.path().join("blobs"), 1 << 20).unwrap(),
            parent,
        }
    }

    /// One with a pushed component.
    pub(super) async fn pushed() -> (Self, Pushed) {
        let setup = Self::new();
        let pushed = setup.push(COMPONENT).await;
        (setup, pushed)
    }

    pub(super) async fn push(&self, component: &'static [u8]) -> Pushed {
        let package = Package {
            component: Bytes::from_static(component),
            interface: WasmInterface {
                exports: vec!["agent:tool/tool@0.1.0".to_owned()],
                ..WasmInterface::default()
            },
            annotations: [(
                "org.opencontainers.image.version".to_owned(),
                "1".to_owned(),
            )]
            .into(),
        };
        self.client(None)
            .await
            .push(&self.reference, package)
            .await
            .unwrap()
    }

    /// A client with the value of the variable for credentials.
    pub(super) async fn client(&self, credentials: Option<String>) -> Client {
        let config = ClientConfig {
            credentials: CredentialSource {
                variable: credentials.map(SecretString::from),
                docker_config: None,
            },
            ..ClientConfig::default()
        };
        Client::new(&self.reference, &config).await.unwrap()
    }

    pub(super) async fn pull(&self) -> Result<Vec<u8>, RegistryError> {
        self.pull_with(&self.client(None).await).await
    }

    pub(super) async fn pull_with(&self, client: &Client) -> Result<Vec<u8>, RegistryError> {
        let resolved = client.resolve(&self.reference, &self.blobs).await?;
        client.component(&resolved, &self.blobs).await
    }

    pub(super) async fn resolved(&self) -> Resolved {
        let client = self.client(None).await;
        client.resolve(&self.reference, &self.blobs).await.unwrap()
    }

    pub(super) async fn verify(
        &self,
        keys: &[PublicKey],
    ) -> Result<(PublicKey, SignatureForm), RegistryError> {
        let resolved = self.resolved().await;
        let client = self.client(None).await;
        // A cache of its own, so that the registry is asked.
        let dir = tempfile::tempdir_in(self.parent.path()).unwrap();
        let blobs = Blobs::open(&dir.path().join("blobs"), 1 << 20).unwrap();
        let (key, form) = client.verify(&resolved, keys, &blobs).await?;
        Ok((key.clone(), form))
    }

    /// The files of the cache.
    pub(super) fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.parent.path().join("blobs")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Answers requests whose target has this part.
pub(super) fn on(
    part: &str,
    answer: Answer,
) -> impl Fn(&Received) -> Option<Answer> + Send + 'static {
    let part = part.to_owned();
    move |received| received.target.contains(&part).then(|| answer.clone())
}
