//! The form of limits.

use crate::config::units;
use agent_host_types::limits::Limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines [`LimitsSection`] with the fields of [`Limits`]; a name that is missing in either does
/// not compile.
macro_rules! raw_limits {
    ($($name:ident $(in $unit:literal)?;)*) => {
        /// `[limits]` and `[tool.limits]`: the fields of [`Limits`].
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct LimitsSection {
            $(
                #[doc = concat!("[`Limits::", stringify!($name), "`].")]
                $(#[serde(deserialize_with = $unit)])?
                pub(in crate::config) $name: Option<u64>,
            )*
        }

        impl LimitsSection {
            /// Returns these limits, with those of `base` for absent ones.
            pub(in crate::config) fn over(self, base: &Limits) -> Limits {
                Limits { $($name: self.$name.unwrap_or(base.$name),)* }
            }

            /// Returns the name, the value and the default of each limit.
            pub(in crate::config) fn beside_defaults(
                self,
            ) -> impl Iterator<Item = (&'static str, Option<u64>, u64)> {
                let default = Limits::default();
                [$((stringify!($name), self.$name, default.$name),)*].into_iter()
            }
        }
    };
}

raw_limits! {
    deadline_ms in "units::milliseconds";
    memory_bytes in "units::bytes";
    table_elements;
    instances;
    memories;
    tables;
    max_transfer_bytes in "units::bytes";
    open_resources;
    output_bytes in "units::bytes";
    stdio_bytes in "units::bytes";
    random_bytes in "units::bytes";
    http_header_bytes in "units::bytes";
    http_request_bytes in "units::bytes";
    http_response_bytes in "units::bytes";
    http_requests;
    http_connections;
    http_timeout_ms in "units::milliseconds";
    file_write_bytes in "units::bytes";
    file_creates;
}
