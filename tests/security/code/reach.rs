//! Scripts that try to reach files and servers that are not granted, or to change something by the
//! tool that changes nothing.

use super::{CHANGE, End, READ, call, check, env, is};
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{collections::BTreeMap, fs, io::ErrorKind, net::TcpListener, path::Path};

use super::End::{Denied, Error};

/// Returns names, kinds and contents below a directory, links as they are.
fn tree(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_owned();
        if path.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(name, target.to_str().unwrap().as_bytes().to_owned());
        } else if path.is_dir() {
            found.extend(tree(&path));
            found.insert(name, Vec::new());
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// The files of a test, without those of the program itself.
fn files(env: &TestEnv) -> (BTreeMap<String, Vec<u8>>, Vec<u8>) {
    let secret = fs::read(env.outside().join("secret")).unwrap();
    (tree(&env.work()), secret)
}

/// Each refusal, by its path.
macro_rules! leaves {
    ($what:literal, $path:literal) => {
        Denied(concat!(
            $what,
            " ",
            $path,
            " was refused: it leaves the granted directory (rule default-deny)"
        ))
    };
}

#[test]
fn paths_out_of_the_grant_are_refused() {
    let env = env();
    let before = files(&env);
    let writable = ["--grant", "dir:.:read-write"];
    let rows: &[(&str, End)] = &[
        (
            "fs.readFileSync('/etc/hostname')",
            leaves!("read", "/workspace/../etc/hostname"),
        ),
        (
            "fs.readFileSync('//etc/hostname')",
            leaves!("read", "/workspace/../etc/hostname"),
        ),
        (
            "fs.readFileSync('/workspace/../etc/hostname')",
            leaves!("read", "/workspace/../etc/hostname"),
        ),
        (
            "fs.readFileSync('../secret')",
            leaves!("read", "/workspace/../secret"),
        ),
        (
            "fs.readFileSync('sub/../../secret')",
            leaves!("read", "/workspace/sub/../../secret"),
        ),
        (
            "fs.readFileSync('./././../secret')",
            leaves!("read", "/workspace/../secret"),
        ),
        ("fs.readFileSync('out')", leaves!("read", "/workspace/out")),
        ("fs.readFileSync('etc')", leaves!("read", "/workspace/etc")),
        (
            "fs.readFileSync('up/secret')",
            leaves!("read", "/workspace/up/secret"),
        ),
        (
            "fs.readFileSync('/proc/self/environ')",
            leaves!("read", "/workspace/../proc/self/environ"),
        ),
        ("fs.readdirSync('/')", leaves!("read", "/workspace/../")),
        ("fs.readdirSync('..')", leaves!("read", "/workspace/..")),
        (
            "fs.statSync('../secret')",
            leaves!("stat", "/workspace/../secret"),
        ),
        (
            "fs.writeFileSync('../x', 'y')",
            leaves!("write", "/workspace/../x"),
        ),
        (
            "fs.writeFileSync('out', 'y')",
            leaves!("write", "/workspace/out"),
        ),
        (
            "fs.appendFileSync('up/secret', 'y')",
            leaves!("write", "/workspace/up/secret"),
        ),
        ("fs.mkdirSync('../x')", leaves!("write", "/workspace/../x")),
        (
            "fs.copyFileSync('a.txt', '../x')",
            leaves!("write", "/workspace/../x"),
        ),
        (
            "fs.copyFileSync('../secret', 'x')",
            leaves!("read", "/workspace/../secret"),
        ),
        (
            "fs.renameSync('../secret', 'x')",
            leaves!("write", "/workspace/../secret"),
        ),
        (
            "fs.renameSync('a.txt', '../x')",
            leaves!("write", "/workspace/../x"),
        ),
        (
            "fs.unlinkSync('../secret')",
            leaves!("stat", "/workspace/../secret"),
        ),
        (
            "fs.rmSync('/', { recursive: true })",
            leaves!("stat", "/workspace/../"),
        ),
        (
            "fs.readFileSync('/session/../../secret')",
            Denied(
                "read-artifact ../../secret was refused: no grant covers the artifacts of the session (rule default-deny)",
            ),
        ),
        (
            "fs.readFileSync('a.txt\\0/../../secret')",
            Error(
                "Error: EINVAL: the path contains a zero byte, which no file name can have\n    at <eval> (code.js:1:3)",
            ),
        ),
        // A refusal that the script hides is one all the same: the call has no bytes of the file.
        (
            "try { fs.readFileSync('/etc/hostname') } catch { 'fine' }",
            is("fine"),
        ),
    ];
    check(&env, CHANGE, &writable, rows);
    assert_eq!(files(&env), before);
}

#[test]
fn addresses_need_a_grant_in_any_spelling() {
    let env = env();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7f.1",
        "127.000.000.001",
        "0.0.0.0",
        "0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "metadata.google.internal",
        "127.0.0.1.",
    ];
    // A grant for another server changes nothing.
    let grant = format!("http:http://127.0.0.2:{port}");
    for host in hosts {
        for tool in [READ, CHANGE] {
            let code = format!("(await fetch('http://{host}:{port}/')).status");
            let result = call(&env, tool, &code, &["--grant", &grant]);
            assert_eq!(result["type"], "execution-denied", "{host}: {result}");
            let reason = result["reason"].as_str().unwrap();
            assert!(reason.contains("no HTTP grant covers"), "{host}: {reason}");
        }
    }
    let connected = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(connected, Err(ErrorKind::WouldBlock));
    check(
        &env,
        CHANGE,
        &[],
        &[
            (
                "await fetch('file:///etc/hostname')",
                Error(
                    "TypeError: fetch: `file` addresses cannot be fetched; use http or https\n    at <eval> (code.js:1:6)",
                ),
            ),
            (
                "await fetch('data:text/plain,hi')",
                Error(
                    "TypeError: fetch: `data` addresses cannot be fetched; use http or https\n    at <eval> (code.js:1:6)",
                ),
            ),
            (
                "await fetch('//evil.example')",
                Error(
                    "TypeError: fetch: `//evil.example` is not a web address: it must be absolute, such as https://example.com/page\n    at <eval> (code.js:1:6)",
                ),
            ),
            (
                "await fetch('http://a@127.0.0.1/')",
                Error(
                    "TypeError: fetch: `http://a@127.0.0.1/` is not a web address: it has a user name or password in it; send those in a header field\n    at <eval> (code.js:1:6)",
                ),
            ),
            (
                "await fetch('http://\u{2460}\u{2461}\u{2466}.0.0.1/')",
                Error(
                    "TypeError: fetch: `http://\u{2460}\u{2461}\u{2466}.0.0.1/` is not a web address: write the host's name in its ASCII form (xn--...)\n    at <eval> (code.js:1:6)",
                ),
            ),
            (
                "await fetch('http://127.0.0.1/', { headers: { host: 'x' } })",
                Error(
                    "TypeError: fetch: the header field `host` cannot be sent; leave it out\n    at <eval> (code.js:1:6)",
                ),
            ),
            (
                "await fetch('http://127.0.0.1/', { method: 'CONNECT' })",
                Error(
                    "TypeError: fetch: the method `CONNECT` cannot be sent\n    at <eval> (code.js:1:6)",
                ),
            ),
        ],
    );
}

/// Everything is granted, and the tool is the one that changes nothing.
#[test]
fn read_only_script_changes_nothing() {
    let env = env();
    let before = files(&env);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let grants = [
        "--grant",
        "dir:.:read-write",
        "--grant",
        &format!("http:GET,POST,PUT,DELETE={address}"),
        "--grant",
        "artifacts:read-write",
    ];
    let attempts = [
        "fs.writeFileSync('a.txt', 'x')",
        "fs.appendFileSync('new', 'x')",
        "fs.mkdirSync('new')",
        "fs.rmSync('a.txt')",
        "fs.rmSync('sub', { recursive: true })",
        "fs.renameSync('a.txt', 'b.txt')",
        "fs.copyFileSync('a.txt', 'b.txt')",
        "fs.writeFileSync('/session/x', 'x')",
        "await fs.promises.writeFile('a.txt', 'x')",
        "await fetch(A, { method: 'POST', body: 'x' })",
        "await fetch(A, { method: 'PUT', body: 'x' })",
        "await fetch(A, { method: 'DELETE' })",
        "await fetch(A, { method: 'OPTIONS' })",
        "await fetch(A, { method: { toString: () => 'POST' } })",
    ];
    for attempt in attempts {
        let code = attempt.replace('A', &format!("'{address}/'"));
        let result = call(&env, READ, &code, &grants);
        assert_eq!(result["type"], "execution-denied", "{attempt}: {result}");
        let hidden = call(
            &env,
            READ,
            &format!("try {{ {code} }} catch {{}} 1"),
            &grants,
        );
        assert_eq!(
            hidden,
            json!({ "type": "json", "value": { "value": 1 } }),
            "{attempt}"
        );
    }
    assert_eq!(files(&env), before);
    let connected = listener.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(connected, Err(ErrorKind::WouldBlock));
}
