use super::*;
use futures_util::future::join_all;
use pretty_assertions::assert_eq;
use std::{
    sync::Mutex,
    thread::{self, ThreadId},
};

/// Computes for a slice and is polled again, as a guest is.
async fn compute_a_slice() {
    let started = Instant::now();
    while started.elapsed() < TICK {
        std::hint::spin_loop();
    }
    wait().await;
}

/// Waits for something that has happened when it is polled again.
async fn wait() {
    let mut waited = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        match std::mem::replace(&mut waited, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Runs quick work until the tool may run inline. On a busy machine, where it may look slow, the rest
/// is counted as quick.
async fn earn_inline(guests: &GuestRuntime, schedule: &Arc<ToolSchedule>) {
    let thread = guests.spawn(schedule, async { thread_name() }).join().await;
    assert_eq!(thread.unwrap(), "guest");
    while !schedule.may_inline() {
        schedule.count_quick_call();
    }
}

/// Returns the thread on which started work ended.
async fn start(
    guests: &GuestRuntime,
    schedule: &Arc<ToolSchedule>,
    work: impl Future<Output = ThreadId> + Send + 'static,
) -> ThreadId {
    match guests.start(schedule, work) {
        TaskStart::Ready(thread) => thread.unwrap(),
        TaskStart::Pending(mut task) => task.join().await.unwrap(),
    }
}

#[tokio::test]
async fn quick_tool_runs_inline_until_it_yields() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let here = thread::current().id();
    let quick = || async { thread::current().id() };
    assert_ne!(start(&guests, &schedule, quick()).await, here);
    earn_inline(&guests, &schedule).await;
    assert_eq!(start(&guests, &schedule, quick()).await, here);

    earn_inline(&guests, &schedule).await;
    let pausing = async {
        yield_slice().await;
        thread::current().id()
    };
    assert_ne!(start(&guests, &schedule, pausing).await, here);
    assert!(!schedule.history.may_inline());
    assert_ne!(start(&guests, &schedule, quick()).await, here);
}

#[tokio::test]
async fn panic_of_the_host_does_not_end_the_caller() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let faulty = || async { panic!("a fault") };
    let Err(TaskError::Panicked(text)) = guests.spawn::<()>(&schedule, faulty()).join().await
    else {
        panic!("the work must fail");
    };
    assert_eq!(text, "a fault");
    earn_inline(&guests, &schedule).await;
    let TaskStart::Ready(Err(TaskError::Panicked(text))) = guests.start::<()>(&schedule, faulty())
    else {
        panic!("the work must end here");
    };
    assert_eq!(text, "a fault");
}

#[tokio::test]
async fn long_work_moves_to_the_long_threads_with_its_tool() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let long = async {
        let mut seen = vec![thread_name()];
        for _ in 0..2 {
            compute_a_slice().await;
            seen.push(thread_name());
        }
        seen
    };
    let seen = guests.spawn(&schedule, long).join().await.unwrap();
    assert_eq!(seen, ["guest", "guest-long", "guest-long"]);
    for expected in ["guest-long", "guest"] {
        let seen = guests
            .spawn(&schedule, async { thread_name() })
            .join()
            .await;
        assert_eq!(seen.unwrap(), expected);
    }
}

#[tokio::test]
async fn long_tools_alternate_whatever_their_number_of_calls() {
    let guests = GuestRuntime::new(1).unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let work = |name: &'static str, slices: usize| {
        let log = Arc::clone(&log);
        async move {
            for _ in 0..slices {
                compute_a_slice().await;
                log.lock().unwrap().push(name);
            }
        }
    };
    let (many, one) = (guests.schedule(), guests.schedule());
    let flood = join_all((0..16).map(|_| {
        let mut task = guests.spawn(&many, work("many", 10_000));
        async move { task.join().await }
    }));
    let honest = async {
        // Until each call of the flood has had a slice.
        while log.lock().unwrap().len() < 16 {
            tokio::task::yield_now().await;
        }
        guests.spawn(&one, work("one", 20)).join().await.unwrap();
    };
    tokio::select! {
        _ = flood => unreachable!("it has five hundred times as much to do"),
        () = honest => {}
    }
    let log = log.lock().unwrap();
    let first = log.iter().position(|name| *name == "one").unwrap();
    let last = log.iter().rposition(|name| *name == "one").unwrap();
    // With one permit the two tools alternate; sharing by calls would give 320. A busy machine may
    // delay the thread that queues them, so the honest tool may miss a turn.
    let many = log[first..last]
        .iter()
        .filter(|name| **name == "many")
        .count();
    assert!((10..=40).contains(&many), "{many} of {log:?}");
}

#[tokio::test]
async fn cancelled_work_releases_its_thread_and_permit() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let held = Arc::new(());
    let endless = |held: Arc<()>| async move {
        loop {
            compute_a_slice().await;
            assert!(Arc::strong_count(&held) > 1);
        }
    };
    let mut first = guests.spawn::<()>(&schedule, endless(Arc::clone(&held)));
    let second = guests.spawn::<()>(&schedule, endless(Arc::clone(&held)));
    // Until it is on the long threads.
    while !schedule.history.starts_long() {
        tokio::select! {
            _ = first.join() => unreachable!("it is endless"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert!(matches!(first.cancel().await, Err(TaskError::Cancelled)));
    assert!(matches!(second.cancel().await, Err(TaskError::Cancelled)));
    assert_eq!(Arc::strong_count(&held), 1);
    let ended = guests.spawn(&schedule, async { 7 }).join().await;
    assert_eq!(ended.unwrap(), 7);
}

#[tokio::test]
async fn attached_work_stays_with_its_caller_for_a_few_slices() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let caller = thread_name();
    let waiting = || async {
        wait().await;
        thread_name()
    };
    let ended = guests.attach(&schedule, waiting()).join().await;
    assert_eq!(ended.unwrap(), caller);
    let uninterrupted = async {
        yield_slice().await;
        thread_name()
    };
    let ended = guests.attach(&schedule, uninterrupted).join().await;
    assert_eq!(ended.unwrap(), "guest-long");
    let long = async {
        let started = Instant::now();
        while thread_name() != "guest-long" {
            assert!(started.elapsed() < ATTACHED * 100);
            compute_a_slice().await;
        }
        started.elapsed()
    };
    let computed = guests.attach(&schedule, long).join().await.unwrap();
    assert!(computed >= ATTACHED, "{computed:?}");
    // As for any tool, the next call starts there, too.
    for expected in ["guest-long", &caller] {
        let ended = guests.attach(&schedule, waiting()).join().await;
        assert_eq!(ended.unwrap(), expected);
    }
}

#[tokio::test]
async fn attached_work_ends_without_its_caller() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let faulty = async { panic!("a fault") };
    let Err(TaskError::Panicked(text)) = guests.attach::<()>(&schedule, faulty).join().await else {
        panic!("the work must fail");
    };
    assert_eq!(text, "a fault");
    let held = Arc::new(());
    let holds = Arc::clone(&held);
    let endless = async move {
        std::future::pending::<()>().await;
        drop(holds);
    };
    let mut task = guests.attach(&schedule, endless);
    tokio::select! {
        biased;
        _ = task.join() => unreachable!("it waits"),
        () = tokio::task::yield_now() => {}
    }
    assert!(matches!(task.cancel().await, Err(TaskError::Cancelled)));
    assert_eq!(Arc::strong_count(&held), 1);
}
