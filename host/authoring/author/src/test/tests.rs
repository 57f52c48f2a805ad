//! Whole test runs with the conformance component in Rust and built-in tools: passing cases, and
//! the exact report of failing ones.

mod exchanges;
mod expectations;
mod files;
mod refused;

use super::{TestPlan, TestReport, test};
use crate::AuthorError;
use agent_host_app::Environment;
use std::path::{Path, PathBuf};

/// A component that returns, fails, asks, reports and traps on request.
const CONFORMANCE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../tests/guests/dist/conformance.wasm"
);

/// A directory with cases, independent of the machine.
struct TestDir {
    root: tempfile::TempDir,
}

impl TestDir {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `cases` as `tests/cases.toml`.
    async fn run(&self, cases: &str, plan: TestPlan) -> Result<TestReport, AuthorError> {
        self.write("tests/cases.toml", cases);
        let home = self.path("home").to_string_lossy().into_owned();
        let environment = Environment {
            cwd: self.root.path().to_owned(),
            variables: [("HOME".to_owned(), home)].into(),
        };
        let plan = TestPlan {
            cases: vec![Path::new("tests/cases.toml").to_owned()],
            ..plan
        };
        test(&plan, &environment).await
    }
}

fn of(component: &str) -> TestPlan {
    TestPlan {
        component: component.to_owned(),
        ..TestPlan::default()
    }
}

/// Returns the mismatches of each case: subject, expected, actual.
fn mismatches(report: &TestReport) -> Vec<(&str, Vec<[&str; 3]>)> {
    let cases = report.cases.iter();
    cases
        .map(|case| {
            let mismatches = case.mismatches.iter();
            let told = mismatches.map(|told| [&*told.what, &*told.expected, &*told.got]);
            (case.name.as_str(), told.collect())
        })
        .collect()
}
