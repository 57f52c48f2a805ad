//! The check of the credentials for a registry. Nothing is stored: they are those of Docker's
//! configuration, of its helpers, or of the variable.

use crate::{Client, RegistryError, client::ApiRequest};
use reqwest::{Method, StatusCode};

/// The answer of a registry to the credentials that would be used for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// It accepts them.
    Accepted {
        /// The user name; absent for an identity token.
        name: Option<String>,
        /// Where they are from.
        source_name: String,
    },
    /// It lets everyone in who asks; nothing was sent to it.
    Open {
        /// Where the credentials are from, which were not sent.
        unused: Option<String>,
    },
    /// It lets those in who have no credentials, and there are none.
    Anonymous,
}

impl Client {
    /// Asks the registry whether it accepts the credentials that are known for it.
    ///
    /// # Errors
    /// It refuses them, or asks for some where there are none; or it cannot be reached, or a source
    /// of credentials cannot be read.
    pub async fn check_login(&self) -> Result<Login, RegistryError> {
        let request = ApiRequest {
            method: Method::GET,
            url: self.api_url(),
            repository: "",
            push: false,
            accept: "",
            body: None,
            what: "its API".to_owned(),
        };
        let response = self.send_once(&request, None).await?;
        if response.status().is_success() {
            let found = self.find_credentials().await?;
            let unused = found.map(|found| found.source);
            return Ok(Login::Open { unused });
        }
        if response.status() != StatusCode::UNAUTHORIZED {
            return Err(self.failure(&request, response).await);
        }
        let (authorization, found) = self.authorize(&request, &response).await?;
        let response = self.send_once(&request, Some(&authorization)).await?;
        match (response.status(), found) {
            (status, Some(found)) if status.is_success() => Ok(Login::Accepted {
                name: found.user_name(),
                source_name: found.source,
            }),
            (status, None) if status.is_success() => Ok(Login::Anonymous),
            (status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN), found) => {
                let tried = found.as_ref().map(|found| found.source.as_str());
                Err(self.denied(&request, tried, status))
            }
            _ => Err(self.failure(&request, response).await),
        }
    }
}
