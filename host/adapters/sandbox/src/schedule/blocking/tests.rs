use super::*;
use pretty_assertions::assert_eq;
use std::sync::mpsc;

/// Starts operations that hang until the sender is dropped, and waits until they hang.
async fn hang(
    tool: &Arc<ToolBlocking>,
    count: usize,
) -> (Vec<JoinHandle<Result<(), NotRun>>>, mpsc::Sender<()>) {
    let (answer, answers) = mpsc::channel();
    let answers = Arc::new(Mutex::new(answers));
    let (hangs, mut hanging) = tokio::sync::mpsc::unbounded_channel();
    let operation = || {
        let (answers, hangs) = (Arc::clone(&answers), hangs.clone());
        tool.spawn(move || {
            hangs.send(()).unwrap();
            // Ends with the sender.
            let _ = lock(&answers).recv();
        })
    };
    let tasks = (0..count).map(|_| operation()).collect();
    for _ in 0..count {
        hanging.recv().await.unwrap();
    }
    (tasks, answer)
}

#[tokio::test]
async fn hanging_operations_delay_no_other_tool() {
    let threads = BlockingThreads::start(Handle::current()).unwrap();
    let (hung, other) = (threads.for_tool(), threads.for_tool());
    let (tasks, answer) = hang(&hung, PER_TOOL).await;
    // One more waits in the queue of its tool, which it leaves when it is dropped.
    let next = hung.spawn(|| unreachable!("it is dropped before a thread is free"));
    tokio::task::yield_now().await;
    next.abort();
    assert!(next.await.unwrap_err().is_cancelled());
    assert_eq!(other.run(|| 7).await.unwrap(), 7);
    assert!(!hung.is_stuck());
    drop(answer);
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(hung.run(|| 8).await.unwrap(), 8);
}

#[tokio::test]
async fn tool_is_stuck_while_abandoned_operations_fill_it() {
    let threads = BlockingThreads::start(Handle::current()).unwrap();
    let tool = threads.for_tool();
    let (tasks, answer) = hang(&tool, PER_TOOL).await;
    for (abandoned, task) in tasks.iter().enumerate() {
        assert!(!tool.is_stuck(), "after {abandoned}");
        task.abort();
        while lock(&tool.abandoned).len() == abandoned {
            tokio::task::yield_now().await;
        }
    }
    assert!(tool.is_stuck());
    drop(answer);
    assert_eq!(tool.run(|| 7).await.unwrap(), 7);
    while tool.is_stuck() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn many_hanging_tools_leave_a_thread_for_another() {
    let threads = BlockingThreads::start(Handle::current()).unwrap();
    let mut hung = Vec::new();
    for _ in 0..RESERVED / PER_TOOL {
        hung.push(hang(&threads.for_tool(), PER_TOOL).await);
    }
    // From here on, each tool gets one.
    for _ in 1..RESERVED {
        hung.push(hang(&threads.for_tool(), 1).await);
    }
    assert_eq!(threads.for_tool().run(|| 7).await.unwrap(), 7);
}

#[tokio::test]
async fn operation_after_the_threads_ended_is_not_run() {
    let threads = BlockingThreads::start(Handle::current()).unwrap();
    let tool = threads.for_tool();
    drop(threads);
    assert!(tool.run(|| ()).await.is_err());
}
