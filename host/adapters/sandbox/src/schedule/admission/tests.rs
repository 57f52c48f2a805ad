use super::*;
use pretty_assertions::assert_eq;

/// Never reached in a test.
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

async fn refusal(queue: &ToolQueue, max_wait: Duration) -> String {
    let failure = queue.admit(max_wait).await.map(drop).unwrap_err();
    assert_eq!(failure.code, ToolErrorCode::Busy);
    failure.message().to_owned()
}

#[tokio::test]
async fn refusal_names_its_limit_and_the_next_step() {
    const NEXT: &str = "Call the tool again when other calls have ended.";
    let zero = Duration::ZERO;

    let quotas = admission(4, 4, (2, 0));
    let tool = quotas.queue(None);
    let permits = (tool.admit(LONG).await, tool.admit(LONG).await);
    assert_eq!(
        refusal(&tool, LONG).await,
        format!(
            "This call was not started, because 0 calls of this tool are already waiting (limit \
             `queued-calls-per-tool`). {NEXT}"
        )
    );
    // The other tool has its own quota.
    assert!(quotas.queue(None).admit(zero).await.is_ok());
    drop(permits);
    assert!(tool.admit(zero).await.is_ok());

    let waits = admission(4, 4, (1, 4));
    let tool = waits.queue(None);
    let _permit = tool.admit(LONG).await;
    assert_eq!(
        refusal(&tool, zero).await,
        format!(
            "This call was not started, because 1 calls of this tool are running (limit `concurrent-calls-per-tool`) \
             and none ended within 0 ms. {NEXT}"
        )
    );

    let few = admission(1, 1, (1, 1));
    let (one, other, third) = (few.queue(None), few.queue(None), few.queue(None));
    let _permit = one.admit(LONG).await;
    assert_eq!(
        refusal(&other, zero).await,
        format!(
            "This call was not started, because 1 calls are running (limit `concurrent-calls`) and none ended within \
             0 ms. {NEXT}"
        )
    );
    let _waits = other.tenant.acquire().unwrap();
    assert_eq!(
        refusal(&third, LONG).await,
        format!(
            "This call was not started, because 1 calls are already waiting (limit `queued-calls`). {NEXT}"
        )
    );
}

#[tokio::test]
async fn tool_with_its_own_number_of_calls_is_bound_by_it() {
    let admission = admission(8, 8, (4, 0));
    for (own, expected) in [(None, 4), (Some(1), 1), (Some(6), 6)] {
        let queue = admission.queue(own);
        let mut permits = Vec::new();
        while let Ok(permit) = queue.admit(LONG).await {
            permits.push(permit);
        }
        assert_eq!(permits.len(), expected);
    }
}
