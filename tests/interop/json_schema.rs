//! Runs the official test suite of JSON Schema through the schemas of tools. A schema may be
//! refused by name; one that is accepted has to answer as the suite says.

use agent_host_engine::schema::{InputSchema, OutputSchema, SchemaError};
use agent_host_test_support::installed::json_schema_suite;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// The drafts that schemas of tools may be written in: their directory in the suite and the
/// address that makes a schema one of them.
const DRAFTS: [(&str, &str); 5] = [
    ("draft4", "http://json-schema.org/draft-04/schema#"),
    ("draft6", "http://json-schema.org/draft-06/schema#"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
    (
        "draft2019-09",
        "https://json-schema.org/draft/2019-09/schema",
    ),
    (
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ),
];

/// The number of cases by outcome: `right`, or the name of the refusal.
type Counts = BTreeMap<&'static str, usize>;

/// The counts of all cases.
#[derive(Default)]
struct Outcomes {
    outputs: Counts,
    inputs: Counts,
    /// The cases with a wrong answer.
    wrong: Vec<String>,
}

impl Outcomes {
    /// Counts one case of the schema of a result or of an input.
    fn add(
        &mut self,
        input: bool,
        expected: bool,
        answer: &Result<bool, &'static str>,
        name: impl Fn() -> String,
    ) {
        let outcome = match answer {
            Ok(valid) if *valid == expected => "right",
            Ok(_) => {
                let kind = if input { "input" } else { "output" };
                return self.wrong.push(format!("{kind}: {}", name()));
            }
            Err(refusal) => refusal,
        };
        let counts = if input {
            &mut self.inputs
        } else {
            &mut self.outputs
        };
        *counts.entry(outcome).or_default() += 1;
    }
}

/// The name of a refusal.
fn refusal(error: &SchemaError) -> &'static str {
    match error {
        SchemaError::RootNotObject => "root",
        SchemaError::Dialect(_) => "dialect",
        SchemaError::UnresolvedReference(_) => "unresolved reference",
        SchemaError::DynamicReference(_) => "dynamic reference",
        SchemaError::TooLarge => "too large",
        SchemaError::Pattern(_) => "pattern",
        SchemaError::TooManyPatterns => "too many patterns",
        SchemaError::SlowPattern(_) => "slow pattern",
        SchemaError::Invalid(_) => "invalid",
    }
}

/// The schema as one of its draft, which a tool has to name if it is not the newest.
fn of_draft(schema: &Value, address: &str) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(keywords) = &mut schema {
        keywords.entry("$schema").or_insert_with(|| json!(address));
    }
    schema
}

/// The files of a draft's required tests, in order of their names.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Runs the cases of one group, which share a schema.
fn run(group: &Value, address: &str, outcomes: &mut Outcomes, file: &str) {
    let schema = of_draft(&group["schema"], address);
    let output = OutputSchema::compile(&schema);
    let input = (schema["type"] == "object").then(|| InputSchema::compile(&schema));
    for case in group["tests"].as_array().unwrap() {
        let expected = case["valid"].as_bool().unwrap();
        let name = || format!("{file}: {}: {}", group["description"], case["description"]);
        let answer = match &output {
            Ok(schema) => Ok(schema.validate(&case["data"]).is_ok()),
            Err(error) => Err(refusal(error)),
        };
        outcomes.add(false, expected, &answer, name);
        if let (Some(input), Some(data)) = (&input, case["data"].as_object()) {
            let answer = match input {
                Ok(schema) => Ok(schema.validate(data).is_ok()),
                Err(error) => Err(refusal(error)),
            };
            outcomes.add(true, expected, &answer, name);
        }
    }
}

#[test]
fn every_accepted_schema_answers_as_the_suite() {
    let Some(suite) = json_schema_suite() else {
        return;
    };
    let mut outcomes = Outcomes::default();
    for (draft, address) in DRAFTS {
        for path in files(&suite.join("tests").join(draft)) {
            let groups: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let file = format!("{draft}/{}", path.file_stem().unwrap().to_str().unwrap());
            for group in groups.as_array().unwrap() {
                run(group, address, &mut outcomes, &file);
            }
        }
    }
    assert_eq!(outcomes.wrong, [""; 0]);
    // Refused are meta-schemas of one's own, references that can lead to several parts, and those
    // to other documents, which are never fetched.
    let outputs = [
        ("dialect", 10),
        ("dynamic reference", 32),
        ("right", 4636),
        ("unresolved reference", 158),
    ];
    assert_eq!(outcomes.outputs, BTreeMap::from(outputs));
    // Fewer, since few of the suite's schemas are those of an object.
    let inputs = [
        ("dynamic reference", 4),
        ("right", 156),
        ("unresolved reference", 35),
    ];
    assert_eq!(outcomes.inputs, BTreeMap::from(inputs));
}
