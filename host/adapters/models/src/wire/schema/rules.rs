//! The documented rules of each provider for the schema of a tool's input, as tables.

use serde_json::Value;

/// The rules of one wire. Sources:
/// - Anthropic: "Define tools" and the errors of the Messages API: draft 2020-12, an object at the
///   root without `oneOf`, `allOf` or `anyOf`, and names of properties of 1 to 64 letters, digits,
///   `_`, `.` and `-`
///   (<https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use>,
///   <https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes>).
/// - OpenAI, both wires: an object at the root with `properties` and without `oneOf`, `anyOf`,
///   `allOf`, `enum` or `not`; arrays have `items`; patterns have no look-around
///   (<https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>).
/// - Chat Completions also is the wire of llama.cpp, which refuses patterns without anchors
///   (<https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md>).
/// - Gemini: the subset of JSON Schema at
///   <https://ai.google.dev/api/generate-content#v1beta.GenerationConfig> (`responseJsonSchema`),
///   and the names of parameters at
///   <https://ai.google.dev/api/caching#FunctionDeclaration>: a letter or `_`, then letters, digits
///   and `_`, at most 64. A union stands alone.
/// - Ollama: the fields of `ToolFunctionParameters` and `ToolProperty`; its server drops all others
///   (<https://github.com/ollama/ollama/blob/main/api/types.go>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaDialect {
    /// Anthropic's Messages.
    Anthropic = 1,
    /// OpenAI's Responses.
    Responses = 2,
    /// Chat Completions.
    Chat = 4,
    /// Gemini.
    Gemini = 8,
    /// Ollama.
    Ollama = 16,
}

/// The dialects that accept the whole vocabulary of draft 2020-12 below the root.
const FULL: u8 =
    SchemaDialect::Anthropic as u8 | SchemaDialect::Responses as u8 | SchemaDialect::Chat as u8;
const FULL_AND_GEMINI: u8 = FULL | SchemaDialect::Gemini as u8;
const ALL: u8 = FULL_AND_GEMINI | SchemaDialect::Ollama as u8;

/// The keywords that no root has, in any dialect.
pub(super) const NOT_AT_ROOT: [&str; 9] = [
    "allOf", "anyOf", "oneOf", "enum", "const", "not", "if", "then", "else",
];

/// The keywords that say something about a schema and restrict no value.
pub(super) const ANNOTATIONS: [&str; 7] = [
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// The form of a keyword's value. A value of another form is invalid and dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeywordForm {
    Any,
    Text,
    Flag,
    Count,
    Number,
    Values,
    /// A list of names of properties.
    Names,
    /// Lists of names of properties by the name of one.
    NameLists,
    Schema,
    Schemas,
    /// Schemas by the names of properties.
    PropertySchemas,
    /// Schemas by patterns.
    PatternSchemas,
}

/// A keyword of draft 2020-12.
pub(super) struct Keyword {
    pub(super) name: &'static str,
    pub(super) form: KeywordForm,
    /// The types of values that it restricts; empty for all.
    pub(super) types: &'static [&'static str],
    /// The dialects that accept it.
    kept_by: u8,
    /// The sentence in place of it, with its value at `{}`; empty if nothing is lost.
    pub(super) sentence: &'static str,
}

impl Keyword {
    const fn new(
        name: &'static str,
        form: KeywordForm,
        types: &'static [&'static str],
        kept_by: u8,
        sentence: &'static str,
    ) -> Self {
        Self {
            name,
            form,
            types,
            kept_by,
            sentence,
        }
    }

    /// True if this dialect accepts the keyword with this value.
    pub(super) fn is_kept(&self, dialect: SchemaDialect, value: &Value, types: &[&str]) -> bool {
        let text = value.as_str().unwrap_or_default();
        self.kept_by & dialect as u8 != 0
            && match (self.name, dialect) {
                ("pattern", SchemaDialect::Responses) => !looks_around(text),
                ("pattern", SchemaDialect::Chat) => {
                    text.starts_with('^') && text.ends_with('$') && !looks_around(text)
                }
                ("format", SchemaDialect::Gemini) => GEMINI_FORMATS
                    .iter()
                    .any(|(format, of)| *format == text && types.contains(of)),
                _ => true,
            }
    }

    /// True if the keyword restricts no value of these types. Without types, all are possible.
    pub(super) fn is_idle(&self, types: &[&str]) -> bool {
        !self.types.is_empty()
            && !types.is_empty()
            && !types.iter().any(|of| self.types.contains(of))
    }
}

/// The formats that Gemini documents, each with its type.
const GEMINI_FORMATS: [(&str, &str); 7] = [
    ("date-time", "string"),
    ("date", "string"),
    ("time", "string"),
    ("float", "number"),
    ("double", "number"),
    ("int32", "integer"),
    ("int64", "integer"),
];

const STRING: &[&str] = &["string"];
const NUMBER: &[&str] = &["number", "integer"];
const ARRAY: &[&str] = &["array"];
const OBJECT: &[&str] = &["object"];

/// The types of values.
pub(super) const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

/// The vocabulary, without `type`, `description` and `const`, which every dialect has in some form,
/// and without references.
#[rustfmt::skip]
pub(super) static KEYWORDS: [Keyword; 42] = [
    Keyword::new("title", KeywordForm::Text, &[], FULL_AND_GEMINI, ""),
    Keyword::new("default", KeywordForm::Any, &[], FULL, "Default: {}."),
    Keyword::new("examples", KeywordForm::Values, &[], FULL, "Examples: {}."),
    Keyword::new("deprecated", KeywordForm::Flag, &[], FULL, "Deprecated."),
    Keyword::new("readOnly", KeywordForm::Flag, &[], FULL, ""),
    Keyword::new("writeOnly", KeywordForm::Flag, &[], FULL, ""),
    Keyword::new("enum", KeywordForm::Values, &[], ALL, "One of: {}."),
    Keyword::new("format", KeywordForm::Text, &[], FULL_AND_GEMINI, "Format: {}."),
    Keyword::new("pattern", KeywordForm::Text, STRING, FULL, "Matches the pattern {}."),
    Keyword::new("minLength", KeywordForm::Count, STRING, FULL, "Characters: at least {}."),
    Keyword::new("maxLength", KeywordForm::Count, STRING, FULL, "Characters: at most {}."),
    Keyword::new("contentEncoding", KeywordForm::Text, STRING, FULL, "Encoded as {}."),
    Keyword::new("contentMediaType", KeywordForm::Text, STRING, FULL, "Media type: {}."),
    Keyword::new("contentSchema", KeywordForm::Schema, STRING, FULL, ""),
    Keyword::new("minimum", KeywordForm::Number, NUMBER, FULL_AND_GEMINI, "At least {}."),
    Keyword::new("maximum", KeywordForm::Number, NUMBER, FULL_AND_GEMINI, "At most {}."),
    Keyword::new("exclusiveMinimum", KeywordForm::Number, NUMBER, FULL, "More than {}."),
    Keyword::new("exclusiveMaximum", KeywordForm::Number, NUMBER, FULL, "Less than {}."),
    Keyword::new("multipleOf", KeywordForm::Number, NUMBER, FULL, "A multiple of {}."),
    Keyword::new("items", KeywordForm::Schema, ARRAY, ALL, ""),
    Keyword::new("prefixItems", KeywordForm::Schemas, ARRAY, FULL_AND_GEMINI, "The first items, in order: {}."),
    Keyword::new("minItems", KeywordForm::Count, ARRAY, FULL_AND_GEMINI, "Items: at least {}."),
    Keyword::new("maxItems", KeywordForm::Count, ARRAY, FULL_AND_GEMINI, "Items: at most {}."),
    Keyword::new("uniqueItems", KeywordForm::Flag, ARRAY, FULL, "No item twice."),
    Keyword::new("contains", KeywordForm::Schema, ARRAY, FULL, "Contains an item that matches: {}."),
    Keyword::new("minContains", KeywordForm::Count, ARRAY, FULL, "Matching items: at least {}."),
    Keyword::new("maxContains", KeywordForm::Count, ARRAY, FULL, "Matching items: at most {}."),
    Keyword::new("properties", KeywordForm::PropertySchemas, OBJECT, ALL, ""),
    Keyword::new("required", KeywordForm::Names, OBJECT, ALL, ""),
    Keyword::new("additionalProperties", KeywordForm::Schema, OBJECT, FULL_AND_GEMINI, "Other properties: {}."),
    Keyword::new("patternProperties", KeywordForm::PatternSchemas, OBJECT, FULL, "Properties by pattern of the name: {}."),
    Keyword::new("propertyNames", KeywordForm::Schema, OBJECT, FULL, "Names of properties: {}."),
    Keyword::new("minProperties", KeywordForm::Count, OBJECT, FULL, "Properties: at least {}."),
    Keyword::new("maxProperties", KeywordForm::Count, OBJECT, FULL, "Properties: at most {}."),
    Keyword::new("dependentRequired", KeywordForm::NameLists, OBJECT, FULL, "Properties that need others: {}."),
    Keyword::new("dependentSchemas", KeywordForm::PropertySchemas, OBJECT, FULL, "Conditions by property: {}."),
    Keyword::new("anyOf", KeywordForm::Schemas, &[], ALL, ""),
    Keyword::new("not", KeywordForm::Schema, &[], FULL, "Not allowed: {}."),
    Keyword::new("if", KeywordForm::Schema, &[], FULL, "If it matches: {}."),
    Keyword::new("then", KeywordForm::Schema, &[], FULL, "Then it must also match: {}."),
    Keyword::new("else", KeywordForm::Schema, &[], FULL, "Otherwise it must match: {}."),
    Keyword::new("oneOf", KeywordForm::Schemas, &[], FULL, ""),
];

impl SchemaDialect {
    /// True if the dialect accepts the whole vocabulary below the root.
    pub(super) fn is_full(self) -> bool {
        FULL & self as u8 != 0
    }

    /// True if it accepts this name of a property.
    pub(super) fn accepts_name(self, name: &str) -> bool {
        let alphabet = |extra: &'static str| {
            move |byte: u8| byte.is_ascii_alphanumeric() || extra.as_bytes().contains(&byte)
        };
        match self {
            Self::Anthropic => (1..=64).contains(&name.len()) && name.bytes().all(alphabet("_.-")),
            Self::Gemini => {
                (1..=64).contains(&name.len())
                    && name.bytes().all(alphabet("_"))
                    && !name.starts_with(|first: char| first.is_ascii_digit())
            }
            Self::Responses | Self::Chat | Self::Ollama => true,
        }
    }
}

/// True if a pattern has look-around or a backreference, which engines in linear time do not have.
fn looks_around(pattern: &str) -> bool {
    let has_backreference = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [b'\\', b'1'..=b'9' | b'k']));
    has_backreference
        || ["(?=", "(?!", "(?<"]
            .iter()
            .any(|mark| pattern.contains(mark))
}
