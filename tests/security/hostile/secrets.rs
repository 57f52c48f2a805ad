//! Section G: attempts to read a secret's value, by a guest that may use the secret and by one that
//! may not. The harness checks for every row that no answer, log, journal or file of the state
//! directory shows the value.

use super::{
    case::{Case, Ends},
    harness::SECRET,
    script::{OWN_DIRECTORY, Script, at, final_attempts, op},
    table,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A secret for the malicious server, which needs a separate grant.
const GRANTED: &str = r#"
[[secret]]
name = "github"
from = "env:AGENT_HOST_TEST_SECRET"
audience = "http://127.0.0.1:{server}"

[grants]
secrets = ["github"]
"#;

/// Grants the server that receives it.
const SERVER: &str = "[[grants.http]]\nhost = \"127.0.0.1\"\nport = {server}";

/// The text that replaces a value.
const MARK: &str = "[secret:github]";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        told_back(),
        kept_from_memory(),
        other_servers(),
        across_a_redirect(),
        other_places(),
        in_a_query(),
        not_granted(),
        known_otherwise(),
        guessed_by_beginnings("[]", &json!([["content-length", "99"]])),
        guessed_by_beginnings("[\"github\"]", &json!([])),
        guessed_whole(),
    ]
}

/// A request with this authorization.
fn with(field: &str, url: &str) -> Value {
    op(
        "http",
        json!({ "url": url, "headers": [["authorization", field]] }),
    )
}

/// The request that reached the server on `/seen`, as the guest sees it: without a length, which
/// would reveal that of the value.
fn seen(request: &str) -> Value {
    json!({ "status": 200, "headers": [], "body": request.replace('\n', "\r\n") })
}

/// The fields that the client adds to every request of a tool with secrets.
const REST: &str = "accept-encoding: identity\naccept: */*\nhost: 127.0.0.1:PORT\n\n";

/// The server has the value, and returns it in every form that the host redacts.
fn told_back() -> Case {
    let ends = Ends::Checked(|output| {
        let answer = &output["value"][0]["ok"];
        assert_eq!(
            (&answer["status"], &answer["headers"]),
            (&json!(200), &json!([["x-echo", MARK]])),
            "{output}"
        );
        let lines: Vec<&str> = answer["body"].as_str().unwrap().lines().collect();
        // It arrived with all its letters, and none of its forms came back.
        assert_eq!(lines[0], format!("{} letters", SECRET.len()));
        let marked = lines[1..].iter().filter(|line| line.contains(MARK)).count();
        assert_eq!((marked, lines.len()), (8, 9), "{output}");
    });
    let attempts = [with("secret://github", "http://127.0.0.1:{server}/echo")];
    final_attempts('G', "a server that tells the value", &attempts, ends)
        .config(GRANTED)
        .config(SERVER)
}

/// It is used, and is never in the guest's memory.
fn kept_from_memory() -> Case {
    let inverted: String = SECRET
        .bytes()
        .map(|byte| format!("{:02x}", !byte))
        .collect();
    let scan = || op("scan", json!({ "inverted": inverted }));
    let field = format!("authorization: Bearer {MARK}\n");
    Script::default()
        .gives(json!(0), scan())
        .gives(
            seen(&format!("GET /seen HTTP/1.1\n{field}{REST}")),
            with("Bearer secret://github", "http://127.0.0.1:{server}/seen"),
        )
        .gives(json!([]), op("env", json!({})))
        .gives(json!(0), scan())
        .row('G', "a search of all memory for the value")
        .config(GRANTED)
        .config(SERVER)
}

/// Each of these is granted as a server, and none of them is the secret's: scheme, host and port
/// count.
fn other_servers() -> Case {
    let urls = [
        "http://127.0.0.1:{sink}/",
        "https://127.0.0.1:{server}/seen",
        "http://127.0.0.2:{server}/seen",
        "http://localhost:{server}/seen",
        "http://127.0.0.1:{server}@127.0.0.1:{sink}/",
        "http://127.0.0.1:{sink}/?http://127.0.0.1:{server}/",
    ];
    let empty = json!({ "status": 204, "headers": [], "body": "" });
    let same = format!("GET /seen HTTP/1.1\nauthorization: {MARK}\n{REST}");
    Script::default()
        .gives(
            empty,
            op("http", json!({ "url": "http://127.0.0.1:{sink}/" })),
        )
        .refused(
            "http-request-denied",
            urls.map(|url| with("secret://github", url)),
        )
        // Another spelling of the same address is the same server.
        .gives(
            seen(&same),
            with("secret://github", "http://2130706433:{server}/seen"),
        )
        .row('G', "other servers than the secret's")
        .config(GRANTED)
        .config(SERVER)
        .config("[[grants.http]]\nhost = \"127.0.0.1\"\nport = {sink}")
        .config("[[grants.http]]\nhost = \"127.0.0.2\"\nport = {server}")
        .config("[[grants.http]]\nhost = \"*\"\nport = {server}")
        .contacting(1)
}

/// A redirect carries no secret: the guest makes the next request, and its placeholder is for
/// another server there.
fn across_a_redirect() -> Case {
    let metadata = "http://169.254.169.254/latest/";
    let redirect = json!({ "status": 302, "headers": [["location", metadata]], "body": "" });
    Script::default()
        .gives(
            redirect,
            with("secret://github", "http://127.0.0.1:{server}/to-metadata"),
        )
        .refused("http-request-denied", [with("secret://github", metadata)])
        .row('G', "a secret across a redirect")
        .config(GRANTED)
        .config(SERVER)
        .config("[[grants.http]]\nhost = \"169.254.169.254\"")
}

/// A secret is allowed in values of header fields, and elsewhere only with a grant.
fn other_places() -> Case {
    let get = |path: &str| {
        op(
            "http",
            json!({ "url": format!("http://127.0.0.1:{{server}}{path}") }),
        )
    };
    let post = op(
        "http",
        json!({ "url": "http://127.0.0.1:{server}/seen", "method": "POST", "body": "secret://github" }),
    );
    let sent = "accept-encoding: identity\naccept: */*\nhost: 127.0.0.1:PORT\ntransfer-encoding: chunked\n\nF\nsecret://github\n0\n\n";
    Script::default()
        .refused(
            "http-request-denied",
            [
                get("/secret://github"),
                get("/seen?a=secret://github"),
                get("/seen?secret://github=a"),
                get("/seen?a=secret%3A%2F%2Fgithub"),
            ],
        )
        // Text, and sent as such.
        .gives(seen(&format!("POST /seen HTTP/1.1\n{sent}")), post)
        .row('G', "other places of a request")
        .config(GRANTED)
        .config(SERVER)
}

/// In a query it is percent-encoded, and that form does not come back either.
fn in_a_query() -> Case {
    Script::default()
        .gives(
            seen(&format!("GET /seen?a=b&token={MARK} HTTP/1.1\n{REST}")),
            op(
                "http",
                json!({ "url": "http://127.0.0.1:{server}/seen?a=b&token=secret://github" }),
            ),
        )
        .row('G', "a secret in a query, where that is granted")
        .config(&GRANTED.replace("\n[grants]", "in-query = true\n[grants]"))
        .config(SERVER)
}

/// A name that is not granted looks like one that does not exist, and compressed answers are
/// refused to a tool with secrets.
fn not_granted() -> Case {
    let names = [
        "secret://gitlab",
        "secret://GITHUB",
        "secret://git",
        "secret://github2",
        "secret://",
        "Bearer secret://github secret://other",
    ];
    let seen = "http://127.0.0.1:{server}/seen";
    Script::default()
        .refused("http-request-denied", names.map(|field| with(field, seen)))
        .refused(
            "http-response-content-coding",
            [with("secret://github", "http://127.0.0.1:{server}/packed")],
        )
        .row('G', "secrets that are not granted, and encoded answers")
        .config(GRANTED)
        .config(SERVER)
}

/// A guest that has the value from another source cannot send it through the host.
fn known_otherwise() -> Case {
    Script::default()
        .gives(json!(format!("it is {MARK}")), at("read", "leaked.txt"))
        .row('G', "a value that the guest has from a file")
        .config(GRANTED)
        .config(OWN_DIRECTORY)
        .prepared(|work| {
            std::fs::write(work.join("leaked.txt"), format!("it is {SECRET}")).unwrap()
        })
}

/// A secret of another tool; the guest's own tool has these secrets.
fn beside_another_tool(own: &str) -> String {
    let another =
        "[[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\nsecrets = [\"github\"]";
    format!("{}\n{another}", GRANTED.replace("[\"github\"]", own))
}

/// An answer that breaks off within a possible prefix of the value is delivered up to there,
/// whether or not it is the value's prefix.
fn guessed_by_beginnings(own: &str, headers: &Value) -> Case {
    let mut script = Script::default();
    for letters in 1..SECRET.len() {
        let url = format!("http://127.0.0.1:{{server}}/guess/{letters}");
        let answer = json!({
            "status": 200, "headers": headers, "body": SECRET.get(..letters).unwrap(),
            "broken": "last-operation-failed",
        });
        script = script.gives(answer, op("http", json!({ "url": url })));
    }
    let name = format!("guesses of the beginning of a secret, with the secrets {own}");
    script
        .row('G', &name)
        .config(&beside_another_tool(own))
        .config(SERVER)
}

/// Answers are not searched for another tool's secret: a complete guess stays in the guest's memory
/// as it was sent. Results are searched, so that the model and the journal never contain it.
fn guessed_whole() -> Case {
    let inverted: String = SECRET
        .bytes()
        .map(|byte| format!("{:02x}", !byte))
        .collect();
    let ends = Ends::Checked(|output| {
        let (answer, found) = (&output["value"][0]["ok"], &output["value"][1]["ok"]);
        assert_eq!(
            (&answer["headers"], &answer["body"]),
            (&json!([["content-length", "99"]]), &json!(MARK)),
            "{output}"
        );
        assert!(found.as_u64() > Some(0), "{output}");
    });
    let url = format!("http://127.0.0.1:{{server}}/guess/{}", SECRET.len());
    let attempts = [
        op("http", json!({ "url": url })),
        op("scan", json!({ "inverted": inverted })),
    ];
    final_attempts(
        'G',
        "a guess of another tool's whole secret",
        &attempts,
        ends,
    )
    .config(&beside_another_tool("[]"))
    .config(SERVER)
}

#[test]
fn secrets() {
    table::run(&cases());
}
