use super::menu::{MenuContext, MenuReply, menu, more, parse};
use agent_host_types::{
    approval::{
        Decision,
        RememberWhat::{Arguments, Tool},
    },
    continuation::PendingCall,
    id::{CallId, Digest},
    tool::{DecisionKind, Effect},
};
use pretty_assertions::assert_eq;

fn call(decisions: &[DecisionKind]) -> PendingCall {
    PendingCall {
        call_id: CallId("c1".to_owned()),
        tool: "write_file".to_owned(),
        title: None,
        description: String::new(),
        effect: Effect::Effectful,
        input: serde_json::Map::new().into(),
        input_digest: Digest::of(b""),
        requested_input: None,
        executables: Vec::new(),
        identity: None,
        sources: Vec::new(),
        rule: "effect.effectful".to_owned(),
        decisions: decisions.into(),
    }
}

fn decided(decision: Decision) -> Option<MenuReply> {
    Some(MenuReply::Decided(decision))
}

fn reject(reason: Option<&str>) -> Option<MenuReply> {
    decided(Decision::Reject {
        call_id: CallId("c1".to_owned()),
        reason: reason.map(str::to_owned),
    })
}

#[test]
fn answer_that_is_not_exact_is_rejected() {
    let call = call(&DecisionKind::ALL);
    let approve = decided(Decision::approve(call.call_id.clone()));
    let respond = decided(Decision::Respond {
        call_id: call.call_id.clone(),
        text: "it is  done".to_owned(),
    });
    let cases = [
        ("y\n", approve.clone()),
        ("  yes  ", approve),
        ("n", reject(None)),
        ("no", reject(None)),
        ("n wrong file\n", reject(Some("wrong file"))),
        ("r it is  done\n", respond),
        ("e", Some(MenuReply::Edit)),
        ("x", Some(MenuReply::Remember(Arguments))),
        ("t", Some(MenuReply::Remember(Tool))),
        ("a", Some(MenuReply::Always)),
        ("a src/**", Some(MenuReply::Pattern("src/**".to_owned()))),
        ("?", Some(MenuReply::More)),
        ("v", Some(MenuReply::Rows)),
        ("j", Some(MenuReply::Json)),
        ("all", Some(MenuReply::Rest)),
        ("none", Some(MenuReply::RejectRest(None))),
        (
            "none too many",
            Some(MenuReply::RejectRest(Some("too many".to_owned()))),
        ),
        ("l", Some(MenuReply::Later)),
        ("", None),
        ("\n", None),
        ("Y", None),
        ("y sure", None),
        ("x 1", None),
        ("all of them", None),
        ("e {}", None),
        ("r", None),
        ("ok", None),
        ("yy", None),
    ];
    for (line, expected) in cases {
        assert_eq!(parse(line, &call, 2), expected, "{line:?}");
        // One call is no batch.
        let about_rest =
            |reply: &MenuReply| matches!(reply, MenuReply::Rest | MenuReply::RejectRest(_));
        let alone = expected.filter(|reply| !about_rest(reply));
        assert_eq!(parse(line, &call, 1), alone, "{line:?}");
    }
}

/// An approval that would answer no other question is neither offered nor accepted as a lasting one.
#[test]
fn approval_of_one_flow_is_not_remembered() {
    for rule in ["flow.untrusted", "flow.0", "hook.guard"] {
        let call = PendingCall {
            rule: rule.to_owned(),
            ..call(&[DecisionKind::Approve])
        };
        let context = MenuContext {
            always: "src/**",
            rest: 1,
            left_out: 0,
        };
        assert_eq!(menu(&call, context).join("  "), "[y] once  [?] more");
        let others = more(&call, context).join("  ");
        assert!(!others.contains("always"), "{others}");
        for line in ["a", "a src/**", "x", "t"] {
            assert_eq!(parse(line, &call, 1), None, "{rule} {line}");
        }
    }
}

/// A decision that the tool does not allow is neither offered nor accepted.
#[test]
fn menu_offers_only_allowed_decisions() {
    use DecisionKind::{Approve, Edit, Reject, Respond};
    let context = MenuContext {
        always: "src/**",
        rest: 1,
        left_out: 0,
    };
    let table: [(&[DecisionKind], &str, &str, &[&str]); 3] = [
        (
            &[Approve],
            "[y] once  [a] always for src/**  [?] more",
            "[a GLOB] always, for targets that match a pattern such as src/**  [x] always, with exactly these \
             arguments  [t] always, every call of this tool  ",
            &["y", "a", "x", "t", "l", "j"],
        ),
        (
            &[Edit, Reject],
            "[n] no  [?] more",
            "[e] edit the arguments  [n REASON] no, and tell the model why  ",
            &["e", "n", "l", "j"],
        ),
        (
            &[Respond],
            "[?] more",
            "[r TEXT] no, use TEXT as the result  ",
            &["r x", "l", "j"],
        ),
    ];
    for (decisions, shown, others, taken) in table {
        let call = call(decisions);
        assert_eq!(menu(&call, context).join("  "), shown);
        let cut = MenuContext {
            left_out: 4,
            ..context
        };
        let first = menu(&call, cut).into_iter().next();
        assert_eq!(first.as_deref(), Some("[v] show 4 more rows"));
        let others = format!("{others}[v] show all rows  [j] exact JSON  [l] decide later");
        assert_eq!(more(&call, context).join("  "), others);
        let answers = ["y", "a", "x", "t", "all", "e", "n", "none", "r x", "l", "j"];
        let answers = answers.into_iter();
        let found: Vec<&str> = answers
            .filter(|line| parse(line, &call, 1).is_some())
            .collect();
        assert_eq!(found, taken);
    }
}
