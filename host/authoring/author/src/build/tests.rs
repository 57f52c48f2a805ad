use super::{BuildOptions, Built, Candidate, finish, names};
use crate::{
    error::AuthorError,
    project::{Language, Project},
    strip::NameMode,
};
use agent_host_app::{Config, Environment, Overrides};
use agent_host_test_guests::{BEHIND, Body, Definition, Guest, PASS};
use agent_host_types::{
    id::Digest,
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{collections::BTreeMap, fs, path::PathBuf};
use tempfile::TempDir;
use wasm_metadata::Producers;

/// A project with a component to check.
struct Fixture {
    dir: TempDir,
    project: Project,
}

impl Fixture {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let project = Project {
            dir: dir.path().join("weather"),
            name: "weather".to_owned(),
            language: Language::C,
        };
        fs::create_dir(&project.dir).unwrap();
        Self { dir, project }
    }

    async fn check(&self, component: &[u8]) -> Result<Built, AuthorError> {
        let path = self.project.dir.join("candidate.wasm");
        fs::write(&path, component).unwrap();
        let candidate = Candidate {
            project: self.project.clone(),
            path,
            compilers: compilers(),
        };
        let home = self.dir.path().to_str().unwrap().to_owned();
        let environment = Environment {
            cwd: self.dir.path().to_path_buf(),
            variables: BTreeMap::from([("HOME".to_owned(), home)]),
        };
        let config = Config::load(None, &Overrides::default(), &environment).unwrap();
        candidate.check(&config).await
    }
}

fn compilers() -> Vec<(String, String)> {
    vec![("zig".to_owned(), "0.17.1".to_owned())]
}

fn defining(definitions: &[(&str, &str)]) -> Vec<u8> {
    let definitions = definitions.iter().map(|(name, schema)| Definition {
        name: (*name).to_owned(),
        input_schema: (*schema).to_owned(),
        ..Definition::default()
    });
    Guest {
        definitions: definitions.collect(),
        ..Guest::returning(Body::Text(0, b"fine"))
    }
    .bytes()
}

#[tokio::test]
async fn valid_component_is_published() {
    let fixture = Fixture::new();
    let bytes = defining(&[("forecast", r#"{"type":"object"}"#)]);
    let built = fixture.check(&bytes).await.unwrap();
    let expected = Built {
        project: fixture.project.clone(),
        component: fixture.project.dir.join("dist/weather.wasm"),
        compilers: compilers(),
        size_bytes: bytes.len() as u64,
        digest: Digest::of(&bytes),
        imports: vec!["agent:tool/types@0.1.0".to_owned()],
        tools: vec![ToolDefinition {
            name: "forecast".to_owned(),
            title: None,
            description: "Returns its arguments.".to_owned(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            effect: Effect::ReadOnly,
        }],
        is_filter: false,
        skill: None,
    };
    assert_eq!(built, expected);
    assert_eq!(fs::read(&built.component).unwrap(), bytes);
}

/// A filter does not load by itself.
#[tokio::test]
async fn filter_is_published() {
    let fixture = Fixture::new();
    let filter = Guest {
        imports: &[BEHIND],
        ..Guest::running(PASS)
    };
    let bytes = filter.bytes();
    let built = fixture.check(&bytes).await.unwrap();
    assert!(built.is_filter);
    assert_eq!(built.tools, []);
    assert_eq!(built.imports, ["agent:tool/types@0.1.0"]);
    assert_eq!(built.digest, Digest::of(&bytes));
    assert_eq!(fs::read(&built.component).unwrap(), bytes);
}

#[tokio::test]
async fn invalid_component_keeps_the_last_build() {
    let fixture = Fixture::new();
    let object = r#"{"type":"object"}"#;
    let last = defining(&[("forecast", object)]);
    let built = fixture.check(&last).await.unwrap();
    let cases = [
        (
            defining(&[("numbers", r#"{"type":"array"}"#)]),
            "cannot use the component's tool definitions: none of its tools can be used: tool `numbers`: the input \
             schema: the root of an input schema must have `\"type\": \"object\"`; the tool is left out. Correct \
             them in its source; until then, use another version (contract-mismatch)",
        ),
        (
            defining(&[("not a name", object)]),
            "cannot use the component's tool definitions: none of its tools can be used: tool `not a name`: a name \
             has 1 to 64 letters, digits, `_` and `-`; the tool is left out. Correct them in its source; until then, \
             use another version (contract-mismatch)",
        ),
        (
            wat::parse_str("(component)").unwrap(),
            "the component is not a tool for this host, which needs the export `agent:tool/tool@0.1.0`: it exports nothing. Build it against the WIT package agent:tool@0.1.0 (contract-mismatch)",
        ),
        (
            wat::parse_str(
                r#"(component (instance $i) (export "agent:tool/tool@0.2.0" (instance $i)))"#,
            )
            .unwrap(),
            "the component is not a tool for this host, which needs the export `agent:tool/tool@0.1.0`: it exports `agent:tool/tool@0.2.0`. Build it against the WIT package agent:tool@0.1.0 (contract-mismatch)",
        ),
    ];
    for (component, why) in cases {
        let refused = fixture.check(&component).await.unwrap_err();
        let candidate = fixture.project.dir.join("candidate.wasm");
        let expected = format!("cannot load the component {}: {why}", candidate.display());
        assert!(matches!(&refused, AuthorError::Host(error) if error.is_usage()));
        assert_eq!(refused.to_string(), expected);
        assert_eq!(fs::read(&built.component).unwrap(), last, "{why}");
    }
    // A run leaves one such tool out; its author is to repair it.
    let twice = defining(&[("twice", object), ("twice", object)]);
    let why = "some of the component's tools are invalid: tool `twice`: another tool has this name, or one that \
        differs only in case; the tool is left out. Correct its source";
    let refused = fixture.check(&twice).await.unwrap_err();
    assert_eq!(refused, AuthorError::Usage(why.to_owned()));
    assert_eq!(fs::read(&built.component).unwrap(), last);
}

#[test]
fn component_records_its_producers() {
    let project = Fixture::new().project;
    let bytes = wat::parse_str(
        r#"(component
            (core module (@producers (processed-by "clang" "19")) (@custom ".debug_info" "d"))
            (@producers (language "C11" "") (processed-by "wit-component" "0.254.2")))"#,
    )
    .unwrap();
    let finished = finish(&bytes, NameMode::Strip, &project, &compilers()).unwrap();
    let mut expected = Producers::empty();
    expected.add("language", "C", "");
    expected.add("processed-by", "wit-component", "0.254.2");
    expected.add("processed-by", "zig", "0.17.1");
    expected.add("processed-by", "agent-host", env!("CARGO_PKG_VERSION"));
    let said = Producers::from_wasm(&finished).unwrap().unwrap();
    assert_eq!(json!(said), json!(expected));
    assert!(!finished.windows(6).any(|bytes| bytes == b".debug"));
}

#[test]
fn function_names_are_kept_for_rust_and_c() {
    let options = |strip_names| BuildOptions {
        shared: PathBuf::new(),
        strip_names,
        wasi_sdk: None,
    };
    for (language, kept) in [
        (Language::Rust, NameMode::Keep),
        (Language::C, NameMode::Keep),
        (Language::Go, NameMode::Strip),
        (Language::Python, NameMode::Strip),
        (Language::TypeScript, NameMode::Strip),
        (Language::JavaScript, NameMode::Strip),
    ] {
        assert_eq!(names(language, &options(false)), kept, "{language}");
        assert_eq!(
            names(language, &options(true)),
            NameMode::Strip,
            "{language}"
        );
    }
}
