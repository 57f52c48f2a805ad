//! Which tokens are served, and what the routes are told of their callers.

use crate::{Refusal, Token};
use http::Extensions;
use std::{fmt, pin::Pin};

/// A future of [`Access::admit`].
pub type Admission<'a> = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>>;

/// Decides which tokens are served. [`Token`] itself serves no other one.
pub trait Access: fmt::Debug + Send + Sync {
    /// Admits a request with this token, and adds to its extensions what the routes need to know
    /// of the caller.
    ///
    /// The future returns the refusal of a token that is not served, which is
    /// [`Refusal::invalid_token`] if the token is unknown.
    fn admit<'a>(&'a self, token: Token, extensions: &'a mut Extensions) -> Admission<'a>;
}

impl Access for Token {
    fn admit<'a>(&'a self, token: Token, _: &'a mut Extensions) -> Admission<'a> {
        Box::pin(async move {
            match token == *self {
                true => Ok(()),
                false => Err(Refusal::invalid_token()),
            }
        })
    }
}
