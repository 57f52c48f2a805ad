use super::*;
use pretty_assertions::assert_eq;

/// Long enough that it never decides a test.
const LONG: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_call_runs_or_waits_or_is_refused() {
    let admission = Arc::new(Admission::new(1, 1));
    let first = admission.admit(LONG).await;
    assert!(first.is_ok());

    let waiter = tokio::spawn({
        let admission = Arc::clone(&admission);
        async move { admission.admit(LONG).await.map(drop) }
    });
    while admission.waiting.available_permits() == 1 {
        tokio::task::yield_now().await;
    }
    let refused = admission.admit(LONG).await.map(drop);
    assert_eq!(refused, Err(busy("too many others already wait")));

    drop(first);
    assert_eq!(waiter.await.unwrap(), Ok(()));
    assert_eq!(
        (
            admission.running.available_permits(),
            admission.waiting.available_permits()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn patience_ends() {
    let admission = Admission::new(1, 1);
    let _first = admission.admit(LONG).await.unwrap();
    let refused = admission.admit(Duration::ZERO).await.map(drop);
    assert_eq!(
        refused,
        Err(busy("its turn did not come within its deadline"))
    );
    assert_eq!(admission.waiting.available_permits(), 1);
}
