//! `agent-host store`: databases that are prepared for hosts and checked, sessions that move, keys
//! that are replaced.

use agent_host_test_support::{
    Ran, TestEnv,
    api::{ApiServer, TOKEN},
    chat::ChatServer,
    postgres::database,
    program, repository,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{fs, process::Command};

/// The configuration of a store whose address is in the environment.
const STORE: &str = "[store]\nurl = \"env:DATABASE_URL\"\n";

/// Runs the program with a database, and a key for its secrets.
fn run(env: &TestEnv, url: &str, key: &str, args: &[&str]) -> Ran {
    let mut command = env.command(args);
    command.env("DATABASE_URL", url).env("STORE_KEY", key);
    command.output().unwrap().into()
}

/// Runs statements as an operator.
fn psql(url: &str, statements: &str) {
    let ran = Command::new("psql")
        .args(["-v", "ON_ERROR_STOP=1", "-d", url, "-c", statements])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Holds a conversation.
const TALK: [&str; 5] = ["run", "--model", "script:tour", "--quiet", "What is here?"];

/// The owner of the tables prepares them for a role of hosts, which runs, and damage is found.
#[test]
fn database_is_prepared_for_a_role_and_checked() {
    let Some(owner) = database() else { return };
    let env = TestEnv::new();
    env.configure(STORE);
    for said in [
        "The tables were created with version 9.",
        "The tables already have version 9.",
    ] {
        let migrated = run(&env, &owner, "", &["store", "migrate"]);
        assert_eq!(migrated.code, Some(0), "{migrated:?}");
        assert!(migrated.stderr.contains(said), "{migrated:?}");
    }
    let grants = env.run(&["store", "grants", "prepared"]);
    assert_eq!(grants.code, Some(0), "{grants:?}");
    psql(&owner, "CREATE ROLE prepared LOGIN");
    psql(&owner, &grants.stdout);
    let host = owner.replace("user=host", "user=prepared");
    let talked = run(&env, &host, "", &TALK);
    assert_eq!(talked.code, Some(0), "{talked:?}");
    let checked = run(&env, &host, "", &["store", "check", "--json"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let lines = checked.json_lines();
    let [session, rest] = lines.as_slice() else {
        panic!("{checked:?}");
    };
    assert_eq!(
        (&session["faults"], rest),
        (&json!([]), &json!({"faults": []}))
    );
    assert!(session["events"].as_u64() > Some(5), "{checked:?}");
    psql(&owner, "DELETE FROM events WHERE seq = 1");
    let damaged = run(&env, &host, "", &["store", "check"]);
    assert_eq!(damaged.code, Some(1), "{damaged:?}");
    let said = "event 1 is missing (the next one is 2)";
    assert!(damaged.stdout.contains(said), "{damaged:?}");
    let said = "2 faults in 1 session";
    assert!(damaged.stderr.contains(said), "{damaged:?}");
}

/// A row that was put past the hosts into a database with a key approves nothing, and is reported.
#[test]
fn approval_that_was_inserted_by_hand_is_reported() {
    let Some(url) = database() else { return };
    let (env, key) = (TestEnv::new(), "ab".repeat(32));
    env.configure(format!("{STORE}key = \"env:STORE_KEY\"\n"));
    assert_eq!(run(&env, &url, &key, &TALK).code, Some(0));
    let identity = "0".repeat(64);
    let rule = format!("{{\"tool\":\"write_file\",\"identity\":\"{identity}\"}}");
    psql(
        &url,
        &format!(
            "INSERT INTO approvals (id, project, rule, session, at_ms)
             SELECT 'x', '/p', '{rule}', id, 7 FROM sessions"
        ),
    );
    let listed = run(&env, &url, &key, &["approvals", "list", "--json"]);
    assert_eq!(
        (listed.code, listed.stdout.as_str()),
        (Some(0), ""),
        "{listed:?}"
    );
    let fault =
        format!("an approval without a valid signature, which is ignored: {rule} in project /p");
    let checked = run(&env, &url, &key, &["store", "check"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert_eq!(checked.stdout, format!("{fault}\n"));
    let next = "to remove them: agent-host store check --remove-unsigned";
    assert!(checked.stderr.contains(next), "{checked:?}");
    let doctor = run(&env, &url, &key, &["doctor"]);
    let said = format!(
        "1 row is ignored, not written by a host of this store; the first is {fault}; list them: agent-host store check"
    );
    assert!(doctor.stdout.contains(&said), "{doctor:?}");
    let removed = run(&env, &url, &key, &["store", "check", "--remove-unsigned"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    assert!(
        removed
            .stderr
            .contains("Removed 1 row without a valid signature."),
        "{removed:?}"
    );
    let checked = run(&env, &url, &key, &["store", "check"]);
    assert_eq!(
        (checked.code, checked.stdout.as_str()),
        (Some(0), ""),
        "{checked:?}"
    );
}

/// Without the key that signed them, sessions are of no project until the key is back; the check says
/// that it is the key, and removes nothing. A copy of a session needs no key.
#[test]
fn key_of_a_store_that_is_gone_is_named() {
    let env = TestEnv::new();
    env.configure("");
    assert_eq!(run(&env, "", "", &TALK).code, Some(0));
    let session = listed(&env).remove(0);
    let key = env.outside().join("home/.local/state/agent-host/rows.key");
    let kept = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    for args in [
        ["store", "check"].as_slice(),
        &["store", "check", "--remove-unsigned"],
    ] {
        let checked = run(&env, "", "", args);
        assert_eq!(checked.code, Some(1), "{checked:?}");
        let said = "its key is not the one that signed them: restore that key from a backup";
        assert!(checked.stderr.contains(said), "{checked:?}");
    }
    let forked = run(&env, "", "", &["sessions", "fork", &session]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    assert!(listed(&env).contains(&forked.stdout.trim().to_owned()));
    fs::write(&key, kept).unwrap();
    assert!(listed(&env).contains(&session));
}

/// Returns the sessions of the project.
fn listed(env: &TestEnv) -> Vec<String> {
    let rows = run(env, "", "", &["sessions", "list", "--json"]).json_lines();
    let id = |row: &serde_json::Value| row["session"].as_str().unwrap().to_owned();
    rows.iter().map(id).collect()
}

/// A conversation moves from the state directory into a database and back, and continues.
#[test]
fn sessions_move_to_a_database_and_back() {
    let Some(url) = database() else { return };
    let env = TestEnv::new();
    env.configure("");
    assert_eq!(run(&env, &url, "", &TALK).code, Some(0));
    let listed = run(&env, &url, "", &["sessions", "list", "--json"]).json_lines();
    let session = listed[0]["session"].as_str().unwrap().to_owned();
    let named = ["sessions", "name", &session, "the tour"];
    assert_eq!(run(&env, &url, "", &named).code, Some(0));
    let list = |env: &TestEnv| {
        let rows = run(env, &url, "", &["sessions", "list", "--json"]).json_lines();
        rows.iter()
            .map(|row| (row["session"].clone(), row["name"].clone()))
            .collect::<Vec<_>>()
    };
    let here = vec![(json!(session), json!("the tour"))];
    let to = ["store", "move", "--to", "env:DATABASE_URL", "--json"];
    let moved = run(&env, &url, "", &to);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let expected = json!({
        "sessions": [session],
        "agents": 0,
        "approvals": 0,
        "memory": 0,
        "kept": [],
        "unnamed": [],
        "without_undo": [],
        "interrupted": [],
        "continuation_key": true,
    });
    assert_eq!(moved.json_lines(), [expected]);
    assert_eq!(list(&env), []);
    env.configure(STORE);
    assert_eq!(list(&env), here);
    let again = [&TALK[..4], &["--resume", &session, "And now?"]].concat();
    assert_eq!(run(&env, &url, "", &again).code, Some(0));
    let same = run(&env, &url, "", &to);
    assert_eq!(same.code, Some(1), "{same:?}");
    assert!(
        same.stderr.contains("both stores are the database "),
        "{same:?}"
    );
    let back = run(&env, &url, "", &["store", "move", "--to", "state-dir"]);
    assert_eq!(back.code, Some(0), "{back:?}");
    let said = "1 session moved, with 0 of agents and 0 approvals of projects.";
    assert!(back.stderr.contains(said), "{back:?}");
    env.configure("");
    assert_eq!(list(&env), here);
    let checked = run(&env, &url, "", &["store", "check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let shown = run(&env, &url, "", &["sessions", "show", &session]);
    for said in ["What is here?", "And now?"] {
        assert!(shown.stdout.contains(said), "{shown:?}");
    }
}

/// Only hosts with the key start, and the key is replaced by the one who has the old one.
#[test]
fn key_of_a_database_is_replaced() {
    let Some(url) = database() else { return };
    let (env, open) = (TestEnv::new(), TestEnv::new());
    env.configure(format!("{STORE}key = \"env:STORE_KEY\"\n"));
    open.configure(STORE);
    let (old, new) = ("ab".repeat(32), "cd".repeat(32));
    let list = ["sessions", "list"];
    assert_eq!(run(&env, &url, &old, &list).code, Some(0));
    for (env, key, expected) in [
        (
            &env,
            new.as_str(),
            "the key in [store] does not open the secrets in the database ",
        ),
        (
            &open,
            "",
            ", and no key is set; set `key` in [store] to the key of the other hosts",
        ),
        (
            &env,
            "short",
            "a key has 64 hexadecimal digits; create one with `openssl rand -hex 32`",
        ),
    ] {
        let refused = run(env, &url, key, &list);
        assert!(matches!(refused.code, Some(1 | 2)), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
        assert!(!refused.stderr.contains(&new), "{refused:?}");
    }
    env.write("old.key", &old);
    let rekey = ["store", "rekey", "--from", "file:old.key"];
    let done = run(&env, &url, &new, &rekey);
    assert_eq!(done.code, Some(0), "{done:?}");
    let said = "2 secrets are sealed with the key in [store].";
    assert!(done.stderr.contains(said), "{done:?}");
    assert_eq!(run(&env, &url, &new, &list).code, Some(0));
    assert_eq!(run(&env, &url, &old, &list).code, Some(1));
    let again = run(&env, &url, &new, &rekey);
    assert_eq!(again.code, Some(1), "{again:?}");
}

/// The runbook says what happens on this machine.
#[test]
fn runbook_is_rehearsed() {
    // The server of the other tests: it says whether PostgreSQL is installed.
    if database().is_none() {
        return;
    }
    let rehearsal = Command::new(repository().join("deploy/rehearse"))
        .env("AGENT_HOST", program())
        .output()
        .unwrap();
    let ran = Ran::from(rehearsal);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = fs::read_to_string(repository().join("deploy/README.md")).unwrap();
    // Without the figures, which differ from run to run.
    let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    for line in ran.stdout.lines().filter(|line| *line != "done") {
        assert!(
            words(&page).contains(&words(line)),
            "{line}\n{}",
            ran.stdout
        );
    }
    assert!(ran.stdout.ends_with("done\n"), "{ran:?}");
}

/// The files that containers run are what the program prints, and a host works with them.
#[test]
fn role_of_the_deployment_may_do_what_a_host_does() {
    let Some(owner) = database() else { return };
    let env = TestEnv::new();
    let sql = repository().join("deploy/sql");
    let grants = env.run(&["store", "grants", "host_of_deploy"]);
    let file = fs::read_to_string(sql.join("grants.sql")).unwrap();
    let expected = file.replace("\"host\"", "\"host_of_deploy\"");
    assert_eq!(grants.stdout, expected);
    env.configure(STORE);
    assert_eq!(run(&env, &owner, "", &["store", "migrate"]).code, Some(0));
    // The role `host` is the owner here, so that this one has another name.
    let role = fs::read_to_string(sql.join("role.sql")).unwrap();
    env.write("role.sql", role.replace("host", "host_of_deploy"));
    env.write("grants.sql", expected);
    for _ in 0..2 {
        let ran = Command::new("psql")
            .args([
                "-v",
                "ON_ERROR_STOP=1",
                "-v",
                "password=it's a secret",
                "-d",
                &owner,
            ])
            .args(["-f", "role.sql", "-f", "grants.sql"])
            .current_dir(env.work())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
    let host = owner.replace("user=host", "user=host_of_deploy");
    let talked = run(&env, &host, "", &TALK);
    assert_eq!(talked.code, Some(0), "{talked:?}");
}

/// A server is ready as long as its database takes writes, and it lives without.
#[test]
fn probe_tells_a_standby_from_a_primary() {
    let Some(url) = database() else { return };
    let env = TestEnv::new();
    env.write("database", &url);
    env.configure("[store]\nurl = \"file:database\"\n");
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    env.write("token", TOKEN);
    let address = format!("http://{}", server.address);
    let probe = |more: &[&str]| {
        let probe = ["serve", "probe", "--url", &address, "--token-file", "token"];
        env.run(&[&probe, more].concat())
    };
    assert_eq!(probe(&[]).code, Some(0), "{:?}", probe(&[]));
    let database = url.rsplit('=').next().unwrap();
    psql(
        &url,
        &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"),
    );
    let ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    psql(&url, ended);
    let standby = probe(&[]);
    assert_eq!(standby.code, Some(1), "{standby:?}");
    let said = "accepts no writes: the server is a standby, or `default_transaction_read_only` is set; give the address of the primary";
    assert!(standby.stderr.contains(said), "{standby:?}");
    assert_eq!(probe(&["--live"]).code, Some(0));
    for (args, code, expected) in [
        (
            vec!["--url", "http://192.0.2.1:8420"],
            2,
            "the token would be sent unencrypted",
        ),
        (
            vec!["--url", "http://127.0.0.1:1"],
            1,
            "the server does not answer",
        ),
        (vec!["--ca", "token"], 2, "invalid `--ca`"),
        (
            vec!["--token-file", "none"],
            2,
            "cannot read the token from none",
        ),
    ] {
        let ran = env.run(&[&["serve", "probe"], args.as_slice()].concat());
        let ran = match args[0] {
            "--token-file" => ran,
            _ => env.run(
                &[
                    &["serve", "probe", "--token-file", "token"],
                    args.as_slice(),
                ]
                .concat(),
            ),
        };
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
    }
    env.write("token", "another-token-than-that-of-the-server");
    let refused = probe(&[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("401"), "{refused:?}");
}

#[test]
fn store_commands_without_a_use_are_refused() {
    let env = TestEnv::new();
    env.configure("");
    let long = "r".repeat(64);
    for (args, code, expected) in [
        (
            vec!["store", "migrate"],
            2,
            "[store] has no database; set `url` in it",
        ),
        (vec!["store", "rekey"], 2, "[store] has no database"),
        (vec!["store", "grants", ""], 2, "`` is not a role name"),
        (vec!["store", "grants", &long], 2, "is not a role name"),
        (vec!["store", "grants", "a\u{1b}b"], 2, "is not a role name"),
        (
            vec!["store", "move", "--to", "state-dir"],
            1,
            "both stores are the file ",
        ),
        (
            vec!["store", "move", "--to", "elsewhere"],
            2,
            "write `env:NAME`, `file:PATH` or `cmd:COMMAND`",
        ),
        (
            vec!["store", "move", "--to", "postgres://a:b@c/d"],
            2,
            "contains a password",
        ),
    ] {
        let ran = env.run(&args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
    }
    let quoted = env.run(&["store", "grants", "a\"; DROP TABLE sessions; --"]);
    let expected = "GRANT SELECT ON public.meta TO \"a\"\"; DROP TABLE sessions; --\";";
    assert!(quoted.stdout.contains(expected), "{quoted:?}");
    for (store, expected) in [
        ("ca = \"none.pem\"\n", "invalid `ca` of [store]: "),
        ("connections = 0\n", "`connections` is 0"),
        (
            "key = \"abab\"\n",
            "`key` of [store] does not name the source",
        ),
    ] {
        env.configure(format!(
            "[store]\nurl = \"postgres://localhost/none\"\n{store}"
        ));
        let ran = env.run(&["store", "check"]);
        assert!(ran.stderr.contains(expected), "{store}: {ran:?}");
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}
