//! Secrets of one call.

#[cfg(test)]
pub(crate) mod values;
