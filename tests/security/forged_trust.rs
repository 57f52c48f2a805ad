//! Records of trust that the program did not write.

use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use std::fs;

/// A record of trust that was written past the program is not believed, and named by `doctor` with
/// the command that removes it.
#[test]
fn trust_written_by_hand_is_ignored_and_named() {
    let env = TestEnv::new();
    env.write("agent.toml", "[[grants.http]]\nhost = \"127.0.0.1\"\n");
    let file = env
        .outside()
        .join("home/.local/state/agent-host/trust.json");
    assert_eq!(env.run(&["trust", "--yes"]).code, Some(0));
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(env.run(&["trust", "--revoke"]).code, Some(0));
    // Of all that is known, the signature alone is another one.
    let mut forged: serde_json::Value = serde_json::from_str(&kept).unwrap();
    forged["entries"][0]["signature"] = "0".repeat(64).into();
    fs::write(&file, forged.to_string()).unwrap();
    let refused = env.run(&["run", "look"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let why = "agent.toml is not trusted, and it";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let doctor = env.run(&["doctor"]).stdout;
    let named = "a trusted file without a valid signature, which is not trusted: ";
    assert!(doctor.contains(named), "{doctor}");
    assert!(doctor.contains("agent-host trust --revoke "), "{doctor}");
    let listed = env.run(&["trust", "--list"]).stdout;
    assert!(listed.contains("(ignored: no valid signature)"), "{listed}");
    assert_eq!(env.run(&["trust", "--revoke"]).code, Some(0));
    assert_eq!(env.run(&["trust", "--list"]).stdout, "");
}
