//! Schedules and webhooks: their resolved form, what is refused, and the keys for signatures.

use super::{Tree, finish};
use crate::{
    Config,
    config::{Overlap, Overrides, SignatureScheme, TriggerSession, Untrusted},
};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret as _;
use std::fs;

const SCHEDULE: &str = "[[schedule]]\nname = \"s\"\nprompt = \"go\"\n";
const WEBHOOK: &str = "[[webhook]]\nname = \"w\"\nprompt = \"go\"\nsecret = \"file:key\"\n";

#[test]
fn triggers_are_resolved_with_their_defaults() {
    let tree = Tree::new();
    let toml = format!(
        "{SCHEDULE}cron = \"0  9 * * MON-FRI\"\n{WEBHOOK}\
         [[schedule]]\nname = \"once\"\nprompt = \"go\"\nat = \"2026-12-01T09:00\"\nzone = \"Asia/Tokyo\"\nagent = \"a\"\n\
         session = \"one\"\noverlap = \"queue\"\ncatch-up-seconds = \"2h\"\n\
         notify = {{ url = \"https://h.example/x\", secret = \"file:other\" }}\n\
         [[webhook]]\nname = \"g\"\nprompt = \"go\"\nsecret = \"env:KEY\"\nsignature = \"github\"\nsession = \"one\"\n\
         max-body-bytes = \"2KiB\"\nmax-per-minute = 5\n\
         [[agent]]\nname = \"a\"\ndescription = \"d\"\n"
    );
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    let schedules: Vec<_> = config
        .schedules
        .iter()
        .map(|schedule| {
            let run = &schedule.run;
            let notify = run.notify.as_ref().map(|notify| notify.url.to_string());
            (
                schedule.name.as_str(),
                schedule.timetable.to_string(),
                run.agent.as_deref(),
                run.session,
                schedule.overlap,
                schedule.catch_up_ms,
                notify,
            )
        })
        .collect();
    let cron = "0 9 * * MON-FRI (UTC)".to_owned();
    let once = "2026-12-01T09:00:00 (Asia/Tokyo)".to_owned();
    let receiver = Some("https://h.example/x".to_owned());
    let (each, one) = (TriggerSession::Each, TriggerSession::One);
    assert_eq!(
        schedules,
        [
            ("s", cron, None, each, Overlap::Skip, 3_600_000, None),
            (
                "once",
                once,
                Some("a"),
                one,
                Overlap::Queue,
                7_200_000,
                receiver
            ),
        ]
    );
    let webhooks: Vec<_> = config
        .webhooks
        .iter()
        .map(|hook| {
            let most = (hook.max_body_bytes, hook.max_per_minute.get());
            (hook.name.as_str(), hook.signature, hook.run.session, most)
        })
        .collect();
    assert_eq!(
        webhooks,
        [
            ("w", SignatureScheme::Standard, each, (1_048_576, 60)),
            ("g", SignatureScheme::Github, one, (2048, 5)),
        ]
    );
    let protected = config.protected_paths();
    for file in ["key", "other"] {
        assert!(protected.contains(&tree.cwd().join(file)), "{file}");
    }
}

#[test]
fn triggers_that_cannot_be_used_are_refused() {
    let tree = Tree::new();
    let cron = |line: &str| format!("{SCHEDULE}cron = \"0 9 * * *\"\n{line}");
    let write = "write `cron = \"0 9 * * MON-FRI\"`, or `at = \"2026-12-01T09:00\"`";
    let times = format!("the schedule `s` needs exactly one of `cron` and `at`; {write}");
    let used = |line: &str, why: &str| {
        format!(
            "invalid `{line}` of the schedule `s`: {why}; {write}, with `zone = \"Europe/Berlin\"`"
        )
    };
    for (toml, expected) in [
        (SCHEDULE.to_owned(), times.clone()),
        (cron("at = \"2026-12-01T09:00\"\n"), times),
        (
            format!("{SCHEDULE}cron = \"@daily\"\n"),
            used(
                "cron = \"@daily\"",
                "it has 1 fields instead of 5: minute, hour, day of the month, month and day of the week",
            ),
        ),
        (
            format!("{SCHEDULE}at = \"tomorrow\"\n"),
            used("at = \"tomorrow\"", "it is not a time like `2026-12-01T09:00`"),
        ),
        (
            cron("zone = \"Mars\"\n"),
            used(
                "cron = \"0 9 * * *\"",
                "unknown time zone `Mars`; write it like `Europe/Berlin`",
            ),
        ),
        (
            cron("catch-up-seconds = \"2d\"\n"),
            "`catch-up-seconds` is 172800; set it to 0 to 86400, or leave it out".to_owned(),
        ),
        (
            cron("agent = \"b\"\n[[agent]]\nname = \"a\"\ndescription = \"d\"\n"),
            "the schedule `s` is for the agent `b`, but there is no [[agent]] with this name; did you mean `a`?".to_owned(),
        ),
        (
            cron("notify = { url = \"ftp://a\", secret = \"env:K\" }\n"),
            "invalid `url` in `notify` of the schedule `s`; write it like `https://hooks.example.com/agent`, without \
             a user name".to_owned(),
        ),
        (
            "[[webhook]]\nname = \"w\"\nprompt = \" \"\nsecret = \"env:K\"\n".to_owned(),
            "the prompt of the webhook `w` is empty, so the model would have nothing to do; say what it should do".to_owned(),
        ),
        (
            format!("{WEBHOOK}max-body-bytes = \"17MiB\"\n"),
            "`max-body-bytes` is 17825792; set it to 0 to 16777216, or leave it out".to_owned(),
        ),
        (
            format!("{WEBHOOK}{WEBHOOK}"),
            "two webhooks are named `w`, and their senders could not tell them apart; rename one of them".to_owned(),
        ),
        (
            "[[webhook]]\nname = \"w\"\nprompt = \"go\"\nsecret = \"whsec_abc\"\n".to_owned(),
            "`secret` of the webhook `w` does not name the source of the key for signatures; the value itself does \
             not belong in a file that is shared and committed; write `env:NAME`, `file:PATH` or `cmd:COMMAND` (and \
             change the exposed value)".to_owned(),
        ),
    ] {
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected, "{toml}");
    }
}

#[test]
fn keys_for_signatures_have_their_form_and_length() {
    let tree = Tree::new();
    let read = |scheme: &str, key: &str| {
        fs::write(tree.cwd().join("key"), key).unwrap();
        let toml = format!("{WEBHOOK}signature = \"{scheme}\"\n");
        let config = tree.load(&toml, &Overrides::default()).unwrap();
        let read = finish(config.webhooks[0].secret.read());
        read.map(|key| key.expose_secret().to_vec())
            .map_err(|error| tree.portable(&error))
    };
    let bytes: Vec<u8> = (0..24).collect();
    let encoded = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    assert_eq!(
        read("standard", &format!("whsec_{encoded}")),
        Ok(bytes.clone())
    );
    assert_eq!(read("standard", encoded), Ok(bytes));
    assert_eq!(
        read("github", "0123456789abcdef\n"),
        Ok(b"0123456789abcdef".to_vec())
    );
    let refused = |why: &str| {
        Err(format!(
            "cannot read the key for signatures from the file ROOT/home/ann/project/key: {why}; correct `secret` of the webhook `w`"
        ))
    };
    let standard = refused("it is not `whsec_` and at least 24 bytes in base64");
    for key in ["whsec_AAEC", "not base64 at all, whatever it may be", "a"] {
        assert_eq!(read("standard", key), standard, "{key}");
    }
    assert_eq!(
        read("github", "0123456789abcde"),
        refused("it has fewer than 16 characters")
    );
}

#[test]
fn triggers_of_an_untrusted_file_are_demands() {
    let tree = Tree::new();
    let toml = format!(
        "{SCHEDULE}cron = \"* * * * *\"\nzone = \"UTC\"\n{WEBHOOK}notify = {{ url = \"https://h.example/\", secret = \"env:K\" }}\n"
    );
    fs::write(tree.cwd().join("agent.toml"), toml).unwrap();
    let found = Untrusted::found(&tree.environment).unwrap().unwrap();
    assert_eq!(
        found.demands,
        [
            "lets senders with the key from \"file:key\" run the webhook \"w\": \"go\"",
            "sends the answers of the webhook \"w\" to \"https://h.example/\", signed with the key from \"env:K\"",
            "runs the schedule \"s\" automatically at \"* * * * *\" \"UTC\": \"go\"",
        ]
    );
    let overrides = Overrides::default();
    assert!(Config::load(None, &overrides, &tree.environment).is_err());
}
