//! `[limits]`: the limits of a call.

use super::{review::Review, section::section};
use agent_host_types::limits::Limits;

/// Defines [`LimitsSection`] with the fields of [`Limits`]; a name that is missing in either does
/// not compile.
macro_rules! raw_limits {
    ($($(#[$doc:meta])+ $name:ident $(in $unit:ident)?;)*) => {
        section! {
            /// `[limits]` and `[tool.limits]`: the fields of [`Limits`].
            #[derive(Copy, Default, Eq)]
            #[serde(default)]
            pub struct LimitsSection {
                $(
                    $(#[$doc])+
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
    /// The wall-clock time of a call, including host calls.
    deadline_ms in milliseconds;
    /// The size of all linear memories together.
    memory_bytes in bytes;
    /// The number of elements of one table.
    table_elements;
    /// The number of core and component instances.
    instances;
    /// The number of linear memories.
    memories;
    /// The number of tables.
    tables;
    /// The bytes passed across the component boundary in one direction.
    max_transfer_bytes in bytes;
    /// The number of host resources (files, streams, requests) open at the same time.
    open_resources;
    /// The size of the result, all parts together.
    output_bytes in bytes;
    /// The bytes kept of each of stdout and stderr; the rest is dropped.
    stdio_bytes in bytes;
    /// The bytes of one request for random data.
    random_bytes in bytes;
    /// The size of the header fields of one HTTP message.
    http_header_bytes in bytes;
    /// The size of the bodies of all HTTP requests together.
    http_request_bytes in bytes;
    /// The size of the bodies of all HTTP responses together.
    http_response_bytes in bytes;
    /// The number of HTTP requests.
    http_requests;
    /// The number of HTTP exchanges open at the same time.
    http_connections;
    /// The time of one HTTP exchange, from the request to the end of the response.
    http_timeout_ms in milliseconds;
    /// The bytes written to files.
    file_write_bytes in bytes;
    /// The number of files, directories and links created.
    file_creates;
}
