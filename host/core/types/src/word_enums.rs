//! Enums whose cases are words of a file, of the journal or of a protocol.

/// Declares an enum of words. Each case is written, stored and listed by its name in kebab-case.
///
/// ```
/// agent_host_types::words! {
///     /// A side of a coin.
///     pub enum Side {
///         /// The front.
///         HeadsUp,
///         /// The back.
///         TailsUp,
///     }
/// }
///
/// assert_eq!(Side::ALL.map(Side::as_str), ["heads-up", "tails-up"]);
/// assert_eq!(serde_json::json!(Side::TailsUp), "tails-up");
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$case_meta:meta])* $case:ident,)*
    }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, strum::IntoStaticStr)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        $(#[$meta])*
        $vis enum $name {
            $($(#[$case_meta])* $case,)*
        }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$(stringify!($case)),*].len()] = [$(Self::$case),*];

            /// Returns the word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        }
    };
}
