use super::*;
use pretty_assertions::assert_eq;

fn admitted(in_flight: &Arc<InFlight>, tool: &str, bytes: usize) -> Vec<CallPermit> {
    std::iter::from_fn(|| in_flight.admit(tool, bytes).ok()).collect()
}

#[test]
fn each_tool_gets_as_many_calls_as_are_free() {
    let in_flight = InFlight::new(64);
    let permits = ["a", "b", "c", "d"].map(|tool| admitted(&in_flight, tool, 10));
    assert_eq!(permits.each_ref().map(Vec::len), [32, 16, 8, 4]);
    assert_eq!(
        in_flight.admit("a", 10).unwrap_err(),
        Busy { calls: 32, free: 4 }
    );
    assert!(in_flight.admit("e", 10).is_ok());
    drop(permits);
    assert!(in_flight.lock().tools.is_empty());
    assert_eq!(admitted(&in_flight, "d", 10).len(), 32);
}

#[test]
fn large_calls_of_one_tool_leave_half_of_the_bytes() {
    let in_flight = InFlight::new(1024);
    let large = 4 * 1024 * 1024;
    let permits = admitted(&in_flight, "a", large);
    assert_eq!(permits.len() * large, MAX_BYTES / 2);
    assert!(in_flight.admit("b", large).is_ok());
}

#[test]
fn tools_without_end_stay_within_the_bound() {
    let in_flight = InFlight::new(16);
    let tools = (0..1000).map(|tool| in_flight.admit(&tool.to_string(), 1));
    let permits: Vec<CallPermit> = tools.filter_map(Result::ok).collect();
    assert_eq!(permits.len(), 16);
    assert_eq!(
        in_flight.admit("new", 1).unwrap_err(),
        Busy { calls: 0, free: 0 }
    );
}

#[tokio::test]
async fn idle_waits_for_the_last_clone_of_a_permit() {
    let in_flight = InFlight::new(4);
    in_flight.idle().await;
    let permit = in_flight.admit("a", 1).unwrap();
    let clone = permit.clone();
    let waits = tokio::spawn({
        let in_flight = Arc::clone(&in_flight);
        async move { in_flight.idle().await }
    });
    drop(permit);
    tokio::task::yield_now().await;
    assert!(!waits.is_finished());
    drop(clone);
    waits.await.unwrap();
}
