use super::menu::{MenuReply, chosen, menu, parse};
use agent_host_types::{
    approval::{
        Decision, Remember,
        RememberScope::{Project, Session},
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
    let every = Remember {
        what: Tool,
        scope: Session,
    };
    let cases = [
        ("y\n", approve.clone()),
        ("  yes  ", approve),
        ("n", reject(None)),
        ("no", reject(None)),
        ("n wrong file\n", reject(Some("wrong file"))),
        ("r it is  done\n", respond),
        ("e", Some(MenuReply::Edit)),
        ("m", Some(MenuReply::Remember(None))),
        ("t", Some(MenuReply::Remember(Some(every)))),
        ("p src/**", Some(MenuReply::Pattern("src/**".to_owned()))),
        ("p", None),
        ("j", Some(MenuReply::Json)),
        ("a", Some(MenuReply::Rest)),
        ("l", Some(MenuReply::Later)),
        ("", None),
        ("\n", None),
        ("Y", None),
        ("y sure", None),
        ("m 1", None),
        ("e {}", None),
        ("r", None),
        ("ok", None),
        ("yy", None),
    ];
    for (line, expected) in cases {
        assert_eq!(parse(line, &call, 2), expected, "{line:?}");
        // One call is no batch.
        let alone = expected.filter(|reply| *reply != MenuReply::Rest);
        assert_eq!(parse(line, &call, 1), alone, "{line:?}");
    }
}

/// A decision that the tool does not allow is neither offered nor accepted.
#[test]
fn menu_offers_only_allowed_decisions() {
    use DecisionKind::{Approve, Edit, Reject, Respond};
    let table: [(&[DecisionKind], &str, &[&str]); 3] = [
        (
            &[Approve],
            "[y] yes  [t] yes, and each call of this tool in this session  [p GLOB] yes, and calls with a matching target  [m] yes, and do not ask again  [l] decide later  [j] show the exact JSON",
            &["y", "t", "m", "l", "j"],
        ),
        (
            &[Edit, Reject],
            "[e] with other arguments  [n] no  [n REASON] no, and tell the model why  [l] decide later  [j] show the \
             exact JSON",
            &["e", "n", "l", "j"],
        ),
        (
            &[Respond],
            "[r TEXT] no, use TEXT as its result  [l] decide later  [j] show the exact JSON",
            &["r x", "l", "j"],
        ),
    ];
    for (decisions, shown, taken) in table {
        let call = call(decisions);
        assert_eq!(menu(&call, 1).join("  "), shown);
        let answers = ["y", "a", "t", "m", "e", "n", "r x", "l", "j"].into_iter();
        let found: Vec<&str> = answers
            .filter(|line| parse(line, &call, 1).is_some())
            .collect();
        assert_eq!(found, taken);
    }
}

#[test]
fn remembered_rule_is_chosen_by_number() {
    let cases = [
        ("1\n", Some((Arguments, Session))),
        ("2", Some((Tool, Session))),
        (" 3 ", Some((Arguments, Project))),
        ("4", Some((Tool, Project))),
        ("5", None),
        ("", None),
        ("y", None),
    ];
    for (line, expected) in cases {
        let expected = expected.map(|(what, scope)| Remember { what, scope });
        assert_eq!(chosen(line), expected, "{line:?}");
    }
}
