//! Loads components from addresses. They go through the same client, bounds and cache as those of
//! registries, and no credentials go with them.

use crate::{
    Blobs, Client, ClientConfig, CredentialSource, MAX_COMPONENT_BYTES, PinnedUrl, RegistryError,
    client::ApiRequest,
};
use reqwest::Method;

impl PinnedUrl {
    /// Returns the bytes of the component, from the cache or its address; they are kept.
    ///
    /// # Errors
    /// They cannot be loaded, or are not those of the digest. Nothing is kept then.
    pub async fn load(
        &self,
        config: &ClientConfig,
        blobs: &Blobs,
    ) -> Result<Vec<u8>, RegistryError> {
        if let Some(kept) = self.kept(blobs)? {
            return Ok(kept);
        }
        let config = ClientConfig {
            credentials: CredentialSource::default(),
            ..config.clone()
        };
        let client = Client::at(self.url().clone(), self.host(), &config).await?;
        let what = self.url().path().to_owned();
        let request = ApiRequest {
            method: Method::GET,
            url: self.url().clone(),
            repository: "",
            push: false,
            accept: "",
            body: None,
            what: what.clone(),
        };
        let response = client.send_once(&request, None).await?;
        if !response.status().is_success() {
            return Err(client.failure(&request, response).await);
        }
        client
            .keep(response, self.digest(), MAX_COMPONENT_BYTES, what, blobs)
            .await
    }

    /// Returns the bytes of the component, if they are kept.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn kept(&self, blobs: &Blobs) -> Result<Option<Vec<u8>>, RegistryError> {
        let kept = blobs.get(self.digest(), MAX_COMPONENT_BYTES);
        kept.map_err(RegistryError::Cache)
    }
}
