//! Section G: ways to a secret's value, for a guest that may use the secret and for one that may not. That no row shows the
//! value, in an answer, a log, the journal or a file of the state folder, is held by the harness for every row of the table.

use super::{
    case::{Case, Ends},
    harness::SECRET,
    script::{OWN_FOLDER, Script, at, last_words, op},
    table,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A secret for the bad server. Which servers there are is granted apart from it.
const GRANTED: &str = r#"
[[secret]]
name = "github"
from = "env:AGENT_HOST_TEST_SECRET"
audience = "http://127.0.0.1:{server}"

[grants]
secrets = ["github"]
"#;

/// The server that gets it is granted.
const SERVER: &str = "[[grants.http]]\nhost = \"127.0.0.1\"\nport = {server}";

/// What stands where a value stood.
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

/// What reached the server on `/seen`, as the guest has it: without a length, which would tell that of the value.
fn seen(request: &str) -> Value {
    json!({ "status": 200, "headers": [], "body": request.replace('\n', "\r\n") })
}

/// What the client adds to every request of a tool that has secrets.
const REST: &str = "accept-encoding: identity\naccept: */*\nhost: 127.0.0.1:PORT\n\n";

/// The server has the value, and says so in every form that is promised not to come back.
fn told_back() -> Case {
    let ends = Ends::Checked(|output| {
        let answer = &output["value"][0]["ok"];
        assert_eq!(
            (&answer["status"], &answer["headers"]),
            (&json!(200), &json!([["x-echo", MARK]])),
            "{output}"
        );
        let lines: Vec<&str> = answer["body"].as_str().unwrap().lines().collect();
        // It came with all its letters, and none of its forms came back.
        assert_eq!(lines[0], format!("{} letters", SECRET.len()));
        let marked = lines[1..].iter().filter(|line| line.contains(MARK)).count();
        assert_eq!((marked, lines.len()), (8, 9), "{output}");
    });
    let attempts = [with("secret://github", "http://127.0.0.1:{server}/echo")];
    last_words('G', "a server that tells the value", &attempts, ends)
        .config(GRANTED)
        .config(SERVER)
}

/// It is used, and is nowhere in the guest's memory before and after.
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

/// Every one of these is granted as a server, and none of them is the secret's: scheme, host and port count.
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

/// A redirect takes nothing along: the guest makes the next request, and its placeholder is one for another server there.
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

/// A secret stands in values of header fields, and nowhere else unless that is granted.
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

/// In a query it is written as a query writes it, and that form does not come back either.
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

/// A name that is not granted is one that there is not, and answers that hide what is in them are not for a tool with secrets.
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

/// A guest that has the value from elsewhere does not get it past the host.
fn known_otherwise() -> Case {
    Script::default()
        .gives(json!(format!("it is {MARK}")), at("read", "leaked.txt"))
        .row('G', "a value that the guest has from a file")
        .config(GRANTED)
        .config(OWN_FOLDER)
        .prepared(|work| {
            std::fs::write(work.join("leaked.txt"), format!("it is {SECRET}")).unwrap()
        })
}

/// The secret, which another tool may use; the guest's own tool has these secrets.
fn beside_another_tool(own: &str) -> String {
    let another =
        "[[tool]]\nname = \"fetch\"\ncomponent = \"builtin:fetch\"\nsecrets = [\"github\"]";
    format!("{}\n{another}", GRANTED.replace("[\"github\"]", own))
}

/// An answer that breaks off within what may become the value arrives as far as it came, whether or not it begins the value.
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

/// Answers are not searched for another tool's secret: a whole guess is in the guest's memory as it was sent. Results are, so that
/// the model and the journal never have it.
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
    last_words(
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
