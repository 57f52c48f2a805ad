//! Layers of configuration through the program: the machine's file, the user's, that of the
//! project, and variables.

use agent_host_test_support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::json;

/// A user and a project with a configuration each, the machine's in `AGENT_HOST_SYSTEM_CONFIG`.
fn layered(user: &str, project: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("../home/.config/agent-host/config.toml", user);
    env.write(
        "../machine.toml",
        "[limits]\ndeadline-ms = \"9s\"\noutput-bytes = \"7KiB\"\n",
    );
    env.write("agent.toml", project);
    env
}

#[test]
fn configuration_layers_are_merged() {
    let user = "model = \"script:user\"\n[limits]\ndeadline-ms = \"8s\"\n";
    let env = layered(user, "[limits]\ndeadline-ms = \"6s\"\n");
    let mut command = env.command(&["inspect", "builtin:files", "--json"]);
    let machine = env.outside().join("machine.toml");
    command.env("AGENT_HOST_SYSTEM_CONFIG", machine);
    let limits = Ran::from(command.output().unwrap()).json();
    let limits = &limits["limits"];
    let merged = [&limits["deadline-ms"], &limits["output-bytes"]];
    assert_eq!(merged, [&json!(6_000), &json!(7_168)]);
}

#[test]
fn untrusted_project_raises_no_value_of_the_user() {
    let env = layered("max-turns = 10\n", "max-turns = 11\n");
    let ran = env.run(&["run", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let user = env.outside().canonicalize().unwrap();
    let user = user.join("home/.config/agent-host/config.toml");
    let told = format!("it replaces max-turns of \"{}\" with 11", user.display());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);

    assert_eq!(env.run(&["trust", "--yes"]).code, Some(0));
    let ran = env.run(&["run", "hi"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // Trust in the file ends with the value that it replaces.
    env.write("../home/.config/agent-host/config.toml", "max-turns = 9\n");
    let ran = env.run(&["run", "hi"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("is not trusted"), "{}", ran.stderr);
}

#[test]
fn doctor_names_files_agents_and_workflows() {
    let project = "agents = [\"reader\"]\n[[agent]]\nname = \"reader\"\ndescription = \"Reads.\"\n\
                   [[workflow]]\nname = \"once\"\n[[workflow.node]]\nid = \"a\"\nagent = \"reader\"\n";
    let env = layered("max-turns = 10\n", project);
    let shown = env.run(&["doctor", "--config", "agent.toml"]).stdout;
    let home = env.outside().canonicalize().unwrap();
    let home = home.join("home/.config/agent-host/config.toml");
    let file = env.work().canonicalize().unwrap().join("agent.toml");
    for line in [
        format!(
            "✓ configuration  {}, over {}",
            file.display(),
            home.display()
        ),
        "✓ agents         reader, general-purpose".to_owned(),
        "✓ workflows      once (faults: agent-host workflow check)".to_owned(),
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
}

#[test]
fn configuration_variable_that_cannot_be_used_is_named() {
    let env = TestEnv::new();
    let mut command = env.command(&["run", "hi"]);
    command.env("AGENT_HOST_MAX_TURNS", "many");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let told = "invalid variable AGENT_HOST_MAX_TURNS: it is not a number";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}
