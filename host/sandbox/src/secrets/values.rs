//! A secret's value and its forms, for the tests.

#[path = "../../../engine/src/secrets/tests/values.rs"]
mod values;

use agent_host_engine::secrets::Secrets;
use secrecy::SecretString;
use std::sync::Arc;
pub(crate) use values::{VALUE, forms};

pub(crate) fn secrets(values: &[(&str, &str)]) -> Arc<Secrets> {
    let values = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)))
        .collect();
    Arc::new(Secrets::new(values).unwrap())
}
