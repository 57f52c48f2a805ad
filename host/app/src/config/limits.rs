//! `[limits]`: the limits of a call.

use super::{review::Review, section::section};
use agent_host_types::limits::Limits;

/// Defines [`LimitsSection`] with the fields of [`Limits`]; a name that is missing in either does
/// not compile.
macro_rules! raw_limits {
    ($($name:ident $(in $unit:ident)?;)*) => {
        section! {
            /// `[limits]` and `[tool.limits]`: the fields of [`Limits`].
            #[derive(Copy, Default, Eq)]
            #[serde(default)]
            pub struct LimitsSection {
                $(
                    #[doc = concat!("[`Limits::", stringify!($name), "`].")]
                    $name [Lower]: Option<u64> $(, in $unit)? => together;
                )*
            }
        }

        impl LimitsSection {
            /// Returns these limits, with those of `base` for absent ones.
            pub(in crate::config) fn over(self, base: &Limits) -> Limits {
                Limits { $($name: self.$name.unwrap_or(base.$name),)* }
            }

            /// Demands raised limits. `of` follows the name of a limit.
            pub(in crate::config) fn demand(&self, of: &str, review: &mut Review<'_>) {
                let default = Limits::default();
                $(review.at_most(stringify!($name), of, self.$name, default.$name);)*
            }
        }
    };
}

raw_limits! {
    deadline_ms in milliseconds;
    memory_bytes in bytes;
    table_elements;
    instances;
    memories;
    tables;
    max_transfer_bytes in bytes;
    open_resources;
    output_bytes in bytes;
    stdio_bytes in bytes;
    random_bytes in bytes;
    http_header_bytes in bytes;
    http_request_bytes in bytes;
    http_response_bytes in bytes;
    http_requests;
    http_connections;
    http_timeout_ms in milliseconds;
    file_write_bytes in bytes;
    file_creates;
}
