//! Refuses a working directory that is too large to be granted by default, where a component would
//! look for its files.

use super::Registry;
use crate::{config::Config, error::HostError};

impl Registry {
    /// Checks that no component reaches for the working directory if that is not granted by
    /// default. Components that reach no files run in any directory.
    ///
    /// # Errors
    /// One can reach files, and is granted no directory.
    pub fn check_default_dir(&self, config: &Config) -> Result<(), HostError> {
        let Some(refusal) = &config.default_dir_refusal else {
            return Ok(());
        };
        let lacks_dir = self
            .components()
            .any(|entry| entry.component.imports_preopens() && entry.grants.dirs.is_empty());
        if lacks_dir {
            return Err(refusal.clone().into());
        }
        Ok(())
    }
}
