//! The bytes of a component, however the caller has them.

use bytes::Bytes;
use std::borrow::Cow;

/// The bytes of a component. Making it of a vector or of bytes in the program copies nothing.
#[derive(Clone, Debug)]
pub struct ComponentBytes(Bytes);

impl ComponentBytes {
    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl From<Vec<u8>> for ComponentBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<&Vec<u8>> for ComponentBytes {
    fn from(bytes: &Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<&[u8]> for ComponentBytes {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(bytes))
    }
}

impl From<Cow<'static, [u8]>> for ComponentBytes {
    fn from(bytes: Cow<'static, [u8]>) -> Self {
        Self(match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        })
    }
}
