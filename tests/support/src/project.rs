//! Makes and builds projects of each language as their authors do.

use super::{
    Ran, TestEnv,
    installed::{compiler_from_npm, compiler_from_pypi, compiler_of_rust},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// A project `weather` that `agent-host new` made, with what compiles it.
pub struct NewProject {
    pub dir: PathBuf,
    /// The variables of the compiler.
    variables: Vec<(&'static str, OsString)>,
}

impl NewProject {
    /// Makes a project; `None` where this machine has no compiler, and the test is skipped.
    pub fn of(env: &TestEnv, language: &str) -> Option<Self> {
        let mut variables = Vec::new();
        let link = match language {
            "rust" => {
                variables = compiler_of_rust()?;
                None
            }
            "ts" | "js" => Some((compiler_from_npm()?, "node_modules")),
            _ => Some((compiler_from_pypi(language)?, ".venv")),
        };
        let made = env.run(&["new", "weather", "--lang", language]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let dir = env.work().join("weather");
        if let Some((installed, name)) = link {
            symlink(installed, dir.join(name)).unwrap();
        }
        Some(Self { dir, variables })
    }

    /// Replaces a text in one of its files, which has to be there.
    pub fn replace(&self, file: &str, text: &str, by: &str) {
        let path = self.dir.join(file);
        let before = fs::read_to_string(&path).unwrap();
        assert!(before.contains(text), "{text:?} is not in {before}");
        fs::write(&path, before.replace(text, by)).unwrap();
    }

    /// Builds it.
    pub fn build(&self, env: &TestEnv) -> Ran {
        let mut command = env.command(&["build", "weather", "--json"]);
        self.prepare(&mut command).output().unwrap().into()
    }

    /// Gives a command the variables of the compiler.
    pub fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.variables.iter().cloned())
    }
}

/// A built component, and the interfaces that it imports.
pub struct Built {
    pub component: PathBuf,
    pub imports: Vec<String>,
}

impl Built {
    /// Reads the output of `build --json`, which has to succeed.
    pub fn of(ran: &Ran) -> Self {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let mut built = ran.json();
        Self {
            component: built["component"].as_str().unwrap().into(),
            imports: serde_json::from_value(built["imports"].take()).unwrap(),
        }
    }

    /// The imported interfaces of the contract and of HTTP, which a project need not import.
    pub fn optional_imports(&self) -> Vec<&str> {
        let names = self.imports.iter().map(String::as_str);
        names
            .filter(|name| name.starts_with("agent:tool/") || name.starts_with("wasi:http/"))
            .collect()
    }
}

/// Copies a project to the directory `name` of the test environment, and builds it with the
/// installed packages, linked under the other name.
pub fn built(env: &TestEnv, sources: &Path, name: &str, (installed, link): (&Path, &str)) -> Built {
    let project = env.work().join(name);
    copy(sources, &project);
    symlink(installed, project.join(link)).unwrap();
    let ran = env.run(&["build", name, "--json"]);
    Built::of(&ran)
}

/// Runs `agent-host test` with these arguments, expects every case to pass, and returns the report.
pub fn passes(env: &TestEnv, arguments: &[&Path]) -> Value {
    let mut command = vec![Path::new("test")];
    command.extend(arguments);
    command.push(Path::new("--json"));
    let ran = env.run(&command);
    assert!(!ran.stdout.is_empty(), "{}", ran.stderr);
    let report = ran.json();
    let cases = report["cases"].as_array().unwrap();
    let failed: Vec<&Value> = cases
        .iter()
        .filter(|case| case["mismatches"] != json!([]))
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    report
}

/// Copies the sources of a project, without the output of a manual build.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if [".agent-host", ".venv", "dist", "node_modules"].contains(&name.to_str().unwrap()) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(name));
        } else {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}
