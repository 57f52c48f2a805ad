//! The declaration of the tables of `agent.toml`: [`section!`] states each key once, with its
//! type, its unit, its default, and how much trust it needs. Parsing, the JSON Schema, the layers,
//! `config show` and the review of untrusted files are made of it.

use super::{
    ConfigError,
    problem::{Problems, config_error},
    review::Review,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    num,
    path::PathBuf,
};

/// A property of a key by which layers and reviews treat its texts and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyRole {
    /// A path, which begins at the directory of the file.
    Path,
    /// A path, unless it is a table.
    PathOrTable,
    /// A component, which is a path unless it is built in or remote.
    Component,
    /// The directory of a grant: a path, unless it is `.`, the working directory.
    Directory,
    /// A model, which may be a file.
    Model,
    /// The source of a key, or text that may have one: `file:PATH` is a path.
    Source,
    /// A value that may be a secret, and is not shown.
    Secret,
    /// The program to start, and its arguments, which may be secrets.
    Arguments,
    /// A value of the user that every project may replace.
    Replaceable,
    /// A number that a project may lower below that of the user.
    Lower,
    /// A key that this variable sets, too.
    Variable(&'static str),
    /// The text of its variable is a number.
    Number,
    /// The text of its variable is a list, with commas between the elements.
    List,
    /// A list whose elements of all layers are put together, by their names.
    Named,
    /// A list whose elements of all layers are put together, whatever their names are.
    All,
}

/// A key of a table.
#[derive(Debug)]
pub(super) struct SectionKey {
    /// The name of its field.
    pub(super) field: &'static str,
    pub(super) roles: &'static [KeyRole],
    /// The keys of the table that its value is, or has as elements.
    pub(super) below: fn() -> &'static [SectionKey],
}

impl SectionKey {
    /// Returns the key as it is written.
    pub(super) fn name(&self) -> String {
        self.field.replace('_', "-")
    }
}

/// A place in a configuration: the keys of its table, and the roles of the key that led there.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionPlace {
    keys: &'static [SectionKey],
    roles: &'static [KeyRole],
}

impl SectionPlace {
    /// Returns the outermost table of a form.
    pub(super) fn root<T: ValueForm>() -> Self {
        Self {
            keys: T::keys(),
            roles: &[],
        }
    }

    /// Returns the place of a key. A key of names, and one within a value, is a part of that value.
    pub(super) fn key(self, name: &str) -> Self {
        let is_it = |key: &&SectionKey| key.field == ANY || key.name() == name;
        match self.keys.iter().find(is_it) {
            Some(key) if key.field == ANY => Self {
                keys: (key.below)(),
                ..self
            },
            Some(key) => Self {
                keys: (key.below)(),
                roles: key.roles,
            },
            None => Self { keys: &[], ..self },
        }
    }

    pub(super) fn has(self, role: KeyRole) -> bool {
        self.roles.contains(&role)
    }
}

/// The field of a table whose keys are names.
const ANY: &str = "*";

/// The form of a value.
pub(super) trait ValueForm {
    /// Returns the keys of the table that it is, or has as elements.
    fn keys() -> &'static [SectionKey] {
        &[]
    }

    /// Adds the keys below `at` whose numbers are out of their bounds.
    fn check(&self, _at: &str, _problems: &mut Problems) {}
}

impl<T: ValueForm> ValueForm for Option<T> {
    fn keys() -> &'static [SectionKey] {
        T::keys()
    }

    fn check(&self, at: &str, problems: &mut Problems) {
        self.iter().for_each(|value| value.check(at, problems));
    }
}

impl<T: ValueForm> ValueForm for Vec<T> {
    fn keys() -> &'static [SectionKey] {
        T::keys()
    }

    fn check(&self, at: &str, problems: &mut Problems) {
        let items = self.iter().enumerate();
        items.for_each(|(index, item)| item.check(&format!("{at}[{index}]"), problems));
    }
}

impl<T: ValueForm> ValueForm for BTreeMap<String, T> {
    fn keys() -> &'static [SectionKey] {
        const {
            &[SectionKey {
                field: ANY,
                roles: &[],
                below: T::keys,
            }]
        }
    }
}

/// Returns the key of a field below another key, or of the outermost table.
pub(super) fn key_at(at: &str, field: &str) -> String {
    let key = field.replace('_', "-");
    if at.is_empty() {
        key
    } else {
        format!("{at}.{key}")
    }
}

/// Checks that the number of a key is within its bounds.
pub(super) fn check_bounds(
    at: &str,
    value: impl Serialize,
    (least, most): (u64, Option<u64>),
) -> Result<(), ConfigError> {
    let (number, greatest) = (json!(value).as_u64(), most.unwrap_or(u64::MAX));
    let Some(number) = number.filter(|number| !(least..=greatest).contains(number)) else {
        return Ok(());
    };
    let key = at.rsplit('.').next().unwrap_or(at);
    let bounds = match most {
        Some(most) => format!("{least} to {most}"),
        None => format!("at least {least}"),
    };
    Err(config_error!(
        at,
        "`{key}` is {number}",
        "set it to {bounds}, or leave it out"
    )
    .with_value(number))
}

/// Declares the forms of values without keys of their own.
macro_rules! values {
    ($($type:ty),+ $(,)?) => {
        $(
            impl $crate::config::section::ValueForm for $type {}

            impl $crate::config::section::OrDefault for $type {
                type Value = Self;

                fn or(&self, _: impl FnOnce() -> Self) -> Self {
                    self.clone()
                }
            }
        )+
    };
}
pub(super) use values;

values!(
    bool, u8, u16, u32, u64, usize, f64, String, PathBuf, Value, Map<String, Value>,
    BTreeSet<String>,
    num::NonZeroU16, num::NonZeroU32, num::NonZeroU64, num::NonZeroUsize,
);

/// A table of a configuration.
pub(super) trait Section: ValueForm {
    /// Demands what its keys ask for by themselves. `who` has them, in words.
    fn demand_keys(&self, who: &str, review: &mut Review<'_>);

    /// Returns the values of the keys that have a default.
    fn defaults() -> Map<String, Value>;
}

impl<T: Section> Section for Option<T> {
    fn demand_keys(&self, who: &str, review: &mut Review<'_>) {
        self.iter().for_each(|table| table.demand_keys(who, review));
    }

    fn defaults() -> Map<String, Value> {
        T::defaults()
    }
}

/// A list, which may be absent.
pub(super) trait Items {
    type Item;

    fn items(&self) -> &[Self::Item];
}

impl<T> Items for Vec<T> {
    type Item = T;

    fn items(&self) -> &[T] {
        self
    }
}

impl<T> Items for Option<Vec<T>> {
    type Item = T;

    fn items(&self) -> &[T] {
        self.as_deref().unwrap_or_default()
    }
}

/// The value of a key, or the default where it is absent.
pub(super) trait OrDefault {
    type Value;

    fn or(&self, default: impl FnOnce() -> Self::Value) -> Self::Value;
}

impl<T: Copy> OrDefault for Option<T> {
    type Value = T;

    fn or(&self, default: impl FnOnce() -> T) -> T {
        self.unwrap_or_else(default)
    }
}

/// Declares a table: each key once, with its type, and how much trust it needs.
///
/// In brackets are the [`KeyRole`]s of the key. `in UNIT` names the function of
/// [`units`](super::units) that reads a quantity. `within(LEAST, MOST)`, or without `MOST`, has the
/// bounds of a number, for the schema, too. `= DEFAULT` is what `config show` shows where the
/// key is absent, and what the method of its name returns. Behind `=>` is the trust that the key
/// needs in a file that came with its directory:
/// - `harmless`: none, and trust in the file does not cover it;
/// - `pinned`: none by itself, and trust in the file covers it;
/// - `together`: some that a function of its table demands, together with others;
/// - `at_most`, `at_most(DEFAULT)`: for a number above the default;
/// - `asks(DANGER, "SENTENCE")`: for each part of its value, which is `{value}` in the sentence; the
///   key of a part of a table is `{name}`, and `{who}` has the section in words;
/// - `section`, `section("WHO")`: for what the keys of its table ask for;
/// - `by(FUNCTION)`: for what a function of the value, `who` and the [`Review`] demands. `harmless`
///   takes one, too;
/// - `each(FUNCTION)`: likewise, for each element of a list.
macro_rules! section {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {$(
            $(#[$attr:meta])*
            $key:ident $([$($role:ident $(($variable:literal))?),+])?: $type:ty
                $(, in $unit:ident)? $(, within($least:expr $(, $most:expr)?))?
                $(= $default:expr)? => $trust:ident $(($($args:tt)*))?;
        )*}
    ) => {
        $crate::config::section::structure! {
            {
                #[derive(Clone, Debug, PartialEq)]
                #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
                #[serde(rename_all = "kebab-case", deny_unknown_fields)]
                $(#[$meta])*
                $vis struct $name
            } {}
            $({
                $(#[$attr])*
                $(#[schemars(range(min = $least $(, max = $most)?))])?
            } ($($unit)?) $trust {$key: $type})*
        }

        impl $crate::config::section::ValueForm for $name {
            fn keys() -> &'static [$crate::config::section::SectionKey] {
                use $crate::config::section::{ValueForm, SectionKey};
                const {
                    &[$(SectionKey {
                        field: stringify!($key),
                        roles: &[$($($crate::config::section::KeyRole::$role $(($variable))?),+)?],
                        below: <$type as ValueForm>::keys,
                    }),*]
                }
            }

            fn check(&self, at: &str, problems: &mut $crate::config::problem::Problems) {
                use $crate::config::section::{ValueForm, key_at};
                $({
                    let at = key_at(at, stringify!($key));
                    $(
                        let most = [$($most)?].first().copied();
                        let bounds = ($least, most);
                        problems.take($crate::config::section::check_bounds(&at, &self.$key, bounds));
                    )?
                    ValueForm::check(&self.$key, &at, problems);
                })*
                let _ = (at, problems);
            }
        }

        impl $crate::config::section::Section for $name {
            fn demand_keys(&self, who: &str, review: &mut $crate::config::review::Review<'_>) {
                $($crate::config::section::demand! {
                    $trust [$($($args)*)?] [$($default)?]
                    (stringify!($key), &self.$key, who, review)
                })*
                let _ = (who, review);
            }

            fn defaults() -> serde_json::Map<String, serde_json::Value> {
                let defaults: Vec<(&str, serde_json::Value)> =
                    vec![$($((stringify!($key), serde_json::json!($default)),)?)*];
                let kebab = |(key, value): (&str, _)| (key.replace('_', "-"), value);
                defaults.into_iter().map(kebab).collect()
            }
        }

        impl $name {$($(
            pub(in crate::config) fn $key(
                &self,
            ) -> <$type as $crate::config::section::OrDefault>::Value {
                $crate::config::section::OrDefault::or(&self.$key, || $default)
            }
        )?)*}
    };
}
pub(super) use section;

/// Writes the structure of a table: its head, its fields so far, and for each further key its
/// attributes, its unit, its trust, and the field.
macro_rules! structure {
    ({$($head:tt)*} {$($fields:tt)*}) => { $($head)* {$($fields)*} };
    ($head:tt $fields:tt $attr:tt (bytes) $($rest:tt)*) => {
        $crate::config::section::structure! {
            @read "crate::config::units::bytes" $head $fields $attr $($rest)*
        }
    };
    ($head:tt $fields:tt $attr:tt (days) $($rest:tt)*) => {
        $crate::config::section::structure! {
            @read "crate::config::units::days" $head $fields $attr $($rest)*
        }
    };
    ($head:tt $fields:tt $attr:tt (milliseconds) $($rest:tt)*) => {
        $crate::config::section::structure! {
            @read "crate::config::units::milliseconds" $head $fields $attr $($rest)*
        }
    };
    ($head:tt $fields:tt $attr:tt (seconds) $($rest:tt)*) => {
        $crate::config::section::structure! {
            @read "crate::config::units::seconds" $head $fields $attr $($rest)*
        }
    };
    (@read $function:literal $head:tt $fields:tt {$($attr:tt)*} $($rest:tt)*) => {
        $crate::config::section::structure! {
            $head $fields
            {$($attr)* #[serde(default, deserialize_with = $function)]} () $($rest)*
        }
    };
    ($head:tt $fields:tt {$($attr:tt)*} () harmless $($rest:tt)*) => {
        $crate::config::section::structure! {
            $head $fields {$($attr)* #[serde(skip_serializing)]} () pinned $($rest)*
        }
    };
    ($head:tt {$($fields:tt)*} {$($attr:tt)*} () $trust:ident {$($field:tt)*} $($rest:tt)*) => {
        $crate::config::section::structure! {
            $head {$($fields)* $($attr)* pub(in crate::config) $($field)*,} $($rest)*
        }
    };
}
pub(super) use structure;

/// Demands what a key asks for: its trust, the arguments of that, its default, and the field with
/// its value, `who` and the review.
macro_rules! demand {
    (harmless [] $default:tt $key:tt) => {};
    (pinned [] $default:tt $key:tt) => {};
    (together [] $default:tt $key:tt) => {};
    (harmless $demand:tt $default:tt $key:tt) => {
        $crate::config::section::demand! { by $demand $default $key }
    };
    (by [$demand:expr] $default:tt ($field:expr, $value:expr, $who:expr, $review:expr)) => {
        $demand($value, $who, &mut *$review);
    };
    (each [$demand:expr] $default:tt ($field:expr, $value:expr, $who:expr, $review:expr)) => {
        for item in $crate::config::section::Items::items($value) {
            $demand(item, $who, &mut *$review);
        }
    };
    (section [] $default:tt ($field:expr, $value:expr, $who:expr, $review:expr)) => {
        $crate::config::section::Section::demand_keys($value, $who, &mut *$review);
    };
    (section [$of:literal] $default:tt ($field:expr, $value:expr, $who:expr, $review:expr)) => {
        $crate::config::section::Section::demand_keys($value, $of, &mut *$review);
    };
    (at_most [] [$($default:tt)+] $key:tt) => {
        $crate::config::section::demand! { at_most [$($default)+] [] $key }
    };
    (at_most [$default:expr] [] ($field:expr, $value:expr, $who:expr, $review:expr)) => {
        let of = if $who.is_empty() { String::new() } else { format!(" of {}", $who) };
        $review.at_most($field, &of, $value, $default);
    };
    (
        asks [$danger:ident, $sentence:literal] $default:tt
        ($field:expr, $value:expr, $who:expr, $review:expr)
    ) => {
        let value = serde_json::json!($value);
        $crate::config::review::each_part(&value, &mut |name, text, value| {
            use $crate::config::review::Danger;
            // With a precision of 0, so that a sentence may leave some of them out.
            let sentence = format!(
                concat!($sentence, "{name:.0}{value:.0}{who:.0}"),
                name = name, value = value, who = $who,
            );
            $review.demand(Danger::reading(text, Danger::$danger), sentence);
        });
    };
}
pub(super) use demand;
