//! A secret's value and its forms, for the tests.

#[path = "../../../../core/engine/src/secrets/tests/values.rs"]
mod fixture;

use agent_host_engine::secrets::Secrets;
pub(crate) use fixture::{VALUE, forms};
use secrecy::SecretString;
use std::sync::Arc;

pub(crate) fn secrets(values: &[(&str, &str)]) -> Arc<Secrets> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)))
        .collect();
    Arc::new(Secrets::new(values).unwrap())
}
