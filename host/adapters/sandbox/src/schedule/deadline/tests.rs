use super::*;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A pause that lasts beyond the deadline moves it by its length.
#[tokio::test]
async fn deadline_stands_still_during_a_pause() {
    let deadline = Arc::new(Deadline::new(Instant::now() + Duration::from_millis(20)));
    let (end, ended) = oneshot::channel::<()>();
    let paused = Arc::clone(&deadline);
    let pause = tokio::spawn(async move { paused.pause(ended).await.is_ok() });
    while !deadline.is_paused.load(Ordering::Acquire) {
        tokio::task::yield_now().await;
    }
    let left = deadline.left();
    while !deadline.left().is_zero() {
        tokio::task::yield_now().await;
    }
    assert!(!deadline.has_passed());
    end.send(()).unwrap();
    assert!(pause.await.unwrap());
    assert!(
        !deadline.has_passed(),
        "{left:?} were left before the pause"
    );
    deadline.passed().await;
    assert!(deadline.has_passed());
}
