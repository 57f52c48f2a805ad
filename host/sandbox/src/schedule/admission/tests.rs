use super::*;
use pretty_assertions::assert_eq;

/// Long enough that it never decides a test.
const LONG: Duration = Duration::from_secs(600);

fn admission(calls: usize, queued: usize, per_tool: (usize, usize)) -> Admission {
    Admission::new(&SandboxConfig {
        concurrent_calls: calls,
        queued_calls: queued,
        concurrent_calls_per_tool: Some(per_tool.0),
        queued_calls_per_tool: Some(per_tool.1),
        ..SandboxConfig::default()
    })
}

/// What a call hears that is not admitted.
async fn refusal(queue: &Queue, patience: Duration) -> String {
    let failure = queue.admit(patience).await.map(drop).unwrap_err();
    assert_eq!(failure.code, ToolErrorCode::Busy);
    failure.message().to_owned()
}

#[tokio::test]
async fn a_refusal_names_its_limit_and_the_next_step() {
    const NEXT: &str = "Call the tool again when others have ended.";
    let zero = Duration::ZERO;

    let shares = admission(4, 4, (2, 0));
    let tool = shares.queue(None);
    let places = (tool.admit(LONG).await, tool.admit(LONG).await);
    assert_eq!(
        refusal(&tool, LONG).await,
        format!(
            "This call was not started, because 0 calls of this tool already wait (limit `queued-calls-per-tool`). {NEXT}"
        )
    );
    // The other tool's places are its own.
    assert!(shares.queue(None).admit(zero).await.is_ok());
    drop(places);
    assert!(tool.admit(zero).await.is_ok());

    let waits = admission(4, 4, (1, 4));
    let tool = waits.queue(None);
    let _place = tool.admit(LONG).await;
    assert_eq!(
        refusal(&tool, zero).await,
        format!(
            "This call was not started, because 1 calls of this tool run at once (limit `concurrent-calls-per-tool`) and none ended within 0 ms. {NEXT}"
        )
    );

    let few = admission(1, 1, (1, 1));
    let (one, other, third) = (few.queue(None), few.queue(None), few.queue(None));
    let _place = one.admit(LONG).await;
    assert_eq!(
        refusal(&other, zero).await,
        format!(
            "This call was not started, because 1 calls run at once (limit `concurrent-calls`) and none ended within 0 ms. {NEXT}"
        )
    );
    let _waits = other.party.turn().unwrap();
    assert_eq!(
        refusal(&third, LONG).await,
        format!(
            "This call was not started, because 1 calls already wait (limit `queued-calls`). {NEXT}"
        )
    );
}

#[tokio::test]
async fn a_tool_can_have_a_number_of_its_own() {
    let admission = admission(8, 8, (4, 0));
    for (own, expected) in [(None, 4), (Some(1), 1), (Some(6), 6)] {
        let queue = admission.queue(own);
        let mut places = Vec::new();
        while let Ok(place) = queue.admit(LONG).await {
            places.push(place);
        }
        assert_eq!(places.len(), expected);
    }
}
