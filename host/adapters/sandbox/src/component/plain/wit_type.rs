//! The WIT types of a function, converted from the engine's once: bounded, and without those that
//! have no JSON form.

use indexmap::IndexMap;
use std::fmt;
use wasmtime::component::{
    Val,
    types::{ComponentFunc, Type},
};

/// The deepest nesting of types. Each level of WIT takes up to four levels of the schema, which may
/// have 32.
const MAX_DEPTH: usize = 24;

/// The largest weight of the types of one function, in bytes: [`TYPE_BYTES`] for each use of a
/// type, and all names in it. The schema, which has the same bound, is larger than this.
const MAX_BYTES: usize = 64 * 1024;
const TYPE_BYTES: usize = 16;

/// A WIT type that has a JSON form.
#[derive(Debug, PartialEq)]
pub(super) enum WitType {
    /// `bool`
    Bool,
    /// `u8` to `s64`
    Int(IntType),
    /// `f32`
    Float32,
    /// `f64`
    Float64,
    /// `char`
    Char,
    /// `string`
    String,
    /// `list<u8>`
    Bytes,
    /// Any other list
    List(Box<Self>),
    /// `tuple`
    Tuple(Vec<Self>),
    /// `record`
    Record(NamedTypes),
    /// One of several cases, in their order
    Cases(CaseKind, Cases),
    /// `enum`
    Enum(Vec<String>),
    /// `flags`
    Flags(Vec<String>),
    /// `option` of a type that is not an option; an option of an option is [`Self::Cases`], because
    /// `null` could mean either
    Option(Box<Self>),
    /// `stream` of numbers, booleans, characters, text or bytes: of `u8`, bytes
    Stream(Box<Self>),
    /// `future` of such a value
    Future(Box<Self>),
}

/// Named values: the fields of a record, or the parameters of a function.
pub(super) type NamedTypes = Vec<(String, WitType)>;

/// The cases of a type by name, in the order of the WIT, each with a value or without.
pub(super) type Cases = IndexMap<String, Option<WitType>>;

/// The type that has cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CaseKind {
    /// `variant`
    Variant,
    /// `result`, with the cases `ok` and `err`
    Result,
    /// `option`, with the cases `some` and `none`
    Option,
}

/// An integer type, such as `u8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IntType {
    signed: bool,
    bits: u8,
}

/// A function that cannot be a tool. The texts are fragments that follow its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignatureError {
    #[error("it is an entry point of WASI")]
    WasiEntryPoint,
    /// The toolchain.
    #[error("{0} exports it for itself; it does not come from the world's author")]
    OfToolchain(&'static str),
    #[error("it belongs to a resource, which has no JSON form")]
    OfResource,
    #[error("it is an async function, which needs `wasi = \"0.3\"` in `[sandbox]`")]
    Async,
    /// A stream or a future, where WASI 0.3 is off.
    #[error("its types have {0}, which needs `wasi = \"0.3\"` in `[sandbox]`")]
    AsyncType(&'static str),
    /// A stream or a future whose items the host cannot read.
    #[error(
        "its types have {0} of values other than numbers, booleans, characters, text and bytes"
    )]
    Items(&'static str),
    #[error("its arguments have {0}; only an argument itself can be a stream")]
    Argument(&'static str),
    #[error("its types have {0}, which has no JSON form")]
    NoJsonForm(&'static str),
    #[error("its types nest more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("its types are too large for a schema")]
    TooLarge,
}

/// The types of a function.
#[derive(Debug, PartialEq)]
pub(super) struct Signature {
    pub(super) params: NamedTypes,
    pub(super) result: Option<WitType>,
}

impl WitType {
    /// `u8`, of which a list or a stream is bytes.
    pub(super) const BYTE: Self = Self::Int(IntType {
        signed: false,
        bits: 8,
    });

    /// Returns whether a field of this type may be left out, which means `none`.
    pub(super) fn is_optional(&self) -> bool {
        matches!(self, Self::Option(_))
    }
}

impl IntType {
    /// Returns the sign and the number of bits.
    pub(super) fn kind(self) -> (bool, u8) {
        (self.signed, self.bits)
    }

    /// Returns the least and the greatest value.
    pub(super) fn range(self) -> (i128, i128) {
        let values = 1 << self.bits;
        let least = if self.signed { -values / 2 } else { 0 };
        (least, least + values - 1)
    }

    /// Returns whether some values have no exact JSON number, as many programs read one as a 64-bit
    /// float.
    pub(super) fn is_wide(self) -> bool {
        self.bits == 64
    }

    /// Returns the value, if it is in range.
    pub(super) fn val(self, value: i128) -> Option<Val> {
        Some(match (self.signed, self.bits) {
            (true, 8) => Val::S8(value.try_into().ok()?),
            (false, 8) => Val::U8(value.try_into().ok()?),
            (true, 16) => Val::S16(value.try_into().ok()?),
            (false, 16) => Val::U16(value.try_into().ok()?),
            (true, 32) => Val::S32(value.try_into().ok()?),
            (false, 32) => Val::U32(value.try_into().ok()?),
            (true, _) => Val::S64(value.try_into().ok()?),
            (false, _) => Val::U64(value.try_into().ok()?),
        })
    }
}

impl Signature {
    /// Converts the types of a function.
    pub(super) fn new(ty: &ComponentFunc) -> Result<Self, SignatureError> {
        let mut builder = WitTypeBuilder {
            left: MAX_BYTES,
            is_result: false,
        };
        let params = builder.named(ty.params(), 0)?;
        builder.is_result = true;
        let result = ty.results().next();
        Ok(Self {
            params,
            result: result.map(|ty| builder.build(&ty, 0)).transpose()?,
        })
    }
}

impl Signature {
    /// Returns whether a call that succeeds returns a stream of bytes, and nothing else.
    pub(super) fn is_byte_stream(&self) -> bool {
        let ty = match &self.result {
            Some(WitType::Cases(CaseKind::Result, cases)) => {
                cases.get("ok").and_then(Option::as_ref)
            }
            ty => ty.as_ref(),
        };
        matches!(ty, Some(WitType::Stream(item)) if **item == WitType::BYTE)
    }
}

/// Converts types, and counts their weight.
struct WitTypeBuilder {
    /// In bytes.
    left: usize,
    /// Whether these are the types of the result, and not of the parameters.
    is_result: bool,
}

impl WitTypeBuilder {
    fn spend(&mut self, bytes: usize) -> Result<(), SignatureError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or(SignatureError::TooLarge)?;
        Ok(())
    }

    fn build(&mut self, ty: &Type, depth: usize) -> Result<WitType, SignatureError> {
        if depth > MAX_DEPTH {
            return Err(SignatureError::TooDeep);
        }
        self.spend(TYPE_BYTES)?;
        let depth = depth + 1;
        let int = |signed, bits| WitType::Int(IntType { signed, bits });
        Ok(match ty {
            Type::Bool => WitType::Bool,
            Type::S8 => int(true, 8),
            Type::U8 => int(false, 8),
            Type::S16 => int(true, 16),
            Type::U16 => int(false, 16),
            Type::S32 => int(true, 32),
            Type::U32 => int(false, 32),
            Type::S64 => int(true, 64),
            Type::U64 => int(false, 64),
            Type::Float32 => WitType::Float32,
            Type::Float64 => WitType::Float64,
            Type::Char => WitType::Char,
            Type::String => WitType::String,
            Type::List(list) => match self.build(&list.ty(), depth)? {
                WitType::BYTE => WitType::Bytes,
                item => WitType::List(Box::new(item)),
            },
            Type::Tuple(tuple) => {
                let types = tuple.types().map(|ty| self.build(&ty, depth));
                WitType::Tuple(types.collect::<Result<_, _>>()?)
            }
            Type::Record(record) => {
                let fields = record.fields().map(|field| (field.name, field.ty));
                WitType::Record(self.named(fields, depth)?)
            }
            Type::Variant(variant) => {
                let cases = variant.cases().map(|case| (case.name, case.ty));
                self.cases(CaseKind::Variant, cases, depth)?
            }
            Type::Result(result) => {
                let cases = [("ok", result.ok()), ("err", result.err())];
                self.cases(CaseKind::Result, cases.into_iter(), depth)?
            }
            Type::Option(option) => match self.build(&option.ty(), depth)? {
                inner @ WitType::Option(_) => {
                    let cases = [("none", None), ("some", Some(inner))];
                    let cases = cases.map(|(name, ty)| (name.to_owned(), ty));
                    WitType::Cases(CaseKind::Option, cases.into())
                }
                inner => WitType::Option(Box::new(inner)),
            },
            Type::Enum(names) => WitType::Enum(self.names(names.names())?),
            Type::Flags(names) => WitType::Flags(self.names(names.names())?),
            Type::Own(_) | Type::Borrow(_) => return Err(SignatureError::NoJsonForm("a resource")),
            Type::Future(_) if !self.is_result => {
                return Err(SignatureError::Argument("a future"));
            }
            Type::Future(future) => WitType::Future(self.item(future.ty(), "a future", depth)?),
            // `depth` is that of what is inside.
            Type::Stream(_) if !self.is_result && depth > 1 => {
                return Err(SignatureError::Argument("a stream inside a value"));
            }
            Type::Stream(stream) => WitType::Stream(self.item(stream.ty(), "a stream", depth)?),
            Type::ErrorContext => return Err(SignatureError::NoJsonForm("an error-context")),
            Type::Map(_) => return Err(SignatureError::NoJsonForm("a map")),
            Type::FixedLengthList(_) => {
                return Err(SignatureError::NoJsonForm("a list of fixed length"));
            }
        })
    }

    /// Converts the type of the items of `what`. wasmtime reads and writes those of types alone that
    /// its host knows when it is built.
    fn item(
        &mut self,
        ty: Option<Type>,
        what: &'static str,
        depth: usize,
    ) -> Result<Box<WitType>, SignatureError> {
        let ty = ty.ok_or(SignatureError::Items(what))?;
        let item = self.build(&ty, depth)?;
        match item {
            WitType::Bool
            | WitType::Int(_)
            | WitType::Float32
            | WitType::Float64
            | WitType::Char
            | WitType::String
            | WitType::Bytes => Ok(Box::new(item)),
            _ => Err(SignatureError::Items(what)),
        }
    }

    fn named<'a>(
        &mut self,
        fields: impl Iterator<Item = (&'a str, Type)>,
        depth: usize,
    ) -> Result<NamedTypes, SignatureError> {
        fields
            .map(|(name, ty)| {
                self.spend(name.len())?;
                Ok((name.to_owned(), self.build(&ty, depth)?))
            })
            .collect()
    }

    fn cases<'a>(
        &mut self,
        kind: CaseKind,
        cases: impl Iterator<Item = (&'a str, Option<Type>)>,
        depth: usize,
    ) -> Result<WitType, SignatureError> {
        let cases = cases.map(|(name, ty)| {
            self.spend(TYPE_BYTES + name.len())?;
            let ty = ty.map(|ty| self.build(&ty, depth)).transpose()?;
            Ok((name.to_owned(), ty))
        });
        let cases = cases.collect::<Result<_, SignatureError>>()?;
        Ok(WitType::Cases(kind, cases))
    }

    fn names<'a>(
        &mut self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<String>, SignatureError> {
        names
            .map(|name| {
                self.spend(TYPE_BYTES + name.len())?;
                Ok(name.to_owned())
            })
            .collect()
    }
}

impl fmt::Display for Signature {
    /// Formats as in WIT, without the name: `(a: u32, b: list<string>) -> bool`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({})", named(&self.params))?;
        match &self.result {
            Some(result) => write!(f, " -> {result}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for WitType {
    /// Formats as in WIT, with the content of named types in place of their names, which the engine
    /// does not keep.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int(int) if int.signed => write!(f, "s{}", int.bits),
            Self::Int(int) => write!(f, "u{}", int.bits),
            Self::Float32 => f.write_str("f32"),
            Self::Float64 => f.write_str("f64"),
            Self::Char => f.write_str("char"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("list<u8>"),
            Self::List(item) => write!(f, "list<{item}>"),
            Self::Tuple(items) => write!(f, "tuple<{}>", commas(items, WitType::to_string)),
            Self::Record(fields) => write!(f, "record {{ {} }}", named(fields)),
            Self::Cases(kind, cases) => f.write_str(&kind.text(cases)),
            Self::Enum(names) => write!(f, "enum {{ {} }}", names.join(", ")),
            Self::Flags(names) => write!(f, "flags {{ {} }}", names.join(", ")),
            Self::Option(inner) => write!(f, "option<{inner}>"),
            Self::Stream(item) => write!(f, "stream<{item}>"),
            Self::Future(item) => write!(f, "future<{item}>"),
        }
    }
}

impl CaseKind {
    fn text(self, cases: &Cases) -> String {
        let of = |name| cases.get(name).and_then(Option::as_ref);
        match self {
            Self::Option => match of("some") {
                Some(inner) => format!("option<{inner}>"),
                None => "option".to_owned(),
            },
            Self::Result => match (of("ok"), of("err")) {
                (None, None) => "result".to_owned(),
                (Some(ok), None) => format!("result<{ok}>"),
                (None, Some(err)) => format!("result<_, {err}>"),
                (Some(ok), Some(err)) => format!("result<{ok}, {err}>"),
            },
            Self::Variant => {
                let cases = commas(cases, |(name, ty)| match ty {
                    Some(ty) => format!("{name}({ty})"),
                    None => name.clone(),
                });
                format!("variant {{ {cases} }}")
            }
        }
    }
}

fn named(fields: &NamedTypes) -> String {
    commas(fields, |(name, ty)| format!("{name}: {ty}"))
}

/// Joins items by commas, each written by the function.
fn commas<T>(items: impl IntoIterator<Item = T>, text: impl FnMut(T) -> String) -> String {
    let texts: Vec<String> = items.into_iter().map(text).collect();
    texts.join(", ")
}
