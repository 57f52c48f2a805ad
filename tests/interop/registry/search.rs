//! `search` in indexes, and `login`.

use super::{DockerRegistry, component, ok};
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn pushed_components_are_found_in_an_index() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let directory = env.work().join("components");
    fs::create_dir(&directory).unwrap();
    let directory = directory.to_str().unwrap();
    let in_registry = registry.reference("acme/index:latest");
    let absent = env.run(&["search", "--index", &in_registry]);
    assert_eq!(absent.code, Some(2), "{}", absent.stderr);
    assert!(
        absent.stderr.contains("no component index was found"),
        "{}",
        absent.stderr
    );
    for index in [directory, &in_registry] {
        for (name, tag) in [("files", "1.0.0"), ("fetch", "1.1.0"), ("files", "1.2.0")] {
            let file = component(&format!("{name}.wasm"));
            let reference = registry.reference(&format!("acme/{name}:{tag}"));
            ok(env.run(&["push", &file, &reference, "--index", index]));
        }
        let search = |words: &[&str]| {
            let args = [&["search", "--index", index, "--json"], words].concat();
            let found = ok(env.run(&args)).json();
            let found = found["components"].as_array().unwrap().clone();
            found
                .iter()
                .map(|it| (it["reference"].clone(), it["version"].clone()))
                .collect::<Vec<_>>()
        };
        let entry = |name: &str, version: &str| {
            let reference = registry.reference(&format!("acme/{name}:{version}"));
            (json!(reference), json!(version))
        };
        let (fetch, files) = (entry("fetch", "1.1.0"), entry("files", "1.2.0"));
        assert_eq!(search(&[]), [fetch.clone(), files.clone()]);
        assert_eq!(search(&["READ_FILE"]), std::slice::from_ref(&files));
        assert_eq!(search(&["acme", "http_post"]), [fetch]);
        assert_eq!(search(&["nothing of this"]), []);
    }
    let both = [
        "search",
        "--index",
        directory,
        "--index",
        &in_registry,
        "write_file",
    ];
    let shown = ok(env.run(&both)).stdout;
    assert_eq!(shown.matches("acme/files:1.2.0").count(), 2, "{shown}");
}

#[test]
fn hostile_index_is_shown_as_text() {
    let env = TestEnv::new();
    let entry = json!({
        "reference": "oci://a.example/a:1",
        "version": "1\u{1b}[31m",
        "description": "\u{202e}\u{1b}]0;x\u{7}a\nagent-host: added",
        "tools": ["\u{1b}[2J", "b\nc"],
    });
    let index = json!({ "version": 1, "components": [entry] });
    env.write("index/index.json", index.to_string());
    let shown = ok(env.run(&["search", "--index", "index"])).stdout;
    let is_harmful = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!shown.contains(is_harmful), "{shown:?}");
    assert_eq!(shown.lines().count(), 3, "{shown:?}");
    for (text, why) in [
        ("[]", "is not a component index"),
        ("{\"version\":9,\"components\":[]}", "has version 9"),
    ] {
        env.write("index/index.json", text);
        let refused = env.run(&["search", "--index", "index"]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn login_tells_whose_credentials_are_accepted() {
    let env = TestEnv::new();
    // Of user `ann` with the password `right`, as `htpasswd -B` writes it.
    let users = "ann:$2y$05$abcdefghijklmnopqrstuu8xaCxxL82bnl.UY74PMksDxIJShppPC\n";
    let Some(registry) = DockerRegistry::start_with_users(&env, users) else {
        return;
    };
    let host = &registry.host;
    let login = |variables: &[(&str, &str)]| {
        let mut command = env.command(&["login", host]);
        let ran: agent_host_test_support::Ran = command
            .envs(variables.iter().copied())
            .output()
            .unwrap()
            .into();
        (ran.code, format!("{}{}", ran.stdout, ran.stderr))
    };
    let (code, said) = login(&[]);
    assert_eq!(code, Some(2), "{said}");
    let hint = format!("log in with `docker login {host}`");
    assert!(said.contains(&hint), "{said}");
    let variable = "AGENT_HOST_REGISTRY_CREDENTIALS";
    let (code, said) = login(&[(variable, &format!("{host}=ann:wrong"))]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("the credentials of AGENT_HOST_REGISTRY_CREDENTIALS were refused"),
        "{said}"
    );
    assert!(!said.contains("wrong"), "{said}");
    let (code, said) = login(&[(variable, &format!("{host}=ann:right"))]);
    let accepted = format!("{host} accepts `ann` from AGENT_HOST_REGISTRY_CREDENTIALS\n");
    assert_eq!((code, said), (Some(0), accepted));

    // A helper that answers, and one that has none.
    let programs = env.outside().join("programs");
    fs::create_dir(&programs).unwrap();
    let helper = programs.join("docker-credential-mine");
    let script = format!(
        "#!/bin/sh\nread server\n[ \"$1 $server\" = \"get {host}\" ] || {{ echo 'credentials not found'; exit 1; }}\necho '{{\"ServerURL\":\"\",\"Username\":\"ann\",\"Secret\":\"right\"}}'\n"
    );
    fs::write(&helper, script).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    let docker = env.outside().join("docker");
    fs::create_dir(&docker).unwrap();
    let config = json!({ "credHelpers": { host: "mine" } });
    fs::write(docker.join("config.json"), config.to_string()).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let with_helper = [
        ("PATH", &*path),
        ("DOCKER_CONFIG", docker.to_str().unwrap()),
    ];
    let accepted = format!("{host} accepts `ann` from docker-credential-mine\n");
    assert_eq!(login(&with_helper), (Some(0), accepted));
    // And a push with them.
    let reference = registry.reference("acme/files:1");
    let mut push = env.command(&["push", &component("files.wasm"), &reference]);
    let pushed = push.envs(with_helper).output().unwrap();
    assert!(
        pushed.status.success(),
        "{}",
        String::from_utf8_lossy(&pushed.stderr)
    );
    let refused = env.run(&["pull", &reference]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let wrong = env.run(&["login", "a b"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}
