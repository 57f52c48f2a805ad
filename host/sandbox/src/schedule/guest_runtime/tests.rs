use super::*;
use futures_util::future::join_all;
use pretty_assertions::assert_eq;
use std::{
    sync::Mutex,
    thread::{self, ThreadId},
};

/// Computes for a slice and gives the thread back, as a guest does.
async fn compute_a_slice() {
    let begun = Instant::now();
    while begun.elapsed() < TICK {
        std::hint::spin_loop();
    }
    end_slice().await;
}

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Runs quick work until the tool is trusted. On a busy machine a quick call may look slow, so it may take more than 16.
async fn earn(guests: &GuestRuntime, schedule: &Arc<Schedule>) {
    while !schedule.standing.is_trusted() {
        let thread = guests.run(schedule, async { thread_name() }).ended().await;
        assert_eq!(thread.unwrap(), "guest");
    }
}

/// Where work ran that began on the caller's thread.
async fn begin(
    guests: &GuestRuntime,
    schedule: &Arc<Schedule>,
    work: impl Future<Output = ThreadId> + Send + 'static,
) -> ThreadId {
    match guests.begin(schedule, work) {
        Begun::Ended(thread) => thread.unwrap(),
        Begun::GoesOn(mut running) => running.ended().await.unwrap(),
    }
}

#[tokio::test]
async fn a_tool_has_its_callers_thread_once_it_has_earned_it_and_until_it_pauses() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let here = thread::current().id();
    let quick = || async { thread::current().id() };
    assert_ne!(begin(&guests, &schedule, quick()).await, here);
    earn(&guests, &schedule).await;
    assert_eq!(begin(&guests, &schedule, quick()).await, here);

    earn(&guests, &schedule).await;
    let pausing = async {
        end_slice().await;
        thread::current().id()
    };
    assert_ne!(begin(&guests, &schedule, pausing).await, here);
    assert!(!schedule.standing.is_trusted());
    assert_ne!(begin(&guests, &schedule, quick()).await, here);
}

#[tokio::test]
async fn a_fault_of_the_host_does_not_end_the_caller() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let faulty = || async { panic!("a fault") };
    let Err(Lost::Panicked(text)) = guests.run::<()>(&schedule, faulty()).ended().await else {
        panic!("the work must not end well");
    };
    assert_eq!(text, "a fault");
    earn(&guests, &schedule).await;
    let Begun::Ended(Err(Lost::Panicked(text))) = guests.begin::<()>(&schedule, faulty()) else {
        panic!("the work must end here");
    };
    assert_eq!(text, "a fault");
}

#[tokio::test]
async fn work_that_computes_for_long_goes_on_elsewhere_and_so_does_its_tool() {
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
    let seen = guests.run(&schedule, long).ended().await.unwrap();
    assert_eq!(seen, ["guest", "guest-long", "guest-long"]);
    for expected in ["guest-long", "guest"] {
        let seen = guests.run(&schedule, async { thread_name() }).ended().await;
        assert_eq!(seen.unwrap(), expected);
    }
}

#[tokio::test]
async fn tools_that_compute_for_long_take_turns_however_many_calls_each_has() {
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
        let mut running = guests.run(&many, work("many", 10_000));
        async move { running.ended().await }
    }));
    let honest = async {
        // Until each of the flood has had a slice.
        while log.lock().unwrap().len() < 16 {
            tokio::task::yield_now().await;
        }
        guests.run(&one, work("one", 20)).ended().await.unwrap();
    };
    tokio::select! {
        _ = flood => unreachable!("it has five hundred times as much to do"),
        () = honest => {}
    }
    let log = log.lock().unwrap();
    let first = log.iter().position(|name| *name == "one").unwrap();
    let last = log.iter().rposition(|name| *name == "one").unwrap();
    // There is one lane, so the two alternate, and do not have sixteen parts and one: that were 320. A busy machine may hold back
    // the thread that puts them into the lane, so the honest tool may miss a turn.
    let many = log[first..last]
        .iter()
        .filter(|name| **name == "many")
        .count();
    assert!((10..=40).contains(&many), "{many} of {log:?}");
}

#[tokio::test]
async fn stopped_work_lets_go_of_its_thread_and_of_its_turn() {
    let guests = GuestRuntime::new(1).unwrap();
    let schedule = guests.schedule();
    let held = Arc::new(());
    let endless = |held: Arc<()>| async move {
        loop {
            compute_a_slice().await;
            assert!(Arc::strong_count(&held) > 1);
        }
    };
    let mut first = guests.run::<()>(&schedule, endless(Arc::clone(&held)));
    let second = guests.run::<()>(&schedule, endless(Arc::clone(&held)));
    // Until it is among the long ones.
    while !schedule.standing.is_long() {
        tokio::select! {
            _ = first.ended() => unreachable!("it is endless"),
            () = tokio::task::yield_now() => {}
        }
    }
    assert!(matches!(first.stop().await, Err(Lost::Stopped)));
    assert!(matches!(second.stop().await, Err(Lost::Stopped)));
    assert_eq!(Arc::strong_count(&held), 1);
    let ended = guests.run(&schedule, async { 7 }).ended().await;
    assert_eq!(ended.unwrap(), 7);
}
