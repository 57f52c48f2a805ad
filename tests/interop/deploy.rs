//! The files of `deploy/`, by Kubernetes' schemas, the form of compose files, and Prometheus'
//! program.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    installed::{deploy_validators, promtool},
    repository,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// Prints what is wrong with a compose file: its form, and secrets or configs that it does not
/// define.
const COMPOSE: &str = "
import sys
from compose_spec import PyOptions
options = PyOptions()
options.apply_merge = True
try:
    file = options.from_yaml(open(sys.argv[1]).read())
    print(file.validate() or 'valid')
except ValueError as error:
    print(error)
";

fn deploy(file: &str) -> String {
    fs::read_to_string(repository().join("deploy").join(file)).unwrap()
}

fn run(command: &mut Command, file: &Path) -> String {
    let output = command.arg(file).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8(said).unwrap()
}

/// Returns the validators' words about a text and about the same with a fault.
fn judged(text: &str, right: &str, wrong: &str, validate: impl Fn(&Path) -> String) -> [String; 2] {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file.yaml");
    [text.to_owned(), text.replacen(right, wrong, 1)].map(|text| {
        fs::write(&file, text).unwrap();
        validate(&file)
    })
}

#[test]
fn kubernetes_manifest_is_valid() {
    let Some(bin) = deploy_validators() else {
        return;
    };
    let validate = |file: &Path| {
        let mut command = Command::new(bin.join("kubernetes-validate"));
        run(
            command.args(["--strict", "--kubernetes-version", "1.34"]),
            file,
        )
    };
    let manifest = deploy("kubernetes/agent-host.yaml");
    let [valid, faulty] = judged(&manifest, "readinessProbe:", "readyProbe:", validate);
    let passed = valid
        .lines()
        .filter(|line| line.contains(" passed for resource "));
    assert_eq!((passed.count(), valid.lines().count()), (7, 7), "{valid}");
    assert!(faulty.contains("readyProbe"), "{faulty}");
}

#[test]
fn compose_file_is_valid() {
    let Some(bin) = deploy_validators() else {
        return;
    };
    let validate = |file: &Path| run(Command::new(bin.join("python")).args(["-c", COMPOSE]), file);
    let compose = deploy("compose/compose.yaml");
    let [valid, faulty] = judged(&compose, "restart: unless", "restarts: unless", validate);
    assert_eq!(valid, "valid\n");
    assert!(faulty.contains("restarts"), "{faulty}");
    let [_, absent] = judged(
        &compose,
        "      - owner-password\n",
        "      - none\n",
        validate,
    );
    assert!(absent.contains("none"), "{absent}");
}

#[test]
fn alerts_fire_as_their_tests_say() {
    let Some(promtool) = promtool() else {
        return;
    };
    let directory = repository().join("deploy/prometheus");
    for args in [
        ["check", "rules", "alerts.yaml"],
        ["test", "rules", "alerts_test.yaml"],
    ] {
        let output = Command::new(promtool)
            .args(args)
            .current_dir(&directory)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// Every metric that an alert asks for is one that a server has.
#[test]
fn alerts_ask_for_metrics_that_exist() {
    let env = TestEnv::new();
    env.configure("[[grants.dir]]\nhost = \".\"\n");
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "none.txt"}))]),
        Answer::text("Done."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    server.events(&session, None).until("turn-ended");
    let metrics = server.raw(TOKEN, "GET /metrics", "", None).body;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let there: BTreeSet<&str> = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(|c| !is_name(c)).next())
        .collect();
    let alerts = deploy("prometheus/alerts.yaml");
    let asked: BTreeSet<&str> = alerts
        .split(|c| !is_name(c))
        .filter(|word| word.starts_with("agent_host_") && *word != "agent_host_outcome")
        .collect();
    assert_eq!(asked.len(), 8, "{asked:?}");
    assert!(asked.is_subset(&there), "{asked:?}, {there:?}");
}
